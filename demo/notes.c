/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes in persistent memory: an append-only log in a mapped file.
 *
 *	notes FILE add TEXT…    appends one note per argument
 *	notes FILE list         prints them
 *
 *	+--------------+------------------+------------------+----
 *	| magic, used  | len, sum, text … | len, sum, text … |  …
 *	+--------------+------------------+------------------+----
 *
 * A note is written and made durable first, then counted in `used`. After a crash all notes
 * up to `used` are whole; the checksum would show it if they were not.
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
	char note[];
};

struct note {
	uint32_t len;
	uint32_t sum;
	char text[];
};

static void flush_clwb(void *p)
{
	__asm__ volatile("clwb %0" : "+m"(*(volatile char *)p));
}

static void flush_clflushopt(void *p)
{
	__asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)p));
}

static void flush_clflush(void *p)
{
	_mm_clflush(p);
}

/* The best flush instruction this processor has, as PMDK chooses it. */
static void (*choose_flush(void))(void *)
{
	unsigned a, b = 0, c, d;
	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	return b & bit_CLWB ? flush_clwb : b & bit_CLFLUSHOPT ? flush_clflushopt : flush_clflush;
}

static void (*flush)(void *);

/* Makes a range durable. */
static void persist(void *p, size_t len)
{
	uintptr_t end = (uintptr_t)p + len;
	for (uintptr_t line = (uintptr_t)p & ~(uintptr_t)(LINE - 1); line < end; line += LINE)
		flush((void *)line);
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
	memcpy(note->text, text, len);
	persist(note, sizeof *note + len);

	n->used += room(len);
	persist(&n->used, sizeof n->used);
	return 0;
}

static int list(const struct notes *n)
{
	for (uint64_t at = 0; at < n->used;) {
		const struct note *note = (const struct note *)(n->note + at);
		if (at + room(note->len) > n->used ||
		    note->sum != checksum(note->text, note->len)) {
			fprintf(stderr, "notes: the note at byte %llu is damaged\n",
				(unsigned long long)at);
			return 1;
		}
		printf("%.*s\n", (int)note->len, note->text);
		at += room(note->len);
	}
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
		n->used = 0;
		persist(&n->used, sizeof n->used);
		n->magic = MAGIC;
		persist(&n->magic, sizeof n->magic);
	}
	return n;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: notes FILE add TEXT... | notes FILE list\n");
		return 2;
	}
	flush = choose_flush();
	struct notes *n = open_notes(argv[1]);
	if (!n) {
		perror(argv[1]);
		return 1;
	}
	if (!strcmp(argv[2], "list"))
		return list(n);
	for (int i = 3; i < argc; i++) {
		HOLDFAST_OP_BEGIN(i - 2);
		if (append(n, argv[i])) {
			fprintf(stderr, "notes: no room left\n");
			return 1;
		}
		HOLDFAST_OP_END(i - 2);
	}
	printf("%d notes added\n", argc - 3);
	return 0;
}
