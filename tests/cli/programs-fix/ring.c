/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages in a ring, in a file that persists through a table of functions, or with one function. */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct message {
	uint64_t length, sum;
	uint8_t body[24];
	uint32_t word[4];
};
struct ring {
	_Alignas(64) uint64_t head;
	_Alignas(64) uint64_t tail;
	uint64_t pad[9];
	struct message message[8];
};

static void flush_bytes(const void *at, unsigned long n)
{
	const char *line = (const char *)((uintptr_t)at & ~(uintptr_t)63);
	for (; line < (const char *)at + n; line += 64)
		_mm_clflush(line);
#ifdef ONE
	_mm_mfence();
#endif
}

#ifndef ONE
static void persist_bytes(const void *at, unsigned long n)
{
	flush_bytes(at, n);
	_mm_mfence();
}
struct pm {
	void (*flush)(const void *at, unsigned long n);
	void (*persist)(const void *at, unsigned long n);
};
static const struct pm functions = { flush_bytes, persist_bytes };
const struct pm *pm = &functions;
#define FLUSH(at, n) pm->flush(at, n)
#define PERSIST(at, n) pm->persist(at, n)
#else
#define FLUSH(at, n) flush_bytes(at, n)
#define PERSIST(at, n) flush_bytes(at, n)
#endif

static void put(struct ring *r, const char *text, unsigned long n)
{
	struct message *m = &r->message[r->tail % 8];
	m->length = n;
	memcpy(m->body, text, n);
	m->sum = (uint64_t)text[0] + (uint64_t)text[n - 1];
	for (int i = 0; i < 4; i++)
		m->word[i] = (uint32_t)text[i];
#ifndef PUT
	FLUSH(m, sizeof(*m));
#endif
	_mm_mfence();
	r->tail++;
#ifndef TAIL
	PERSIST(&r->tail, sizeof(r->tail));
#endif
}

static uint64_t get(struct ring *r)
{
	uint64_t length = r->message[r->head % 8].length;
	r->head++;
#ifndef HEAD
	PERSIST(&r->head, sizeof(r->head));
#endif
	return length;
}

#ifdef RESET
/* Twice, and flushed the first time: that it is needed can be seen. */
static void clear(struct ring *r, int n)
{
	for (int i = 0; i < 8; i++)
		memset(&r->message[i], 0, sizeof(struct message));
	FLUSH(r->message, sizeof(r->message));
	_mm_mfence();
	for (int i = 0; i < n; i++)
		memset(&r->message[i], 1, sizeof(struct message));
	_mm_mfence();
}
#endif

int main(int argc, char **argv)
{
	static const char *const texts[] = { "one message", "another message", "the third" };
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 3;
	struct ring *r = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r == MAP_FAILED)
		return 3;
	uint64_t all = 0;
#ifdef RESET
	clear(r, 8);
#endif
	r->head = r->tail = 0;
	FLUSH(r, 2 * 64);
	_mm_mfence();
	for (int i = 0; i < 6; i++)
		if (i % 2)
			all += get(r);
		else
			put(r, texts[i / 2], strlen(texts[i / 2]) + 1);
	return all == 0;
}
