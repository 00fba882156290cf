/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes in persistent memory: an append-only log in a mapped file.
 *
 *	notes FILE COMMAND…     any number of: add TEXT, done N, list, check
 *
 *	+-------------------+------------------------+------------------------+----
 *	| magic, used, open | len, sum, done, text … | len, sum, done, text … |  …
 *	+-------------------+------------------------+------------------------+----
 *	  one cache line
 *
 * A note is written first, then counted in `used`. After a crash `check` is to be run: all notes
 * up to `used` must be whole, or a checksum is wrong; how many are open is counted anew.
 *
 * There are two real bugs in here, as easily made as overlooked; `make demo` finds both.
 */
#include "holdfast.h"

#include <cpuid.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC 0x5345544f4e464821ull
#define FILE_BYTES (64u << 10)
#define LINE 64u

struct notes {
	uint64_t magic;
	uint64_t used; /* bytes of notes, all of them durable */
	uint64_t open; /* how many are not done */
	char pad[LINE - 24];
	char note[];
};

struct note {
	uint32_t len;
	uint32_t sum;
	uint32_t done;
	char text[];
};

static void clwb(void *p)
{
	__asm__ volatile("clwb %0" : "+m"(*(volatile char *)p));
}

static void clflushopt(void *p)
{
	__asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)p));
}

static void clflush(void *p)
{
	_mm_clflush(p);
}

/* The best flush instruction this processor has, as PMDK chooses it. */
static void (*choose_flush(void))(void *)
{
	unsigned a, b = 0, c, d;
	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	return b & bit_CLWB ? clwb : b & bit_CLFLUSHOPT ? clflushopt : clflush;
}

static void (*flush)(void *);

/* Sends a range on its way; the next fence waits for it. */
static void flush_range(void *p, size_t len)
{
	uintptr_t end = (uintptr_t)p + len;
	for (uintptr_t line = (uintptr_t)p & ~(uintptr_t)(LINE - 1); line < end; line += LINE)
		flush((void *)line);
}

/* Makes a range durable. */
static void persist(void *p, size_t len)
{
	flush_range(p, len);
	_mm_sfence();
}

static uint32_t checksum(const char *text, size_t len)
{
	uint32_t sum = 2166136261u;
	while (len--)
		sum = (sum ^ (unsigned char)*text++) * 16777619u;
	return sum;
}

static size_t room(size_t len)
{
	return (sizeof(struct note) + len + 7) & ~(size_t)7;
}

static int append(struct notes *n, const char *text)
{
	size_t len = strlen(text);
	if (sizeof *n + n->used + room(len) > FILE_BYTES)
		return -1;
	struct note *note = (struct note *)(n->note + n->used);
	note->len = (uint32_t)len;
	note->sum = checksum(text, len);
	note->done = 0;
	memcpy(note->text, text, len);
	flush_range(note, sizeof *note + len);

	n->used += room(len);
	n->open++;
	persist(n, sizeof *n);
	return 0;
}

/* The note at *at, which moves on to the next; NULL at the end, or if it is damaged. */
static struct note *next(struct notes *n, uint64_t *at)
{
	struct note *note = (struct note *)(n->note + *at);
	if (*at >= n->used)
		return NULL;
	if (*at + room(note->len) > n->used || note->sum != checksum(note->text, note->len)) {
		fprintf(stderr, "notes: the note at byte %llu is damaged\n",
			(unsigned long long)*at);
		return NULL;
	}
	*at += room(note->len);
	return note;
}

static int done(struct notes *n, int which)
{
	uint64_t at = 0;
	struct note *note = next(n, &at);
	while (note && --which > 0)
		note = next(n, &at);
	if (!note || note->done)
		return -1;
	n->open--;
	persist(n, sizeof *n);
	note->done = 1;
	persist(n, sizeof *n);
	return 0;
}

/* Prints what is not done. */
static int list(struct notes *n)
{
	uint64_t at = 0;
	for (struct note *note; (note = next(n, &at));)
		if (!note->done)
			printf("%.*s\n", (int)note->len, note->text);
	return at == n->used ? 0 : -1;
}

/* After a crash: are all notes whole? How many are open? */
static int check(struct notes *n)
{
	uint64_t at = 0, open = 0;
	for (struct note *note; (note = next(n, &at));)
		open += !note->done;
	if (at != n->used)
		return -1;
	if (n->open != open) {
		n->open = open;
		persist(n, sizeof *n);
	}
	printf("%llu open\n", (unsigned long long)open);
	return 0;
}

/* Maps the file; a new one gets its header. */
static struct notes *open_notes(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, FILE_BYTES))
		return NULL;
	struct notes *n = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (n == MAP_FAILED)
		return NULL;
	if (n->magic != MAGIC) {
		n->used = n->open = 0;
		persist(n, sizeof *n);
		n->magic = MAGIC;
		persist(n, sizeof *n);
	}
	return n;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: notes FILE (add TEXT | done N | list | check)...\n");
		return 2;
	}
	flush = choose_flush();
	struct notes *n = open_notes(argv[1]);
	if (!n) {
		perror(argv[1]);
		return 1;
	}
	for (int i = 2, op = 1, bad; i < argc; i++, op++) {
		const char *what = argv[i];
		HOLDFAST_OP_BEGIN(op);
		if (!strcmp(what, "list"))
			bad = list(n);
		else if (!strcmp(what, "check"))
			bad = check(n);
		else if (!strcmp(what, "add") && i + 1 < argc)
			bad = append(n, argv[++i]);
		else if (!strcmp(what, "done") && i + 1 < argc)
			bad = done(n, atoi(argv[++i]));
		else
			bad = -1;
		HOLDFAST_OP_END(op);
		if (bad) {
			fprintf(stderr, "notes: '%s' failed\n", what);
			return 1;
		}
	}
	munmap(n, FILE_BYTES);
	return 0;
}
