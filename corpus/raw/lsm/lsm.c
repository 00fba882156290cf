/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A log-structured merge tree.
 *
 *   line 0      magic, which manifest counts
 *   line 1-4    manifest 0, manifest 1: what is in the log, and the run of each level
 *   then        the log: sixteen records, in the order of their numbers
 *   then        cells: long values, 2^32 and more, which an entry refers to by number
 *   then        for each of three levels two areas, of which one holds the level's run: sorted entries
 *
 * An operation is one record behind the others in the log; it counts when its number and its sum
 * are right. A full log is merged with the first level, and a level that gets too large with the
 * next one: the new runs go to the areas that are not in use, then the other manifest describes
 * them, then one store of eight bytes makes that manifest count. A manifest says from which number
 * on records count, so the merged log is empty.
 *
 * Stores only note which lines they touch; settle() flushes these and waits. So every operation
 * comes to the same few flushes and fences, whatever it did.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x31656572742d6d73ull
#define LEVELS 3u
#define RECORDS 16u
#define CELLS 512u
#define LONG (1ull << 32)    /* values from here on are in cells */
#define IN_CELL (1ull << 63) /* the rest is the number of a cell */
#define TOMBSTONE 0u

static const uint32_t most[LEVELS] = { 64, 256, 2048 }; /* entries of a level's run */

struct entry {
	uint64_t key, value;
};
struct record {
	uint64_t number;
	struct entry e;
	uint64_t sum;
};
struct cell {
	uint64_t key, value, sum;
};
struct run {
	uint64_t area, count, sum;
};
struct PM_ALIGNED manifest {
	uint64_t generation, base; /* records after this number are in the log */
	struct run run[LEVELS];
};
struct PM_ALIGNED pool {
	uint64_t magic, current;
	struct manifest manifest[2];
	PM_ALIGNED struct record log[RECORDS];
	PM_ALIGNED struct cell cell[CELLS];
	PM_ALIGNED struct entry data[];
};

#define AREAS (64u + 256u + 2048u)
#define POOL_SIZE (sizeof(struct pool) + 2 * AREAS * sizeof(struct entry))
#define DIRTY 4096u

struct lsm {
	struct pool *p;
	unsigned used;          /* records in the log */
	uint8_t busy[CELLS];    /* what an entry refers to, or did before the last merge */
	uintptr_t dirty[DIRTY]; /* lines that were touched, and not flushed yet */
	unsigned ndirty;
	struct entry fresh[AREAS + RECORDS]; /* a run that is being made */
};

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 31;
}

/* ---- persistence ---- */

static void touch(struct lsm *t, const void *at, size_t n)
{
	uintptr_t line = (uintptr_t)at & ~(uintptr_t)(PM_LINE - 1), end = (uintptr_t)at + n;

	for (; line < end; line += PM_LINE) {
		unsigned i = t->ndirty;

		while (i > 0 && t->dirty[i - 1] != line)
			i--;
		if (i == 0)
			t->dirty[t->ndirty++] = line;
	}
}

static void settle(struct lsm *t)
{
	for (unsigned i = 0; i < t->ndirty; i++)
		pm_flush_line((void *)t->dirty[i]);
	pm_fence();
	t->ndirty = 0;
}

/* ---- where things are ---- */

static struct manifest *now(const struct lsm *t)
{
	return &t->p->manifest[t->p->current & 1];
}

static struct entry *area(const struct lsm *t, unsigned level, uint64_t which)
{
	struct entry *at = t->p->data;

	for (unsigned i = 0; i < level; i++)
		at += 2 * most[i];
	return at + (which & 1) * most[level];
}

static uint64_t length(const struct lsm *t, unsigned level)
{
	uint64_t n = now(t)->run[level].count;

	return n <= most[level] ? n : 0;
}

static uint64_t record_sum(const struct record *r)
{
	return mix(mix(mix(7, r->number), r->e.key), r->e.value);
}

static uint64_t cell_sum(const struct cell *c, uint64_t key)
{
	return mix(mix(11, key), c->value);
}

static uint64_t run_sum(const struct entry *e, uint64_t n)
{
	uint64_t h = n;

	for (uint64_t i = 0; i < n; i++)
		h = mix(mix(h, e[i].key), e[i].value);
	return h;
}

static int record_counts(const struct lsm *t, unsigned i)
{
	const struct record *r = &t->p->log[i];

	return r->number == now(t)->base + i + 1 && r->sum == record_sum(r);
}

