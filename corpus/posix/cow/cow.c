/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy-on-write tree in the file POOL/tree. Nothing that a root leads to is ever written again: a change
 * writes a new leaf and a new inner node to free pages, syncs, and writes a new root into the one of the two
 * root blocks that is older, and syncs that. Opening takes the newer root whose sum is right.
 *
 *     block 0   root of odd generations         page 1, 2, ...   inner: eight leaves, by key % 8
 *     block 1   root of even generations                         leaf: sorted pairs, up to 30
 *
 * Pages are free that the newest root does not lead to, for it is on disk by then. Blocks have 512 bytes, pages 1024, at 1024 * number.
 */
#define _GNU_SOURCE
#include "common/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { page_size = 1024, block_size = 512, fan_out = 8, leaf_max = 30, pages_max = 64 };

struct root { uint64_t generation, inner, items, sum; };
struct inner { uint64_t generation, leaf[fan_out], sum; };
struct leaf { uint64_t generation, count; struct corpus_pair pair[leaf_max]; uint64_t sum; };

struct cow {
	int dir, fd;
	int bad;              /* the root leads to a page that is not what it should be */
	struct root root;     /* the newest */
	struct inner inner;
	struct leaf leaf[fan_out];
	char used[pages_max];
};

static uint64_t sum_words(const void *from, const uint64_t *to)
{
	uint64_t h = 77;

	for (const uint64_t *w = from; w < to; w++)
		h = (h << 7 | h >> 57) ^ *w * 0x9e3779b97f4a7c15ull;
	return h;
}

#define SUM(x) sum_words((x), &(x)->sum)

static void check_call(long result, const char *what)
{
	if (result < 0) {
		perror(what);
		abort();
	}
}

static off_t root_place(uint64_t generation)
{
#ifdef BUG_COW_STRADDLE
	return 512 - 16 + 0 * (off_t)generation;
#elif defined(TRAP_COW_ONE_ROOT)
	return 0 * (off_t)generation;
#endif
	return generation % 2 ? 0 : block_size;
}

static off_t page_place(uint64_t page)
{
	return (off_t)page * page_size;
}

/* ---- pages ---- */

static uint64_t take_page(struct cow *c)
{
	for (uint64_t i = 1; i < pages_max; i++) {
		if (c->used[i])
			continue;
		c->used[i] = 1;
		return i;
	}
	abort();
}

static void find_free(struct cow *c)
{
	memset(c->used, 0, sizeof(c->used));
#ifndef BUG_COW_REUSE_EARLY
	c->used[c->root.inner] = 1;
#endif
	for (int i = 0; i < fan_out; i++)
		c->used[c->inner.leaf[i]] = 1;
}

static int read_tree(struct cow *c)
{
	if (pread(c->fd, &c->inner, sizeof(c->inner), page_place(c->root.inner)) != sizeof(c->inner) ||
	    c->inner.sum != SUM(&c->inner) || c->inner.generation > c->root.generation)
		return 0;
	for (int i = 0; i < fan_out; i++) {
		struct leaf *l = &c->leaf[i];

		if (c->inner.leaf[i] == 0)
			continue;
		if (pread(c->fd, l, sizeof(*l), page_place(c->inner.leaf[i])) != sizeof(*l) || l->sum != SUM(l) ||
		    l->generation > c->root.generation || l->count > leaf_max)
			return 0;
	}
	return 1;
}

static void read_root(struct cow *c)
{
	for (uint64_t i = 0; i < 2; i++) {
		struct root r;

		if (pread(c->fd, &r, sizeof(r), root_place(i)) == sizeof(r) && r.sum == SUM(&r) && r.generation > c->root.generation)
			c->root = r;
#ifdef BUG_COW_STRADDLE
		else if (pread(c->fd, &r, sizeof(r), root_place(i)) == sizeof(r) && r.generation && r.sum != SUM(&r))
			c->bad = 1;
#endif
	}
}

/* ---- changes ---- */

static void sync_pages(struct cow *c)
{
#if !defined(BUG_COW_ONE_SYNC) && !defined(TRAP_COW_DSYNC_PAGES) && !defined(BUG_COW_LEAF_UNSYNCED)
	check_call(fdatasync(c->fd), "fdatasync");
#endif
	(void)c;
}

static void write_pages(struct cow *c, int which)
{
	int fd = c->fd;

#if defined(TRAP_COW_DSYNC_PAGES) || defined(BUG_COW_LEAF_UNSYNCED)
	check_call(fd = openat(c->dir, "tree", O_WRONLY | O_DSYNC), "openat");
#endif
	c->inner.leaf[which] = take_page(c);
	c->leaf[which].generation = c->inner.generation = c->root.generation + 1;
	c->leaf[which].sum = SUM(&c->leaf[which]);
#ifdef BUG_COW_LEAF_UNSYNCED
	check_call(pwrite(c->fd, &c->leaf[which], sizeof(struct leaf), page_place(c->inner.leaf[which])), "pwrite"); /* BUG(cow-leaf-unsynced) */
#else
	check_call(pwrite(fd, &c->leaf[which], sizeof(struct leaf), page_place(c->inner.leaf[which])), "pwrite"); /* BUG(cow-reuse-early) */ /* TRAP(cow-dsync-pages) */
#endif
	c->inner.sum = SUM(&c->inner);
	c->root.inner = take_page(c);
	check_call(pwrite(fd, &c->inner, sizeof(c->inner), page_place(c->root.inner)), "pwrite");
	if (fd != c->fd)
		close(fd);
}

