/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small page store with a write-ahead log. Both files are in the folder POOL:
 *
 *   data   page 0: how many items;  pages 1 to 8: slots, chosen by the key.  1 KiB each
 *   log    frames: number, page, sum, commit, and the whole page;  the last frame of a change has commit set
 *
 * A change appends a frame for each page that it touches, and one fdatasync(log) makes it last. Pages are
 * kept in memory; a checkpoint writes them to data, syncs data, and only then cuts the log. Frames
 * have numbers that never begin anew while the log is in use, so that what an older log has left behind
 * a shorter, newer one does not fit and is not read.
 */
#define _GNU_SOURCE
#include "common/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NPAGES 9
#define PGSZ 1024
#define NSLOTS (PGSZ / 16)
#define CHECKPOINT 10 /* frames */

typedef union page {
	struct { uint64_t items, number; } head; /* page 0 */
	struct { uint64_t key, value; } slot[NSLOTS];
	char bytes[PGSZ];
} page_t;

typedef struct frame {
	uint64_t number, page, commit, sum;
	page_t image;
} frame_t;

typedef struct redo {
	int dir, data, log;
	uint64_t number; /* of the next frame */
	unsigned frames; /* in the log */
	page_t page[NPAGES];
	char dirty[NPAGES];
	int uncut; /* the log was cut, and not synced since */
} redo_t;

static void must(int ok)
{
	if (!ok) {
		perror("redo");
		abort();
	}
}

static uint64_t sum_frame(const frame_t *f)
{
	const uint64_t *w = (const uint64_t *)&f->image;
	uint64_t a = f->number * 3 + f->page + f->commit * 5, b = 1;

#ifdef BUG_REDO_NO_SUM
	return f->number;
#endif
	for (int i = 0; i < PGSZ / 8; i++) {
		a += w[i] + (uint64_t)i;
		b = b * 31 + a;
	}
	return b;
}

/* Recovery: all whole changes of the log, in order. */
static void
replay(redo_t *r)
{
	static frame_t f[CHECKPOINT * 2 + 4];
	unsigned n = 0, done = 0;
	uint64_t want = 0;

	for (; n < sizeof(f) / sizeof(f[0]); n++) {
		if (pread(r->log, &f[n], sizeof(f[n]), (off_t)(n * sizeof(f[n]))) != sizeof(f[n]))
			break;
		if (n == 0)
			want = f[0].number;
		if (f[n].number != want + n || f[n].page >= NPAGES || f[n].sum != sum_frame(&f[n]))
			break;
#ifndef BUG_REDO_HALF_CHANGES
		if (!f[n].commit)
			continue;
#endif
		for (; done <= n; done++) {
			r->page[f[done].page] = f[done].image;
			r->dirty[f[done].page] = 1;
			r->number = f[done].number + 1;
		}
	}
	r->frames = done;
	if (lseek(r->log, 0, SEEK_END) > (off_t)(done * sizeof(f[0]))) /* what is left of a change that never was */
		must(ftruncate(r->log, (off_t)(done * sizeof(f[0]))) == 0 && fsync(r->log) == 0);
	if (r->number < r->page[0].head.number)
		r->number = r->page[0].head.number;
}

static void
cut_log(redo_t *r)
{
#ifdef BUG_REDO_STALE_FRAMES
	r->number = 1;
#else
	must(ftruncate(r->log, 0) == 0);
#ifdef TRAP_REDO_LAZY_CUT
	r->uncut = 1; /* TRAP(redo-lazy-cut) */
#else
	must(fsync(r->log) == 0);
#endif
#endif
	r->frames = 0;
}

static void
checkpoint(redo_t *r)
{
#ifdef BUG_REDO_CUT_EARLY
	cut_log(r);
#endif
	r->page[0].head.number = r->number;
	r->dirty[0] = 1;
	for (int i = 0; i < NPAGES; i++) {
		if (!r->dirty[i])
			continue;
		must(pwrite(r->data, &r->page[i], PGSZ, i * PGSZ) == PGSZ); /* BUG(redo-data-unsynced) BUG(redo-cut-early) */ 
		r->dirty[i] = 0;
	}
#ifndef BUG_REDO_DATA_UNSYNCED
	must(fdatasync(r->data) == 0);
#endif
#ifndef BUG_REDO_CUT_EARLY
	cut_log(r);
#endif
}

static void
append_frame(redo_t *r, uint64_t page, int commit)
{
	frame_t f;

	memset(&f, 0, sizeof(f));
	f.number = r->number++;
	f.page = page;
	f.commit = (uint64_t)commit;
	f.image = r->page[page];
	f.sum = sum_frame(&f);
	must(pwrite(r->log, &f, sizeof(f), (off_t)(r->frames++ * sizeof(f))) == sizeof(f)); /* BUG(redo-log-unsynced) BUG(redo-half-changes) BUG(redo-no-sum) BUG(redo-data-first) BUG(redo-stale-frames) */
	r->dirty[page] = 1;
}

