/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A key-value server on a TCP socket.
 *
 *   PROG serve POOL PORT     listens on the loopback address (port 0: any; prints "listening PORT")
 *   PROG client PORT OPS     sends an op file line by line and prints the replies
 *
 * The protocol is the op file's: `put K V`, `upd K V`, `del K`, `get K`, one result line each; also `quit`,
 * which ends the connection, and `shutdown`, which ends the server. `run` and `recover` hand their operations to
 * the same request handler as text.
 *
 *   line 0    magic
 *   line 1    top: how many large slots were ever used
 *   line 2    long_keys: which buckets may hold long keys        line 3   statistics (variants only)
 *   4096      32 buckets, one line each: head of a chain
 *   8192      256 small slots of one line, then 64 large slots of two
 *
 * Keys and values are kept as text, behind an item's header of 32 bytes: an item whose text has more
 * than 32 characters takes a large slot. An item never changes: a new value is a new item, and one
 * eight-byte store of the link that leads there puts it in the place of the old one. Before that store
 * everything the item needs is persistent: itself, `top` if it takes a new large slot, and its bucket's bit
 * in `long_keys` if its key has more than LONG_KEY characters (lookups of such keys skip buckets without
 * the bit). Which slots are free is not stored; opening the pool finds out.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"
#include "net.h"

#define MAGIC 0x317672736b617268ull
#define BUCKETS 32u
#define SMALL 256u
#define LARGE 64u
#define SLOTS (SMALL + LARGE)
#define TEXT_MAX 19u
#define SMALL_TEXT 32u
#define LONG_KEY 9u

struct item {
	uint64_t next; /* offset of the next item in the chain, 0 at the end */
	uint64_t sum;
	uint32_t hash;
	uint16_t key_length;
	uint16_t value_length;
	uint64_t version;
	char text[]; /* key, then value */
};

struct PM_ALIGNED bucket {
	uint64_t head;
};

struct pool {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t top;
	} large;
	struct PM_ALIGNED {
		uint64_t long_keys;
	} filter;
	struct PM_ALIGNED {
		uint64_t requests;
		uint64_t items;
	} statistics;
	struct bucket bucket[BUCKETS] __attribute__((aligned(4096)));
	char small[SMALL][PM_LINE] __attribute__((aligned(4096)));
	char big[LARGE][2 * PM_LINE];
};

struct server {
	struct pool *pool;
	unsigned char taken[SLOTS];
	unsigned long requests; /* served since the start */
};

/* A request's key or value: text in the request itself. */
struct text {
	const char *at;
	unsigned length;
};

