/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A write-ahead-logged store on a file mapped with mmap, made persistent with msync(MS_SYNC) and nothing
 * else: the kernel may write any page at any time, and only msync says that it has.
 *
 *   page 0       magic; tail: epoch << 32 | bytes of log in use
 *   pages 1-2    log: record record record ... (5 KiB)
 *   pages 3-6    table of 1024 slots, open addressing: key, value
 *   page 7       statistics (variants only)
 *
 * The table is worked on in DRAM. Every change appends a record to the log, and only when that is synced
 * is the tail moved over it (one eight-byte store) and synced: that is the commit. When the log is full,
 * and at the end, a checkpoint writes the slots changed since the last one to the table in the file, syncs
 * its pages, and then sets the tail to no bytes in the next epoch. Until then the log repeats all of what
 * the checkpoint writes, so it does not matter how much of that survives. Opening reads the table and
 * repeats the log on the copy in DRAM; nothing in the file has to be repaired.
 *
 * A record is a header and 0-24 words of payload computed from key and value, so some lie across a page
 * boundary. Its sum covers all of it, its place and the epoch.
 */
#include "common/corpus.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "holdfast.h"

#define MAGIC 0x316c617777617268ull
#define PAGE 4096u
#define LOG_SIZE 5120u
#define SLOTS 1024u
#define PAYLOAD_MAX 24u
#define GONE UINT64_MAX /* in place of a key */

struct slot {
	uint64_t key; /* 0 when never used */
	uint64_t value;
};

struct record {
	uint32_t length; /* in bytes, header included; a multiple of eight */
	uint32_t index;  /* of the slot */
	struct slot slot;
	uint64_t sum;
	uint64_t payload[];
};

#define RECORD_MAX (sizeof(struct record) + PAYLOAD_MAX * 8)

struct pool {
	struct {
		uint64_t magic;
		uint64_t tail;
	} header __attribute__((aligned(4096)));
	char log[LOG_SIZE] __attribute__((aligned(4096)));
	struct slot table[SLOTS] __attribute__((aligned(4096)));
	struct {
		uint64_t commits;
		uint64_t items;
	} statistics __attribute__((aligned(4096)));
};

struct wal {
	struct pool *pool;
	uint64_t items;
	struct slot table[SLOTS];      /* what the next checkpoint makes of the file's */
	unsigned char changed[SLOTS]; /* since the last checkpoint */
};

/* Waits until all pages that [addr, addr + len) touches are on the medium. */
static void sync_range(const void *addr, size_t len, int how)
{
	uintptr_t start = (uintptr_t)addr & ~(uintptr_t)(PAGE - 1);

#ifndef BUG_WAL_WRONG_RANGE
	len += (uintptr_t)addr - start;
#endif
	if (msync((void *)start, len, how) != 0)
		abort();
}

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static uint64_t epoch_of(const struct wal *w)
{
	return w->pool->header.tail >> 32;
}

static uint64_t log_end(const struct wal *w)
{
	return w->pool->header.tail & 0xffffffffu;
}

static struct record *record_at(const struct wal *w, uint64_t offset)
{
	return (struct record *)(w->pool->log + offset);
}

static uint64_t sum_of(const struct wal *w, uint64_t offset)
{
	const struct record *r = record_at(w, offset);
	uint64_t h = mix(mix(mix(mix(mix(epoch_of(w) + 1, offset), r->length), r->index), r->slot.key), r->slot.value);

	for (size_t i = 0; i < (r->length - sizeof(*r)) / 8; i++)
		h = mix(h, r->payload[i]);
	return h;
}

static int record_valid(const struct wal *w, uint64_t offset, uint64_t end)
{
	const struct record *r = record_at(w, offset);

	return end - offset >= sizeof(*r) && r->length >= sizeof(*r) && r->length <= RECORD_MAX &&
	       r->length <= end - offset && r->length % 8 == 0 && r->index < SLOTS && r->sum == sum_of(w, offset);
}

static unsigned home_of(uint64_t key)
{
	return (unsigned)(mix(1, key) % SLOTS);
}

/* The key's slot in DRAM, or NULL. */
static struct slot *find(struct wal *w, uint64_t key)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *slot = &w->table[(home_of(key) + i) % SLOTS];

		if (slot->key == key)
			return slot;
		if (slot->key == 0)
			break;
	}
	return NULL;
}

static struct slot *vacancy(struct wal *w, uint64_t key)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *slot = &w->table[(home_of(key) + i) % SLOTS];

		if (slot->key == 0 || slot->key == GONE)
			return slot;
	}
	return NULL;
}

static void set_slot(struct wal *w, uint64_t index, struct slot slot)
{
	w->table[index] = slot;
	w->changed[index] = 1;
}

static void set_tail(struct wal *w, uint64_t epoch, uint64_t end)
{
	*(volatile uint64_t *)&w->pool->header.tail = epoch << 32 | end; /* BUG(wal-commit-first) */ /* BUG(wal-one-sync) */ /* BUG(wal-truncate-early) */ /* BUG(wal-redo-stale) */ /* TRAP(wal-checksum) */
}

