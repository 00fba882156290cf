/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extendible hashing with segments (after CCEH).
 *
 *   line 0   magic
 *   line 1   depth G of the directory (and, in one variant, where the directory is)
 *   4096     directories: that of depth G is at 4096 + 8 * 2^G, 2^G offsets of segments
 *   8192     segments: a line with the local depth, then 8 buckets of one line with 4 pairs each
 *
 *   directory, G = 2      00 -> A    01 -> B    10 -> C    11 -> C      (C has local depth 1)
 *
 * The top G bits of a key's hash choose the directory entry, its low 3 bits a bucket; the pair is
 * in that bucket or the next. 2^(G-L) entries in a row point to a segment of local depth L.
 *   insert   value, then key, into a free pair of one line: the line persists its stores in that
 *            order, so a persistent key implies the value. Overwriting a value or clearing a key
 *            is one store
 *   split    of segment S: copy the pairs whose next hash bit is 1 to a new segment T, persist;
 *            point the upper half of S's entries to T, persist; increase S's local depth, persist.
 *            S keeps the pairs that moved; they no longer have its prefix and count as free. A
 *            crash before the last step leaves entries of both kinds under S's old depth: recovery
 *            points them all to S again
 *   double   if S has only one entry: write the directory of depth G+1, persist; then one store
 *            of G+1
 * Which segments are in use is not stored; it is found out at every open.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdlib.h>
#include <string.h>

#include "holdfast.h"

#define MAGIC 0x3168656363687268ull
#define DIRECTORIES_START 4096u
#define SEGMENTS_START 8192u
#define SEGMENTS 128u
#define DEPTH_MAX 8u
#define BUCKETS 8u
#define PAIRS 4u
#define POOL_SIZE (SEGMENTS_START + SEGMENTS * sizeof(struct segment))

struct pair {
	uint64_t key; /* 0 is free */
	uint64_t value;
};

struct segment {
	struct PM_ALIGNED {
		uint64_t depth;
		uint64_t lock; /* only in variants */
	} head;
	struct pair PM_ALIGNED pair[BUCKETS * PAIRS]; /* PAIRS to a bucket */
};

_Static_assert(sizeof(struct segment) == (1 + BUCKETS) * PM_LINE, "as drawn above");

struct header {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t depth;
		uint64_t directory; /* only in one variant */
		uint64_t segments;  /* likewise: how many were ever used */
	} root;
};

struct table {
	struct header *header;
	char *base;
	unsigned char used[SEGMENTS];
};

