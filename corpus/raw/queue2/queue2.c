/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock-free queue (a linked list with head and tail, changed by compare-and-swap) and two threads.
 *
 *   line 0   magic        line 1   head        line 2   tail
 *   4096     nodes, a line each: next, key, value, serial
 *
 * Operations are given to the two threads in turn, one at a time, so that results and traces are the same in
 * every run. A thread that enqueues writes its node, makes it persistent, and announces it; the *other* thread
 * helps by linking it: one compare-and-swap of the last node's `next`, which it makes persistent before it
 * moves the tail. Dequeuing and updating take one compare-and-swap by the thread whose operation it is. The
 * node that `head` points to is a dummy: the oldest entry is the next one.
 *
 * Threads hand over by plain stores and futex calls, so that no locked instruction fences between a flush
 * and the hand-over. The words that are swapped are an offset and a count of changes, against the A-B-A problem.
 *
 * The tail is only a hint and marked volatile: recovery finds it by walking. A node that is not in the list
 * is free.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "holdfast.h"

#define MAGIC 0x3265756575716668ull
#define NODES_START 4096u
#define NODES 3072u
#define POOL_SIZE (NODES_START + NODES * sizeof(struct node))

struct PM_ALIGNED node {
	uint64_t next; /* a link, as are head and tail */
	uint64_t key;
	uint64_t value;
	uint64_t serial; /* grows from node to node; detects a node that was not persistent */
};

struct header {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t link;
	} head;
	struct PM_ALIGNED {
		uint64_t link;
	} tail;
	struct PM_ALIGNED {
		uint64_t items; /* only in a variant */
	} count;
};

typedef uint32_t __attribute__((may_alias)) half_word; /* only in a variant */

struct queue;

/* One operation, or the part of it that another thread does. */
struct request {
	enum corpus_result (*execute)(struct queue *q, unsigned self, struct request *r);
	uint64_t key;
	uint64_t value;
	uint64_t out;
	uint64_t node; /* offset of an announced node */
	size_t n;
	struct corpus_pair *pairs;
	enum corpus_result result;
};

struct worker {
	pthread_t thread;
	struct queue *queue;
	uint32_t posted; /* requests handed over */
	uint32_t done;
	struct request *request; /* NULL to end */
};

struct queue {
	struct header *header;
	char *base;
	struct worker worker[2];
	unsigned turn;
	uint64_t serial;
	uint64_t free_nodes[NODES];
	unsigned free_count;
};

/* ---- links ---- */

static uint64_t target(uint64_t link)
{
	return link & UINT32_MAX;
}

/* The link that takes the place of `old`. */
static uint64_t link_to(uint64_t old, uint64_t offset)
{
	return ((old >> 32) + 1) << 32 | offset;
}

