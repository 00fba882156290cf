/* SPDX-License-Identifier: BSD-3-Clause */
/* Causes: statements rather than instances, and states as text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash/window.h"

void crash_cause_free(struct crash_cause *cause)
{
	crash_state_free(&cause->state);
	VEC_FREE(&cause->lost);
	VEC_FREE(&cause->also);
	VEC_FREE(&cause->with);
	free(cause->output);
	free(cause->backtrace);
}

bool crash_same_way(const struct crash_verdict *a, const struct crash_verdict *b)
{
	if (a->verdict != b->verdict || a->status != b->status)
		return false;
	if (a->verdict != RUNNER_DIFFERS || !a->how || !b->how)
		return true;
	return a->how == b->how && (a->where != b->where || a->line == b->line);
}

/* ---- statements ---- */

static uint64_t statement(struct crash *c, uint32_t place)
{
	const struct srcloc_frame *f;
	uint64_t id;
	while (c->statement.n < c->h->place.n)
		VEC_PUSH(&c->statement, 0);
	if (c->statement.p[place])
		return c->statement.p[place];
	f = finding_main_frame(crash_path(c, place));
	if (f && f->file)
		id = hash_seeded(f->file, strlen(f->file), f->line);
	else
		id = hash_mix(c->h->place.p[place].ip, c->h->place.p[place].process);
	return c->statement.p[place] = id | 1;
}

bool crash_same_statement(struct crash *c, uint32_t a, uint32_t b)
{
	return a == b || statement(c, a) == statement(c, b);
}

static bool is_of(struct crash *c, uint32_t piece, uint32_t example)
{
	return crash_same_statement(c, crash_piece_at(c->h, piece).place,
				    crash_piece_at(c->h, example).place);
}

/* ---- a cause in a state ---- */

/* The first lost piece of a line that is of this statement, or UINT32_MAX. */
static uint32_t lost_in(struct crash *c, const struct crash_at *at, uint32_t example)
{
	uint32_t place = crash_piece_at(c->h, example).place;
	for (uint32_t k = at->version + 1; k <= c->searching.hi[at->line]; k++)
		if (crash_same_statement(c, crash_piece_of(c->h, at->line, k).place, place))
			return crash_piece_index(c->h, at->line, k);
	return UINT32_MAX;
}

static bool persisted_after(struct crash *c, const struct crash_state *s, uint32_t from,
			    uint32_t example)
{
	const struct crash_history *h = c->h;
	size_t i = c->searching.piece, least = i > CRASH_NEAR_PIECES ? i - CRASH_NEAR_PIECES : 0;
	while (i-- > least && i > from)
		if (is_of(c, (uint32_t)i, example) &&
		    crash_number_of(h, (uint32_t)i) <=
			    crash_state_get(s, &c->searching, crash_piece_at(h, i).line))
			return true;
	return false;
}

/* The store that opened the window in which the state is; UINT32_MAX: it is in none. */
static uint32_t opened_by(struct crash *c, const struct crash_cause *cause,
			  const struct crash_state *s)
{
	crash_cursor_move(&c->searching, s->event);
	size_t i = c->searching.piece, least = i > CRASH_NEAR_PIECES ? i - CRASH_NEAR_PIECES : 0;
	while (i-- > least) {
		if (cause->persisted != UINT32_MAX && is_of(c, (uint32_t)i, cause->persisted))
			return (uint32_t)i;
		if (cause->lost.n && is_of(c, (uint32_t)i, cause->lost.p[0]))
			break;
	}
	return UINT32_MAX;
}

bool crash_in_window(struct crash *c, const struct crash_cause *cause, const struct crash_state *s)
{
	return opened_by(c, cause, s) != UINT32_MAX;
}

/* The window is closed before it is opened again: its two statements are a pair here as well. */
static bool closes(struct crash *c, const struct crash_cause *cause, size_t from)
{
	for (size_t i = from; i < c->h->pieces && i - from < CRASH_NEAR_PIECES; i++) {
		if (is_of(c, (uint32_t)i, cause->lost.p[0]))
			return true;
		if (is_of(c, (uint32_t)i, cause->persisted))
			return false;
	}
	return false;
}

