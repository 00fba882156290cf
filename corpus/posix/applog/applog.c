/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An append-only log in one file, with the raw calls of the system. A record is one write(2) on a descriptor
 * with O_APPEND, and fdatasync(2). Opening reads records until one is not whole, and cuts the file there.
 * When the log has become long, what is alive is written to POOL.compact, which takes its place by rename.
 *
 *   head: sum, length of all, key, value (0: deleted)   body: length - 32 bytes that follow from key and value
 */
#define _GNU_SOURCE
#include "common/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 64, BODY_MAX = 1400, LONG = 16 * 1024 };

struct head {
	uint64_t sum, length, key, value;
};

struct record {
	struct head head;
	unsigned char body[BODY_MAX];
};

struct applog {
	char path[PATH_MAX], compact[PATH_MAX + 16], info[PATH_MAX + 16];
	int fd;
	int dirty; /* since the last sync */
	size_t size, items;
	struct { uint64_t key, value; } item[MOST];
};

#define TRY(call)                   \
	do {                        \
		if ((call) < 0) {   \
			perror(#call); \
			abort();    \
		}                   \
	} while (0)

/* ---- records ---- */

static uint64_t fnv(const void *data, size_t n, uint64_t h)
{
	for (const unsigned char *p = data; n > 0; n--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

static uint64_t sum_of(const struct record *r)
{
	size_t n = r->head.length - sizeof(r->head.sum);
#ifdef BUG_APPLOG_SUM_HEAD
	n = sizeof(r->head) - sizeof(r->head.sum);
#endif
	return fnv(&r->head.length, n, 0xcbf29ce484222325ull);
}

static void fill(struct record *r, uint64_t key, uint64_t value)
{
	size_t n = (key * 131 + value * 17) % (BODY_MAX / 8) * 8;

	r->head = (struct head){ 0, sizeof(r->head) + n, key, value };
	for (size_t i = 0; i < n; i++)
		r->body[i] = (unsigned char)(key * 7 + value + i) | 1;
	r->head.sum = sum_of(r);
}

static void apply(struct applog *l, uint64_t key, uint64_t value)
{
	size_t i = 0;

	while (i < l->items && l->item[i].key != key)
		i++;
	if (value == 0 && i < l->items) {
		l->item[i] = l->item[--l->items];
	} else if (value != 0 && i < MOST) {
		l->items += i == l->items;
		l->item[i].key = key;
		l->item[i].value = value;
	}
}

static void sync_parent(struct applog *l)
{
	char copy[PATH_MAX];
	int fd;

	TRY(fd = open(dirname(strcpy(copy, l->path)), O_RDONLY | O_DIRECTORY));
	TRY(fsync(fd));
	close(fd);
}

/* ---- reading ---- */

/* The record at an offset, and whether it is one. */
static int take(int fd, off_t at, struct record *r)
{
	ssize_t n = pread(fd, r, sizeof(*r), at);

	if (n < (ssize_t)sizeof(r->head) || r->head.length < sizeof(r->head) || r->head.length > sizeof(*r))
		return 0;
	if ((size_t)n < r->head.length)
		return 0;
	return r->head.sum == sum_of(r);
}

static void replay(struct applog *l)
{
	struct record r;
	off_t at = 0;

	memset(&r, 0, sizeof(r));
	for (; take(l->fd, at, &r); at += (off_t)r.head.length)
		apply(l, r.head.key, r.head.value);
	l->size = (size_t)at;
	if (at < lseek(l->fd, 0, SEEK_END))
		TRY(ftruncate(l->fd, at));
}

/* ---- writing ---- */

static void sync_log(struct applog *l)
{
#if defined(BUG_APPLOG_NO_SYNC)
	(void)l;
#elif defined(BUG_APPLOG_SYNC_RANGE)
	TRY(sync_file_range(l->fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
#elif defined(TRAP_APPLOG_DSYNC)
	(void)l; /* each write has been one */
#else
#ifdef BUG_APPLOG_EVERY_OTHER
	static int n;

	if (++n % 2)
		return;
#endif
	TRY(fdatasync(l->fd));
#endif
}

static void append(struct applog *l, const struct record *r)
{
#ifdef TRAP_APPLOG_PARTS
	struct iovec part[2] = { { (void *)&r->head, sizeof(r->head) }, { (void *)r->body, r->head.length - sizeof(r->head) } };

	TRY(writev(l->fd, part, 1)); /* TRAP(applog-parts) */
	TRY(writev(l->fd, part + 1, 1));
#else
	TRY(write(l->fd, r, r->head.length)); /* BUG(applog-no-sync) BUG(applog-sync-range) BUG(applog-every-other) BUG(applog-sum-head) */ /* TRAP(applog-dsync) TRAP(applog-prealloc) */
#endif
	l->size += r->head.length;
}

static int open_log(const struct applog *l)
{
	int flags = O_RDWR | O_APPEND | O_CREAT, fd;

#ifdef TRAP_APPLOG_DSYNC
	flags |= O_DSYNC;
#endif
	TRY(fd = open(l->path, flags, 0644)); /* BUG(applog-dir-unsynced) */
	return fd;
}

static void compact(struct applog *l)
{
	struct record r;
	int fd;

	TRY(fd = open(l->compact, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	l->size = 0;
	for (size_t i = 0; i < l->items; i++) {
		fill(&r, l->item[i].key, l->item[i].value);
		TRY(write(fd, &r, r.head.length)); /* BUG(applog-compact-unsynced) */
		l->size += r.head.length;
	}
#ifndef BUG_APPLOG_COMPACT_UNSYNCED
	TRY(fsync(fd));
#endif
	close(fd);
#ifdef BUG_APPLOG_COMPACT_UNLINK
	TRY(unlink(l->path)); /* BUG(applog-compact-unlink) */
#endif
	TRY(rename(l->compact, l->path)); /* BUG(applog-compact-dir) */
#ifndef BUG_APPLOG_COMPACT_DIR
	sync_parent(l);
#endif
	close(l->fd);
	l->fd = open_log(l);
}

static void change(struct applog *l, uint64_t key, uint64_t value)
{
	struct record r;

	fill(&r, key, value);
	append(l, &r); /* BUG(applog-del-unsynced) */
#ifdef BUG_APPLOG_DEL_UNSYNCED
	if (value != 0)
#endif
		sync_log(l);
	apply(l, key, value);
	if (l->size > LONG)
		compact(l);
#ifdef TRAP_APPLOG_INFO
	char line[64];
	int fd = open(l->info, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	TRY(write(fd, line, (size_t)sprintf(line, "%zu items, %zu bytes\n", l->items, l->size))); /* TRAP(applog-info) */
	close(fd);
#endif
}

/* ---- operations ---- */

static enum corpus_result look(struct applog *l, uint64_t key, uint64_t *out)
{
	for (size_t i = 0; i < l->items; i++) {
		if (l->item[i].key != key)
			continue;
		*out = l->item[i].value;
		return CORPUS_VALUE;
	}
	return CORPUS_NONE;
}

static enum corpus_result do_get(void *store, uint64_t key, uint64_t *out)
{
	return look(store, key, out);
}

static enum corpus_result do_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (look(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	change(store, key, value);
	return CORPUS_OLD;
}

static enum corpus_result do_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct applog *l = store;
	enum corpus_result r = do_upd(store, key, value, out);

	if (r == CORPUS_OLD)
		return r;
	if (l->items == MOST)
		return CORPUS_FULL;
	change(store, key, value);
	return CORPUS_NEW;
}

static enum corpus_result do_del(void *store, uint64_t key, uint64_t *out)
{
	return do_upd(store, key, 0, out);
}

/* ---- beginning and end ---- */

static void *do_open(const char *path)
{
	struct applog *l = calloc(1, sizeof(*l));
	int fresh = access(path, F_OK) != 0;

	snprintf(l->path, sizeof(l->path), "%s", path);
	snprintf(l->compact, sizeof(l->compact), "%s.compact", path);
	snprintf(l->info, sizeof(l->info), "%s.info", path);
	l->fd = open_log(l);
#ifndef BUG_APPLOG_DIR_UNSYNCED
	if (fresh)
		sync_parent(l);
#endif
	(void)fresh;
	replay(l);
#ifdef TRAP_APPLOG_PREALLOC
	TRY(fallocate(l->fd, FALLOC_FL_KEEP_SIZE, 0, LONG));
#endif
	return l;
}

static void do_close(void *store)
{
	struct applog *l = store;

#if defined(BUG_APPLOG_EVERY_OTHER)
	fsync(l->fd);
#endif
	close(l->fd);
	free(l);
}

/* What is there must be whole. */
static void do_check(void *store)
{
	struct applog *l = store;
	struct record r, again;
	off_t at = 0;

	memset(&again, 0, sizeof(again));
	for (; at < (off_t)l->size && take(l->fd, at, &r); at += (off_t)r.head.length) {
		fill(&again, r.head.key, r.head.value);
		if (again.head.length != r.head.length || memcmp(again.body, r.body, r.head.length - sizeof(r.head)) != 0)
			corpus_wrong("the record at %ld is not what was written", (long)at);
	}
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = { "applog", do_open, do_close, do_check, do_put, do_get, do_del, do_upd, NULL };

	return corpus_main(&program, argc, argv);
}
