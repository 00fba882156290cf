/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An append-only log with compaction, used as a key-value store.
 *
 *   line 0   magic, active half
 *   line 1   half 0: tail, generation        line 2   half 1: likewise
 *   4096     half 0: record record record ...
 *   8192     half 1
 *
 * Every put, upd and del appends a record (del a tombstone) behind the tail of the active half:
 * first the record is made persistent, then one eight-byte store moves the tail over it, and that
 * is the moment the operation takes effect. A full half is compacted: the live records are copied
 * to the other half with non-temporal stores, that half's tail and generation are set, and one
 * eight-byte store of `active` switches over. Whatever lies behind a tail, or in the inactive
 * half, means nothing; so recovery has nothing to repair.
 *
 * A record is a header and 0-6 words of payload computed from key and value, so records start and
 * end anywhere in a line. The sum covers all of it and the half's generation.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x31676f6c77617268ull
#define HALF_SIZE 4096u
#define HALF_START 4096u
#define POOL_SIZE (HALF_START + 2 * HALF_SIZE)

enum { KIND_VALUE = 1,
       KIND_TOMBSTONE = 2 };

struct record {
	uint32_t length; /* in bytes, header included; a multiple of eight */
	uint32_t kind;
	uint64_t key;
	uint64_t value;
	uint64_t sum;
	uint64_t payload[];
};

#define PAYLOAD_MAX 6u
#define RECORD_MAX (sizeof(struct record) + PAYLOAD_MAX * 8)

struct PM_ALIGNED half {
	uint64_t tail; /* offset within the half of the first byte behind the last record */
	uint64_t generation;
};

struct PM_ALIGNED header {
	uint64_t magic;
	uint64_t active;
#ifdef TRAP_LOG_SAME_LINE
	struct {
		uint64_t tail, generation;
	} half[2];
#else
	struct half half[2];
#endif
	struct PM_ALIGNED {
		uint64_t appends;
	} statistics;
};

struct log {
	struct header *header;
	char *data[2];
};

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static uint64_t record_sum(const struct record *r, uint64_t generation)
{
	uint64_t h = mix(mix(mix(mix(generation, r->length), r->kind), r->key), r->value);

	for (size_t i = 0; i < (r->length - sizeof(*r)) / 8; i++)
		h = mix(h, r->payload[i]);
	return h;
}

static int record_valid(const struct record *r, uint64_t generation, uint64_t room)
{
	return room >= sizeof(*r) && r->length >= sizeof(*r) && r->length <= RECORD_MAX &&
	       r->length <= room && r->length % 8 == 0 && r->sum == record_sum(r, generation);
}

static struct record *record_at(const struct log *log, uint64_t half, uint64_t offset)
{
	return (struct record *)(log->data[half] + offset);
}

/* The last record of a key in the active half, or NULL when there is none or it is a tombstone. */
static struct record *find(const struct log *log, uint64_t key)
{
	uint64_t half = log->header->active, tail = log->header->half[half].tail;
	struct record *r, *found = NULL;

	for (uint64_t offset = 0; offset < tail; offset += r->length) {
		r = record_at(log, half, offset);
		if (r->key == key)
			found = r;
	}
	return found && found->kind == KIND_VALUE ? found : NULL;
}

static void copy_record(struct record *dst, const struct record *src, uint64_t generation)
{
	uint64_t words[RECORD_MAX / 8];
	struct record *copy = (struct record *)words;

	memcpy(words, src, src->length);
	copy->sum = record_sum(copy, generation);
	for (size_t i = 0; i < src->length / 8; i++)
		pm_nt_store64((uint64_t *)dst + i, words[i]);
}