static uint64_t hash_text(uint64_t h, const char *text, unsigned length)
{
	for (unsigned i = 0; i < length; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return h;
}

static uint32_t hash_key(const char *text, unsigned length)
{
	uint64_t h = hash_text(0xcbf29ce484222325ull, text, length);

	return (uint32_t)(h ^ h >> 32);
}

static uint64_t sum_of(const struct item *it)
{
	uint64_t h = it->hash + ((uint64_t)it->key_length << 40) + ((uint64_t)it->value_length << 50);

	h = (h ^ it->version) * 0x100000001b3ull;
	return hash_text(h, it->text, it->key_length + it->value_length);
}

static struct item *item_at(const struct server *s, uint64_t offset)
{
	return (struct item *)((char *)s->pool + offset);
}

static uint64_t offset_of(const struct server *s, const void *p)
{
	return (uint64_t)((const char *)p - (const char *)s->pool);
}

static char *slot_address(const struct server *s, unsigned slot)
{
	return slot < SMALL ? s->pool->small[slot] : s->pool->big[slot - SMALL];
}

/* The slot at an offset, SLOTS when none begins there. */
static unsigned slot_at(uint64_t offset)
{
	uint64_t small = offsetof(struct pool, small), big = offsetof(struct pool, big);

	if (offset >= small && offset < big && offset % PM_LINE == 0)
		return (unsigned)((offset - small) / PM_LINE);
	if (offset >= big && offset < sizeof(struct pool) && (offset - big) % (2 * PM_LINE) == 0)
		return SMALL + (unsigned)((offset - big) / (2 * PM_LINE));
	return SLOTS;
}

/* The link that leads to the key's item; one that holds 0 when there is no such item. */
static uint64_t *find(const struct server *s, struct text key)
{
	static uint64_t nowhere;
	uint32_t hash = hash_key(key.at, key.length);
	uint64_t *link = &s->pool->bucket[hash % BUCKETS].head;

	if (key.length > LONG_KEY && !(s->pool->filter.long_keys >> hash % BUCKETS & 1))
		return &nowhere;
	while (*link) {
		struct item *it = item_at(s, *link);

		if (it->hash == hash && it->key_length == key.length && !memcmp(it->text, key.at, key.length))
			break;
		link = &it->next;
	}
	return link;
}

static unsigned allocate(struct server *s, int is_large)
{
	unsigned slot = is_large ? SMALL : 0, end = is_large ? SLOTS : SMALL;

	while (slot < end && s->taken[slot])
		slot++;
	return slot < end ? slot : SLOTS;
}

/* Makes an item persistent that nothing leads to yet. NULL when there is no room. */
static struct item *create(struct server *s, struct text key, struct text value, const struct item *old, uint64_t next)
{
	unsigned length = key.length + value.length;
	unsigned slot = allocate(s, length > SMALL_TEXT);
	uint64_t *top = &s->pool->large.top;
	struct item *it;

	if (slot == SLOTS)
		return NULL;
	s->taken[slot] = 1;
	it = (struct item *)slot_address(s, slot);
	it->next = next;
	it->hash = hash_key(key.at, key.length);
	it->key_length = (uint16_t)key.length;
	it->value_length = (uint16_t)value.length;
	it->version = old ? old->version + 1 : 1;
	memcpy(it->text, key.at, key.length);
	memcpy(it->text + key.length, value.at, value.length); /* BUG(kvserver-short-flush) */
	it->sum = sum_of(it);
#if defined(BUG_KVSERVER_ITEM_TWICE)
	pm_flush(it, sizeof(*it));
	pm_flush(it, sizeof(*it) + length); /* BUG(kvserver-item-twice) */
#elif defined(BUG_KVSERVER_SHORT_FLUSH)
	pm_flush(it, sizeof(*it) + key.length + (old ? old->value_length : value.length));
#else
	pm_flush(it, sizeof(*it) + length);
#endif
#if !defined(BUG_KVSERVER_LINK_EARLY) && !defined(TRAP_KVSERVER_ONE_FENCE)
	pm_fence();
#endif
	if (slot >= SMALL && slot - SMALL >= *top) {
		pm_store64(top, slot - SMALL + 1); /* BUG(kvserver-top-unflushed) */
#ifdef BUG_KVSERVER_TOP_UNFLUSHED
		if (slot == SMALL) /* the first */
			pm_persist(top, sizeof(*top));
#else
		pm_flush(top, sizeof(*top));
#ifndef TRAP_KVSERVER_ONE_FENCE
		pm_fence();
#endif
#endif
	}
	return it;
}

/* Lets lookups of long keys into the bucket. */
static void admit_long(struct server *s, uint32_t hash)
{
	uint64_t *filter = &s->pool->filter.long_keys, bit = 1ull << hash % BUCKETS;

	if (*filter & bit)
		return;
	pm_store64(filter, *filter | bit);
	pm_flush(filter, sizeof(*filter));
#if !defined(BUG_KVSERVER_LONG_LATE) && !defined(TRAP_KVSERVER_ONE_FENCE)
	pm_fence();
#endif
}

static void count(struct server *s, int change)
{
#ifdef TRAP_KVSERVER_COUNT
	s->pool->statistics.items += (uint64_t)(int64_t)change; /* TRAP(kvserver-count) */
#else
	(void)s;
	(void)change;
#endif
}

static enum corpus_result insert(struct server *s, struct text key, struct text value)
{
	uint32_t hash = hash_key(key.at, key.length);
	uint64_t *head = &s->pool->bucket[hash % BUCKETS].head;
	struct item *it = create(s, key, value, NULL, *head);

	if (!it)
		return CORPUS_FULL;
	if (key.length > LONG_KEY)
		admit_long(s, hash);
#ifdef TRAP_KVSERVER_ONE_FENCE
	/* Item, top and filter may persist in any order, as long as all of them do before the head. */
	pm_fence(); /* TRAP(kvserver-one-fence) */
#endif
	pm_store64(head, offset_of(s, it)); /* BUG(kvserver-link-early) */ /* BUG(kvserver-long-late) */
	pm_persist(head, sizeof(*head));
	count(s, 1);
	return CORPUS_NEW;
}

static enum corpus_result replace(struct server *s, uint64_t *link, struct text key, struct text value)
{
	struct item *old = item_at(s, *link), *it;
	unsigned slot = slot_at(*link);

#ifdef BUG_KVSERVER_IN_PLACE
	if (slot >= SMALL && old->value_length == value.length) { /* save the copy */
		memcpy(old->text + key.length, value.at, value.length); /* BUG(kvserver-in-place) */
		old->sum = sum_of(old);
		pm_persist(old, sizeof(*old) + key.length + value.length);
		return CORPUS_OLD;
	}
#endif
#ifdef BUG_KVSERVER_ERASE_FIRST
	pm_store64(link, old->next); /* BUG(kvserver-erase-first) */
	pm_persist(link, sizeof(*link));
	s->taken[slot] = 0;
	return insert(s, key, value) == CORPUS_NEW ? CORPUS_OLD : CORPUS_FULL;
#endif
	it = create(s, key, value, old, old->next);
	if (!it)
		return CORPUS_FULL;
#ifdef TRAP_KVSERVER_ONE_FENCE
	pm_fence();
#endif
	pm_store64(link, offset_of(s, it)); /* BUG(kvserver-wrong-link) */
#ifdef BUG_KVSERVER_WRONG_LINK
	pm_persist(&s->pool->bucket[it->hash % BUCKETS], sizeof(struct bucket));
#else
	pm_persist(link, sizeof(*link));
#endif
	s->taken[slot] = 0;
	return CORPUS_OLD;
}

static enum corpus_result erase(struct server *s, uint64_t *link)
{
	unsigned slot = slot_at(*link);

	pm_store64(link, item_at(s, *link)->next); /* BUG(kvserver-del-unpersisted) */ /* BUG(kvserver-del-unfenced) */
#if defined(BUG_KVSERVER_DEL_UNFENCED)
	pm_flush(link, sizeof(*link));
#elif !defined(BUG_KVSERVER_DEL_UNPERSISTED)
	pm_persist(link, sizeof(*link));
#endif
	s->taken[slot] = 0;
	count(s, -1);
	return CORPUS_OLD;
}

/* Takes the next word of a request: digits of a number without leading zeros. */
static int take_number(const char **at, struct text *number)
{
	while (**at == ' ')
		++*at;
	number->at = *at;
	for (number->length = 0; **at >= '0' && **at <= '9'; ++*at)
		number->length++;
	return number->length >= 1 && number->length <= TEXT_MAX && number->at[0] != '0' &&
	       (**at == ' ' || **at == '\0');
}

/* Executes a request, a line without its end, and writes the reply, also without. Returns what is to
 * become of the connection. */
static enum net_verdict handle(struct server *s, const char *request, char reply[NET_LINE])
{
	static const char *const words[] = {"new", "old ", "", "none", "full", "ok", "error"};
	enum net_verdict verdict = NET_GO_ON;
	enum corpus_result result = CORPUS_NA;
	struct text key, value = {NULL, 0};
	const char *operands = request + 4;
	char verb = request[0], old[TEXT_MAX + 1] = "";
	int has_value = verb == 'p' || verb == 'u', known;
	uint64_t *link;

	known = !strncmp(request, "put ", 4) || !strncmp(request, "upd ", 4) || !strncmp(request, "del ", 4) ||
		!strncmp(request, "get ", 4);
#ifdef BUG_KVSERVER_STATISTICS
	s->pool->statistics.requests++; /* BUG(kvserver-statistics) */
#endif
	if (!strcmp(request, "quit") || !strcmp(request, "shutdown")) {
		verdict = verb == 'q' ? NET_CLOSE : NET_STOP;
		result = CORPUS_OK;
	} else if (known && take_number(&operands, &key) && (!has_value || take_number(&operands, &value)) &&
		   *operands == '\0') {
		link = find(s, key);
		result = CORPUS_NONE;
		if (*link) {
			const struct item *it = item_at(s, *link);

			memcpy(old, it->text + it->key_length, it->value_length);
			result = verb == 'g' ? CORPUS_VALUE : verb == 'd' ? erase(s, link) : replace(s, link, key, value);
		} else if (verb == 'p') {
			result = insert(s, key, value);
		}
	}
	snprintf(reply, NET_LINE, "%s%s", words[result],
		 result == CORPUS_OLD || result == CORPUS_VALUE ? old : "");
#ifdef BUG_KVSERVER_REPLY_FLUSHED
	pm_flush_line(reply); /* BUG(kvserver-reply-flushed) */
#endif
#ifdef BUG_KVSERVER_REPLY_FENCED
	pm_fence(); /* BUG(kvserver-reply-fenced) */
#endif
	return verdict;
}

/* The driver's operations: a request and a reply as over the wire. */
static enum corpus_result request(void *store, const char *verb, uint64_t key, uint64_t value, uint64_t *out)
{
	char line[NET_LINE], reply[NET_LINE];

	snprintf(line, sizeof(line), value ? "%s %lu %lu" : "%s %lu", verb, key, value);
	handle(store, line, reply);
	if (!strncmp(reply, "old ", 4)) {
		*out = strtoull(reply + 4, NULL, 10);
		return CORPUS_OLD;
	}
	if (!strcmp(reply, "new"))
		return CORPUS_NEW;
	if (!strcmp(reply, "none"))
		return CORPUS_NONE;
	*out = strtoull(reply, NULL, 10);
	return *out ? CORPUS_VALUE : strcmp(reply, "full") ? CORPUS_NA : CORPUS_FULL;
}

static enum corpus_result kvserver_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	return request(store, "put", key, value, out);
}

