/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interval map: a sorted array of disjoint half-open ranges, found by bisection.
 *
 * Setting a range first clears it, which trims or splits what it covers:
 *
 *   before      [----- a -----)      [-- b --)
 *   set c               [------ c ------)
 *   after       [-- a --)[----- c ------)[ b )
 *
 * An array, because a process has few mappings and many lookups; memmove beats a tree there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* Index of the first item that ends after `at`. */
static size_t first_after(const struct imap *m, uint64_t at)
{
	return BISECT(i, m->n, m->p[i].hi <= at);
}

static void insert(struct imap *m, size_t at, struct imap_item item)
{
	VEC_RESERVE(m, m->n + 1);
	memmove(m->p + at + 1, m->p + at, (m->n - at) * sizeof *m->p);
	m->p[at] = item;
	m->n++;
}

void imap_clear(struct imap *m, uint64_t lo, uint64_t hi)
{
	size_t i = first_after(m, lo), end;
	if (lo >= hi || i == m->n)
		return;
	if (m->p[i].lo < lo) {
		struct imap_item left = m->p[i];
		left.hi = lo;
		m->p[i].lo = lo;
		insert(m, i++, left);
	}
	for (end = i; end < m->n && m->p[end].hi <= hi; end++)
		;
	if (end < m->n && m->p[end].lo < hi)
		m->p[end].lo = hi;
	memmove(m->p + i, m->p + end, (m->n - end) * sizeof *m->p);
	m->n -= end - i;
}

void imap_set(struct imap *m, uint64_t lo, uint64_t hi, uint64_t val)
{
	if (lo >= hi)
		return;
	imap_clear(m, lo, hi);
	insert(m, first_after(m, lo), (struct imap_item){ lo, hi, val });
}

const struct imap_item *imap_find(const struct imap *m, uint64_t at)
{
	size_t i = first_after(m, at);
	return i < m->n && m->p[i].lo <= at ? &m->p[i] : NULL;
}

void imap_free(struct imap *m)
{
	free(m->p);
	memset(m, 0, sizeof *m);
}