static void compact(struct log *log)
{
	struct header *h = log->header;
	uint64_t from = h->active, to = !from, end = 0, generation = h->half[to].generation + 1;
	struct record *r;

	for (uint64_t offset = 0; offset < h->half[from].tail; offset += r->length) {
		r = record_at(log, from, offset);
		if (find(log, r->key) != r)
			continue;
		copy_record(record_at(log, to, end), r, generation);
		end += r->length;
	}
#ifdef BUG_LOG_FLUSH_AFTER_NT
	pm_flush(log->data[to], end); /* BUG(log-flush-after-nt) */
#endif
	h->half[to].generation = generation;
	h->half[to].tail = end;
#ifdef TRAP_LOG_SAME_LINE
	/* `active` lies in the same line: it cannot reach the medium before the tail does. The
	 * fence is for the copied records. */
	pm_fence();
#elif defined(BUG_LOG_SWITCH_EARLY)
	pm_flush(&h->half[to], sizeof(h->half[to]));
#elif defined(BUG_LOG_FULL_LINES)
	pm_flush(&h->half[to], sizeof(h->half[to]));
	if (end % PM_LINE) /* whole lines are on their way by themselves */
		pm_fence();
#else
	pm_persist(&h->half[to], sizeof(h->half[to]));
#endif
	pm_store64(&h->active, to); /* BUG(log-switch-early) BUG(log-full-lines) TRAP(log-same-line) */
	pm_persist(&h->active, sizeof(h->active));
}

/* Writes a record behind the tail and makes it persistent. Returns the tail that would include it,
 * or 0 when there is no room even after compaction. */
static uint64_t append(struct log *log, uint32_t kind, uint64_t key, uint64_t value)
{
	uint64_t words = kind == KIND_VALUE ? value % (PAYLOAD_MAX + 1) : 0;
	uint32_t length = (uint32_t)(sizeof(struct record) + words * 8);
	struct header *h = log->header;
	uint64_t tail;
	struct record *r;

	if (h->half[h->active].tail + length > HALF_SIZE)
		compact(log);
	tail = h->half[h->active].tail;
	if (tail + length > HALF_SIZE)
		return 0;
	r = record_at(log, h->active, tail);
	r->length = length;
	r->kind = kind;
	r->key = key;
	r->value = value;
	for (uint64_t i = 0; i < words; i++)
		r->payload[i] = mix(key + i, value);           /* BUG(log-short-flush) BUG(log-third-line) */
	r->sum = record_sum(r, h->half[h->active].generation); /* BUG(log-body-unflushed) */
#ifdef BUG_LOG_TRANSIENT_COUNT
	h->statistics.appends++; /* BUG(log-transient-count) */
#endif
#if defined(BUG_LOG_TAIL_BEFORE_BODY) || defined(TRAP_LOG_CHECKSUM)
	pm_flush(r, length);
#elif defined(BUG_LOG_SHORT_FLUSH)
	pm_persist(r, sizeof(*r));
#elif defined(BUG_LOG_THIRD_LINE)
	pm_flush_line(r);
	if ((uintptr_t)r % PM_LINE + length > PM_LINE)
		pm_flush_line((char *)r + PM_LINE);
	pm_fence();
#elif defined(BUG_LOG_BODY_UNFLUSHED)
	if (kind != KIND_TOMBSTONE)
		pm_flush(r, length);
	pm_fence();
#else
	pm_persist(r, length);
#endif
	return tail + length;
}

static void publish(struct log *log, uint64_t end)
{
	struct header *h = log->header;

	pm_store64(&h->half[h->active].tail, end); /* BUG(log-tail-before-body) TRAP(log-checksum) */
	pm_persist(&h->half[h->active], sizeof(h->half[0]));
#ifdef BUG_LOG_FENCE_TWICE
	pm_fence(); /* BUG(log-fence-twice) */
#endif
}

static enum corpus_result log_get(void *store, uint64_t key, uint64_t *out)
{
	struct record *r = find(store, key);

	if (!r)
		return CORPUS_NONE;
	*out = r->value;
	return CORPUS_VALUE;
}

static enum corpus_result log_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	int existed = log_get(store, key, out) == CORPUS_VALUE;
	uint64_t end = append(store, KIND_VALUE, key, value);

	if (!end)
		return CORPUS_FULL;
	publish(store, end);
	return existed ? CORPUS_OLD : CORPUS_NEW;
}

