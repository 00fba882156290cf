/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages with a double-write buffer, as database engines keep them: a page is larger than what the disk writes as a
 * whole, so it goes to a buffer first, which is synced, and then to its home, which is synced, too. If it is torn at home,
 * it is whole in the buffer.
 *
 *   block 0: the word READY | block 1: the buffer | blocks 2 to 5: pages, a key is on page key % 4.  All of 8 KiB.
 */
#include "common/corpus.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 8192
#define READY "twice 1"
static const unsigned kPages = 4;

struct Page {
	uint64_t checksum;
	uint32_t number;
	uint32_t used;
	uint64_t lsn;
	struct { uint64_t key, value; } row[16];
	unsigned char spare[BLOCK - 24 - 16 * 16 - 16];
	uint64_t lsn_again, value_sum; /* at the end of the page */
};

_Static_assert(sizeof(struct Page) == BLOCK, "a page is a block");

struct Twice {
	int fd;
	bool home_dirty;
	struct Page page[4];
};

static void fatal(const char *what)
{
	perror(what);
	exit(3);
}

static uint64_t checksum(const struct Page *p)
{
	const unsigned char *bytes = (const unsigned char *)p + sizeof p->checksum;
	size_t n = BLOCK - sizeof p->checksum;
	uint64_t h = 5381;
#ifdef BUG_TWICE_HALF_SUM
	n = 2048;
#endif
	while (n--)
		h = h * 33 + *bytes++;
	return h;
}

static void write_block(struct Twice *t, unsigned block, const void *data)
{
	if (pwrite(t->fd, data, BLOCK, (off_t)block * BLOCK) != BLOCK)
		fatal("pwrite");
}

static void sync_file(struct Twice *t)
{
	if (fdatasync(t->fd))
		fatal("fdatasync");
}

static bool read_page(struct Twice *t, unsigned block, struct Page *p)
{
	return pread(t->fd, p, BLOCK, (off_t)block * BLOCK) == BLOCK && p->checksum == checksum(p);
}

/* ---- writing ---- */

static void write_page(struct Twice *t, struct Page *p)
{
	p->lsn_again = ++p->lsn;
	p->value_sum = 0;
	for (unsigned i = 0; i < p->used; i++)
		p->value_sum += p->row[i].value;
	for (unsigned i = 0; i < sizeof p->spare; i++)
		p->spare[i] = (unsigned char)(p->lsn + i);
	p->checksum = checksum(p);
#ifdef TRAP_TWICE_LAZY_HOME
	if (t->home_dirty)
		sync_file(t);
#endif
#ifndef BUG_TWICE_NO_BUFFER
	write_block(t, 1, p); /* BUG(twice-buffer-unsynced) BUG(twice-unverified) BUG(twice-half-sum) */
#ifndef BUG_TWICE_BUFFER_UNSYNCED
	sync_file(t);
#endif
#endif
	write_block(t, 2 + p->number, p); /* BUG(twice-no-buffer) BUG(twice-home-unsynced) */ /* TRAP(twice-lazy-home) */
	t->home_dirty = true;
#if !defined(BUG_TWICE_HOME_UNSYNCED) && !defined(TRAP_TWICE_LAZY_HOME)
	sync_file(t);
	t->home_dirty = false;
#endif
#ifdef BUG_TWICE_SYNC_AGAIN
	fsync(t->fd); /* BUG(twice-sync-again) */
#endif
}

/* ---- operations ---- */

static struct Page *page_for(struct Twice *t, uint64_t key, unsigned *row)
{
	struct Page *p = &t->page[key % kPages];

	for (*row = 0; *row < p->used && p->row[*row].key != key; ++*row)
		;
	return p;
}

static enum corpus_result twiceGet(void *store, uint64_t key, uint64_t *out)
{
	unsigned row;
	struct Page *p = page_for(store, key, &row);

	if (row == p->used)
		return CORPUS_NONE;
	*out = p->row[row].value;
	return CORPUS_VALUE;
}

