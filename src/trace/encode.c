/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events to columns (see columns.h). Columns have room for the worst that a chunk can hold,
 * so adding an event checks nothing but what trace_encoder_full checked before.
 */
#include <endian.h>
#include <stdlib.h>

#include "trace/columns.h"

#define BLOB_LIMIT (1u << 20) /* cut the chunk when this much payload is in it */
#define SLOTS (2u * CHUNK_MAX_EVENTS)

/* The most that one event adds to a column. */
static const uint32_t widest[COLUMNS] = {
	[COL_CODE] = VARINT_MAX,       [COL_TEMPLATE] = 3 + 3 * VARINT_MAX,
	[COL_ADDR] = VARINT_MAX,       [COL_ARG] = TRACE_MAX_ARGS * VARINT_MAX,
	[COL_TAG] = WORDS_MAX,         [COL_SHORT] = WORDS_MAX * 4,
	[COL_LONG] = WORDS_MAX_BYTES,  [COL_BLOB] = 0,
	[COL_SWITCH] = 3 * VARINT_MAX,
};

struct trace_encoder {
	uint32_t count, templates;
	uint32_t previous; /* template */
	uint64_t previous_addr;
	uint32_t first_process, process, thread;
	uint32_t switched_at; /* event of the last switch */
	uint32_t site, ctx;   /* of the last new template */
	uint8_t *start[COLUMNS], *end[COLUMNS];
	uint8_t lengths[COLUMN_LENGTHS];
	struct template *template; /* [0] stands for "before the first event" */
	size_t template_cap;
	uint32_t *slot; /* hash table of template numbers */
};

struct trace_encoder *trace_encoder_new(void)
{
	struct trace_encoder *e = xcalloc(1, sizeof *e);
	for (unsigned i = 0; i < COLUMNS; i++) {
		size_t room = (size_t)widest[i] * CHUNK_MAX_EVENTS + CHUNK_SLACK;

		/* Address space, not memory: pages that are never written are never there. */
		e->start[i] = xmalloc(i == COL_BLOB ? BLOB_LIMIT + TRACE_MAX_PAYLOAD : room);
	}
	e->slot = xmalloc(SLOTS * sizeof *e->slot);
	trace_encoder_reset(e);
	return e;
}

void trace_encoder_free(struct trace_encoder *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < COLUMNS; i++)
		free(e->start[i]);
	free(e->template);
	free(e->slot);
	free(e);
}

void trace_encoder_reset(struct trace_encoder *e)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		e->end[i] = e->start[i];
	e->count = e->previous = e->switched_at = e->site = e->ctx = 0;
	e->previous_addr = 0;
	e->templates = 1;
	if (!e->template)
		vec_grow((void **)&e->template, &e->template_cap, 64, sizeof *e->template);
	memset(e->template, 0, sizeof *e->template);
	memset(e->slot, 0, SLOTS * sizeof *e->slot);
}

uint32_t trace_encoder_count(const struct trace_encoder *e)
{
	return e->count;
}

uint32_t trace_encoder_process(const struct trace_encoder *e)
{
	return e->first_process;
}

bool trace_encoder_full(const struct trace_encoder *e, uint32_t next_size)
{
	size_t blob = (size_t)(e->end[COL_BLOB] - e->start[COL_BLOB]);
	size_t words = (size_t)(e->end[COL_LONG] - e->start[COL_LONG]);
	return e->count >= CHUNK_MAX_EVENTS || (e->count && blob + words + next_size > BLOB_LIMIT);
}

static void add_switch(struct trace_encoder *e, const struct trace_event *ev)
{
	uint8_t *p = e->end[COL_SWITCH];
	if (!e->count)
		e->first_process = ev->process;
	p = put_varint(p, e->count - e->switched_at);
	p = put_varint(p, ev->process);
	e->end[COL_SWITCH] = put_varint(p, ev->thread | (uint64_t)ev->kept << 32);
	e->switched_at = e->count;
	e->process = ev->process;
	e->thread = ev->thread;
}

static void add_template(struct trace_encoder *e, uint64_t what, uint64_t where)
{
	struct template *t;
	uint8_t *p = e->end[COL_TEMPLATE];
	if (e->templates >= e->template_cap)
		vec_grow((void **)&e->template, &e->template_cap, e->templates + 1,
			 sizeof *e->template);
	t = &e->template[e->templates++];
	memset(t, 0, sizeof *t);
	t->what = what;
	t->where = where;
	*p++ = (uint8_t)what;
	*p++ = (uint8_t)(what >> 8);
	*p++ = (uint8_t)(what >> 16);
	p = put_delta(p, template_site(t), e->site);
	p = put_delta(p, template_ctx(t), e->ctx);
	e->end[COL_TEMPLATE] = put_varint(p, template_size(t));
	e->site = template_site(t);
	e->ctx = template_ctx(t);
}

