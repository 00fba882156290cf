/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * undo: a table under an undo log, terse as old Unix code.
 *
 * Pool: magic | n | log, 4 records in one line | 4096: keys | vals | sums
 *
 * Slot i is keys[i], vals[i], sums[i]; sums[i] is f(key, val). What changes
 * together is logged first: the records, then n. n = 0 ends a change.
 */
#include <stdlib.h>
#include <string.h>
#include "common/corpus.h"
#include "common/pm.h"

#define MAGIC	0x316f646e756f646eull
#define NSLOT	256
#define NREC	4

typedef uint64_t u64;

struct rec {
	u64 off, old;
};

struct pool {
	u64 magic PM_ALIGNED;
	u64 n PM_ALIGNED;
	struct rec log[NREC] PM_ALIGNED;
	u64 items PM_ALIGNED;	/* only in a variant */
	u64 last PM_ALIGNED;	/* only in a variant: where a key was found, or not any more */
	u64 keys[NSLOT] __attribute__((aligned(4096)));
	u64 vals[NSLOT];
	u64 sums[NSLOT];
};

static struct pool *P;

static u64 f(u64 k, u64 v) {
	k = (k ^ v << 7) * 0x9e3779b97f4a7c15ull;
	return k ^ k >> 32;
}

static void wb(const void *p, size_t n) {
	pm_flush(p, n);
}

static void sync1(u64 *p) {
	wb(p, sizeof *p);
	pm_fence();
}

static void rec(unsigned i, u64 *p) {
#ifdef TRAP_UNDO_NT
	pm_nt_store64(&P->log[i].off, (u64)((char *)p - (char *)P));	/* TRAP(undo-nt) */
	pm_nt_store64(&P->log[i].old, *p);
#else
	P->log[i].off = (u64)((char *)p - (char *)P);
	P->log[i].old = *p;	/* BUG(undo-rec-unflushed) */
#endif
}

/* begin - log the words that are to change */
static void begin(unsigned n, u64 *p[]) {
	unsigned i;
#ifdef BUG_UNDO_SAME_WORDS
	static u64 *was[NREC];
	static unsigned nwas;

	/* the log names these words already */
	if (n != nwas || memcmp(was, p, n * sizeof *p) != 0)
#endif
	for (i = 0; i < n; i++)
		rec(i, p[i]);
#ifdef BUG_UNDO_SAME_WORDS
	nwas = n;
	memcpy(was, p, n * sizeof *p);
#endif
#if defined(TRAP_UNDO_NT)
	pm_fence();
#elif defined(BUG_UNDO_REC_UNFLUSHED)
	pm_fence();
#elif defined(BUG_UNDO_LOG_LATE)
	wb(P->log, n * sizeof(struct rec));
#else
	wb(P->log, n * sizeof(struct rec));
	pm_fence();
#endif
#ifdef BUG_UNDO_FENCE
	pm_fence();	/* BUG(undo-fence) */
#endif
	pm_store64(&P->n, n);	/* BUG(undo-log-late) BUG(undo-same-words) */
	sync1(&P->n);
}

/* end - the new words are in place */
static void end(unsigned n, u64 *p[]) {
	unsigned i;

	for (i = 0; i < n; i++)
		wb(p[i], sizeof *p[i]);
#ifndef BUG_UNDO_DATA_UNFENCED
	pm_fence();
#endif
	pm_store64(&P->n, 0);	/* BUG(undo-data-unfenced) BUG(undo-end-unpersisted) */
#ifndef BUG_UNDO_END_UNPERSISTED
	sync1(&P->n);
#endif
#ifdef BUG_UNDO_END_TWICE
	wb(&P->n, sizeof P->n);	/* BUG(undo-end-twice) */
#endif
}

static void set(unsigned i, u64 k, u64 v) {
	u64 *p[3] = {&P->vals[i], &P->sums[i], &P->keys[i]};
	unsigned n = P->keys[i] == k ? 2 : 3;

	begin(n, p);
	pm_store64(p[0], v);
	pm_store64(p[1], f(k, v));
	if (n == 3)
		pm_store64(p[2], k);	/* BUG(undo-short) */
	end(n, p);
}

static void count(u64 d) {
#if defined(BUG_UNDO_ITEMS) || defined(TRAP_UNDO_ITEMS)
	P->items += d;	/* BUG(undo-items) TRAP(undo-items-rebuilt) */
#else
	(void)d;
#endif
}