static void
commit(redo_t *r, uint64_t page, int head)
{
#ifdef BUG_REDO_DATA_FIRST
	must(pwrite(r->data, &r->page[page], PGSZ, (off_t)page * PGSZ) == PGSZ);
#endif
	if (r->uncut)
		must(fsync(r->log) == 0);
	r->uncut = 0;
	if (head)
		append_frame(r, 0, 0);
	append_frame(r, page, 1);
#ifndef BUG_REDO_LOG_UNSYNCED
	must(fdatasync(r->log) == 0);
#endif
#ifdef BUG_REDO_SYNC_CLEAN
	must(fdatasync(r->data) == 0); /* BUG(redo-sync-clean) */
#endif
	if (r->frames >= CHECKPOINT)
		checkpoint(r);
}

/* ---- slots ---- */

static int
find(redo_t *r, uint64_t key, uint64_t *page)
{
	*page = 1 + key % (NPAGES - 1);
	for (int i = 0; i < NSLOTS; i++)
		if (r->page[*page].slot[i].key == key)
			return i;
	return -1;
}

/* A free slot of the page, from the key's own on. */
static int
find_free(redo_t *r, uint64_t page, uint64_t key, int *slot)
{
	for (int n = 0; n < NSLOTS; n++) {
		*slot = (int)((key * 37 + (uint64_t)n) % NSLOTS);
		if (!r->page[page].slot[*slot].key)
			return 0;
	}
	return -1;
}

static enum corpus_result
redo_get(void *store, uint64_t key, uint64_t *out)
{
	redo_t *r = store;
	uint64_t page;
	int i = find(r, key, &page);

	if (i < 0)
		return CORPUS_NONE;
	*out = r->page[page].slot[i].value;
	return CORPUS_VALUE;
}

static enum corpus_result
redo_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	redo_t *r = store;
	uint64_t page;
	int i = find(r, key, &page);

	if (i < 0)
		return CORPUS_NONE;
	*out = r->page[page].slot[i].value;
	r->page[page].slot[i].value = value;
	commit(r, page, 0);
	return CORPUS_OLD;
}

static enum corpus_result
redo_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	redo_t *r = store;
	uint64_t page;
	int i;

	if (redo_upd(r, key, value, out) == CORPUS_OLD)
		return CORPUS_OLD;
	find(r, key, &page);
	if (find_free(r, page, key, &i) < 0)
		return CORPUS_FULL;
	r->page[page].slot[i].key = key;
	r->page[page].slot[i].value = value;
	r->page[0].head.items++;
	commit(r, page, 1);
	return CORPUS_NEW;
}

static enum corpus_result
redo_del(void *store, uint64_t key, uint64_t *out)
{
	redo_t *r = store;
	uint64_t page;
	int i = find(r, key, &page);

	if (i < 0)
		return CORPUS_NONE;
	*out = r->page[page].slot[i].value;
	r->page[page].slot[i].key = r->page[page].slot[i].value = 0;
	r->page[0].head.items--;
	commit(r, page, 1);
	return CORPUS_OLD;
}

/* ---- beginning and end ---- */

static void
sync_parent(const char *path)
{
	char up[4096];
	int fd;

	snprintf(up, sizeof(up), "%s/..", path);
	must((fd = open(up, O_RDONLY | O_DIRECTORY)) >= 0 && fsync(fd) == 0 && close(fd) == 0);
}

static void *
redo_open(const char *path)
{
	redo_t *r = calloc(1, sizeof(*r));

	if (mkdir(path, 0755) == 0)
		sync_parent(path);
	if ((r->dir = open(path, O_RDONLY | O_DIRECTORY)) < 0)
		return NULL;
	r->data = openat(r->dir, "data", O_RDWR | O_CREAT, 0644);
	r->log = openat(r->dir, "log", O_RDWR | O_CREAT, 0644); /* BUG(redo-names-unsynced) */
	must(r->data >= 0 && r->log >= 0);
#ifndef BUG_REDO_NAMES_UNSYNCED
	must(fsync(r->dir) == 0);
#endif
	r->number = 1;
	for (int i = 0; i < NPAGES; i++)
		if (pread(r->data, &r->page[i], PGSZ, i * PGSZ) < 0)
			return NULL;
	replay(r);
	return r;
}

static void
redo_close(void *store)
{
	redo_t *r = store;

	if (r->frames)
		checkpoint(r);
#ifdef BUG_REDO_STALE_FRAMES
	must(ftruncate(r->log, 0) == 0 && fsync(r->log) == 0);
#endif
	close(r->data);
	close(r->log);
	close(r->dir);
	free(r);
}

static void
redo_check(void *store)
{
	redo_t *r = store;
	uint64_t items = 0;

	for (int p = 1; p < NPAGES; p++) {
		for (int i = 0; i < NSLOTS; i++) {
			uint64_t key = r->page[p].slot[i].key;

			items += key != 0;
			if (key && 1 + key % (NPAGES - 1) != (uint64_t)p)
				corpus_wrong("key %lu is on page %d", key, p);
			if (!key != !r->page[p].slot[i].value)
				corpus_wrong("half a slot on page %d", p);
		}
	}
	if (items != r->page[0].head.items)
		corpus_wrong("%lu items, not %lu", items, r->page[0].head.items);
}

int
main(int argc, char **argv)
{
	struct corpus_program p = { .name = "redo" };

	p.open = redo_open;
	p.close = redo_close;
	p.check = redo_check;
	p.put = redo_put;
	p.get = redo_get;
	p.del = redo_del;
	p.upd = redo_upd;
	return corpus_main(&p, argc, argv);
}