static enum corpus_result kvserver_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	return request(store, "upd", key, value, out);
}

static enum corpus_result kvserver_get(void *store, uint64_t key, uint64_t *out)
{
	return request(store, "get", key, 0, out);
}

static enum corpus_result kvserver_del(void *store, uint64_t key, uint64_t *out)
{
	return request(store, "del", key, 0, out);
}

/* Is this item, which lies in a slot, all right by itself? */
static int item_valid(const struct server *s, const struct item *it, unsigned slot)
{
	unsigned length = it->key_length + it->value_length;

	if (it->key_length - 1u >= TEXT_MAX || it->value_length - 1u >= TEXT_MAX)
		return 0;
	if ((length > SMALL_TEXT) != (slot >= SMALL) || (slot >= SMALL && slot - SMALL >= s->pool->large.top))
		return 0;
	return it->hash == hash_key(it->text, it->key_length) && it->sum == sum_of(it);
}

/* Walks all chains, marks the slots in use and returns their number; stops a chain at what cannot be. */
static uint64_t walk(struct server *s, void (*wrong)(const char *format, ...))
{
	uint64_t items = 0;

	memset(s->taken, 0, sizeof(s->taken));
	for (unsigned i = 0; i < BUCKETS; i++) {
		for (uint64_t *link = &s->pool->bucket[i].head; *link; link = &item_at(s, *link)->next) {
			unsigned slot = slot_at(*link);
			struct item *it = item_at(s, *link);

			if (slot == SLOTS || s->taken[slot]++) {
				wrong("bucket %u leads to offset %lu", i, *link);
				break;
			}
			items++;
			if (!item_valid(s, it, slot) || it->hash % BUCKETS != i)
				wrong("item in slot %u (bucket %u, top %lu) is damaged", slot, i, s->pool->large.top);
			else if (find(s, (struct text){it->text, it->key_length}) != link)
				wrong("item in slot %u cannot be found", slot);
		}
	}
	return items;
}