static void commit(struct cow *c, int which, int more)
{
	find_free(c);
	write_pages(c, which);
	sync_pages(c);
	c->root.generation++;
	c->root.items += (uint64_t)(int64_t)more;
	c->root.sum = SUM(&c->root);
	check_call(pwrite(c->fd, &c->root, sizeof(c->root), root_place(c->root.generation)), "pwrite"); /* BUG(cow-one-sync) BUG(cow-root-unsynced) BUG(cow-straddle) BUG(cow-root-async) */ /* TRAP(cow-one-root) */
#if defined(BUG_COW_ROOT_ASYNC)
	check_call(sync_file_range(c->fd, 0, page_size, SYNC_FILE_RANGE_WRITE), "sync_file_range");
#elif !defined(BUG_COW_ROOT_UNSYNCED)
	check_call(fdatasync(c->fd), "fdatasync");
#endif
#ifdef BUG_COW_DIR_SYNC
	check_call(fsync(c->dir), "fsync"); /* BUG(cow-dir-sync) */
#endif
}

/* ---- operations ---- */

static uint64_t seek(const struct leaf *l, uint64_t key)
{
	uint64_t i = 0;

	for (; i < l->count && l->pair[i].key < key; i++)
		continue;
	return i;
}

static enum corpus_result cow_get(void *store, uint64_t key, uint64_t *out)
{
	const struct leaf *l = &((struct cow *)store)->leaf[key % fan_out];
	uint64_t i = seek(l, key);

	if (i == l->count || l->pair[i].key != key)
		return CORPUS_NONE;
	*out = l->pair[i].value;
	return CORPUS_VALUE;
}

static enum corpus_result cow_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct cow *c = store;
	struct leaf *l = &c->leaf[key % fan_out];
	uint64_t i = seek(l, key);
	int is_new = cow_get(store, key, out) == CORPUS_NONE;

	if (is_new && l->count == leaf_max)
		return CORPUS_FULL;
	if (is_new) {
		memmove(&l->pair[i + 1], &l->pair[i], (l->count - i) * sizeof(l->pair[0]));
		l->pair[i].key = key;
		l->count++;
	}
	l->pair[i].value = value;
	commit(c, (int)(key % fan_out), is_new);
	return is_new ? CORPUS_NEW : CORPUS_OLD;
}

static enum corpus_result cow_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	return cow_get(store, key, out) == CORPUS_NONE ? CORPUS_NONE : cow_put(store, key, value, out);
}

static enum corpus_result cow_del(void *store, uint64_t key, uint64_t *out)
{
	struct cow *c = store;
	struct leaf *l = &c->leaf[key % fan_out];
	uint64_t i = seek(l, key);

	if (cow_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	l->count--;
	memmove(&l->pair[i], &l->pair[i + 1], (l->count - i) * sizeof(l->pair[0]));
	memset(&l->pair[l->count], 0, sizeof(l->pair[0]));
	commit(c, (int)(key % fan_out), -1);
	return CORPUS_OLD;
}

static int by_key(const void *a, const void *b)
{
	const struct corpus_pair *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static size_t cow_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct cow *c = store;
	struct corpus_pair all[fan_out * leaf_max];
	size_t found = 0;

	for (int i = 0; i < fan_out; i++)
		for (uint64_t k = seek(&c->leaf[i], key); k < c->leaf[i].count; k++)
			all[found++] = c->leaf[i].pair[k];
	qsort(all, found, sizeof(all[0]), by_key);
	found = found < n ? found : n;
	memcpy(out, all, found * sizeof(all[0]));
	return found;
}

/* ---- beginning and end ---- */

static void *cow_open(const char *path)
{
	struct cow *c = calloc(1, sizeof(*c));
	int made = mkdir(path, 0777) == 0, up;

	if ((c->dir = open(path, O_DIRECTORY | O_CLOEXEC)) < 0)
		return NULL;
	check_call(c->fd = openat(c->dir, "tree", O_RDWR | O_CREAT | O_CLOEXEC, 0666), "openat"); /* BUG(cow-name-unsynced) */
#ifndef BUG_COW_NAME_UNSYNCED
	check_call(fsync(c->dir), "fsync");
#endif
	if (made) {
		check_call(up = openat(c->dir, "..", O_DIRECTORY), "..");
		check_call(fsync(up), "fsync");
		close(up);
	}
	read_root(c);
	if (c->root.generation && !read_tree(c))
		c->bad = 1;
	return c;
}

static void cow_close(void *store)
{
	struct cow *c = store;

	close(c->fd);
	close(c->dir);
	free(c);
}

static void cow_check(void *store)
{
	struct cow *c = store;
	uint64_t items = 0;

	if (c->bad) {
		corpus_wrong("the root of generation %" PRIu64 " leads to a bad page", c->root.generation);
		return;
	}
	for (int i = 0; i < fan_out; i++)
		items += c->leaf[i].count;
	if (items != c->root.items)
		corpus_wrong("%" PRIu64 " items, not %" PRIu64, items, c->root.items);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "cow", .open = cow_open, .close = cow_close, .check = cow_check, .put = cow_put,
		.get = cow_get, .del = cow_del, .upd = cow_upd, .scan = cow_scan,
	};

	return corpus_main(&program, argc, argv);
}