/* find - the slot of k, or NSLOT */
static unsigned find(u64 k) {
	unsigned i;

#ifdef TRAP_UNDO_LAST
	if (k && P->last < NSLOT && P->keys[P->last] == k)
		return P->last;
	for (i = 0; i < NSLOT && P->keys[i] != k; i++)
		;
	P->last = i;	/* TRAP(undo-last) */
	return i;
#endif
	for (i = 0; i < NSLOT && P->keys[i] != k; i++)
		;
	return i;
}

static enum corpus_result get(void *s, u64 k, u64 *out) {
	unsigned i = find(k);

	(void)s;
	if (i == NSLOT)
		return CORPUS_NONE;
	*out = P->vals[i];
	return CORPUS_VALUE;
}

static enum corpus_result upd(void *s, u64 k, u64 v, u64 *out) {
	unsigned i = find(k);

	(void)s;
	if (i == NSLOT)
		return CORPUS_NONE;
	*out = P->vals[i];
#ifdef BUG_UNDO_UPD_DEL_FIRST
	pm_store64(&P->keys[i], 0);	/* BUG(undo-upd-del-first) */
	sync1(&P->keys[i]);
#endif
	set(i, k, v);
	return CORPUS_OLD;
}

static enum corpus_result put(void *s, u64 k, u64 v, u64 *out) {
	enum corpus_result r = upd(s, k, v, out);
	unsigned i;

	if (r != CORPUS_NONE)
		return r;
	if ((i = find(0)) == NSLOT)
		return CORPUS_FULL;
	set(i, k, v);
	count(1);
	return CORPUS_NEW;
}

static enum corpus_result del(void *s, u64 k, u64 *out) {
	unsigned i = find(k);

	(void)s;
	if (i == NSLOT)
		return CORPUS_NONE;
	*out = P->vals[i];
	pm_store64(&P->keys[i], 0);	/* BUG(undo-del-unfenced) */
#ifdef BUG_UNDO_DEL_UNFENCED
	wb(&P->keys[i], sizeof(u64));
#else
	sync1(&P->keys[i]);
#endif
	count(-1ull);
	return CORPUS_OLD;
}

static int sane(const struct rec *r) {
	return r->off >= offsetof(struct pool, keys) && r->off < sizeof *P && r->off % 8 == 0;
}

/* rollback - a change was under way */
static void rollback(void) {
	u64 i, n = P->n > NREC ? NREC : P->n;

	if (P->n == 0)
		return;
#ifdef BUG_UNDO_SHORT
	n = n > 2 ? 2 : n;
#endif
	for (i = 0; i < n; i++)
		if (sane(&P->log[i])) {
			u64 *p = (u64 *)((char *)P + P->log[i].off);

			pm_store64(p, P->log[i].old);
			wb(p, sizeof *p);
		}
	pm_fence();
	pm_store64(&P->n, 0);
	sync1(&P->n);
}

static void check(void *s) {
	unsigned i, j;

	(void)s;
	for (i = 0; i < NSLOT; i++) {
		if (P->keys[i] == 0)
			continue;
		if (P->sums[i] != f(P->keys[i], P->vals[i]))
			corpus_wrong("slot %u of key %lu is torn", i, P->keys[i]);
		for (j = 0; j < i; j++)
			if (P->keys[j] == P->keys[i])
				corpus_wrong("key %lu is in slots %u and %u", P->keys[i], j, i);
	}
}

static void *opn(const char *path) {
	int fresh;

	if (!(P = corpus_pool_map(path, sizeof *P, MAGIC, NULL, &fresh)))
		return NULL;
	if (fresh) {
		pm_store64(&P->magic, MAGIC);
		sync1(&P->magic);
	}
	rollback();
#if defined(BUG_UNDO_ITEMS) || defined(TRAP_UNDO_ITEMS)
	u64 n = 0;

	for (unsigned i = 0; i < NSLOT; i++)
		n += P->keys[i] != 0;
	P->items = n;
#endif
	return P;
}

static void cls(void *s) {
	corpus_pool_unmap(s, sizeof *P);
}

int main(int argc, char **argv) {
	static const struct corpus_program p = {
		"undo", opn, cls, check, put, get, del, upd, NULL
	};

	return corpus_main(&p, argc, argv);
}