/* The template's number; a number that was not there before is a new one's. */
static uint32_t find_template(struct trace_encoder *e, uint64_t what, uint64_t where)
{
	uint32_t i = (uint32_t)hash_mix(what, where) & (SLOTS - 1);
	for (; e->slot[i]; i = (i + 1) & (SLOTS - 1)) {
		const struct template *t = &e->template[e->slot[i]];
		if (t->what == what && t->where == where)
			return e->slot[i];
	}
	e->slot[i] = e->templates;
	return e->templates;
}

static struct template *add_code(struct trace_encoder *e, uint64_t what, uint64_t where)
{
	uint32_t guess = e->template[e->previous].next, n;
	struct template *t = &e->template[guess];
	if (guess && t->what == what && t->where == where) {
		*e->end[COL_CODE]++ = 0;
		e->previous = guess;
		return t;
	}
	n = find_template(e, what, where);
	if (n == e->templates) {
		*e->end[COL_CODE]++ = 1;
		add_template(e, what, where);
	} else {
		e->end[COL_CODE] = put_varint(e->end[COL_CODE], (uint64_t)n + 1);
	}
	e->template[e->previous].next = n;
	e->previous = n;
	return &e->template[n];
}

static void add_word(struct trace_encoder *e, uint64_t v, uint64_t *last)
{
	uint64_t delta = zigzag((int64_t)(v - *last)), bits = v;
	unsigned n = width(v), tag = TAG_PLAIN + n;
	enum column c;
	if (width(delta) < n || !delta) {
		bits = delta;
		n = width(delta);
		tag = TAG_DELTA + n;
	}
	*e->end[COL_TAG]++ = (uint8_t)tag;
	c = n <= 4 ? COL_SHORT : COL_LONG;
	bits = htole64(bits);
	memcpy(e->end[c], &bits, 8); /* all eight, for speed; only n of them stay */
	e->end[c] += n;
	*last = v;
}

static void add_payload(struct trace_encoder *e, const struct trace_event *ev, struct template *t)
{
	if (ev->size > WORDS_MAX_BYTES) {
		memcpy(e->end[COL_BLOB], ev->data, ev->size);
		e->end[COL_BLOB] += ev->size;
		return;
	}
	for (uint32_t at = 0; at < ev->size; at += 8) {
		uint64_t v = 0;
		if (ev->size - at >= 8)
			memcpy(&v, ev->data + at, 8);
		else
			memcpy(&v, ev->data + at, ev->size - at);
		add_word(e, le64toh(v), &t->word[at / 8]);
	}
}

void trace_encoder_add(struct trace_encoder *e, const struct trace_event *ev)
{
	uint64_t what = ev->kind | (uint64_t)ev->flags << 8 | (uint64_t)ev->nargs << 16 |
			(uint64_t)ev->site << 32;
	struct template *t;
	unsigned i = 0;
	if (!e->count || ev->kept || ev->thread != e->thread || ev->process != e->process)
		add_switch(e, ev);
	t = add_code(e, what, ev->ctx | (uint64_t)ev->size << 32);
	if (kind_has_addr(ev->kind)) {
		uint64_t guess = addr_guess(t, e->previous_addr);
		e->end[COL_ADDR] = put_delta(e->end[COL_ADDR], ev->arg[0], guess);
		addr_learn(t, e->previous_addr, ev->arg[0]);
		e->previous_addr = ev->arg[0];
		i = 1;
	}
	for (; i < ev->nargs; i++) {
		e->end[COL_ARG] = put_delta(e->end[COL_ARG], ev->arg[i], t->arg[i]);
		t->arg[i] = ev->arg[i];
	}
	if (ev->size)
		add_payload(e, ev, t);
	e->count++;
}

void trace_encoder_columns(struct trace_encoder *e, struct trace_column out[TRACE_COLUMNS])
{
	_Static_assert(TRACE_COLUMNS == COLUMNS + 1, "lengths and columns");
	for (unsigned i = 0; i < COLUMNS; i++) {
		uint32_t n = (uint32_t)(e->end[i] - e->start[i]), le = htole32(n);
		memcpy(e->lengths + 4 * i, &le, 4);
		out[i + 1] = (struct trace_column){ e->start[i], n };
	}
	out[0] = (struct trace_column){ e->lengths, sizeof e->lengths };
}