static uint64_t hash(uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

/* The first `depth` bits of a key's hash. */
static uint64_t prefix(uint64_t key, uint64_t depth)
{
	return hash(key) >> (64 - depth);
}

static uint64_t depth_of(const struct table *t)
{
	return t->header->root.depth;
}

static uint64_t *directory_at(const struct table *t, uint64_t depth)
{
	return (uint64_t *)(t->base + DIRECTORIES_START) + (1u << depth);
}

static uint64_t *directory(const struct table *t)
{
#ifdef BUG_CCEH_DOUBLE_TWO_WORDS
	return (uint64_t *)(t->base + t->header->root.directory);
#else
	return directory_at(t, depth_of(t));
#endif
}

static struct segment *segment_at(const struct table *t, uint64_t offset)
{
	return (struct segment *)(t->base + offset);
}

static struct segment *segment_of(const struct table *t, uint64_t key)
{
	return segment_at(t, directory(t)[prefix(key, depth_of(t))]);
}

static uint64_t segment_number(const struct table *t, const struct segment *s)
{
	return (uint64_t)(s - segment_at(t, SEGMENTS_START));
}

/* The i-th of the pairs where a key may be in its segment. */
static struct pair *candidate(struct segment *s, uint64_t key, unsigned i)
{
	return &s->pair[(hash(key) + i / PAIRS) % BUCKETS * PAIRS + i % PAIRS];
}

static struct pair *find(const struct table *t, uint64_t key)
{
	struct segment *s = segment_of(t, key);

	for (unsigned i = 0; i < 2 * PAIRS; i++)
		if (candidate(s, key, i)->key == key)
			return candidate(s, key, i);
	return NULL;
}

/* A pair where `key` can be put: empty, or left over from a split. */
static struct pair *find_free(const struct table *t, uint64_t key)
{
	struct segment *s = segment_of(t, key);
	uint64_t depth = s->head.depth;

	for (unsigned i = 0; i < 2 * PAIRS; i++) {
		struct pair *p = candidate(s, key, i);

		if (!p->key || prefix(p->key, depth) != prefix(key, depth))
			return p;
	}
	return NULL;
}

/* ---- split and double ---- */

static struct segment *new_segment(struct table *t)
{
	for (uint64_t i = 0; i < SEGMENTS; i++) {
		if (t->used[i])
			continue;
		t->used[i] = 1;
		return segment_at(t, SEGMENTS_START) + i;
	}
	return NULL;
}

static int double_directory(struct table *t)
{
	uint64_t depth = depth_of(t) + 1, *from = directory(t), *to = directory_at(t, depth);

	if (depth > DEPTH_MAX)
		return 0;
	for (uint64_t i = 0; i < 1u << depth; i++)
		to[i] = from[i / 2];
	pm_persist(to, sizeof(*to) << depth);
	pm_store64(&t->header->root.depth, depth); /* BUG(cceh-double-two-words) */
#ifdef BUG_CCEH_DOUBLE_TWO_WORDS
	pm_store64(&t->header->root.directory, (uint64_t)((char *)to - t->base));
#endif
	pm_persist(&t->header->root, sizeof(t->header->root));
	return 1;
}

/* Copies the pairs of `from` whose next hash bit is 1 to the same places of `to`, one level deeper;
 * flushed, not fenced. */
static void fill_segment(struct segment *to, const struct segment *from, uint64_t old_prefix)
{
	struct segment image = { .head = { .depth = from->head.depth + 1 } };
	const struct pair *p = from->pair;
	struct pair *out = image.pair;

#ifdef TRAP_CCEH_ZERO_FIRST
	memset(to, 0, sizeof(*to));
	out = to->pair;
#endif
	for (unsigned i = 0; i < BUCKETS * PAIRS; i++)
		if (p[i].key && prefix(p[i].key, from->head.depth + 1) == 2 * old_prefix + 1)
			out[i] = p[i]; /* TRAP(cceh-zero-first) */
#ifdef TRAP_CCEH_ZERO_FIRST
	to->head.depth = image.head.depth;
#else
	memcpy(to, &image, sizeof(image)); /* BUG(cceh-segment-late) */
#endif
#ifndef BUG_CCEH_SEGMENT_LATE
	pm_flush(to, sizeof(*to));
#endif
}

/* Points the upper half of a segment's directory entries to `to`. */
static void redirect(struct table *t, uint64_t first, uint64_t count, const struct segment *to)
{
	uint64_t *entry = directory(t) + first + count / 2,
		 offset = (uint64_t)((const char *)to - t->base);

	for (uint64_t i = 0; i < count / 2; i++)
		pm_store64(&entry[i], offset); /* BUG(cceh-entries-short) BUG(cceh-no-rollback) TRAP(cceh-one-fence) */
#ifdef BUG_CCEH_ENTRIES_SHORT
	pm_persist(&entry[count / 2 - 1], sizeof(*entry));
#else
	pm_persist(entry, count / 2 * sizeof(*entry));
#endif
}

static void deepen(struct segment *s)
{
	pm_store64(&s->head.depth, s->head.depth + 1); /* BUG(cceh-depth-first) BUG(cceh-depth-unpersisted) BUG(cceh-recovery-loop) */
#if defined(BUG_CCEH_FLUSH_SEGMENT)
	pm_flush(s, sizeof(*s)); /* BUG(cceh-flush-segment) */
	pm_fence();
#elif !defined(BUG_CCEH_DEPTH_UNPERSISTED)
	pm_persist(&s->head, sizeof(s->head));
#endif
}

/* Splits the segment of `key`. Returns 0 when the table cannot grow any more. */
static int split(struct table *t, uint64_t key)
{
	struct segment *s = segment_of(t, key), *to;
	uint64_t depth = s->head.depth, count;

	if (depth == DEPTH_MAX || !(to = new_segment(t)))
		return 0;
	fill_segment(to, s, prefix(key, depth));
#if !defined(BUG_CCEH_SEGMENT_LATE) && !defined(TRAP_CCEH_ONE_FENCE)
	pm_fence();
#endif
#ifdef BUG_CCEH_RECOVERY_LOOP
	deepen(s);
#endif
	if (depth == depth_of(t))
		double_directory(t);
	count = 1u << (depth_of(t) - depth);
#ifdef BUG_CCEH_DEPTH_FIRST
	deepen(s);
#endif
	redirect(t, prefix(key, depth) * count, count, to);
#if !defined(BUG_CCEH_DEPTH_FIRST) && !defined(BUG_CCEH_RECOVERY_LOOP)
	deepen(s);
#endif
#ifdef BUG_CCEH_SEGMENT_LATE
	pm_persist(to, sizeof(*to));
#endif
#ifdef BUG_CCEH_SEGMENTS_LATE
	if (segment_number(t, to) >= t->header->root.segments) {
		pm_store64(&t->header->root.segments, segment_number(t, to) + 1); /* BUG(cceh-segments-late) */
		pm_persist(&t->header->root, sizeof(t->header->root));
	}
#endif
	return 1;
}

/* ---- operations ---- */

static void lock(struct table *t, uint64_t key, uint64_t taken)
{
#if defined(BUG_CCEH_LOCK) || defined(TRAP_CCEH_LOCK)
	segment_of(t, key)->head.lock = taken; /* BUG(cceh-lock-transient) TRAP(cceh-lock) */
#else
	(void)t;
	(void)key;
	(void)taken;
#endif
}

static enum corpus_result cceh_get(void *store, uint64_t key, uint64_t *out)
{
	struct pair *p = find(store, key);

	if (!p)
		return CORPUS_NONE;
	*out = p->value;
	return CORPUS_VALUE;
}

static enum corpus_result cceh_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct pair *p = find(store, key);

	if (!p)
		return CORPUS_NONE;
	*out = p->value;
	lock(store, key, 1);
	pm_store64(&p->value, value); /* BUG(cceh-upd-unpersisted) */
#ifndef BUG_CCEH_UPD_UNPERSISTED
	pm_persist(&p->value, sizeof(p->value));
#endif
	lock(store, key, 0);
	return CORPUS_OLD;
}