static enum corpus_result log_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct log *log = store;
	struct header *h = log->header;
	uint64_t end;

	if (log_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	end = append(store, KIND_VALUE, key, value);
	if (!end)
		return CORPUS_FULL;
	pm_store64(&h->half[h->active].tail, end); /* BUG(log-upd-no-fence) BUG(log-upd-wrong-line) */
#ifdef BUG_LOG_UPD_WRONG_LINE
	pm_flush(&h->active, sizeof(h->active));
#else
	pm_flush(&h->half[h->active], sizeof(h->half[0]));
#endif
#ifndef BUG_LOG_UPD_NO_FENCE
	pm_fence();
#endif
	return CORPUS_OLD;
}

static enum corpus_result log_del(void *store, uint64_t key, uint64_t *out)
{
	struct log *log = store;
	struct header *h = log->header;
	uint64_t end;

	if (log_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	end = append(store, KIND_TOMBSTONE, key, 0);
	if (!end)
		return CORPUS_FULL;
	pm_store64(&h->half[h->active].tail, end); /* BUG(log-del-unpersisted) */
#ifndef BUG_LOG_DEL_UNPERSISTED
	pm_persist(&h->half[h->active], sizeof(h->half[0]));
#endif
	return CORPUS_OLD;
}

static void log_check(void *store)
{
	struct log *log = store;
	struct header *h = log->header;
	uint64_t offset = 0, tail;
	struct record *r;

	if (h->active > 1) {
		corpus_wrong("active half is %lu", h->active);
		return;
	}
	tail = h->half[h->active].tail;
	if (tail > HALF_SIZE || tail % 8) {
		corpus_wrong("tail %lu is out of range", tail);
		return;
	}
	for (; offset < tail; offset += r->length) {
		r = record_at(log, h->active, offset);
		if (!record_valid(r, h->half[h->active].generation, tail - offset)) {
			corpus_wrong("record at %lu is damaged (tail is %lu)", offset, tail);
			return;
		}
	}
}

#ifdef TRAP_LOG_CHECKSUM
/* The tail may have become persistent before the last record: cut a last record whose sum is wrong.
 * The word behind the tail is cleared, lest an abandoned record be taken for a later one. */
static void recover(struct log *log)
{
	struct header *h = log->header;
	uint64_t offset = 0, tail = h->half[h->active].tail;
	struct record *r;

	for (; offset < tail; offset += r->length) {
		r = record_at(log, h->active, offset);
		if (!record_valid(r, h->half[h->active].generation, tail - offset))
			break;
	}
	if (offset < HALF_SIZE && *(uint64_t *)record_at(log, h->active, offset) != 0) {
		pm_store64((uint64_t *)record_at(log, h->active, offset), 0);
		pm_persist(record_at(log, h->active, offset), 8);
	}
	if (offset < tail) {
		pm_store64(&h->half[h->active].tail, offset);
		pm_persist(&h->half[h->active], sizeof(h->half[0]));
	}
}
#endif

static void *log_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct log *log;

	if (!base)
		return NULL;
	log = malloc(sizeof(*log));
	log->header = (struct header *)base;
	log->data[0] = base + HALF_START;
	log->data[1] = base + HALF_START + HALF_SIZE;
	if (fresh) {
		log->header->half[0].generation = 1;
		pm_persist(&log->header->half[0], sizeof(log->header->half[0]));
		pm_store64(&log->header->magic, MAGIC);
		pm_persist(&log->header->magic, sizeof(log->header->magic));
	}
#ifdef TRAP_LOG_CHECKSUM
	recover(log);
#endif
	return log;
}

static void log_close(void *store)
{
	struct log *log = store;

	corpus_pool_unmap(log->header, POOL_SIZE);
	free(log);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "log",
		.open = log_open,
		.close = log_close,
		.check = log_check,
		.put = log_put,
		.get = log_get,
		.del = log_del,
		.upd = log_upd,
	};

	return corpus_main(&program, argc, argv);
}