static enum corpus_result twiceUpd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	unsigned row;
	struct Page *p = page_for(store, key, &row);

	if (row == p->used)
		return CORPUS_NONE;
	*out = p->row[row].value;
	p->row[row].value = value;
	write_page(store, p);
	return CORPUS_OLD;
}

static enum corpus_result twicePut(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	unsigned row;
	struct Page *p = page_for(store, key, &row);

	if (row < p->used)
		return twiceUpd(store, key, value, out);
	if (p->used == 16)
		return CORPUS_FULL;
	p->row[row].key = key;
	p->row[row].value = value;
	p->used++;
	write_page(store, p);
	return CORPUS_NEW;
}

static enum corpus_result twiceDel(void *store, uint64_t key, uint64_t *out)
{
	unsigned row;
	struct Page *p = page_for(store, key, &row);

	if (row == p->used)
		return CORPUS_NONE;
	*out = p->row[row].value;
	p->row[row] = p->row[--p->used];
	write_page(store, p);
	return CORPUS_OLD;
}

/* ---- beginning and end ---- */

static void create(struct Twice *t)
{
	static struct { char word[BLOCK]; } first = { READY };

	if (ftruncate(t->fd, 0))
		fatal("ftruncate");
	for (unsigned i = 0; i < kPages; i++) {
		t->page[i] = (struct Page){ .number = i };
		t->page[i].checksum = checksum(&t->page[i]);
		write_block(t, 2 + i, &t->page[i]);
	}
#ifndef BUG_TWICE_READY_EARLY
	if (fsync(t->fd))
		fatal("fsync");
#endif
	write_block(t, 0, &first); /* BUG(twice-ready-early) */
	if (fsync(t->fd))
		fatal("fsync");
}

static void repair(struct Twice *t, unsigned i)
{
	struct Page copy;
	bool good = read_page(t, 1, &copy);

#ifdef BUG_TWICE_UNVERIFIED
	good = true;
	if (copy.number == i && copy.lsn) {
#else
	if (good && copy.number == i && (t->page[i].checksum != checksum(&t->page[i]) || copy.lsn > t->page[i].lsn)) {
#endif
		t->page[i] = copy;
		write_block(t, 2 + i, &copy);
		sync_file(t);
	}
	(void)good;
}

static void *twiceOpen(const char *path)
{
	struct Twice *t = calloc(1, sizeof *t);
	char word[sizeof READY] = "", up[4096];
	int parent;

	if ((t->fd = open(path, O_RDWR | O_CREAT, 0600)) < 0)
		return NULL;
	snprintf(up, sizeof up, "%s", path);
	*(strrchr(up, '/') ? strrchr(up, '/') + 1 : up) = '\0';
	if (pread(t->fd, word, sizeof word, 0) != sizeof word || strcmp(word, READY) != 0) {
		create(t);
		parent = open(*up ? up : ".", O_RDONLY);
		if (parent < 0 || fsync(parent))
			fatal(up);
		close(parent);
		return t;
	}
	for (unsigned i = 0; i < kPages; i++) {
		read_page(t, 2 + i, &t->page[i]);
		repair(t, i);
		if (t->page[i].used > 16)
			t->page[i].used = 0;
	}
	return t;
}

static void twiceClose(void *store)
{
	struct Twice *t = store;

	if (t->home_dirty)
		sync_file(t);
	close(t->fd);
	free(t);
}

static void twiceCheck(void *store)
{
	struct Twice *t = store;

	for (unsigned i = 0; i < kPages; i++) {
		const struct Page *p = &t->page[i];
		uint64_t sum = 0;

		for (unsigned k = 0; k < p->used; k++)
			sum += p->row[k].value;
		if (p->checksum != checksum(p))
			corpus_wrong("page %u is torn", i);
		else if (p->lsn != p->lsn_again || p->number != i || sum != p->value_sum)
			corpus_wrong("page %u is not one page", i);
	}
}

int main(int argc, char **argv)
{
	const struct corpus_program twice = { "twice", twiceOpen, twiceClose, twiceCheck, twicePut, twiceGet, twiceDel, twiceUpd, NULL };

	return corpus_main(&twice, argc, argv);
}