bool crash_window_open(struct crash *c, const struct crash_cause *cause,
		       const struct crash_state *s, uint32_t *opens)
{
	*opens = cause->prefix ? opened_by(c, cause, s) : UINT32_MAX;
	return *opens != UINT32_MAX &&
	       crash_number_of(c->h, *opens) <=
		       crash_state_get(s, &c->searching, crash_piece_at(c->h, *opens).line);
}

bool crash_has_opened(struct crash *c, const struct crash_cause *cause, const struct crash_state *s)
{
	uint32_t opens;
	return cause->lost.n && crash_window_open(c, cause, s, &opens) &&
	       closes(c, cause, c->searching.piece);
}

bool crash_cause_in(struct crash *c, const struct crash_cause *cause, const struct crash_state *s)
{
	if (cause->prefix)
		return s->at.n == 0 && crash_in_window(c, cause, s);
	crash_cursor_move(&c->searching, s->event);
	for (size_t i = 0; i < s->at.n; i++) {
		uint32_t lost = lost_in(c, &s->at.p[i], cause->lost.p[0]);
		if (lost != UINT32_MAX && (cause->persisted == UINT32_MAX ||
					   persisted_after(c, s, lost, cause->persisted)))
			return true;
	}
	return false;
}

bool crash_heal(struct crash *c, const struct crash_cause *cause, const struct crash_state *s,
		struct crash_state *out)
{
	crash_cursor_move(&c->searching, s->event);
	out->event = s->event;
	out->at.n = 0;
	for (size_t i = 0; i < s->at.n; i++) {
		bool own = false;
		for (size_t k = 0; k < cause->lost.n && !own; k++)
			own = lost_in(c, &s->at.p[i], cause->lost.p[k]) != UINT32_MAX;
		if (!own)
			VEC_PUSH(&out->at, s->at.p[i]);
	}
	return out->at.n < s->at.n;
}

/* ---- states as text ---- */

char *crash_state_text(const struct crash *c, const struct crash_state *s)
{
	struct buf b = { 0 };
	buf_printf(&b, "%" PRIu64, s->event);
	for (size_t i = 0; i < s->at.n; i++) {
		const struct crash_line *l = &c->h->line.p[s->at.p[i].line];
		buf_printf(&b, " %u:0x%" PRIx64 ":%u", l->file, l->off, s->at.p[i].version);
	}
	buf_add(&b, "", 1);
	return b.p;
}

static int parse_line(const struct crash *c, const char **p, struct crash_state *s)
{
	unsigned long long file, off, version;
	uint64_t line;
	char *end;
	file = strtoull(*p, &end, 0);
	if (*end != ':')
		return -1;
	off = strtoull(end + 1, &end, 0);
	if (*end != ':')
		return -1;
	version = strtoull(end + 1, &end, 0);
	*p = end + strspn(end, " ");
	if ((file >= c->h->file.n && file != c->h->meta) ||
	    !hmap_get(&c->h->line_at, file << 44 | off / c->h->file.p[file].unit, &line) ||
	    version > c->h->line.p[line].n)
		return -1;
	VEC_PUSH(&s->at, ((struct crash_at){ (uint32_t)line, (uint32_t)version }));
	return 0;
}

static int by_line(const void *a, const void *b)
{
	const struct crash_at *x = a, *y = b;
	return (x->line > y->line) - (x->line < y->line);
}

int crash_state_parse(const struct crash *c, const char *text, struct crash_state *s,
		      struct err *err)
{
	char *end;
	const char *p;
	s->event = strtoull(text, &end, 10);
	s->at.n = 0;
	if (end == text || s->event > c->h->events)
		return err_set(err, EXIT_USAGE, "the witness does not belong to this trace");
	for (p = end + strspn(end, " "); *p;)
		if (parse_line(c, &p, s))
			return err_set(err, EXIT_USAGE,
				       "the witness does not belong to this trace");
	if (s->at.n)
		qsort(s->at.p, s->at.n, sizeof *s->at.p, by_line);
	return 0;
}