/* The first entry of a sorted run whose key is not below this one. */
static uint64_t position(const struct entry *e, uint64_t n, uint64_t key)
{
	uint64_t low = 0;

	while (low < n) {
		uint64_t middle = (low + n) / 2;

		if (e[middle].key < key)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* The newest entry of a key, a tombstone too, or NULL. */
static struct entry *find(const struct lsm *t, uint64_t key)
{
	for (unsigned i = t->used; i-- > 0;)
		if (t->p->log[i].e.key == key)
			return &t->p->log[i].e;
	for (unsigned level = 0; level < LEVELS; level++) {
		struct entry *e = area(t, level, now(t)->run[level].area);
		uint64_t n = length(t, level), at = position(e, n, key);

		if (at < n && e[at].key == key)
			return &e[at];
	}
	return NULL;
}

static uint64_t value_of(const struct lsm *t, const struct entry *e)
{
	return e->value & IN_CELL ? t->p->cell[e->value % CELLS].value : e->value;
}

/* ---- merging ---- */

static void note_cells(struct lsm *t)
{
	memset(t->busy, 0, sizeof(t->busy));
	for (unsigned i = 0; i < t->used; i++)
		if (t->p->log[i].e.value & IN_CELL)
			t->busy[t->p->log[i].e.value % CELLS] = 1;
	for (unsigned level = 0; level < LEVELS; level++) {
		const struct entry *e = area(t, level, now(t)->run[level].area);

		for (uint64_t i = 0; i < length(t, level); i++)
			if (e[i].value & IN_CELL)
				t->busy[e[i].value % CELLS] = 1;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* The entries of the log, sorted, each key once; returns how many. */
static uint64_t sort_log(const struct lsm *t, struct entry *out)
{
	uint64_t n = 0;

	for (unsigned i = t->used; i-- > 0;) {
		uint64_t k = 0;

		while (k < n && out[k].key != t->p->log[i].e.key)
			k++;
		if (k == n)
			out[n++] = t->p->log[i].e;
	}
	qsort(out, n, sizeof(*out), by_key);
	return n;
}

/* Merges `n` newer entries with a level's run into t->fresh; tombstones go in the last level. */
static uint64_t merge(struct lsm *t, const struct entry *newer, uint64_t n, unsigned level)
{
	const struct entry *older = area(t, level, now(t)->run[level].area);
	uint64_t i = 0, k = 0, out = 0, end = length(t, level);

	while (i < n || k < end) {
		const struct entry *e;

		if (k == end || (i < n && newer[i].key <= older[k].key)) {
			k += k < end && newer[i].key == older[k].key;
			e = &newer[i++];
		} else {
			e = &older[k++];
		}
		if (e->value != TOMBSTONE || level < LEVELS - 1)
			t->fresh[out++] = *e;
	}
	return out;
}

/* Writes what is in t->fresh to the area of a level that is not in use. */
static void write_run(struct lsm *t, unsigned level, uint64_t n, struct run *out)
{
	struct entry *to = area(t, level, !now(t)->run[level].area);

	for (uint64_t i = 0; i < n; i++) {
		to[i] = t->fresh[i]; /* BUG(lsm-odd-run) BUG(lsm-small-run) TRAP(lsm-run-with-manifest) */
#ifdef BUG_LSM_ODD_RUN
		if (i % 4 == 3)
			touch(t, &to[i], sizeof(to[i]));
#elif defined(BUG_LSM_SMALL_RUN)
		if (n > 4)
			touch(t, &to[i], sizeof(to[i]));
#else
		touch(t, &to[i], sizeof(to[i]));
#endif
	}
	*out = (struct run){ !now(t)->run[level].area, n, run_sum(t->fresh, n) };
}

/* Which level the log goes to: the first that has room for it and all above. */
static unsigned target(const struct lsm *t)
{
	uint64_t n = t->used;
	unsigned level = 0;

	for (; level < LEVELS - 1; level++) {
		n += length(t, level);
		if (n <= most[level])
			break;
	}
	return level;
}

static void write_manifest(struct lsm *t, const struct manifest *next)
{
	struct manifest *m = &t->p->manifest[!(t->p->current & 1)];

	m->generation = next->generation;
	m->base = next->base;
	for (unsigned i = 0; i < LEVELS; i++) {
		m->run[i].area = next->run[i].area;
		m->run[i].count = next->run[i].count;
		m->run[i].sum = next->run[i].sum; /* BUG(lsm-manifest-half) */
	}
#ifdef BUG_LSM_MANIFEST_HALF
	touch(t, m, PM_LINE);
#else
	touch(t, m, sizeof(*m));
#endif
	settle(t);
}

static void log_to_levels(struct lsm *t)
{
	static struct entry carried[AREAS + RECORDS];
	struct manifest next = *now(t);
	unsigned level = 0, last = target(t);
	uint64_t n = sort_log(t, carried);

	for (; level < last; level++) {
		n = merge(t, carried, n, level);
		memcpy(carried, t->fresh, n * sizeof(*carried));
		next.run[level].count = 0;
		next.run[level].sum = run_sum(NULL, 0);
	}
	n = merge(t, carried, n, level);
	n = n < most[level] ? n : most[level]; /* more only in a pool that is damaged */
	write_run(t, level, n, &next.run[level]);
#ifndef TRAP_LSM_RUN_WITH_MANIFEST
	if (t->ndirty)
		settle(t);
#endif
	next.generation++;
	next.base += t->used;
	write_manifest(t, &next);
#ifdef BUG_LSM_ODD_RUN
	if (n % 4)
		touch(t, area(t, level, next.run[level].area) + n - 1, sizeof(struct entry));
#elif defined(BUG_LSM_SMALL_RUN)
	if (n && n <= 4)
		touch(t, area(t, level, next.run[level].area), PM_LINE);
#elif defined(BUG_LSM_MANIFEST_HALF)
	touch(t, (char *)&t->p->manifest[!(t->p->current & 1)] + PM_LINE, 8);
#endif
	pm_store64(&t->p->current, !t->p->current); /* BUG(lsm-switch-lazy) */
	touch(t, &t->p->current, 8);
#ifdef BUG_LSM_SWITCH_LAZY
	if (t->p->log[t->used - 1].e.value != TOMBSTONE)
#endif
		settle(t);
	t->used = 0;
	note_cells(t);
}

/* ---- operations ---- */

/* Puts a long value into a cell; what refers to it, or 0 if none is free. */
static uint64_t write_cell(struct lsm *t, const struct entry *old, uint64_t key, uint64_t value)
{
	uint64_t i = 0;
	struct cell *c;

#ifdef BUG_LSM_CELL_IN_PLACE
	if (old && old->value & IN_CELL && (char *)old < (char *)t->p->cell)
		i = old->value % CELLS;
	else
#endif
		while (i < CELLS && t->busy[i])
			i++;
	(void)old;
	if (i == CELLS)
		return 0;
	c = &t->p->cell[i];
	pm_store64(&c->key, key);
	pm_store64(&c->value, value); /* BUG(lsm-cell-late) BUG(lsm-cell-in-place) */
	pm_store64(&c->sum, cell_sum(c, key)); /* BUG(lsm-cell-second-line) */
#if defined(BUG_LSM_CELL_SECOND_LINE)
	touch(t, c, 8);
	settle(t);
	if (((uintptr_t)&c->sum ^ (uintptr_t)c) >= PM_LINE)
		touch(t, &c->sum, 8);
#elif defined(BUG_LSM_CELL_LATE)
	touch(t, c, sizeof(*c));
#else
	touch(t, c, sizeof(*c));
	settle(t);
#endif
	t->busy[i] = 1;
	return IN_CELL | i;
}

static int append(struct lsm *t, const struct entry *old, uint64_t key, uint64_t value)
{
	struct record *r;
	uint64_t kept = value;

	if (value >= LONG && !(kept = write_cell(t, old, key, value)))
		return 0;
	r = &t->p->log[t->used];
	r->number = now(t)->base + t->used + 1;
	r->e.key = key;
	r->e.value = kept;
	r->sum = record_sum(r);
	touch(t, r, sizeof(*r));
	settle(t);
	if (++t->used == RECORDS)
		log_to_levels(t);
	return 1;
}

static enum corpus_result lsm_get(void *store, uint64_t key, uint64_t *out)
{
	const struct entry *e = find(store, key);

	if (!e || e->value == TOMBSTONE)
		return CORPUS_NONE;
	*out = value_of(store, e);
	return CORPUS_VALUE;
}

static enum corpus_result lsm_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	const struct entry *old = find(store, key);
	int existed = lsm_get(store, key, out) == CORPUS_VALUE;

	if (!append(store, old, key, value))
		return CORPUS_FULL;
	return existed ? CORPUS_OLD : CORPUS_NEW;
}

static enum corpus_result lsm_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (lsm_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	return lsm_put(store, key, value, out);
}

static enum corpus_result lsm_del(void *store, uint64_t key, uint64_t *out)
{
	if (lsm_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	append(store, NULL, key, TOMBSTONE);
	return CORPUS_OLD;
}

/* The smallest key from this one on that is anywhere; 0: none. */
static uint64_t next_key(const struct lsm *t, uint64_t key)
{
	uint64_t best = 0;

	for (unsigned i = 0; i < t->used; i++) {
		uint64_t k = t->p->log[i].e.key;

		if (k >= key && (!best || k < best))
			best = k;
	}
	for (unsigned level = 0; level < LEVELS; level++) {
		const struct entry *e = area(t, level, now(t)->run[level].area);
		uint64_t n = length(t, level), at = position(e, n, key);

		if (at < n && (!best || e[at].key < best))
			best = e[at].key;
	}
	return best;
}

static size_t lsm_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	size_t have = 0;

	while (have < n && (key = next_key(store, key))) {
		out[have].key = key;
		have += lsm_get(store, key, &out[have].value) == CORPUS_VALUE;
		key++;
	}
	return have;
}

/* ---- checking ---- */

static void check_entry(const struct lsm *t, const struct entry *e, const char *where)
{
	const struct cell *c;

	if (!(e->value & IN_CELL))
		return;
	if ((e->value & ~IN_CELL) >= CELLS) {
		corpus_wrong("%s: key %lu is in cell %lu", where, e->key,
			     (unsigned long)(e->value & ~IN_CELL));
		return;
	}
	c = &t->p->cell[e->value % CELLS];
	if (c->key != e->key || c->sum != cell_sum(c, e->key))
		corpus_wrong("%s: the cell of key %lu is damaged", where, e->key);
}

static void check_run(const struct lsm *t, unsigned level)
{
	const struct run *run = &now(t)->run[level];
	const struct entry *e = area(t, level, run->area);

	if (run->count > most[level] || run->area > 1) {
		corpus_wrong("level %u has %lu entries", level, run->count);
		return;
	}
	if (run->sum != run_sum(e, run->count))
		corpus_wrong("the run of level %u is damaged", level);
	for (uint64_t i = 0; i < run->count; i++) {
		if (!e[i].key || (i && e[i].key <= e[i - 1].key))
			corpus_wrong("level %u is out of order at %lu", level, i);
		check_entry(t, &e[i], "run");
	}
}

static void lsm_check(void *store)
{
	const struct lsm *t = store;

	if (t->p->current > 1)
		corpus_wrong("manifest %lu counts", t->p->current);
	for (unsigned i = 0; i < LEVELS; i++)
		check_run(t, i);
	for (unsigned i = 0; i < t->used; i++)
		check_entry(t, &t->p->log[i].e, "log");
	for (unsigned i = t->used + 1; i < RECORDS; i++)
		if (record_counts(t, i))
			corpus_wrong("record %u counts, and the one before it does not", i);
}

/* ---- opening ---- */

static void format(struct lsm *t)
{
	for (unsigned i = 0; i < LEVELS; i++)
		t->p->manifest[0].run[i].sum = run_sum(NULL, 0);
	touch(t, &t->p->manifest[0], sizeof(t->p->manifest[0]));
	settle(t);
	pm_store64(&t->p->magic, MAGIC);
	touch(t, &t->p->magic, 8);
	settle(t);
}

static void *lsm_open(const char *path)
{
	int fresh;
	struct lsm *t = calloc(1, sizeof(*t));

	t->p = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	if (!t->p) {
		free(t);
		return NULL;
	}
	if (fresh)
		format(t);
	while (t->used < RECORDS && record_counts(t, t->used))
		t->used++;
	note_cells(t);
	if (t->used == RECORDS)
		log_to_levels(t);
	return t;
}

static void lsm_close(void *store)
{
	struct lsm *t = store;

	corpus_pool_unmap(t->p, POOL_SIZE);
	free(t);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "lsm",
		.open = lsm_open,
		.close = lsm_close,
		.check = lsm_check,
		.put = lsm_put,
		.get = lsm_get,
		.del = lsm_del,
		.upd = lsm_upd,
		.scan = lsm_scan,
	};

	return corpus_main(&program, argc, argv);
}
