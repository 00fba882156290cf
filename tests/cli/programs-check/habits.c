// SPDX-License-Identifier: BSD-3-Clause
/*
 * Programs in one, each named by a word: what lookups keep up, statistics, versions, marks, headers, setters, calls that end a function. A
 * line that is to be found bears @WORD KIND.
 *
 * usage: habits POOL WORD...
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALONE static __attribute__((noinline))

struct leaf {
	uint64_t name, size, seen;
	int64_t before;
	uint64_t count, version, spare[2];
};

static struct leaf *tree;

ALONE void press(const void *p)
{
	_mm_clflushopt((void *)p);
	_mm_sfence();
}

/* Lookups keep a list of what was used last in what is persisted: at each start it is made anew. */
ALONE uint64_t browse(struct leaf *l)
{
	l->before = l->before * 3 + (int64_t)tree->spare[0]; /* @leafed missing-flush */
	return l->size;
}

/* … and count, which needs no fence. */
ALONE uint64_t admire(struct leaf *l)
{
	l->seen++; /* @admired transient-data */
	return l->size;
}

static void grow(struct leaf *l, uint64_t name)
{
	memset(l, 0, sizeof *l);
	l->name = l->size = name;
	press(l);
}

ALONE uint64_t lookup(struct leaf *l, uint64_t (*look)(struct leaf *))
{
	return look(l) + look(l);
}

static void browsed(struct leaf *l, uint64_t (*look)(struct leaf *))
{
	for (uint64_t i = 1; i < 5; i++)
		grow(l + i, i);
	for (uint64_t i = 0; i < 12; i++) {
		tree->spare[0] = i + 77;
		press(&tree->spare[0]);
		lookup(l + 1 + i % 4, look);
	}
}

static void leafed(struct leaf *l)
{
	browsed(l, browse);
}

static void admired(struct leaf *l)
{
	browsed(l, admire);
}

/* Written back now and then. */
ALONE void tally(struct leaf *l, uint64_t i)
{
	l[i].size = i;
	press(&l[i].size);
	l->count++;
}

static void tallied(struct leaf *l)
{
	for (uint64_t i = 1; i < 65; i++) {
		tally(l, i);
		if (i % 16 == 0)
			press(&l->count);
	}
}

/* An even version is made odd, and then the next even one. */
ALONE void revise(struct leaf *l, uint64_t i)
{
	uint64_t was = l->version;
	__atomic_compare_exchange_n(&l->version, &was, was + 1, 0, 2, 0);
	l->size = i * 100;
	press(&l->size);
	__atomic_store_n(&l->version, was + 2, 3); /* @revised transient-data */
}

static void revised(struct leaf *l)
{
	for (uint64_t i = 1; i < 9; i++)
		revise(l, i);
}

/* A flag that is cleared each time counts nothing. */
ALONE void unmark(struct leaf *l)
{
	l->spare[1] = 1;
	press(&l->spare[1]);
	l[1].size++;
	press(&l[1].size);
	l->spare[1] = 0; /* @unmarked missing-fence */
	_mm_clflushopt(&l->spare[1]);
}

static void unmarked(struct leaf *l)
{
	for (uint64_t i = 1; i < 9; i++)
		unmark(l);
}

/* All but one of its users persist what it stores; others store there again. */
static void hang(struct leaf *l, int64_t to)
{
	l->before = to; /* @plucked missing-flush */
}

ALONE void pluck(struct leaf *l)
{
	hang(l, l->before - 64);
	l[1].name++;
	press(&l[1].name);
}

ALONE void stick(struct leaf *l, int64_t to)
{
	l[2].name = (uint64_t)to;
	press(&l[2].name);
	hang(l, to);
	press(&l->before);
}

static void plucked(struct leaf *l)
{
	for (int64_t i = 1; i < 9; i++) {
		stick(l, i * 640);
		stick(l, i * 640 + 64);
		pluck(l);
		stick(l, i * 6400);
	}
}

/* Optimised, the function has left by the jump that was its last call. */
ALONE void end(struct leaf *l)
{
	l->size += 3;
	press(&l->size);
	if (l->size == 1)
		return;
	l[1].count = l->size;
	press(&l[1].count);
	press(&l[1].count); /* @ended redundant-flush */ /* @fenced redundant-fence */
}

static void ended(struct leaf *l)
{
	for (uint64_t i = 1; i < 9; i++)
		end(l);
}

/* A link is marked in its low bit until it is persistent; that the mark is gone need not be. */
ALONE void chain(struct leaf *l, uint64_t to)
{
	uint64_t was = l->size, marked = to | 1;
	if (!__atomic_compare_exchange_n(&l->size, &was, marked, 0, 5, 5))
		return;
	press(&l->size);
	__atomic_compare_exchange_n(&l->size, &marked, to, 0, 5, 5);
}

static void linked(struct leaf *l)
{
	for (uint64_t i = 1; i < 9; i++)
		chain(l + i % 3, i * 64);
}

/* Whose turn it is: an atomic instruction stores a small number, as into a lock, but this one is persisted … */
ALONE void fill(struct leaf *l, uint64_t turn)
{
	l[8].name = turn * 1000;
	press(&l[8].name);
	__atomic_exchange_n(&l->count, turn, 5);
	press(&l->count);
}

/* … and this one forgotten. */
ALONE void drain(struct leaf *l, uint64_t turn)
{
	l[9].name = turn * 3000;
	press(&l[9].name);
	__atomic_exchange_n(&l->count, turn + 17, 5); /* @turned missing-flush-and-fence */
}

static void turned(struct leaf *l)
{
	for (uint64_t i = 1; i < 13; i++) {
		fill(l + i % 4, i);
		if (i > 4)
			drain(l + (i + 1) % 4, i - 3);
	}
}

/* What a file begins with is found without any pointer: it was forgotten … */
static void sealed(struct leaf *l)
{
	tree->size = 1 << 16;
	press(&tree->size);
	memcpy(&tree->name, "shelf", sizeof "shelf"); /* @sealed missing-flush */
	grow(l, 3);
}

/* … but for what is stored there again and again. */
static void hinted(struct leaf *l)
{
	tree->size = 1 << 16;
	press(&tree->size);
	for (uint64_t i = 3; i < 9; i++) {
		tree->name = i * i; /* @hinted transient-data */
		grow(l + i, i);
	}
}

/* … and who has it open. */
static void owned(struct leaf *l)
{
	pid_t own = getpid();
	tree->size = 1 << 16;
	press(&tree->size);
	tree->name = (uint64_t)own;    /* @owned transient-data */
	*(pid_t *)&tree->before = own; /* @owned transient-data */
	grow(l, 3);
}

static const struct {
	const char *word;
	void (*go)(struct leaf *);
} ways[] = { { "leafed", leafed },   { "admired", admired },   { "tallied", tallied },
	     { "revised", revised }, { "unmarked", unmarked }, { "plucked", plucked },
	     { "ended", ended },     { "linked", linked },     { "turned", turned },
	     { "sealed", sealed },   { "hinted", hinted },     { "owned", owned } };

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, 1 << 16))
		return 99;
	tree = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 2; i < argc; i++)
		for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
			if (!strcmp(argv[i], ways[k].word))
				ways[k].go(tree + 64);
	return 0;
}
