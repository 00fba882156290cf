/* SPDX-License-Identifier: BSD-3-Clause */
/* A program without persistent memory: calls, stores, pointers, sorting. usage: volatile SCALE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *left, *right;
	uint32_t key;
};

static uint32_t seed = 1;

static uint32_t rnd(void)
{
	return seed = seed * 1664525u + 1013904223u;
}

static __attribute__((noinline)) uint64_t fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static struct node *insert(struct node *t, uint32_t key)
{
	if (t == NULL) {
		t = calloc(1, sizeof *t);
		t->key = key;
	} else if (key < t->key) {
		t->left = insert(t->left, key);
	} else {
		t->right = insert(t->right, key);
	}
	return t;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	unsigned scale = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	static uint32_t array[100000];
	uint64_t sum = 0;
	for (unsigned s = 0; s < scale; s++) {
		struct node *tree = NULL;
		for (int i = 0; i < 20000; i++)
			tree = insert(tree, rnd());
		for (int i = 0; i < 100000; i++)
			array[i] = rnd();
		qsort(array, 100000, sizeof *array, by_value);
		sum += fib(24) + tree->key + array[500];
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
