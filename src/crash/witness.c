/* SPDX-License-Identifier: BSD-3-Clause */
/* A crash state that was kept: build it again, and say what is missing in it. */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

int crash_build(struct crash *c, struct runner *r, unsigned cell, const char *witness,
		bool uncrashed, struct err *err)
{
	struct crash_state s = { 0 };
	int bad;
	crash_use(c, r);
	bad = crash_state_parse(c, witness, &s, err);
	if (uncrashed)
		s.at.n = 0;
	if (!bad)
		bad = crash_materialise(c, cell, &s, err) ||
		      crash_suffix_put(c, cell, crash_ops_begun(c->h, s.event), err);
	crash_state_free(&s);
	return bad;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static bool overlap(const struct crash_piece *a, const struct crash_piece *b)
{
	return a->line == b->line && a->off < b->off + b->len && b->off < a->off + a->len;
}

/* Some later piece of the line, up to the crash, stores to these bytes again. */
static bool stored_again(const struct crash_cursor *at, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(at->h, piece);
	for (uint32_t k = at->hi[p.line], own = crash_number_of(at->h, piece); k > own; k--) {
		struct crash_piece later = crash_piece_of(at->h, p.line, k);
		if (overlap(&p, &later))
			return true;
	}
	return false;
}

static void tell(const struct crash_cursor *at, const struct crash_state *s, uint32_t piece,
		 void (*each)(void *, const struct crash_lost *), void *arg)
{
	const struct crash_history *h = at->h;
	struct crash_piece p = crash_piece_at(h, piece);
	const struct crash_line *l = &h->line.p[p.line];
	uint8_t has[4096], should[4096];
	struct crash_lost lost = {
		.file = l->file,
		.path = h->file.p[l->file].path,
		.off = l->off + p.off,
		.event = p.event,
		.len = p.len,
		.place = p.place,
		.again = stored_again(at, piece),
	};
	crash_contents(h, p.line, crash_state_get(s, at, p.line), has);
	crash_contents(h, p.line, at->hi[p.line], should);
	memcpy(lost.has, has + p.off, lost.len < 8 ? lost.len : 8);
	memcpy(lost.should, should + p.off, lost.len < 8 ? lost.len : 8);
	each(arg, &lost);
}

void crash_diff_at(struct crash *c, const struct crash_cursor *at, const struct crash_state *s,
		   void (*each)(void *, const struct crash_lost *), void *arg)
{
	VEC(uint32_t) lost = { 0 };
	for (size_t i = 0; i < s->at.n; i++) {
		uint32_t line = s->at.p[i].line;
		if (crash_is_meta(c->h, line)) /* it has no bytes */
			continue;
		for (uint32_t k = s->at.p[i].version + 1; k <= at->hi[line]; k++)
			VEC_PUSH(&lost, crash_piece_index(c->h, line, k));
	}
	if (lost.n)
		qsort(lost.p, lost.n, sizeof *lost.p, by_number);
	for (size_t i = 0; i < lost.n; i++)
		tell(at, s, lost.p[i], each, arg);
	VEC_FREE(&lost);
}

int crash_diff(struct crash *c, const char *witness,
	       void (*each)(void *, const struct crash_lost *), void *arg, struct err *err)
{
	struct crash_state s = { 0 };
	struct crash_cursor at;
	int bad = crash_state_parse(c, witness, &s, err);
	if (!bad) {
		crash_cursor_init(&at, c->h);
		crash_cursor_move(&at, s.event);
		crash_diff_at(c, &at, &s, each, arg);
		crash_cursor_free(&at);
	}
	crash_state_free(&s);
	return bad;
}