static void insert(struct table *t, struct pair *p, uint64_t key, uint64_t value)
{
	lock(t, key, 1);
#ifdef BUG_CCEH_KEY_FIRST
	pm_store64(&p->key, key); /* BUG(cceh-key-first) */
	pm_compiler_order();
	pm_store64(&p->value, value);
#else
	pm_store64(&p->value, value);
	pm_compiler_order();
	pm_store64(&p->key, key);
#endif
	pm_persist(p, sizeof(*p));
	lock(t, key, 0);
}

static enum corpus_result cceh_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct pair *p;

	if (cceh_upd(store, key, value, out) == CORPUS_OLD)
		return CORPUS_OLD;
	while (!(p = find_free(store, key)))
		if (!split(store, key))
			return CORPUS_FULL;
	insert(store, p, key, value);
	return CORPUS_NEW;
}

static enum corpus_result cceh_del(void *store, uint64_t key, uint64_t *out)
{
	struct pair *p = find(store, key);

	if (!p)
		return CORPUS_NONE;
	*out = p->value;
	lock(store, key, 1);
	pm_store64(&p->key, 0);
	pm_persist(&p->key, sizeof(p->key));
	lock(store, key, 0);
	return CORPUS_OLD;
}

/* ---- opening, recovery, check ---- */

static int root_ok(const struct table *t)
{
	int ok = depth_of(t) >= 1 && depth_of(t) <= DEPTH_MAX &&
		 directory(t) == directory_at(t, depth_of(t));

	if (!ok)
		corpus_wrong("root is damaged (depth %lu)", depth_of(t));
	return ok;
}

static int entry_ok(const struct table *t, uint64_t i)
{
	uint64_t offset = directory(t)[i];
	int ok = offset >= SEGMENTS_START && offset < POOL_SIZE &&
		 (offset - SEGMENTS_START) % sizeof(struct segment) == 0;

#ifndef BUG_CCEH_RECOVERY_LOOP
	ok = ok && segment_at(t, offset)->head.depth >= 1 &&
	     segment_at(t, offset)->head.depth <= depth_of(t) &&
	     i % (1u << (depth_of(t) - segment_at(t, offset)->head.depth)) == 0;
#endif
	if (!ok)
		corpus_wrong("directory entry %lu is damaged", i);
	return ok;
}

