/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes and names as units, under a model of file systems.
 *
 * A line of the file `meta`, which is in no image, has no bytes: its pieces are changes of a size, or of
 * names, and its version says how far these have come. Changes that are in order share a line:
 *
 *      size of tmp      0 ── 4096 ── 8192          each file has its own
 *      tmp, db          tmp made ── tmp renamed to db ── tmp made …     names that a rename ties together
 *      journal          all changes of names, where the file system keeps them in order
 *
 * Where a sync brings some names ahead of the journal (crash_logged), these are as of the later of both moments.
 * A version stands for a moment, the one after its last piece, and the size or the name is the one
 * of that moment. What is written behind a size that is lost does not show, nor does what was written after a
 * file was cut if that was lost: the old blocks are still there, then.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

bool crash_is_meta(const struct crash_history *h, uint32_t line)
{
	return h->line.p[line].file == h->meta;
}

bool crash_state_has_meta(const struct crash_history *h, const struct crash_state *s)
{
	for (size_t i = 0; h->meta != CRASH_NO_FILE && i < s->at.n; i++)
		if (crash_is_meta(h, s->at.p[i].line))
			return true;
	return false;
}

/* ---- moments ---- */

struct moment {
	const struct crash_cursor *c;
	const struct crash_state *s;
	crash_names *out;
};

/* What happened before this event is there, as far as the line is concerned. */
static uint64_t moment_of(const struct moment *m, uint32_t line)
{
	uint32_t version = line == CRASH_NO_FILE ? 0 : crash_state_get(m->s, m->c, line);
	if (line == CRASH_NO_FILE || version >= m->c->hi[line])
		return m->s->event;
	return version ? crash_piece_of(m->c->h, line, version).event + 1 : 0;
}

/* Where a sync has brought names ahead of others: what of these happened before this event is there. */
static uint64_t logged_of(const struct crash_history *h, uint32_t entry, uint64_t crash)
{
	if (!h->logged)
		return 0;
	const crash_logged_names *l = &h->logged[h->tied[entry]];
	size_t n = BISECT(i, l->n, l->p[i].event < crash);
	return n ? l->p[n - 1].upto + 1 : 0;
}

static uint64_t moment_of_entry(void *arg, uint32_t entry)
{
	const struct moment *m = arg;
	uint64_t at = moment_of(m, m->c->h->name_line[entry]);
	uint64_t logged = logged_of(m->c->h, entry, m->s->event);
	return at > logged ? at : logged;
}

static uint64_t moment_of_size(const struct crash_cursor *c, const struct crash_state *s,
			       uint32_t file)
{
	struct moment m = { c, s, NULL };
	return moment_of(&m, c->h->size_line[file]);
}

static uint64_t size_at(const struct crash_history *h, uint32_t file, uint64_t event)
{
	const struct crash_extent *x = &h->extent[file];
	size_t n = BISECT(i, x->change.n, h->change.p[x->change.p[i]].event < event);
	return n ? h->change.p[x->change.p[n - 1]].size : h->file.p[file].size;
}

/* The first event from `from` on, before the crash, that cut the file; the crash if there is none. */
static uint64_t next_cut(const struct crash_history *h, uint32_t file, uint64_t from,
			 uint64_t crash)
{
	const struct crash_extent *x = &h->extent[file];
	size_t i = BISECT(k, x->change.n, h->change.p[x->change.p[k]].event < from);
	for (; i < x->change.n; i++) {
		const struct crash_change *c = &h->change.p[x->change.p[i]];
		if (c->event >= crash || c->size < c->size_before)
			return c->event < crash ? c->event : crash;
	}
	return crash;
}

/* ---- views ---- */

static void add_name(void *arg, const struct trace_name *n)
{
	const struct moment *m = arg;
	crash_names_add(m->c->h, m->s->event, n, m->out);
}

void crash_view_init(struct crash_view *v, const struct crash_history *h)
{
	*v = (struct crash_view){ 0 };
	v->size = xcalloc(h->file.n + 1, sizeof *v->size);
	v->name = xcalloc(h->file.n + 1, sizeof *v->name);
}

void crash_view_free(struct crash_view *v)
{
	free(v->size);
	free(v->name);
	crash_names_free(&v->names);
	*v = (struct crash_view){ 0 };
}

