// SPDX-License-Identifier: BSD-3-Clause
/*
 * Programs in one, each named by a word, in a style that no rule knows: what is found must follow from
 * what they do. A line that is to be found bears @WORD KIND; -DFLAT puts the helpers inline.
 *
 * usage: evidence POOL WORD...
 */
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef FLAT
#define SELDOM static inline __attribute__((always_inline))
#else
#define SELDOM static __attribute__((noinline))
#endif
#define OFTEN static __attribute__((noinline))

struct apple {
	uint64_t seed, stem, skin, core, leaf[4];
};

static struct apple *orchard;

/* ---- what others would call flush, fence, persist and copy ---- */

SELDOM void ripple(const void *where, size_t far)
{
	for (uintptr_t p = (uintptr_t)where & ~63ull; p < (uintptr_t)where + far; p += 64)
		_mm_clflushopt((void *)p);
}

SELDOM void breathe(void)
{
	_mm_sfence();
}

SELDOM void settle(const void *where, size_t far)
{
	ripple(where, far);
	breathe();
}

SELDOM void pour(void *to, const void *from, size_t far)
{
	for (size_t i = 0; i < far; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
}

/* Takes the address as a number. */
SELDOM void seep(uintptr_t where)
{
	_mm_clflushopt((void *)where);
}

/* In these runs it only flushes, but it is more than a helper. */
OFTEN void ripen(struct apple *a, uint64_t n)
{
	if (n)
		a->stem = n;
	_mm_clflushopt(a);
}

/* ---- correct ---- */

OFTEN void fine(struct apple *a)
{
	a->seed = 7;
	settle(&a->seed, 8);
	pour(a->leaf, "abcdefgh", 8);
	settle(a->leaf, 8);
}

/* ---- helpers ---- */

OFTEN void twice(struct apple *a)
{
	a->seed = 1;
	ripple(&a->seed, 8);
	ripple(&a->seed, 8); /* @twice redundant-flush */
	breathe();
}

OFTEN void spilt(struct apple *a)
{
	pour(a->leaf, "ABCDEFGH", 8);
	settle(a->leaf, 8);
	pour(a->leaf, "IJKLMNOP", 8); /* @spilt missing-flush-and-fence */
	__asm__ volatile("");         /* so that the call is not the function's last jump */
}

OFTEN void numbered(struct apple *a)
{
	a->seed = 1;
	seep((uintptr_t)&a->seed);
	breathe();
	seep((uintptr_t)&a->seed); /* @numbered redundant-flush */
	breathe();                 /* @numbered redundant-fence */
	__asm__ volatile("");
}

/* The pointer is flushed, not what it leads to. */
OFTEN void aside(struct apple *a)
{
	struct apple *volatile own = a;
	own->skin = 1;
	settle((void *)&a->skin, 8);
	own->skin = 2;           /* @aside missing-flush */
	settle((void *)&own, 8); /* @aside flush-of-volatile */
	__asm__ volatile("");
}

/* Again and again what is persistent already. */
OFTEN void echoed(struct apple *a)
{
	a->seed = 5;
	settle(&a->seed, 8);
	for (int i = 0; i < 6; i++)
		*(volatile uint64_t *)&a->seed = 5;
}

OFTEN void ripe(struct apple *a)
{
	a->seed = 1;
	ripen(a, 0);
	breathe();
}

/* The same statement, reached in three ways: one finding. */
OFTEN void mark(struct apple *a, uint64_t n)
{
	a->skin = n; /* @many missing-flush-and-fence */
}

OFTEN void by_hand(struct apple *a)
{
	mark(a, 2);
}

OFTEN void many(struct apple *a)
{
	mark(a, 1);
	settle(&a->skin, 8);
	by_hand(a);
	mark(a + 1, 3);
	for (int i = 0; i < 5; i++)
		mark(a + 2, 4 + (uint64_t)i * 5);
}

/* ---- writers of one word ---- */

struct half {
	uint32_t low, high;
};

OFTEN void halves(struct apple *a)
{
	volatile struct half *h = (volatile struct half *)&a->core;
	h->low = 1;
	h->high = 1;
	settle((void *)h, 8);
	h->low = 2;  /* @halves missing-flush-and-fence */
	h->high = 2; /* @halves missing-flush-and-fence */
}

/* The first value was never persistent either: it is named with the second. */
OFTEN void over(struct apple *a)
{
	a->core = 1;
	settle(&a->core, 8);
	a->core = 2; /* earlier */
	a->core = 3; /* @over missing-flush-and-fence */
}

/* ---- values ---- */

OFTEN void silent(struct apple *a)
{
	a->stem = 5;
	settle(&a->stem, 8);
	a->stem = 5;
}

/* The same bytes again, one by one, in pieces of words. */
OFTEN void piecemeal(struct apple *a)
{
	static const char same[] = "windfall pears";
	volatile char *to = (volatile char *)a->leaf + 3;
	pour((void *)to, same, sizeof same);
	settle((void *)to, sizeof same);
	for (size_t i = 0; i < sizeof same; i++)
		to[i] = same[i];
}

/* … but for one of them. */
OFTEN void nibbled(struct apple *a)
{
	volatile char *to = (volatile char *)a->leaf + 3;
	pour((void *)to, "windfall pears", 14);
	settle((void *)to, 14);
	for (size_t i = 0; i < 14; i++)
		to[i] = "windfall bears"[i]; /* @nibbled missing-flush-and-fence */
}

/* ---- locks, neighbours, counters ---- */

OFTEN void locked(struct apple *a)
{
	for (int i = 0; i < 4; i++) {
		while (__sync_lock_test_and_set(&a->stem, 1))
			;
		a->seed = (uint64_t)i + 100;
		settle(&a->seed, 8);
		*(volatile uint64_t *)&a->stem = 0; /* @locked transient-data */
	}
}

OFTEN void count(struct apple *a)
{
	a->leaf[3]++; /* @neighbour transient-data */
}

OFTEN void neighbour(struct apple *a)
{
	for (int i = 0; i < 4; i++) {
		count(a);
		fine(a);
	}
	count(a);
}

/* A hint that is persisted only because what works with its line is filled by a function that copies. */
OFTEN void glance(struct apple *a)
{
	a->skin++; /* @hinted transient-data */
}

OFTEN void refill(struct apple *a)
{
	pour(a->leaf, "ABCDEFGH", 8);
	settle(a->leaf, 8);
}

OFTEN void hinted(struct apple *a)
{
	glance(a);
	refill(a);
	glance(a);
}

/* One setter for what is persisted and for what is not. */
OFTEN void hand(uint64_t *where, uint64_t n)
{
	*(volatile uint64_t *)where = n; /* @handed transient-data */
}

OFTEN void handed(struct apple *a)
{
	hand(&a->seed, 1);
	settle(&a->seed, 8);
	hand(&a[1].core, 2);
	__asm__ volatile("");
}

/* What is swapped in is no lock's value: a number that large is a link and a count of changes. */
OFTEN void swapped(struct apple *a)
{
	uint64_t old = 1ull << 40, new = 2ull << 40 | 8;
	a->core = old;
	settle(&a->core, 8);
	__sync_bool_compare_and_swap(&a->core, old, new); /* @swapped missing-flush-and-fence */
}

/* Nor is a small number that goes on to others: the top of a stack, say, which sometimes goes back. */
OFTEN void piled(struct apple *a)
{
	static const uint64_t top[] = { 1, 2, 1, 2, 3, 4, 3, 5 };
	uint64_t old = 0, *at = &a[1].core;
	*at = 0;
	settle(at, 8);
	for (size_t i = 0; i < sizeof top / sizeof *top; old = top[i++]) {
		a->seed = i;
		settle(&a->seed, 8);
		__sync_bool_compare_and_swap(at, old, top[i]); /* @piled missing-flush-and-fence */
	}
}

/* ---- what is persistent by chance ---- */

OFTEN void water(struct apple *a)
{
	a->stem = 2;
	settle(&a->stem, 8);
}

OFTEN void sow(struct apple *a)
{
	a->skin = 1; /* @strayed missing-flush */
	__asm__ volatile("");
}

OFTEN void spring(struct apple *a)
{
	sow(a);
	fine(a + 1);
}

OFTEN void summer(struct apple *a)
{
	water(a);
	__asm__ volatile("");
}

/* In summer something else in the line happens to be flushed. */
OFTEN void strayed(struct apple *a)
{
	spring(a);
	summer(a);
}

/* One who knows both relies on the line. */
OFTEN void relied(struct apple *a)
{
	sow(a);
	fine(a + 1);
	water(a);
}

/* So many have written to the line since that the first of them is no longer among those kept. */
OFTEN void plant(struct apple *a)
{
	a->skin = 9; /* @crowded missing-flush */
	__asm__ volatile("");
}

OFTEN void winter(struct apple *a)
{
	plant(a);
	fine(a + 1);
}

OFTEN void crowd(struct apple *a)
{
	volatile uint8_t *p = (volatile uint8_t *)&a->core;
	p[0] = 1, p[1] = 1, p[2] = 1, p[3] = 1, p[4] = 1, p[5] = 1, p[6] = 1, p[7] = 1;
	p[8] = 1, p[9] = 1, p[10] = 1, p[11] = 1, p[12] = 1, p[13] = 1, p[14] = 1, p[15] = 1;
	a->stem = 2;
	settle(&a->stem, 8);
}

OFTEN void crowded(struct apple *a)
{
	winter(a);
	crowd(a);
}

/* What is set in May is overwritten in June, and then persisted: until then a crash loses it. */
OFTEN void bud(struct apple *a)
{
	a->skin = 5; /* @replaced missing-flush */
	__asm__ volatile("");
}

OFTEN void may(struct apple *a)
{
	bud(a);
	fine(a + 1);
}

OFTEN void redden(struct apple *a)
{
	a->skin = 6;
	settle(&a->skin, 8);
	water(a);
}

OFTEN void june(struct apple *a)
{
	redden(a);
	__asm__ volatile("");
}

OFTEN void replaced(struct apple *a)
{
	may(a);
	june(a);
}

/* One who knows both makes the object in steps. */
OFTEN void tended(struct apple *a)
{
	bud(a);
	fine(a + 1);
	redden(a);
}

/* What is forgotten there has the value that is persistent already. */
OFTEN void resow(struct apple *a)
{
	a->skin = 3;
	settle(&a->skin, 8);
}

OFTEN void autumn(struct apple *a)
{
	*(volatile uint64_t *)&a->skin = 3;
}

OFTEN void october(struct apple *a)
{
	autumn(a);
	fine(a + 1);
}

OFTEN void unchanged(struct apple *a)
{
	resow(a);
	october(a);
	summer(a);
}

/* ---- an object that is pointed to, and of which nothing is ever persisted ---- */

OFTEN void published(struct apple *a)
{
	volatile struct apple *b = a + 64;
	b->seed = 9;  /* @published missing-flush */
	b->stem = 11; /* @published missing-flush */
	a->core = (uint64_t)(uintptr_t)b;
	settle(&a->core, 8);
}

/* When somebody looked at it last, in an object of which the rest is persisted. */
OFTEN void glimpse(struct apple *a, uint64_t n)
{
	a->skin = n * 77; /* @glimpsed missing-flush */
	__asm__ volatile("");
}

OFTEN void glimpsed(struct apple *a)
{
	a->core = (uint64_t)(uintptr_t)(a + 8);
	settle(&a->core, 8);
	for (uint64_t i = 0; i < 4; i++) {
		fine(a + 8 + i);
		glimpse(a + 8 + i, i + 1);
		fine(a + 16);
		if (i < 3)
			summer(a + 8 + i);
	}
}

/* ---- data, which nothing points to ---- */

/* Boxes are filled and never flushed; that they are full is. */
OFTEN void filled(struct apple *a)
{
	for (uint64_t i = 0; i < 8; i++) {
		memset(a + 32 + i, (int)i + 1, 48); /* @filled missing-flush */
		a->seed = i;
		settle(&a->seed, 8);
	}
}

/* A word of each that only means something while the program runs. */
OFTEN void penned(struct apple *a)
{
	for (uint64_t i = 0; i < 16; i++) {
		a[32 + i % 8].core = i * 9 + 1; /* @penned transient-data */
		a->seed = i;
		settle(&a->seed, 8);
	}
}

/* One that is written once, like data, before what follows it is persisted. */
OFTEN void entered(struct apple *a)
{
	for (uint64_t i = 0; i < 8; i++) {
		a[32 + i].core = i * 9 + 1; /* @entered missing-flush */
		a->seed = i;
		settle(&a->seed, 8);
	}
}

/* ---- one word at a fixed place ---- */

/* That there is something to repair is not persistent while the work is done. */
OFTEN void flagged(struct apple *a)
{
	for (uint64_t i = 1; i < 6; i++) {
		a->stem = i; /* @flagged missing-flush */
		fine(a + 1);
		a->stem = 0;
		settle(&a->stem, 8);
	}
}

/* New ones are made in steps, in places that were used before. */
OFTEN void graft(struct apple *a)
{
	a->core = 1;
	fine(a + 8);
}

OFTEN void grafted(struct apple *a)
{
	for (uint64_t i = 0; i < 9; i++) {
		graft(a + i % 3);
		a[i % 3].core = i + 5;
		settle(&a[i % 3].core, 8);
	}
}

/* The end of a queue: offsets, which grow, and none of them is a lock's value. */
OFTEN void ended(struct apple *a)
{
	uint64_t *at = &a[1].core;
	*at = 32768;
	settle(at, 8);
	for (uint64_t i = 32768; i < 32768 + 64 * 8; i += 64)
		__sync_bool_compare_and_swap(at, i, i + 64); /* @ended missing-flush-and-fence */
}

/* ---- counts ---- */

OFTEN void basket(struct apple *a)
{
	a->seed = 1;
	a->stem = 9; /* apples left */
	settle(a, sizeof *a);
}

/* How many are left is counted anew after a restart; what is picked is persisted right before. */
OFTEN void pick(struct apple *a, uint64_t n)
{
	a->seed = n;
	settle(&a->seed, 8);
	a->stem--; /* @counted missing-flush-and-fence */
}

OFTEN void counted(struct apple *a)
{
	basket(a);
	for (uint64_t i = 2; i < 9; i++)
		pick(a, i);
}

/* A mark, once for each: it goes from 0 to 1, but counts nothing. */
OFTEN void bruise(struct apple *a)
{
	a->stem = 1; /* @bruised missing-flush */
	__asm__ volatile("");
}

OFTEN void bruised(struct apple *a)
{
	for (int i = 0; i < 6; i++) {
		a[i].stem = 0;
		settle(&a[i].stem, 8);
	}
	for (int i = 0; i < 6; i++)
		bruise(a + i);
	fine(a + 8);
}

/* What is noted after the flush is covered by that of the next time, and is not what it is made for. */
OFTEN void weigh(struct apple *a, uint64_t n)
{
	a->seed = n;
	settle(&a->seed, 8);
	a->core = n * 77 % 31; /* @weighed transient-data */
}

OFTEN void weighed(struct apple *a)
{
	for (uint64_t i = 2; i < 9; i++)
		weigh(a, i);
}

/* ---- fences ---- */

/* The caller goes on in the same line; but that the fence here waits for nothing shows what is missing. */
OFTEN void halve(struct apple *a, uint64_t n)
{
	a->stem = n; /* @halved missing-flush */
	breathe();
}

OFTEN void halved(struct apple *a)
{
	for (uint64_t i = 0; i < 6; i++) {
		a[i].stem = 100;
		settle(&a[i].stem, 8);
	}
	for (uint64_t i = 0; i < 6; i++) {
		halve(a + i, i * 10);
		a[i].stem += 5;
		settle(&a[i].stem, 8);
	}
}

OFTEN void empty(struct apple *a)
{
	a->seed = 3;
	settle(&a->seed, 8);
	_mm_mfence(); /* @empty redundant-fence */
}

/* The second one has nothing to order because the flush before it is missing: one finding. */
OFTEN void forgotten(struct apple *a)
{
	a->seed = 4;
	settle(&a->seed, 8);
	a->seed = 5; /* @forgotten missing-flush */
	breathe();
}

/* Records at any address: where both words are in one line, the second flush covers the first; it is missing all the same. */
OFTEN void stack(uint64_t *at, uint64_t n)
{
	at[0] = n * 7; /* @stacked missing-flush */
	breathe();
	at[1] = n;
	settle(&at[1], 8);
}

OFTEN void stacked(struct apple *a)
{
	for (uint64_t i = 0; i < 6; i++) {
		stack(&a[2 * i].seed + (i % 2 ? 7 : 0), i + 1);
		summer(a + 2 * i);
	}
}

/* Nothing is ever persisted here; but somebody waits for it. */
OFTEN void awaited(struct apple *a)
{
	*(volatile uint64_t *)&a[3].core = 8; /* @awaited missing-flush */
	breathe();
}

/* … and for what was stored beside it. */
OFTEN void paired(struct apple *a)
{
	*(volatile uint64_t *)&a[3].core = 8; /* @paired missing-flush */
	*(volatile uint64_t *)&a[3].skin = 9; /* @paired missing-flush */
	breathe();
}

/* Nothing but a lock inside the C library comes after the flush. */
OFTEN void unfenced(struct apple *a)
{
	a->seed = 6;
	settle(&a->seed, 8);
	a->seed = 7; /* @unfenced missing-fence */
	ripple(&a->seed, 8);
}

static const struct {
	const char *word;
	void (*go)(struct apple *);
} ways[] = { { "fine", fine },           { "twice", twice },         { "spilt", spilt },
	     { "many", many },           { "halves", halves },       { "over", over },
	     { "silent", silent },       { "locked", locked },       { "neighbour", neighbour },
	     { "empty", empty },         { "published", published }, { "forgotten", forgotten },
	     { "unfenced", unfenced },   { "numbered", numbered },   { "ripe", ripe },
	     { "piecemeal", piecemeal }, { "nibbled", nibbled },     { "hinted", hinted },
	     { "handed", handed },       { "swapped", swapped },     { "awaited", awaited },
	     { "piled", piled },         { "aside", aside },         { "echoed", echoed },
	     { "strayed", strayed },     { "relied", relied },       { "unchanged", unchanged },
	     { "crowded", crowded },     { "replaced", replaced },   { "tended", tended },
	     { "filled", filled },       { "penned", penned },       { "flagged", flagged },
	     { "grafted", grafted },     { "ended", ended },         { "paired", paired },
	     { "counted", counted },     { "bruised", bruised },     { "weighed", weighed },
	     { "halved", halved },       { "entered", entered },     { "stacked", stacked },
	     { "glimpsed", glimpsed } };

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, 1 << 16))
		return 99;
	orchard = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 2; i < argc; i++)
		for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
			if (!strcmp(argv[i], ways[k].word))
				ways[k].go(orchard + 128 * (i - 2));
	return 0;
}
