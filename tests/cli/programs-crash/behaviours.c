/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Update behaviours, as the figures and listings of SQUINT have them (Neal, chapter 4). Fields lie on lines of their own.
 *
 *   init              makes the pool
 *   epoch             the first epoch of figure 4.5, alone: figure 4.7
 *   figure            figure 4.5: X in full, X in part, Y, the rest of X
 *   insert N          listing 4.1, N times: no order between key, value and valid
 *   replace           listing 4.2: the same to a new entry; the old one is no longer valid
 *   ordered N         listing 4.3: the key is persistent before the others are stored
 *   nested            stores to a struct inside another, by a pointer to it and by the outer one
 *   wide              eleven words without any order, which check does not look at
 *   check             a valid entry has a key and a value
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ON_ITS_LINE alignas(64)
#define BYTES (64u << 10)

struct x {
	ON_ITS_LINE uint64_t a;
	ON_ITS_LINE uint64_t b;
	ON_ITS_LINE uint64_t c;
	ON_ITS_LINE uint64_t d;
};
struct y {
	ON_ITS_LINE uint64_t q;
};
struct entry {
	ON_ITS_LINE uint64_t key;
	ON_ITS_LINE uint64_t value;
	ON_ITS_LINE uint64_t valid;
};
struct inner {
	ON_ITS_LINE uint64_t one;
	ON_ITS_LINE uint64_t two;
};
struct outer {
	ON_ITS_LINE uint64_t head;
	struct inner inner;
};
struct wide {
	struct {
		ON_ITS_LINE uint64_t v;
	} word[11];
};
struct pool {
	struct x x;
	struct y y;
	struct outer outer;
	struct wide wide;
	struct entry entry[64];
};

static void flush(const void *p, size_t n)
{
	for (const char *at = p; at < (const char *)p + n; at += 64)
		__asm__ volatile("clwb %0" : "+m"(*(volatile char *)at));
	_mm_sfence();
}

static void update_abc(struct x *x, uint64_t v)
{
	x->a = v;
	flush(x, sizeof *x);
	x->b = v;
	x->c = v;
	flush(x, sizeof *x);
}

static void update_d(struct x *x, uint64_t v)
{
	x->d = v;
	flush(x, sizeof *x);
}

static void figure(struct pool *p)
{
	update_abc(&p->x, 1);
	update_d(&p->x, 1);
	update_abc(&p->x, 2);
	p->y.q = 2;
	flush(&p->y, sizeof p->y);
	update_d(&p->x, 2);
}

static void insert(struct entry *e, uint64_t key)
{
	e->key = key;
	e->value = key;
	e->valid = 1;
	flush(e, sizeof *e);
}

static void replace(struct entry *new_entry, struct entry *old_entry)
{
	new_entry->key = 7;
	new_entry->value = 8;
	new_entry->valid = 1;
	old_entry->valid = 0;
	flush(new_entry, sizeof *new_entry);
	flush(old_entry, sizeof *old_entry);
}

static void insert_ordered(struct entry *e, uint64_t key)
{
	e->key = key;
	flush(&e->key, sizeof e->key);
	e->value = key;
	e->valid = 1;
	flush(e, sizeof *e);
}

static void fill(struct inner *i)
{
	i->one = 1;
	i->two = 2;
	flush(i, sizeof *i);
}

static void widen(struct wide *w)
{
	for (unsigned i = 0; i < 11; i++)
		w->word[i].v = i + 1;
	flush(w, sizeof *w);
}

static int check(const struct pool *p)
{
	for (size_t i = 0; i < sizeof p->entry / sizeof *p->entry; i++)
		if (p->entry[i].valid && (!p->entry[i].key || !p->entry[i].value)) {
			printf("entry %zu is not whole\n", i);
			return 1;
		}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	unsigned n = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, BYTES))
		return 2;
	struct pool *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	for (unsigned i = 0; i < n && i < 32; i++)
		if (!strcmp(mode, "insert"))
			insert(&p->entry[i], i + 1);
		else if (!strcmp(mode, "ordered"))
			insert_ordered(&p->entry[32 + i], i + 1);
	if (!strcmp(mode, "epoch")) {
		update_abc(&p->x, 1);
		update_d(&p->x, 1);
	}
	if (!strcmp(mode, "figure"))
		figure(p);
	if (!strcmp(mode, "replace")) {
		insert(&p->entry[0], 1);
		replace(&p->entry[1], &p->entry[0]);
		insert_ordered(&p->entry[2], 3);
	}
	if (!strcmp(mode, "wide"))
		widen(&p->wide);
	if (!strcmp(mode, "nested")) {
		p->outer.head = 1;
		fill(&p->outer.inner);
	}
	return !strcmp(mode, "check") ? check(p) : 0;
}