static struct node *node_at(const struct queue *q, uint64_t link)
{
	return (struct node *)(q->base + target(link));
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* ---- two threads ---- */

static void post(uint32_t *word)
{
	__atomic_store_n(word, *word + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

static void wait_while(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}

static enum corpus_result call(struct worker *w, struct request *r)
{
	uint32_t before = w->done;

	w->request = r;
	post(&w->posted);
	if (!r)
		return CORPUS_OK;
	wait_while(&w->done, before);
	return r->result;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct queue *q = w->queue;

	for (uint32_t n = 0;; n++) {
		wait_while(&w->posted, n);
		if (!w->request)
			return NULL;
		w->request->result = w->request->execute(q, (unsigned)(w - q->worker), w->request);
		post(&w->done);
	}
}

#if defined(BUG_QUEUE2_DEQUEUE_OTHER_FENCE)
static enum corpus_result only_fence(struct queue *q, unsigned self, struct request *r)
{
	(void)q;
	(void)self;
	(void)r;
	pm_fence();
	return CORPUS_OK;
}
#endif

/* ---- enqueue ---- */

static void count_items(struct queue *q, uint64_t change)
{
#ifdef BUG_QUEUE2_COUNT
	__atomic_fetch_add(&q->header->count.items, change, __ATOMIC_ACQ_REL); /* BUG(queue2-count) */
	pm_persist(&q->header->count, sizeof(q->header->count));
#else
	(void)q;
	(void)change;
#endif
}

static void move_tail(struct queue *q, uint64_t from, uint64_t offset)
{
	__atomic_compare_exchange_n(&q->header->tail.link, &from, link_to(from, offset), 0, /* BUG(queue2-tail-trusted) */
				    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Links an announced node; done by the thread that did not announce it. */
static enum corpus_result help_enqueue(struct queue *q, unsigned self, struct request *r)
{
	uint64_t tail, next;
	struct node *last;

	(void)self;
#ifdef BUG_QUEUE2_HELPER_FENCE
	pm_fence(); /* BUG(queue2-helper-fence) */
#endif
#ifdef TRAP_QUEUE2_HELPER_PERSISTS
	pm_persist(node_at(q, r->node), sizeof(struct node));
#endif
	for (;;) {
		tail = load(&q->header->tail.link);
		last = node_at(q, tail);
		next = load(&last->next);
		if (target(next)) { /* linked, but not yet the tail: help along */
			pm_persist(last, sizeof(*last));
			move_tail(q, tail, target(next));
			continue;
		}
		if (__atomic_compare_exchange_n(&last->next, &next, link_to(next, r->node), 0, /* BUG(queue2-link-unpersisted) */ /* BUG(queue2-node-late) */
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			break;
	}
#ifndef BUG_QUEUE2_LINK_UNPERSISTED
	pm_persist(last, sizeof(*last));
#endif
	move_tail(q, tail, r->node);
	return CORPUS_NEW;
}

static enum corpus_result enqueue(struct queue *q, unsigned self, struct request *r)
{
	struct node *n;

	if (q->free_count == 0)
		return CORPUS_FULL;
	r->node = q->free_nodes[--q->free_count];
	n = node_at(q, r->node);
	n->next = link_to(n->next, 0);
	n->key = r->key;
	n->value = r->value;
	n->serial = q->serial++; /* BUG(queue2-node-unfenced) */ /* TRAP(queue2-helper-persists) */
#if defined(BUG_QUEUE2_NODE_UNFENCED)
	pm_flush(n, sizeof(*n));
#elif !defined(BUG_QUEUE2_NODE_LATE) && !defined(TRAP_QUEUE2_HELPER_PERSISTS)
	pm_persist(n, sizeof(*n));
#endif
	call(&q->worker[!self], &(struct request){.execute = help_enqueue, .node = r->node});
#ifdef BUG_QUEUE2_NODE_LATE
	pm_persist(n, sizeof(*n));
#endif
	count_items(q, 1);
	return CORPUS_NEW;
}

/* ---- dequeue, update, read ---- */

static enum corpus_result dequeue(struct queue *q, unsigned self, struct request *r)
{
	struct header *h = q->header;
	uint64_t head, next;

	do {
		head = load(&h->head.link);
		next = load(&node_at(q, head)->next);
		if (!target(next))
			return CORPUS_NONE;
		r->out = node_at(q, next)->value;
	} while (!__atomic_compare_exchange_n(&h->head.link, &head, link_to(head, target(next)), 0, /* BUG(queue2-dequeue-other-fence) */ /* BUG(queue2-dequeue-unpersisted) */
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
#if defined(BUG_QUEUE2_DEQUEUE_OTHER_FENCE)
	pm_flush(&h->head, sizeof(h->head));
	call(&q->worker[!self], &(struct request){.execute = only_fence});
#elif !defined(BUG_QUEUE2_DEQUEUE_UNPERSISTED)
	pm_persist(&h->head, sizeof(h->head));
#endif
	(void)self;
	q->free_nodes[q->free_count++] = target(head);
	count_items(q, (uint64_t)-1);
	return CORPUS_OLD;
}

/* The oldest entry, or NULL. */
static struct node *oldest(const struct queue *q)
{
	uint64_t next = load(&node_at(q, load(&q->header->head.link))->next);

	return target(next) ? node_at(q, next) : NULL;
}

static enum corpus_result update(struct queue *q, unsigned self, struct request *r)
{
	struct node *n = oldest(q);

	(void)self;
	if (!n)
		return CORPUS_NONE;
#ifdef BUG_QUEUE2_FLUSH_BEFORE
	pm_flush(n, sizeof(*n)); /* BUG(queue2-flush-before) */
#endif
#ifdef BUG_QUEUE2_TORN_VALUE
	r->out = n->value;
	*(volatile half_word *)&n->value = (uint32_t)r->value; /* BUG(queue2-torn-value) */
	*((volatile half_word *)&n->value + 1) = (uint32_t)(r->value >> 32);
#else
	r->out = load(&n->value);
	while (!__atomic_compare_exchange_n(&n->value, &r->out, r->value, 0, /* BUG(queue2-update-wrong-line) */
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
#endif
#ifdef BUG_QUEUE2_UPDATE_WRONG_LINE
	pm_persist(&q->header->head, sizeof(q->header->head));
#else
	pm_persist(n, sizeof(*n));
#endif
	return CORPUS_OLD;
}

static enum corpus_result peek(struct queue *q, unsigned self, struct request *r)
{
	struct node *n = oldest(q);

	(void)self;
	if (!n)
		return CORPUS_NONE;
	r->out = n->value;
	return CORPUS_VALUE;
}

static enum corpus_result list(struct queue *q, unsigned self, struct request *r)
{
	struct node *n = oldest(q);
	size_t room = r->n;

	(void)self;
	for (r->n = 0; n && r->n < room; n = target(load(&n->next)) ? node_at(q, load(&n->next)) : NULL)
		r->pairs[r->n++] = (struct corpus_pair){n->key, n->value};
	return CORPUS_OK;
}

/* ---- operations ---- */

static enum corpus_result dispatch(struct queue *q, struct request *r, uint64_t *out)
{
	enum corpus_result result = call(&q->worker[q->turn], r);

	q->turn = !q->turn;
	*out = r->out;
	return result;
}

static enum corpus_result queue2_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	return dispatch(store, &(struct request){.execute = enqueue, .key = key, .value = value}, out);
}

static enum corpus_result queue2_get(void *store, uint64_t key, uint64_t *out)
{
	return dispatch(store, &(struct request){.execute = peek, .key = key}, out);
}

static enum corpus_result queue2_del(void *store, uint64_t key, uint64_t *out)
{
	return dispatch(store, &(struct request){.execute = dequeue, .key = key}, out);
}

static enum corpus_result queue2_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	return dispatch(store, &(struct request){.execute = update, .key = key, .value = value}, out);
}

static size_t queue2_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct request r = {.execute = list, .key = key, .n = n, .pairs = out};

	dispatch(store, &r, &key);
	return r.n;
}

/* ---- opening, recovery, check ---- */

static int is_node(uint64_t link)
{
	return target(link) >= NODES_START && target(link) < POOL_SIZE && target(link) % sizeof(struct node) == 0;
}

/* Walks the list: finds the last node, the next serial, and what is free. Returns 0 if the list is broken. */
static int walk(struct queue *q, uint64_t *last, uint64_t *items)
{
	static char used[NODES];
	uint64_t link = q->header->head.link;

	memset(used, 0, sizeof(used));
	*items = 0;
	if (!is_node(link))
		return 0;
	for (;; link = node_at(q, link)->next) {
		used[(target(link) - NODES_START) / sizeof(struct node)] = 1;
		q->serial = node_at(q, link)->serial + 1;
		*last = target(link);
		if (!target(node_at(q, link)->next))
			break;
		if (!is_node(node_at(q, link)->next) ||
		    used[(target(node_at(q, link)->next) - NODES_START) / sizeof(struct node)])
			return 0;
		++*items;
	}
	q->free_count = 0;
	for (unsigned i = NODES; i-- > 0;)
		if (!used[i])
			q->free_nodes[q->free_count++] = NODES_START + i * sizeof(struct node);
	return 1;
}

static void queue2_check(void *store)
{
	struct queue *q = store;
	uint64_t last, items, serial = 0;
	int tail_seen = 0;

	if (!walk(q, &last, &items)) {
		corpus_wrong("the list is broken");
		return;
	}
	for (struct node *n = node_at(q, q->header->head.link);; n = node_at(q, n->next)) {
		if (serial && (n->serial <= serial || !n->key || !n->value))
			corpus_wrong("node %lu after node %lu is damaged", n->serial, serial);
		serial = n->serial;
		tail_seen |= n == node_at(q, q->header->tail.link);
		if (!target(n->next))
			break;
	}
	if (!tail_seen)
		corpus_wrong("the tail is not in the list");
#ifdef BUG_QUEUE2_COUNT
	if (items != q->header->count.items)
		corpus_wrong("%lu items, but the count is %lu", items, q->header->count.items);
#endif
}

static void recover(struct queue *q)
{
	uint64_t last, items;

	if (!walk(q, &last, &items))
		return;
#ifndef BUG_QUEUE2_TAIL_TRUSTED
	q->header->tail.link = link_to(q->header->tail.link, last);
#endif
}

static void *queue2_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct queue *q;

	if (!base)
		return NULL;
	q = calloc(1, sizeof(*q));
	q->header = (struct header *)base;
	q->base = base;
#ifndef BUG_QUEUE2_TAIL_TRUSTED
	HOLDFAST_VOLATILE(&q->header->tail, sizeof(q->header->tail));
#endif
	if (fresh) {
		node_at(q, NODES_START)->serial = 1;
		pm_flush(node_at(q, NODES_START), sizeof(struct node));
		q->header->head.link = NODES_START;
#ifdef BUG_QUEUE2_TAIL_TRUSTED
		q->header->tail.link = NODES_START;
		pm_flush(&q->header->tail, sizeof(q->header->tail));
#endif
		pm_persist(&q->header->head, sizeof(q->header->head));
		pm_store64(&q->header->id.magic, MAGIC);
		pm_persist(&q->header->id, sizeof(q->header->id));
	}
	recover(q);
	for (unsigned i = 0; i < 2; i++) {
		q->worker[i].queue = q;
		if (pthread_create(&q->worker[i].thread, NULL, work, &q->worker[i]) != 0)
			abort();
	}
	return q;
}

static void queue2_close(void *store)
{
	struct queue *q = store;

	corpus_pool_unmap(q->base, POOL_SIZE);
	for (unsigned i = 0; i < 2; i++) {
		call(&q->worker[i], NULL);
		pthread_join(q->worker[i].thread, NULL);
	}
	free(q);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "queue2", .open = queue2_open, .close = queue2_close, .check = queue2_check,
		.put = queue2_put, .get = queue2_get, .del = queue2_del, .upd = queue2_upd, .scan = queue2_scan,
	};

	return corpus_main(&program, argc, argv);
}