void crash_view_of(struct crash_view *v, const struct crash_cursor *c, const struct crash_state *s)
{
	const struct crash_history *h = c->h;
	struct moment m = { c, s, &v->names };
	for (uint32_t i = 0; i < h->file.n; i++)
		v->size[i] = size_at(h, i, moment_of_size(c, s, i));
	crash_names_free(&v->names);
	trace_tree_names_when(h->tree, moment_of_entry, add_name, &m);
	crash_names_first(h, &v->names, v->name);
	v->hash = crash_names_hash(h, v->size, v->name, &v->names);
}

/* ---- data ---- */

/* When the file was first cut of what is lost of its size; the crash if it was not. */
static uint64_t lost_cut(const struct crash_cursor *c, const struct crash_state *s, uint32_t file)
{
	uint64_t at = moment_of_size(c, s, file);
	return at < s->event ? next_cut(c->h, file, at, s->event) : s->event;
}

bool crash_cut_is_lost(const struct crash_cursor *c, const struct crash_state *s, uint32_t file)
{
	return c->h->meta != CRASH_NO_FILE && file != c->h->meta && lost_cut(c, s, file) < s->event;
}

uint32_t crash_shown_version(const struct crash_cursor *c, const struct crash_state *s,
			     uint32_t line)
{
	const struct crash_history *h = c->h;
	uint32_t version = crash_state_get(s, c, line), file = h->line.p[line].file;
	if (h->meta == CRASH_NO_FILE || file == h->meta)
		return version;
	uint64_t cut = lost_cut(c, s, file);
	uint32_t most = cut < s->event ? crash_version_at(h, line, cut) : version;
	return version < most ? version : most;
}

/* All lines of files whose size is lost, as far as they show, in the place of those that the cursor has. */
static uint64_t lines_hash(const struct crash_cursor *c, const struct crash_state *s,
			   const struct crash_view *v)
{
	const struct crash_history *h = c->h;
	uint64_t hash = c->lines;
	for (size_t i = 0; i < s->at.n; i++) {
		uint32_t line = s->at.p[i].line, file = h->line.p[line].file;
		if (file == h->meta || moment_of_size(c, s, file) < s->event)
			continue;
		hash += crash_contents_hash(h, line, s->at.p[i].version) -
			crash_contents_hash(h, line, c->hi[line]);
	}
	for (uint32_t f = 0; f < h->file.n; f++) {
		if (moment_of_size(c, s, f) == s->event)
			continue;
		for (size_t i = 0; i < h->extent[f].line.n; i++) {
			uint32_t line = h->extent[f].line.p[i];
			hash -= crash_contents_hash(h, line, c->hi[line]);
			if (h->line.p[line].off < v->size[f])
				hash += crash_contents_hash(h, line,
							    crash_shown_version(c, s, line));
		}
	}
	return hash;
}

uint64_t crash_meta_hash(const struct crash_state *s, const struct crash_cursor *c)
{
	struct crash_view v;
	crash_view_init(&v, c->h);
	crash_view_of(&v, c, s);
	uint64_t hash = lines_hash(c, s, &v) + v.hash;
	crash_view_free(&v);
	return hash;
}

/* ---- once all is read ---- */

static int by_offset(const void *a, const void *b, void *arg)
{
	const struct crash_history *h = arg;
	uint64_t x = h->line.p[*(const uint32_t *)a].off, y = h->line.p[*(const uint32_t *)b].off;
	return (x > y) - (x < y);
}

void crash_meta_index(struct crash_history *h)
{
	if (h->meta == CRASH_NO_FILE)
		return;
	h->extent = xcalloc(h->file.n + 1, sizeof *h->extent);
	for (uint32_t i = 0; i < h->line.n; i++)
		if (h->line.p[i].file != h->meta)
			VEC_PUSH(&h->extent[h->line.p[i].file].line, i);
	for (uint32_t i = 0; i < h->change.n; i++)
		VEC_PUSH(&h->extent[h->change.p[i].file].change, i);
	for (uint32_t i = 0; i < h->file.n; i++)
		if (h->extent[i].line.n)
			qsort_r(h->extent[i].line.p, h->extent[i].line.n, sizeof(uint32_t),
				by_offset, h);
}

void crash_meta_free(struct crash_history *h)
{
	for (uint32_t i = 0; h->extent && i < h->file.n; i++) {
		VEC_FREE(&h->extent[i].line);
		VEC_FREE(&h->extent[i].change);
	}
	for (uint32_t i = 0; h->logged && i < h->entries; i++)
		VEC_FREE(&h->logged[i]);
	free(h->logged);
	free(h->tied);
	free(h->extent);
	free(h->name_line);
	free(h->size_line);
}
