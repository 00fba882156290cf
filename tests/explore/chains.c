/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on a hash table with chains: chains POOL, 12 bytes on standard input. Correct.
 *
 * The head of the chain depends on the key, and the nodes that are met on the way through it on the
 * keys of the commands before. commands.h has the commands. Links are numbers of nodes, 0 for none.
 *
 * There are 559 paths, counted as in slots.c: the last command has 7 on an empty table, 20 on one
 * with a key or with two in different chains, 2 + 2 × 5 + 2 × 8 = 28 on two in one chain; the last two
 * have 2 + 20 + 4 × 7 = 50 and 2 + (20 + 4 × 20) + (28 + 4 × 20) + 7 × 20 + 7 = 357; and all
 * three, 2 + 357 + 4 × 50 = 559.
 */
#include "commands.h"

#define NODES (COMMANDS + 1)

struct node {
	uint32_t key;
	uint32_t next;
	uint64_t value;
};

struct table {
	struct node node[NODES]; /* node[0] takes what was read */
	uint32_t head[BUCKETS];
	uint32_t used;
};

/* Where the link to the node of the key is; if there is none, the link at the end of its chain. */
NOINLINE static uint32_t *find(struct table *t, uint8_t key)
{
	uint32_t *link = &t->head[key % BUCKETS];
	for (;;) {
		uint32_t at = *link;
		if (BRANCH(at == 0))
			return link;
		if (BRANCH(t->node[at].key == key))
			return link;
		link = &t->node[at].next;
	}
}

static void set(struct node *n, uint64_t value)
{
	n->value = value;
	persist(n);
}

static void put(struct table *t, uint8_t key, uint64_t value)
{
	uint32_t *link = find(t, key), at = *link;
	if (BRANCH(at != 0)) {
		if (BRANCH(t->node[at].value != value))
			set(&t->node[at], value);
		return;
	}
	at = t->used + 1;
	t->node[at].key = key;
	t->node[at].next = 0;
	set(&t->node[at], value);
	t->used = at;
	persist(&t->used);
	*link = at;
	persist(link);
}

static void get(struct table *t, uint8_t key)
{
	uint32_t at = *find(t, key);
	if (BRANCH(at != 0))
		set(&t->node[0], t->node[at].value);
	else
		set(&t->node[0], 0);
}

static void delete (struct table *t, uint8_t key)
{
	uint32_t *link = find(t, key), at = *link;
	if (BRANCH(at != 0)) {
		*link = t->node[at].next;
		persist(link);
	}
}

static void add(struct table *t, uint8_t key, uint8_t value)
{
	uint32_t at = *find(t, key);
	if (BRANCH(at != 0))
		if (BRANCH(t->node[at].value + value <= LARGEST))
			set(&t->node[at], t->node[at].value + value);
}

static void swap(struct table *t, uint8_t key, uint8_t value)
{
	uint32_t at = *find(t, key);
	if (BRANCH(at != 0))
		if (BRANCH(value > t->node[at].value)) {
			set(&t->node[0], t->node[at].value);
			set(&t->node[at], value);
		}
}

NOINLINE static int execute(void *table, uint8_t what, uint8_t key, uint8_t value)
{
	if (BRANCH((uint8_t)(what - PUT) > SWAP - PUT))
		return 0;
	if (BRANCH(what == PUT))
		put(table, key, value);
	else if (BRANCH(what == GET))
		get(table, key);
	else if (BRANCH(what == DELETE))
		delete (table, key);
	else if (BRANCH(what == ADD))
		add(table, key, value);
	else
		swap(table, key, value);
	return 1;
}

int main(int argc, char **argv)
{
	return commands(argc, argv, sizeof(struct table));
}