/* Empties the log. */
static void truncate_log(struct wal *w)
{
#ifdef BUG_WAL_TORN_TAIL
	typedef uint32_t half_word __attribute__((may_alias));
	volatile half_word *half = (volatile half_word *)&w->pool->header.tail;

	half[1] = (uint32_t)epoch_of(w) + 1; /* BUG(wal-torn-tail) */
	half[0] = 0;
#else
	set_tail(w, epoch_of(w) + 1, 0);
#endif
	sync_range(&w->pool->header, sizeof(w->pool->header), MS_SYNC);
}

/* Writes the changed slots of one page of the table. Returns whether there were any. */
static int write_page(struct wal *w, unsigned first)
{
	int any = 0;

	for (unsigned i = first; i < first + PAGE / sizeof(struct slot); i++) {
		if (!w->changed[i])
			continue;
		w->pool->table[i] = w->table[i]; /* BUG(wal-table-short) */ /* BUG(wal-no-redo) */
		w->changed[i] = 0;
		any = 1;
	}
	return any;
}

static void checkpoint(struct wal *w)
{
	int dirty[SLOTS * sizeof(struct slot) / PAGE];
	unsigned pages = sizeof(dirty) / sizeof(dirty[0]), per_page = PAGE / sizeof(struct slot);

	for (unsigned i = 0; i < pages; i++)
		dirty[i] = write_page(w, i * per_page);
#ifdef BUG_WAL_TRUNCATE_EARLY
	truncate_log(w);
#endif
	for (unsigned i = 0; i < pages; i++) {
		if (!dirty[i])
			continue;
		sync_range(&w->pool->table[i * per_page], PAGE, MS_SYNC);
#ifdef BUG_WAL_TABLE_SHORT
		break;
#endif
	}
#ifndef BUG_WAL_TRUNCATE_EARLY
	truncate_log(w);
#endif
}

/* Makes the record at the end of the log part of it. */
static void commit(struct wal *w, uint64_t offset, size_t length, int how, int is_del)
{
	const struct record *r = record_at(w, offset);

#if defined(BUG_WAL_COMMIT_FIRST) || defined(TRAP_WAL_CHECKSUM)
	set_tail(w, epoch_of(w), offset + length);
	sync_range(&w->pool->header, sizeof(w->pool->header), MS_SYNC);
	sync_range(r, length, how);
#elif defined(BUG_WAL_ONE_SYNC)
	set_tail(w, epoch_of(w), offset + length);
	sync_range(w->pool, (size_t)((const char *)r + length - (const char *)w->pool), how);
#else
#ifdef BUG_WAL_DEL_UNSYNCED
	if (!is_del)
#endif
	sync_range(r, length, how);
	set_tail(w, epoch_of(w), offset + length); /* BUG(wal-header-async) */
#ifdef BUG_WAL_HEADER_ASYNC
	sync_range(&w->pool->header, sizeof(w->pool->header), MS_ASYNC);
#else
	sync_range(&w->pool->header, sizeof(w->pool->header), MS_SYNC);
#endif
#endif
#ifdef BUG_WAL_HEADER_TWICE
	msync(w->pool, PAGE, MS_SYNC); /* BUG(wal-header-twice) */
#endif
#ifdef BUG_WAL_STATISTICS
	w->pool->statistics.commits++; /* BUG(wal-statistics) */
#endif
	(void)is_del;
}

/* Changes one slot: log, commit, then the table in DRAM. */
static void change(struct wal *w, const struct slot *place, struct slot slot, int is_upd)
{
	uint64_t words = slot.value % (PAYLOAD_MAX + 1);
	uint32_t length = (uint32_t)(sizeof(struct record) + words * 8);
	struct record *r;
	uint64_t offset;
	int how = MS_SYNC;

	if (log_end(w) + length > LOG_SIZE)
		checkpoint(w);
	offset = log_end(w);
	r = record_at(w, offset);
	r->length = length;
	r->index = (uint32_t)(place - w->table);
	r->slot = slot;
	for (uint64_t i = 0; i < words; i++)
		*(volatile uint64_t *)&r->payload[i] = mix(slot.key + i, slot.value); /* BUG(wal-wrong-range) */
	r->sum = sum_of(w, offset); /* BUG(wal-del-unsynced) */ /* BUG(wal-async) */
#ifdef BUG_WAL_ASYNC
	if (is_upd)
		how = MS_ASYNC;
#else
	(void)is_upd;
#endif
	commit(w, offset, length, how, slot.key == GONE);
	set_slot(w, r->index, slot);
}

static void count(struct wal *w, int change)
{
	w->items += (uint64_t)(int64_t)change;
#ifdef TRAP_WAL_COUNT
	w->pool->statistics.items = w->items; /* TRAP(wal-count) */
#endif
}

