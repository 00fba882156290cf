/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A list of changes in a mapped file. The file grows by four pages at a time, by ftruncate and mremap; msync(MS_SYNC) is
 * what makes it last. Page 0 has two headers, in blocks of their own, written by turns: a generation, how many
 * records there are, and a sum. Records follow from page 1 on, 64 bytes each. A record is synced before the
 * header that counts it.
 */
#define _GNU_SOURCE
#include "common/corpus.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holdfast.h"

typedef uint64_t u64;

#define PG 4096ul
#define STEP (4 * PG)
#define KEYS 96

struct hdr {
	u64 gen, recs, sum;
	u64 spare[61]; /* a block each */
};

struct rec {
	u64 key, val, sum, fill[5];
};

struct map {
	int fd;
	size_t len;
	union {
		char *p;
		struct hdr *hdr;
	} u;
	u64 gen, recs, n, bad;
	struct { u64 k, v; } tab[KEYS];
};

#define die(x) do { perror(x); abort(); } while (0)

static u64 hash3(u64 a, u64 b, u64 c)
{
	return ((a * 0x9e3779b97f4a7c15ull ^ b) * 0xbf58476d1ce4e5b9ull ^ c) * 0x94d049bb133111ebull + 1;
}

static struct rec *rec_at(struct map *m, u64 i)
{
	return (struct rec *)(m->u.p + PG) + i;
}

static void flush(struct map *m, const void *p, size_t n)
{
	size_t from = (size_t)((const char *)p - m->u.p) / PG * PG;
	int how = MS_SYNC;

#ifdef BUG_MAPPED_ASYNC
	how = MS_ASYNC;
#endif
	if (msync(m->u.p + from, (size_t)((const char *)p - m->u.p) + n - from, how))
		die("msync");
}

static void grow(struct map *m)
{
	if (ftruncate(m->fd, (off_t)(m->len + STEP)))
		die("ftruncate");
	m->u.p = mremap(m->u.p, m->len, m->len + STEP, MREMAP_MAYMOVE);
	if (m->u.p == MAP_FAILED)
		die("mremap");
	m->len += STEP;
}

static void note(struct map *m, u64 k, u64 v)
{
	u64 i = 0;

	for (; i < m->n && m->tab[i].k != k; i++)
		;
	if (v == 0) {
		if (i < m->n)
			m->tab[i] = m->tab[--m->n];
		return;
	}
	m->tab[i].k = k;
	m->tab[i].v = v;
	m->n += i == m->n;
}

static void set_header(struct map *m)
{
	struct hdr *h = &m->u.hdr[(m->gen + 1) % 2];

#ifdef BUG_MAPPED_ONE_HEADER
	h = (struct hdr *)(m->u.p + 1024 - 16);
#endif
	h->recs = m->recs + 1; /* BUG(mapped-no-header-sync) BUG(mapped-one-header) */
	h->gen = ++m->gen;
	h->sum = hash3(h->gen, h->recs, 7); /* BUG(mapped-header-first) BUG(mapped-async) BUG(mapped-one-sync) */
#ifndef BUG_MAPPED_NO_HEADER_SYNC
	flush(m, h, sizeof *h);
#endif
}

static void log_change(struct map *m, u64 k, u64 v)
{
	struct rec *r;

	if (PG + (m->recs + 1) * sizeof *r > m->len)
		grow(m);
	r = rec_at(m, m->recs);
#if defined(BUG_MAPPED_HEADER_FIRST)
	set_header(m);
#endif
	r->key = k;
	r->val = v; /* BUG(mapped-short-sync) */
	r->sum = hash3(k, v, m->recs);
#if defined(BUG_MAPPED_SHORT_SYNC)
	flush(m, rec_at(m, 0), sizeof *r);
#elif !defined(BUG_MAPPED_ONE_SYNC)
	flush(m, r, sizeof *r);
#endif
#if !defined(BUG_MAPPED_HEADER_FIRST)
	set_header(m);
#endif
#ifdef BUG_MAPPED_ONE_SYNC
	flush(m, m->u.p, m->len);
#endif
	m->recs++;
	note(m, k, v);
#ifdef TRAP_MAPPED_COUNTER
	m->u.hdr[3].spare[0]++; /* TRAP(mapped-counter) */
#endif
}

