/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores in odd places, none of which is flushed or fenced; each -D is one of them. What is printed does not depend on it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct pair {
	uint64_t key, value;
};
struct pool {
	uint64_t used, ready;
	char gap[24]; /* the pair is in one line here, but need not be */
	struct pair pair;
	uint64_t word[16];
};

static void persist(const void *at, size_t n)
{
	uintptr_t line = (uintptr_t)at & ~(uintptr_t)63;
	for (; line < (uintptr_t)at + n; line += 64)
		__asm__ volatile("clwb %0" : "+m"(*(volatile char *)line) : : "memory");
	__asm__ volatile("sfence" : : : "memory");
}

#ifdef LOOP
static void change(struct pool *p)
{
	uint64_t i = 3;
	while ((p->word[i] = i))
		i--;
}
#elif defined HEADER
static void change(struct pool *p)
{
	for (uint64_t i = 0; i < 3; p->used++)
		i++;
}
#elif defined NOTES || defined WAITS
static unsigned odd; /* the loop does more than store */

static void change(struct pool *p)
{
	for (uint64_t i = 0; i < 16; i++) {
		p->word[i] = i + 1;
		odd += p->word[i] & 1;
#ifdef WAITS
		p->used = i;
		persist(&p->used, sizeof(p->used));
#endif
	}
	if (odd != 8)
		puts("odd");
}
#elif defined LINE
static void change(struct pool *p)
{
	if (p->ready) {
		p->word[0] = 3;
		p->word[9] = 4;
	} else
		p->word[1] = 5;
}
#elif defined COPY
static __attribute__((noinline)) void copy(uint64_t *to, const uint64_t *from, size_t n)
{
	while (n) {
		*to++ = *from++;
		n -= sizeof(*to);
	}
}

static void change(struct pool *p)
{
	const uint64_t source[4] = { 1, 2, 3, 4 };
	copy(p->word + 6, source, sizeof(source));
}
#elif defined WORDS
static __attribute__((noinline)) void copy(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

static void change(struct pool *p)
{
	const uint64_t source[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	copy(p->word + 6, source, 10);
}
#elif defined UNROLLED /* words, two at a time */
static __attribute__((noinline)) void copy(uint64_t *to, const uint64_t *from, size_t n)
{
	for (; n >= 2; n -= 2, to += 2, from += 2) {
		to[0] = from[0];
		to[1] = from[1];
	}
}

static void change(struct pool *p)
{
	const uint64_t source[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	copy(p->word, source, 10);
}
#elif defined GROUPS   /* words, two at a time, through pointers to bytes */
static __attribute__((noinline)) void copy(char *to, const char *from, size_t n)
{
	uint64_t *word = (uint64_t *)to;
	for (const uint64_t *next = (const uint64_t *)from; n >= 2; n -= 2) {
		*word++ = *next++;
		*word++ = *next++;
	}
}

static void change(struct pool *p)
{
	const uint64_t source[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	copy((char *)p->word, (const char *)source, 10);
}
#elif defined SINGLES  /* words, byte by byte */
static __attribute__((noinline)) void copy(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < 8 * n; i++)
		*to++ = *from++;
}

static void change(struct pool *p)
{
	const uint64_t source[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	copy((char *)p->word, (const char *)source, 10);
}
#elif defined PARTS
static void change(struct pool *p)
{
	struct pair *pair = &p->pair;
	pair->key = 3;
	pair->value = 4;
}
#endif

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	struct pool *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	*p = (struct pool){ .used = 7, .ready = 1 };
	persist(p, sizeof(*p));
	change(p);
	puts("done");
	munmap(p, 4096);
	return 0;
}
