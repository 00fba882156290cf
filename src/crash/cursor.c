/* SPDX-License-Identifier: BSD-3-Clause */
/* A moment of the history: moved store by store, forwards and backwards. */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

static void take_names(struct crash_cursor *c)
{
	crash_names_at(c->h, c->at, &c->names);
	crash_names_first(c->h, &c->names, c->name);
}

static void take_rest(struct crash_cursor *c)
{
	c->rest = crash_names_hash(c->h, c->size, c->name, &c->names);
}

void crash_cursor_init(struct crash_cursor *c, const struct crash_history *h)
{
	*c = (struct crash_cursor){ .h = h };
	c->lo = xcalloc(h->line.n + 1, sizeof *c->lo);
	c->hi = xcalloc(h->line.n + 1, sizeof *c->hi);
	c->slot = xcalloc(h->line.n + 1, sizeof *c->slot);
	c->moving = xcalloc(h->line.n / 8 + 1, 1);
	c->size = xcalloc(h->file.n + 1, sizeof *c->size);
	c->name = xcalloc(h->file.n + 1, sizeof *c->name);
	for (uint32_t i = 0; i < h->file.n; i++)
		c->size[i] = h->file.p[i].size;
	take_names(c);
	take_rest(c);
	c->hash = c->lines + c->rest;
}

void crash_cursor_free(struct crash_cursor *c)
{
	free(c->lo);
	free(c->hi);
	free(c->slot);
	free(c->moving);
	VEC_FREE(&c->from);
	free(c->size);
	free(c->name);
	crash_names_free(&c->names);
	VEC_FREE(&c->open);
	*c = (struct crash_cursor){ 0 };
}

/* Keeps the list of open lines. */
static void note(struct crash_cursor *c, uint32_t line)
{
	uint32_t slot = c->slot[line];
	if (c->lo[line] < c->hi[line] && !slot) {
		VEC_PUSH(&c->open, line);
		c->slot[line] = (uint32_t)c->open.n;
	} else if (c->lo[line] >= c->hi[line] && slot) {
		uint32_t last = c->open.p[--c->open.n];
		c->open.p[slot - 1] = last;
		c->slot[last] = slot;
		c->slot[line] = 0;
	}
}

/* A record is its line's next one, or its last. The line's hash is made when the move is over. */
static void step_record(struct crash_cursor *c, const struct crash_record *r, bool forward)
{
	uint8_t *moving = &c->moving[r->line / 8], bit = (uint8_t)(1u << r->line % 8);
	if (!(*moving & bit))
		VEC_PUSH(&c->from, ((struct crash_at){ r->line, c->hi[r->line] }));
	*moving |= bit;
	c->hi[r->line] += forward ? r->pieces : -(uint32_t)r->pieces;
	c->piece += forward ? r->pieces : -(size_t)r->pieces;
	note(c, r->line);
}

static void take_lines(struct crash_cursor *c)
{
	for (size_t i = 0; i < c->from.n; i++) {
		struct crash_at was = c->from.p[i];
		c->lines += crash_contents_hash(c->h, was.line, c->hi[was.line]) -
			    crash_contents_hash(c->h, was.line, was.version);
		c->moving[was.line / 8] = 0;
	}
	c->from.n = 0;
}

static void step_change(struct crash_cursor *c, const struct crash_change *ch, bool forward)
{
	c->size[ch->file] = forward ? ch->size : ch->size_before;
}

static void forwards(struct crash_cursor *c, uint64_t event)
{
	const struct crash_history *h = c->h;
	for (; c->record < h->store.n; c->record++) {
		const struct crash_record *r = crash_record_at(&h->store, c->record);
		if (r->event >= event)
			break;
		step_record(c, r, true);
	}
	for (; c->raise < h->raise.n; c->raise++) {
		struct crash_raise r = crash_raise_at(h, c->raise);
		if (r.event >= event)
			break;
		c->lo[r.line] = r.lo;
		note(c, r.line);
	}
	for (; c->change < h->change.n && h->change.p[c->change].event < event; c->change++)
		step_change(c, &h->change.p[c->change], true);
}

static void backwards(struct crash_cursor *c, uint64_t event)
{
	const struct crash_history *h = c->h;
	for (; c->change && h->change.p[c->change - 1].event >= event; c->change--)
		step_change(c, &h->change.p[c->change - 1], false);
	for (; c->raise; c->raise--) {
		struct crash_raise r = crash_raise_at(h, c->raise - 1);
		if (r.event < event)
			break;
		c->lo[r.line] = r.before;
		note(c, r.line);
	}
	for (; c->record; c->record--) {
		const struct crash_record *r = crash_record_at(&h->store, c->record - 1);
		if (r->event < event)
			break;
		step_record(c, r, false);
	}
}

void crash_cursor_move(struct crash_cursor *c, uint64_t event)
{
	const struct crash_history *h = c->h;
	size_t renamed, change = c->change;
	if (event > c->at)
		forwards(c, event);
	else
		backwards(c, event);
	take_lines(c);
	c->at = event;
	renamed = BISECT(i, h->renamed.n, h->renamed.p[i] < event);
	if (renamed != c->renamed)
		take_names(c);
	if (renamed != c->renamed || change != c->change)
		take_rest(c);
	c->renamed = renamed;
	c->hash = c->lines + c->rest;
}
