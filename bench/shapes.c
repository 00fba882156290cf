/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is hard for an analysis of long runs, with raw flushes and fences.
 *
 * usage: shapes POOL OPERATIONS (walk|locks) [noflush]
 *
 *   walk    a binary search tree with the size of every subtree: a put changes all nodes on its way, in a
 *           recursion that goes left or right, so that each node has a call path of its own
 *   locks   a table of objects that are made anew all the time, each with a lock in its middle that is
 *           declared volatile: as many ranges as objects
 *
 * Stock Valgrind cannot decode clwb, so its run, the baseline, leaves that instruction out.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast.h"

struct node {
	uint64_t key, size;
	uint32_t left, right; /* numbers of nodes; 0: none */
};
struct object {
	uint64_t id, lock[4], value, check;
};

static union {
	struct node *node; /* number 0 holds the root, and how many there are */
	struct object *object;
} pm;
static uint64_t seed = 7;
static int flush = 1;

static uint64_t draw(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 20;
}

static void flush_line(const void *p)
{
	if (flush)
		__asm__ volatile("clwb %0" : "+m"(*(volatile char *)p));
}

static void fence(void)
{
	__asm__ volatile("sfence" ::: "memory");
}

static void flush_range(const void *p, size_t n)
{
	for (uintptr_t at = (uintptr_t)p & ~63ul; at < (uintptr_t)p + n; at += 64)
		flush_line((const void *)at);
}

static __attribute__((noinline)) uint32_t put(uint32_t at, uint64_t key, uint32_t new)
{
	struct node *n = &pm.node[at];
	if (!at)
		return new;
	if (key < n->key)
		n->left = put(n->left, key, new);
	else
		n->right = put(n->right, key, new);
	n->size++;
	flush_range(n, sizeof *n);
	return at;
}

static void walk(uint64_t operations)
{
	for (uint64_t i = 1; i <= operations; i++) {
		struct node *n = &pm.node[i];
		*n = (struct node){ .key = draw(), .size = 1 };
		flush_range(n, sizeof *n);
		fence();
		pm.node->left = put(pm.node->left, n->key, (uint32_t)i);
		pm.node->size = i;
		flush_range(pm.node, sizeof *n);
		fence();
	}
}

static void locks(uint64_t operations)
{
	uint64_t objects = operations / 2;
	for (uint64_t i = 0; i < operations; i++) {
		struct object *o = &pm.object[draw() % objects];
		HOLDFAST_VOLATILE(o->lock, sizeof o->lock);
		o->lock[0] = i;
		o->id = i + 1;
		o->value = draw();
		o->check = o->id ^ o->value;
		o->lock[0] = 0;
		flush_range(o, sizeof *o);
		fence();
	}
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
	size_t size = (n + 1) * sizeof(struct object);
	int fd = n ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	flush = argc < 5;
	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		return perror("shapes"), 1;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return perror("shapes"), 1;
	pm.node = p;
	(strcmp(argv[3], "walk") ? locks : walk)(n);
	printf("%llu\n", (unsigned long long)pm.node->size);
	return 0;
}
