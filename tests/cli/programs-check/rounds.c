// SPDX-License-Identifier: BSD-3-Clause
/*
 * Programs in one, each named by a word: what one call leaves open and a later one flushes, atomic stores, locks. A line that
 * is to be found bears @WORD KIND.
 *
 * usage: rounds POOL WORD...
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALONE static __attribute__((noinline))

struct stone {
	uint64_t size, moss, age, next, grain[4];
};

static struct stone *river;

static void dam(const void *p)
{
	_mm_clflushopt((void *)p);
	_mm_sfence();
}

/* A store fence orders nothing but flushes: that the next flush covers the line is luck, also where it always does. */
ALONE void join(struct stone *s, uint64_t n)
{
	s->size = n; /* @joined missing-flush */
	_mm_sfence();
	s->moss = n * 3;
	dam(&s->moss);
}

static void joined(struct stone *s)
{
	for (uint64_t i = 1; i < 7; i++)
		join(s + i, i);
}

/* It stores, by atomic instructions only, and flushes: no helper. */
static inline __attribute__((always_inline)) void chain(struct stone *last, struct stone *new)
{
	uint64_t none = 0;
	dam(&new->grain);
	uint64_t is = (uint64_t) new;
	__atomic_compare_exchange_n(&last->next, &none, is, 0, 5, 5); /* @chained missing-flush */
}

static void chained(struct stone *s)
{
	for (uint64_t i = 1; i < 7; i++) {
		s[i].grain[0] = i;
		chain(&s[i - 1], &s[i]);
	}
}

/* The flush of a stone comes with the next one, for the link that is stored then. */
ALONE void lay(struct stone *s, uint64_t n)
{
	s[n].size = n + 100; /* @left missing-flush */
	s[n - 1].next = n;
	dam(&s[n - 1].next);
}

static void left(struct stone *s)
{
	for (uint64_t i = 1; i < 9; i++)
		lay(s, i);
}

/* The head leads to what is persisted; only the next call flushes its line, before it stores there. */
ALONE void sink(struct stone *s, uint64_t n)
{
	struct stone *new = s + 64 + n;
	s->grain[1] |= 1ull << n;
	dam(&s->grain[1]);
	new->moss = n;
	new->next = s->next;
	dam(new);
	s->next = (uint64_t)((char *)new - (char *)river); /* @sunk missing-flush-and-fence */
}

static void sunk(struct stone *s)
{
	for (uint64_t i = 1; i < 9; i++)
		sink(s, i);
}

/* A lock beside what it guards. */
ALONE void guarded(struct stone *s)
{
	for (uint64_t i = 1; i < 9; i++) {
		while (__atomic_exchange_n(&s->age, 1, 2))
			;
		s->size = i;
		dam(&s->size);
		__atomic_store_n(&s->age, 0, 3); /* @guarded transient-data */
	}
}

/* Persisted when it was made, and never again: where the run's own state begins, perhaps. */
static void drifted(struct stone *s)
{
	s->next = 4096;
	dam(&s->next);
	for (uint64_t i = 1; i < 40; i++) {
		s[i].size = i;
		dam(&s[i].size);
		s->next = 4096 + i * 8; /* @drifted missing-flush-and-fence */
	}
}

static const struct {
	const char *word;
	void (*go)(struct stone *);
} ways[] = { { "joined", joined }, { "chained", chained }, { "left", left },
	     { "sunk", sunk },     { "guarded", guarded }, { "drifted", drifted } };

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, 1 << 16))
		return 99;
	river = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 2; i < argc; i++)
		for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
			if (!strcmp(argv[i], ways[k].word))
				ways[k].go(river + 64);
	return 0;
}
