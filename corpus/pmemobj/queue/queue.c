/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue on libpmemobj's actions: reserve, prepare, publish.
 *
 *   root     ready, limit; and in another line: head, tail, count
 *   node     next, key, value, length, 0-6 words computed from the key
 *
 * A node is reserved, which nobody can see, filled in and made persistent by hand. The words that must
 * change with it (the last node's `next` or `head`, `tail` and `count`) become actions as well, and
 * pmemobj_publish() performs all of them or none. Likewise the oldest node is freed by the same publish
 * that takes it off. Links are offsets in the pool, 0 is none. A value is replaced by one eight-byte store.
 */
#include "common/corpus.h"
#include "common/pm.h"
#include "common/pobj.h"

#define READY 0x3165756571626f70ull
#define LAYOUT "corpus-queue"
#define LIMIT 20000u
#define WORDS_MAX 6u

enum { TYPE_NODE = 1 };

struct node {
	uint64_t next;
	uint64_t key;
	uint64_t value;
	uint64_t length;
	uint64_t words[];
};

struct root {
	uint64_t ready;
	uint64_t room[8];
	uint64_t limit; /* of count */
	uint64_t more_room[8];
	uint64_t head;
	uint64_t tail;
	uint64_t count;
#ifdef BUG_QUEUE_STATISTIC
	uint64_t even_more_room[8];
	uint64_t highest;
#endif
};

struct queue {
	PMEMobjpool *pop;
	struct root *root;
	uint64_t uuid;
};

static __attribute__((noinline)) uint64_t word_of(uint64_t key, uint64_t i)
{
	uint64_t h = (key + i) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 29) | 1;
}

static struct node *at(struct queue *queue, uint64_t offset)
{
	return (struct node *)((char *)queue->pop + offset);
}

static PMEMoid oid_of(struct queue *queue, uint64_t offset)
{
	return (PMEMoid){ queue->uuid, offset };
}

static void fill(struct node *node, uint64_t key, uint64_t value, uint64_t length)
{
	node->next = 0;
	node->key = key; /* BUG(queue-node-unpersisted) */
	node->value = value;
	node->length = length;
	for (uint64_t i = 0; i < length; i++)
		node->words[i] = word_of(key, i); /* BUG(queue-node-short) */
}

static void persist_node(struct queue *queue, struct node *node, size_t size)
{
#if defined(BUG_QUEUE_NODE_UNPERSISTED)
	(void)queue, (void)node, (void)size;
#elif defined(BUG_QUEUE_NODE_SHORT)
	(void)size;
	pmemobj_persist(queue->pop, node, sizeof(*node));
#elif defined(TRAP_QUEUE_ONE_FENCE)
	/* pmemobj_publish() waits for all that is flushed before its log becomes valid. */
	pmemobj_flush(queue->pop, node, size); /* TRAP(queue-one-fence) */
#else
	pmemobj_persist(queue->pop, node, size);
#endif
}

static enum corpus_result queue_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct queue *queue = store;
	struct root *root = queue->root;
	uint64_t length = key % (WORDS_MAX + 1), *link;
	size_t size = sizeof(struct node) + length * 8;
	struct pobj_action actions[4];
	size_t n = 0;
	PMEMoid oid;

	(void)out;
	if (root->count == root->limit)
		return CORPUS_FULL;
	oid = pmemobj_reserve(queue->pop, &actions[n++], size, TYPE_NODE);
	if (OID_IS_NULL(oid))
		return CORPUS_FULL;
	link = root->tail ? &at(queue, root->tail)->next : &root->head;
#ifndef BUG_QUEUE_NODE_LATE
	fill(at(queue, oid.off), key, value, length);
	persist_node(queue, at(queue, oid.off), size);
#endif
#ifdef BUG_QUEUE_COUNT_FIRST
	pm_store64(&root->count, root->count + 1); /* BUG(queue-count-first) */
	pmemobj_persist(queue->pop, &root->count, sizeof(root->count));
#else
	pmemobj_set_value(queue->pop, &actions[n++], &root->count, root->count + 1);
#endif
	pmemobj_set_value(queue->pop, &actions[n++], link, oid.off);
#ifndef BUG_QUEUE_TAIL_UNPERSISTED
	pmemobj_set_value(queue->pop, &actions[n++], &root->tail, oid.off);
#endif
	pmemobj_publish(queue->pop, actions, n); /* BUG(queue-node-late) */
#ifdef BUG_QUEUE_TAIL_UNPERSISTED
	pm_store64(&root->tail, oid.off); /* BUG(queue-tail-unpersisted) */
#endif
#ifdef BUG_QUEUE_NODE_LATE
	fill(at(queue, oid.off), key, value, length);
	persist_node(queue, at(queue, oid.off), size);
#endif
#ifdef BUG_QUEUE_STATISTIC
	if (root->count > root->highest)
		root->highest = root->count; /* BUG(queue-statistic) */
#endif
#ifdef BUG_QUEUE_FLUSH_CLEAN
	pmemobj_persist(queue->pop, &root->limit, sizeof(root->limit)); /* BUG(queue-flush-clean) */
#endif
	return CORPUS_NEW;
}

static enum corpus_result queue_del(void *store, uint64_t key, uint64_t *out)
{
	struct queue *queue = store;
	struct root *root = queue->root;
	uint64_t head = root->head, next;
	struct pobj_action actions[4];
	size_t n = 0;
	PMEMoid oid;