static void kvserver_check(void *store)
{
	struct server *s = store;
	uint64_t items;

	if (s->pool->large.top > LARGE)
		corpus_wrong("top is %lu", s->pool->large.top);
	items = walk(s, corpus_wrong);
#ifdef TRAP_KVSERVER_COUNT
	if (items != s->pool->statistics.items)
		corpus_wrong("%lu items, not %lu", items, s->pool->statistics.items);
#else
	(void)items;
#endif
}

static void ignore(const char *format, ...)
{
	(void)format;
}

static void *kvserver_open(const char *path)
{
	int fresh;
	struct pool *pool = corpus_pool_map(path, sizeof(*pool), MAGIC, NULL, &fresh);
	struct server *s;
	uint64_t items;

	if (!pool)
		return NULL;
	s = calloc(1, sizeof(*s));
	s->pool = pool;
	if (fresh) { /* all zero is an empty store */
		pm_store64(&pool->id.magic, MAGIC);
		pm_persist(&pool->id, sizeof(pool->id));
	}
	items = walk(s, ignore);
#ifdef TRAP_KVSERVER_COUNT
	HOLDFAST_VOLATILE(&pool->statistics, sizeof(pool->statistics));
	pool->statistics.items = items; /* whatever was there */
#else
	(void)items;
#endif
	return s;
}

static void kvserver_close(void *store)
{
	struct server *s = store;

	corpus_pool_unmap(s->pool, sizeof(*s->pool));
	free(s);
}

static enum net_verdict serve_line(void *state, const char *line, char reply[NET_LINE])
{
	struct server *s = state;
	enum net_verdict verdict;

	HOLDFAST_OP_BEGIN(++s->requests);
	verdict = handle(s, line, reply);
	HOLDFAST_OP_END(s->requests);
	return verdict;
}

static int serve(const char *pool, const char *port)
{
	struct server *s = kvserver_open(pool);
	int status;

	if (!s) {
		perror(pool);
		return 2;
	}
	status = net_serve(port, serve_line, s);
	kvserver_close(s);
	return status;
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "kvserver", .open = kvserver_open, .close = kvserver_close, .check = kvserver_check,
		.put = kvserver_put, .get = kvserver_get, .del = kvserver_del, .upd = kvserver_upd,
	};

	if (argc == 4 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "client") == 0)
		return net_client(argv[2], argv[3]);
	return corpus_main(&program, argc, argv);
}
