/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hashing (xxHash), and a hash table from 64-bit keys to 64-bit values.
 *
 * The table is open-addressed with linear probing and at most 3/4 full. Deleting moves the
 * rest of the probe run back instead of leaving tombstones, so that a table with many
 * deletions stays as fast as a fresh one (Knuth, TAOCP 3, 6.4, algorithm R).
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/base.h"

uint64_t hash_bytes(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

uint64_t hash_seeded(const void *p, size_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(p, n, seed);
}

static size_t home(const struct hmap *m, uint64_t key)
{
	return (size_t)hash_mix(key, 0) & (m->cap - 1);
}

/* Where key is, or the free place where it belongs. */
static size_t place(const struct hmap *m, uint64_t key)
{
	size_t i = home(m, key);
	while (m->used[i] && m->key[i] != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

bool hmap_get(const struct hmap *m, uint64_t key, uint64_t *val)
{
	size_t i;
	if (!m->n)
		return false;
	i = place(m, key);
	if (!m->used[i])
		return false;
	if (val)
		*val = m->val[i];
	return true;
}

static void grow(struct hmap *m)
{
	struct hmap big = { .cap = m->cap ? m->cap * 2 : 16 };
	big.key = xcalloc(big.cap, sizeof *big.key);
	big.val = xcalloc(big.cap, sizeof *big.val);
	big.used = xcalloc(big.cap, sizeof *big.used);
	for (size_t i = 0; i < m->cap; i++)
		if (m->used[i]) {
			size_t to = place(&big, m->key[i]);
			big.key[to] = m->key[i];
			big.val[to] = m->val[i];
			big.used[to] = 1;
		}
	big.n = m->n;
	hmap_free(m);
	*m = big;
}

void hmap_put(struct hmap *m, uint64_t key, uint64_t val)
{
	size_t i;
	if (m->n + 1 > m->cap / 4 * 3)
		grow(m);
	i = place(m, key);
	if (!m->used[i]) {
		m->used[i] = 1;
		m->key[i] = key;
		m->n++;
	}
	m->val[i] = val;
}

bool hmap_del(struct hmap *m, uint64_t key)
{
	size_t hole, i;
	if (!m->n)
		return false;
	hole = place(m, key);
	if (!m->used[hole])
		return false;
	for (i = (hole + 1) & (m->cap - 1); m->used[i]; i = (i + 1) & (m->cap - 1)) {
		/* The item at i may fill the hole unless its home lies after the hole. */
		size_t dist = (i - home(m, m->key[i])) & (m->cap - 1);

		if (dist < ((i - hole) & (m->cap - 1)))
			continue;
		m->key[hole] = m->key[i];
		m->val[hole] = m->val[i];
		hole = i;
	}
	m->used[hole] = 0;
	m->n--;
	return true;
}

void hmap_free(struct hmap *m)
{
	free(m->key);
	free(m->val);
	free(m->used);
	memset(m, 0, sizeof *m);
}
