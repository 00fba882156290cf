/* SPDX-License-Identifier: BSD-3-Clause */
/* Crash states: short sorted lists of the lines that are not at hi. */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

void crash_state_copy(struct crash_state *to, const struct crash_state *from)
{
	to->event = from->event;
	VEC_RESERVE(&to->at, from->at.n);
	if (from->at.n)
		memcpy(to->at.p, from->at.p, from->at.n * sizeof *to->at.p);
	to->at.n = from->at.n;
}

void crash_state_free(struct crash_state *s)
{
	VEC_FREE(&s->at);
}

/* Where the line is, or would be. */
static size_t find(const struct crash_state *s, uint32_t line)
{
	size_t n = s->at.n;
	if (n && s->at.p[n - 1].line < line)
		return n;
	return BISECT(i, n, s->at.p[i].line < line);
}

void crash_state_set(struct crash_state *s, const struct crash_cursor *c, uint32_t line,
		     uint32_t version)
{
	size_t i = find(s, line);
	bool there = i < s->at.n && s->at.p[i].line == line;
	if (version >= c->hi[line]) {
		if (there)
			memmove(s->at.p + i, s->at.p + i + 1, (--s->at.n - i) * sizeof *s->at.p);
		return;
	}
	if (!there) {
		VEC_RESERVE(&s->at, s->at.n + 1);
		memmove(s->at.p + i + 1, s->at.p + i, (s->at.n++ - i) * sizeof *s->at.p);
	}
	s->at.p[i] = (struct crash_at){ line, version };
}

uint32_t crash_state_get(const struct crash_state *s, const struct crash_cursor *c, uint32_t line)
{
	size_t i = find(s, line);
	return i < s->at.n && s->at.p[i].line == line ? s->at.p[i].version : c->hi[line];
}

uint64_t crash_state_hash(const struct crash_state *s, const struct crash_cursor *c)
{
	uint64_t hash = c->hash;
	if (crash_state_has_meta(c->h, s))
		return crash_meta_hash(s, c);
	for (size_t i = 0; i < s->at.n; i++) {
		uint32_t line = s->at.p[i].line;
		hash -= crash_contents_hash(c->h, line, c->hi[line]);
		hash += crash_contents_hash(c->h, line, s->at.p[i].version);
	}
	return hash;
}

void crash_state_without(const struct crash_state *s, size_t from, size_t to,
			 struct crash_state *out)
{
	out->event = s->event;
	out->at.n = 0;
	for (size_t i = 0; i < s->at.n; i++)
		if (i < from || i >= to)
			VEC_PUSH(&out->at, s->at.p[i]);
}

uint64_t crash_first_loss(const struct crash_history *h, const struct crash_state *s,
			  uint32_t *piece)
{
	uint64_t first = UINT64_MAX;
	uint32_t lost = UINT32_MAX;
	for (size_t i = 0; i < s->at.n; i++) {
		const struct crash_at *at = &s->at.p[i];
		uint64_t event = crash_piece_of(h, at->line, at->version + 1).event;
		if (event < first) {
			first = event;
			lost = crash_piece_index(h, at->line, at->version + 1);
		}
	}
	if (piece)
		*piece = lost;
	return first;
}
