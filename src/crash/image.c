/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images in the runner's cells, made from each other: only lines whose version differs from
 * the one that the cell holds are written.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

#define PAGE 4096u

static bool is_zero(const uint8_t *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

static int write_initial(struct crash *c, unsigned cell, uint32_t file, struct err *err)
{
	uint64_t size = c->h->file.p[file].size;
	uint32_t owner = c->h->file.p[file].owner;
	uint8_t page[PAGE];
	for (uint64_t off = 0; off < size; off += PAGE) {
		size_t n = size - off < PAGE ? size - off : PAGE;
		if (trace_image_read(c->h->initial, owner, off, page, n))
			return err_set(err, EXIT_INTERNAL, "an initial page cannot be read");
		if (!is_zero(page, n) && runner_write(c->runner, cell, file, off, page, n, err))
			return -1;
	}
	return 0;
}

static int prepare(struct crash *c, unsigned cell, struct err *err)
{
	struct crash_cell *im = &c->cell[cell];
	im->version = xcalloc(c->h->line.n + 1, sizeof *im->version);
	im->size = xcalloc(c->h->file.n + 1, sizeof *im->size);
	im->uncut = xcalloc(c->h->file.n + 1, sizeof *im->uncut);
	im->ready = true;
	for (uint32_t i = 0; i < c->h->file.n; i++) {
		im->size[i] = c->h->file.p[i].size;
		if (runner_size(c->runner, cell, i, im->size[i], err) ||
		    write_initial(c, cell, i, err))
			return -1;
	}
	return 0;
}

static int put_line(struct crash *, unsigned cell, uint32_t line, uint32_t version, struct err *);

/* Lines that the file gets back, up to `size`, hold what they did before it was cut, or zeros: they are written anew. */
static int put_grown(struct crash *c, unsigned cell, const struct crash_state *s, uint32_t file,
		     uint64_t from, struct err *err)
{
	const struct crash_history *h = c->h;
	struct crash_cell *im = &c->cell[cell];
	uint32_t unit = h->file.p[file].unit;
	if (h->meta == CRASH_NO_FILE)
		return 0;
	const struct crash_extent *x = &h->extent[file];
	size_t i = BISECT(k, x->line.n, h->line.p[x->line.p[k]].off + unit <= from);
	for (; i < x->line.n && h->line.p[x->line.p[i]].off < im->size[file]; i++) {
		uint32_t line = x->line.p[i];
		im->version[line] = UINT32_MAX;
		if (put_line(c, cell, line, crash_shown_version(&c->building, s, line), err))
			return -1;
	}
	return 0;
}

static int sync_sizes(struct crash *c, unsigned cell, const struct crash_state *s, bool grow,
		      struct err *err)
{
	struct crash_cell *im = &c->cell[cell];
	for (uint32_t i = 0; i < c->h->file.n; i++) {
		uint64_t want = c->shown.size[i], was = im->size[i];
		if ((grow ? want > was : want < was)) {
			if (runner_size(c->runner, cell, i, want, err))
				return -1;
			im->size[i] = want;
			if (grow && put_grown(c, cell, s, i, was, err))
				return -1;
		}
	}
	return 0;
}

static enum runner_kind kind_of(const struct crash_name *n)
{
	if (n->thing == TRACE_NOTHING)
		return RUNNER_GONE;
	if (n->target)
		return RUNNER_LINK;
	if (n->file != CRASH_NO_FILE)
		return RUNNER_FILE;
	return n->moved ? RUNNER_OTHER_FOLDER : RUNNER_FOLDER;
}

static int sync_names(struct crash *c, unsigned cell, struct err *err)
{
	struct crash_cell *im = &c->cell[cell];
	VEC(struct runner_name) v = { 0 };
	if (im->names == c->shown.key)
		return 0;
	for (size_t i = 0; i < c->shown.names->n; i++) {
		const struct crash_name *n = &c->shown.names->p[i];
		VEC_PUSH(&v, ((struct runner_name){ n->path, kind_of(n), n->file, n->target }));
	}
	int bad = runner_names(c->runner, cell, v.p, v.n, err);
	VEC_FREE(&v);
	im->names = bad ? 0 : c->shown.key;
	return bad;
}

/* Brings a line to a version. What lies behind the file's end is not written. */
static int put_line(struct crash *c, unsigned cell, uint32_t line, uint32_t version,
		    struct err *err)
{
	const struct crash_line *l = &c->h->line.p[line];
	struct crash_cell *im = &c->cell[cell];
	uint8_t bytes[PAGE];
	uint64_t n = c->h->file.p[l->file].unit;
	if (im->version[line] == version || crash_is_meta(c->h, line))
		return 0;
	if (l->off + n > im->size[l->file])
		n = im->size[l->file] > l->off ? im->size[l->file] - l->off : 0;
	crash_contents(c->h, line, version, bytes);
	if (n && runner_write(c->runner, cell, l->file, l->off, bytes, n, err))
		return -1;
	im->version[line] = version;
	return 0;
}

static int put_shown(struct crash *c, unsigned cell, const struct crash_state *s, uint32_t line,
		     struct err *err)
{
	return put_line(c, cell, line, crash_shown_version(&c->building, s, line), err);
}

/* Where a cut is lost, or was in the state before, lines are not what the cursor and the state alone say. */
static int put_uncut(struct crash *c, unsigned cell, const struct crash_state *s, struct err *err)
{
	struct crash_cell *im = &c->cell[cell];
	for (uint32_t f = 0; f < c->h->file.n; f++) {
		bool was = im->uncut[f];
		im->uncut[f] = crash_cut_is_lost(&c->building, s, f);
		for (size_t i = 0; (was || im->uncut[f]) && i < c->h->extent[f].line.n; i++)
			if (put_shown(c, cell, s, c->h->extent[f].line.p[i], err))
				return -1;
	}
	return 0;
}

/* The sizes and names of the state. */
static void look(struct crash *c, const struct crash_state *s)
{
	c->shown.size = c->building.size;
	c->shown.names = &c->building.names;
	c->shown.key = c->building.renamed + 1;
	if (!crash_state_has_meta(c->h, s))
		return;
	if (!c->view.size)
		crash_view_init(&c->view, c->h);
	crash_view_of(&c->view, &c->building, s);
	c->shown.size = c->view.size;
	c->shown.names = &c->view.names;
	c->shown.key = c->view.hash | 1ull << 63;
}

int crash_materialise(struct crash *c, unsigned cell, const struct crash_state *s, struct err *err)
{
	struct crash_cell *im = &c->cell[cell];
	size_t from, to;
	crash_cursor_move(&c->building, s->event);
	look(c, s);
	if ((!im->ready && prepare(c, cell, err)) || sync_sizes(c, cell, s, true, err))
		return -1;
	for (size_t i = 0; i < s->at.n; i++)
		if (put_shown(c, cell, s, s->at.p[i].line, err))
			return -1;
	for (size_t i = 0; i < im->odd.n; i++)
		if (put_shown(c, cell, s, im->odd.p[i], err))
			return -1;
	from = im->record < c->building.record ? im->record : c->building.record;
	to = im->record < c->building.record ? c->building.record : im->record;
	for (; from < to; from++) {
		uint32_t line = crash_record_at(&c->h->store, from)->line;
		if (im->version[line] != c->building.hi[line] && put_shown(c, cell, s, line, err))
			return -1;
	}
	if (put_uncut(c, cell, s, err))
		return -1;
	im->record = c->building.record;
	im->odd.n = 0;
	for (size_t i = 0; i < s->at.n; i++)
		VEC_PUSH(&im->odd, s->at.p[i].line);
	return sync_sizes(c, cell, s, false, err) || sync_names(c, cell, err) ? -1 : 0;
}

void crash_cells_free(struct crash *c)
{
	for (unsigned i = 0; c->cell && i < runner_cells(c->runner); i++) {
		free(c->cell[i].version);
		free(c->cell[i].size);
		free(c->cell[i].uncut);
		VEC_FREE(&c->cell[i].odd);
	}
	free(c->cell);
	c->cell = NULL;
}

char *crash_backtrace(struct crash *c, const struct crash_state *s, struct err *err)
{
	int cell = runner_idle(c->runner, err);
	if (cell < 0 || crash_materialise(c, (unsigned)cell, s, err) ||
	    crash_suffix_put(c, (unsigned)cell, crash_ops_begun(c->h, s->event), err))
		return NULL;
	return runner_backtrace(c->runner, (unsigned)cell, err);
}