static enum corpus_result wal_get(void *store, uint64_t key, uint64_t *out)
{
	struct slot *slot = find(store, key);

	if (!slot)
		return CORPUS_NONE;
	*out = slot->value;
	return CORPUS_VALUE;
}

static enum corpus_result wal_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (wal_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
#ifdef BUG_WAL_UPD_TWO
	struct slot *slot = find(store, key);

	change(store, slot, (struct slot){GONE, 0}, 0); /* BUG(wal-upd-two) */
	change(store, slot, (struct slot){key, value}, 0);
#else
	change(store, find(store, key), (struct slot){key, value}, 1);
#endif
	return CORPUS_OLD;
}

static enum corpus_result wal_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct slot *slot = find(store, key);
	int existed = slot != NULL;

	if (existed)
		*out = slot->value;
	else
		slot = vacancy(store, key);
	if (!slot)
		return CORPUS_FULL;
	change(store, slot, (struct slot){key, value}, 0);
	if (!existed)
		count(store, 1);
	return existed ? CORPUS_OLD : CORPUS_NEW;
}

static enum corpus_result wal_del(void *store, uint64_t key, uint64_t *out)
{
	if (wal_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	change(store, find(store, key), (struct slot){GONE, 0}, 0);
	count(store, -1);
	return CORPUS_OLD;
}

static size_t wal_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct wal *w = store;
	size_t found = 0;

	for (; found < n; found++) {
		const struct slot *best = NULL;

		for (unsigned i = 0; i < SLOTS; i++)
			if (w->table[i].key >= key && w->table[i].key != GONE && (!best || w->table[i].key < best->key))
				best = &w->table[i];
		if (!best)
			break;
		out[found] = (struct corpus_pair){best->key, best->value};
		key = best->key + 1;
	}
	return found;
}

/* Repeats the log on the table in DRAM, as far as it is valid. */
static void redo(struct wal *w)
{
	uint64_t end = log_end(w) <= LOG_SIZE ? log_end(w) : 0;

#ifdef BUG_WAL_NO_REDO
	end = 0;
#endif
	for (uint64_t offset = 0; offset < end && record_valid(w, offset, end); offset += record_at(w, offset)->length) {
		const struct record *r = record_at(w, offset);

#ifdef BUG_WAL_REDO_STALE
		if (w->changed[r->index]) /* what the loop met first stays */
			continue;
#endif
		set_slot(w, r->index, r->slot);
	}
	w->items = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		w->items += w->table[i].key != 0 && w->table[i].key != GONE;
}

static void wal_check(void *store)
{
	struct wal *w = store;
	uint64_t offset = 0, end = log_end(w);

	if (end > LOG_SIZE) {
		corpus_wrong("the log has %lu bytes", end);
		return;
	}
	for (; offset < end; offset += record_at(w, offset)->length) {
		if (!record_valid(w, offset, end)) {
			corpus_wrong("record at %lu is damaged (the log has %lu bytes)", offset, end);
			break;
		}
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		const struct slot *slot = &w->table[i];

		if (slot->key == 0 || slot->key == GONE)
			continue;
		if (find(w, slot->key) != slot || slot->value == 0)
			corpus_wrong("slot %u, key %lu: not where it belongs", i, slot->key);
	}
#ifdef TRAP_WAL_COUNT
	if (w->pool->statistics.items != w->items)
		corpus_wrong("%lu items, not %lu", w->items, w->pool->statistics.items);
#endif
}

static void *wal_open(const char *path)
{
	int fresh;
	struct pool *pool = corpus_pool_map(path, sizeof(*pool), MAGIC, NULL, &fresh);
	struct wal *w;

	if (!pool)
		return NULL;
	w = calloc(1, sizeof(*w));
	w->pool = pool;
	if (fresh) { /* all zero is an empty store */
		*(volatile uint64_t *)&pool->header.magic = MAGIC;
		sync_range(&pool->header, sizeof(pool->header), MS_SYNC);
	}
	memcpy(w->table, pool->table, sizeof(w->table));
	redo(w);
#ifdef TRAP_WAL_CHECKSUM
	/* The tail may include a last record that never got there: redo() left it out. The new epoch sees to it
	 * that nothing of the old log can be taken for a record again. */
	if (!fresh)
		checkpoint(w);
#endif
#ifdef TRAP_WAL_COUNT
	HOLDFAST_VOLATILE(&pool->statistics, sizeof(pool->statistics));
	count(w, 0); /* whatever was there */
#endif
	return w;
}

static void wal_close(void *store)
{
	struct wal *w = store;

	if (log_end(w) != 0)
		checkpoint(w);
	corpus_pool_unmap(w->pool, sizeof(*w->pool));
	free(w);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "wal", .open = wal_open, .close = wal_close, .check = wal_check,
		.put = wal_put, .get = wal_get, .del = wal_del, .upd = wal_upd, .scan = wal_scan,
	};

	return corpus_main(&program, argc, argv);
}