	(void)key;
	if (!head)
		return CORPUS_NONE;
	*out = at(queue, head)->value;
	next = at(queue, head)->next;
	oid = oid_of(queue, head);
#ifdef BUG_QUEUE_FREE_FIRST
	pmemobj_free(&oid); /* BUG(queue-free-first) */
#elif !defined(BUG_QUEUE_FREE_LATER)
	pmemobj_defer_free(queue->pop, oid, &actions[n++]);
#endif
	pmemobj_set_value(queue->pop, &actions[n++], &root->head, next);
	if (!next)
		pmemobj_set_value(queue->pop, &actions[n++], &root->tail, 0);
#ifndef BUG_QUEUE_COUNT_LATER
	pmemobj_set_value(queue->pop, &actions[n++], &root->count, root->count - 1);
#endif
	pmemobj_publish(queue->pop, actions, n);
#ifdef BUG_QUEUE_COUNT_LATER
	pm_store64(&root->count, root->count - 1); /* BUG(queue-count-later) */
	pmemobj_persist(queue->pop, &root->count, sizeof(root->count));
#endif
#ifdef BUG_QUEUE_FREE_LATER
	pmemobj_free(&oid); /* BUG(queue-free-later) */
#endif
	return CORPUS_OLD;
}

static enum corpus_result queue_get(void *store, uint64_t key, uint64_t *out)
{
	struct queue *queue = store;

	(void)key;
	if (!queue->root->head)
		return CORPUS_NONE;
	*out = at(queue, queue->root->head)->value;
	return CORPUS_VALUE;
}

static enum corpus_result queue_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct queue *queue = store;
	struct node *node;

	if (queue_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	node = at(queue, queue->root->head);
#ifdef BUG_QUEUE_UPD_NODRAIN
	pmemobj_memcpy(queue->pop, &node->value, &value, sizeof(value), PMEMOBJ_F_MEM_NODRAIN); /* BUG(queue-upd-nodrain) */
	return CORPUS_OLD;
#endif
	pm_store64(&node->value, value); /* BUG(queue-upd-next) */
#ifdef BUG_QUEUE_UPD_NEXT
	if (node->next)
		node = at(queue, node->next);
#endif
	pmemobj_persist(queue->pop, &node->value, sizeof(node->value));
	return CORPUS_OLD;
}

static size_t queue_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct queue *queue = store;
	size_t found = 0;

	(void)key;
	for (uint64_t o = queue->root->head; o && found < n; o = at(queue, o)->next)
		out[found++] = (struct corpus_pair){ at(queue, o)->key, at(queue, o)->value };
	return found;
}

static void check_node(const struct node *node)
{
	if (node->key == 0 || node->value == 0)
		corpus_wrong("a node has key %lu and value %lu", node->key, node->value);
	if (node->length != node->key % (WORDS_MAX + 1)) {
		corpus_wrong("key %lu: length is %lu", node->key, node->length);
		return;
	}
	for (uint64_t i = 0; i < node->length; i++)
		if (node->words[i] != word_of(node->key, i))
			corpus_wrong("key %lu: word %lu is damaged", node->key, i);
}

static void queue_check(void *store)
{
	struct queue *queue = store;
	struct root *root = queue->root;
	uint64_t offset, last = 0, count = 0;
	struct pobj_census census;

	pobj_census_take(&census, queue->pop);
	if (root->limit != LIMIT)
		corpus_wrong("the limit is %lu", root->limit);
	for (offset = root->head; offset; offset = at(queue, offset)->next) {
		if (!pobj_census_visit(&census, offset, TYPE_NODE, sizeof(struct node)))
			break;
		if (at(queue, offset)->length <= WORDS_MAX)
			check_node(at(queue, offset));
		else
			corpus_wrong("the node at 0x%lx has length %lu", offset, at(queue, offset)->length);
		last = offset;
		count++;
	}
	if (root->tail != last)
		corpus_wrong("tail is 0x%lx but the last node is at 0x%lx", root->tail, last);
	if (root->count != count)
		corpus_wrong("count is %lu but there are %lu", root->count, count);
	pobj_census_finish(&census);
}

static void set_ready(struct queue *queue)
{
	pm_store64(&queue->root->ready, READY); /* BUG(queue-ready-first) */
	pmemobj_persist(queue->pop, &queue->root->ready, sizeof(queue->root->ready));
}

static void set_limit(struct queue *queue)
{
	queue->root->limit = LIMIT;
	pmemobj_persist(queue->pop, &queue->root->limit, sizeof(queue->root->limit));
}

static void *queue_open(const char *path)
{
	PMEMobjpool *pop = pobj_open(path, LAYOUT, READY);
	struct queue *queue;
	PMEMoid root;

	if (!pop)
		return NULL;
	queue = malloc(sizeof(*queue));
	queue->pop = pop;
	root = pmemobj_root(pop, sizeof(struct root));
	queue->root = pmemobj_direct(root);
	queue->uuid = root.pool_uuid_lo;
	if (queue->root->ready != READY) {
#ifdef BUG_QUEUE_READY_FIRST
		set_ready(queue);
		set_limit(queue);
#else
		set_limit(queue);
		set_ready(queue);
#endif
	}
	return queue;
}

static void queue_close(void *store)
{
	struct queue *queue = store;

	pmemobj_close(queue->pop);
	free(queue);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "queue", .open = queue_open, .close = queue_close, .check = queue_check,
		.put = queue_put, .get = queue_get, .del = queue_del, .upd = queue_upd, .scan = queue_scan,
	};

	return corpus_main(&program, argc, argv);
}