/* Undoes interrupted splits and finds out which segments are in use. */
static void recover(struct table *t)
{
	uint64_t count, repaired = 0;

	if (!root_ok(t))
		return;
	for (uint64_t first = 0; first < 1u << depth_of(t) && entry_ok(t, first); first += count) {
		uint64_t *entry = directory(t) + first;
		struct segment *s = segment_at(t, entry[0]);

		t->used[segment_number(t, s)] = 1;
		count = (1u << depth_of(t)) >> s->head.depth;
		for (uint64_t i = 1; i < count; i++) {
#ifndef BUG_CCEH_NO_ROLLBACK
			if (entry[i] == entry[0])
				continue;
			pm_store64(&entry[i], entry[0]);
			pm_flush(&entry[i], sizeof(entry[i]));
			repaired++;
#endif
		}
#ifdef TRAP_CCEH_LOCK
		s->head.lock = 0;
#endif
	}
	if (repaired)
		pm_fence();
#ifdef BUG_CCEH_SEGMENTS_LATE
	for (uint64_t i = 0; i < SEGMENTS; i++)
		t->used[i] = i < t->header->root.segments;
#endif
}

static void check_segment(const struct table *t, struct segment *s, uint64_t wanted)
{
	for (unsigned i = 0; i < BUCKETS * PAIRS; i++) {
		struct pair *p = &s->pair[i];

		if (!p->key || prefix(p->key, s->head.depth) != wanted)
			continue;
		if (find(t, p->key) != p)
			corpus_wrong("key %lu is there twice, or where nobody will look for it",
				     p->key);
		if (!p->value)
			corpus_wrong("key %lu has no value", p->key);
	}
}

static void cceh_check(void *store)
{
	struct table *t = store;
	unsigned char seen[SEGMENTS] = { 0 };
	uint64_t count;

	if (!root_ok(t))
		return;
	for (uint64_t first = 0; first < 1u << depth_of(t); first += count) {
		uint64_t *entry = directory(t) + first;
		struct segment *s;

		if (!entry_ok(t, first))
			return;
		s = segment_at(t, entry[0]);
		if (seen[segment_number(t, s)]++)
			corpus_wrong("segment %lu is under two prefixes", segment_number(t, s));
		count = 1u << (depth_of(t) - s->head.depth);
		for (uint64_t i = 1; i < count; i++)
			if (entry[i] != entry[0])
				corpus_wrong("directory entry %lu belongs to an unfinished split",
					     first + i);
		check_segment(t, s, first / count);
	}
}

static void format(struct table *t)
{
	struct header *h = t->header;
	uint64_t *entry = directory_at(t, 1);

	for (uint64_t i = 0; i < 2; i++) {
		segment_at(t, SEGMENTS_START)[i].head.depth = 1;
		pm_flush(&segment_at(t, SEGMENTS_START)[i].head, sizeof(uint64_t));
		entry[i] = SEGMENTS_START + i * sizeof(struct segment);
	}
	pm_flush(entry, 2 * sizeof(*entry));
	h->root.depth = 1;
#ifdef BUG_CCEH_DOUBLE_TWO_WORDS
	h->root.directory = (uint64_t)((char *)entry - t->base);
#endif
#ifdef BUG_CCEH_SEGMENTS_LATE
	h->root.segments = 2;
#endif
	pm_persist(&h->root, sizeof(h->root));
	pm_store64(&h->id.magic, MAGIC);
	pm_persist(&h->id, sizeof(h->id));
}

static void *cceh_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct table *t;

	if (!base)
		return NULL;
	t = calloc(1, sizeof(*t));
	t->header = (struct header *)base;
	t->base = base;
#ifdef TRAP_CCEH_LOCK
	for (uint64_t i = 0; i < SEGMENTS; i++)
		HOLDFAST_VOLATILE(&segment_at(t, SEGMENTS_START)[i].head.lock, sizeof(uint64_t));
#endif
	if (fresh)
		format(t);
	recover(t);
	return t;
}

static void cceh_close(void *store)
{
	struct table *t = store;

	corpus_pool_unmap(t->base, POOL_SIZE);
	free(t);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "cceh",
		.open = cceh_open,
		.close = cceh_close,
		.check = cceh_check,
		.put = cceh_put,
		.get = cceh_get,
		.del = cceh_del,
		.upd = cceh_upd,
	};

	return corpus_main(&program, argc, argv);
}