static enum corpus_result m_get(void *s, u64 k, u64 *out)
{
	struct map *m = s;

	for (u64 i = 0; i < m->n; i++)
		if (m->tab[i].k == k)
			return *out = m->tab[i].v, CORPUS_VALUE;
	return CORPUS_NONE;
}

static enum corpus_result m_upd(void *s, u64 k, u64 v, u64 *out)
{
	if (m_get(s, k, out) == CORPUS_NONE)
		return CORPUS_NONE;
	log_change(s, k, v);
	return CORPUS_OLD;
}

static enum corpus_result m_put(void *s, u64 k, u64 v, u64 *out)
{
	if (m_upd(s, k, v, out) == CORPUS_OLD)
		return CORPUS_OLD;
	if (((struct map *)s)->n == KEYS)
		return CORPUS_FULL;
	log_change(s, k, v);
	return CORPUS_NEW;
}

static enum corpus_result m_del(void *s, u64 k, u64 *out)
{
	return m_upd(s, k, 0, out);
}

static void load(struct map *m)
{
	u64 gen = 0;

	for (int i = 0; i < 2; i++) {
		struct hdr *h = &m->u.hdr[i];

#ifdef BUG_MAPPED_ONE_HEADER
		h = (struct hdr *)(m->u.p + 1024 - 16);
		m->bad |= h->sum != hash3(h->gen, h->recs, 7) && (h->gen || h->recs);
#endif
		if (h->sum == hash3(h->gen, h->recs, 7) && h->gen > gen) {
			gen = m->gen = h->gen;
			m->recs = h->recs;
		}
	}
	if (m->recs > (m->len - PG) / sizeof(struct rec)) {
		m->recs = 0;
		m->bad = 1;
	}
	for (u64 i = 0; i < m->recs; i++) {
		const struct rec *r = rec_at(m, i);

		if (r->sum != hash3(r->key, r->val, i)) {
			m->bad = 1;
			m->recs = i;
			break;
		}
		note(m, r->key, r->val);
	}
}

static void *m_open(const char *path)
{
	struct map *m = calloc(1, sizeof *m);
	char up[PATH_MAX];
	struct stat st;
	int dir;

	m->fd = open(path, O_RDWR | O_CREAT, 0666);
	if (m->fd < 0 || fstat(m->fd, &st))
		return NULL;
	m->len = ((size_t)st.st_size + STEP - 1) / STEP * STEP;
	if (m->len == 0)
		m->len = STEP;
	if (m->len != (size_t)st.st_size && ftruncate(m->fd, (off_t)m->len))
		die("ftruncate");
	if (st.st_size == 0) {
		snprintf(up, sizeof up, "%s", path);
		*(strrchr(up, '/') ? strrchr(up, '/') + 1 : strcpy(up, ".") + 1) = 0;
		if ((dir = open(up, O_RDONLY)) < 0 || fsync(dir) || fsync(m->fd))
			die(up);
		close(dir);
	}
	m->u.p = mmap(NULL, m->len, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->u.p == MAP_FAILED)
		return NULL;
#ifdef TRAP_MAPPED_COUNTER
	HOLDFAST_VOLATILE(&m->u.hdr[3], sizeof m->u.hdr[3]);
#endif
	load(m);
	return m;
}

static void m_close(void *s)
{
	struct map *m = s;

	munmap(m->u.p, m->len);
	close(m->fd);
	free(m);
}

static void m_check(void *s)
{
	if (((struct map *)s)->bad)
		corpus_wrong("a record that counts is not there");
}

int main(int argc, char **argv)
{
	static const struct corpus_program mapped = { "mapped", m_open, m_close, m_check, m_put, m_get, m_del, m_upd, NULL };

	return corpus_main(&mapped, argc, argv);
}
