/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Columns to events (see columns.h), one event at a time. The bytes are not trusted: a
 * column cannot be read past its end, a template must exist before it is used, and a
 * chunk has at most as many events as its header says, which is bounded.
 */
#include <endian.h>
#include <stdlib.h>

#include "trace/columns.h"

struct trace_decoder {
	struct cursor col[COLUMNS];
	uint32_t left, templates;
	uint32_t previous;
	uint64_t previous_addr;
	uint32_t process, thread, kept;
	uint32_t until_switch; /* events; UINT32_MAX: no switch follows */
	uint32_t site, ctx;
	struct template *template;
	size_t template_cap;
	uint8_t bytes[WORDS_MAX_BYTES]; /* the last event's payload, if short */
};

struct trace_decoder *trace_decoder_new(void)
{
	return xcalloc(1, sizeof(struct trace_decoder));
}

void trace_decoder_free(struct trace_decoder *d)
{
	if (d)
		free(d->template);
	free(d);
}

uint32_t trace_decoder_left(const struct trace_decoder *d)
{
	return d->left;
}

void trace_decoder_stop(struct trace_decoder *d)
{
	d->left = 0;
}

static void next_switch(struct trace_decoder *d)
{
	struct cursor *c = &d->col[COL_SWITCH];
	uint64_t gap;
	if (!cursor_left(c)) {
		d->until_switch = UINT32_MAX;
		return;
	}
	gap = get_varint(c);
	if (gap >= UINT32_MAX)
		c->bad = true;
	d->until_switch = (uint32_t)gap;
}

static bool cut_columns(struct trace_decoder *d, const uint8_t *raw, size_t n)
{
	struct cursor in = { .p = raw, .end = raw + n };
	const uint8_t *lengths = get_bytes(&in, COLUMN_LENGTHS);
	for (unsigned i = 0; lengths && i < COLUMNS; i++) {
		const uint8_t *start;
		uint32_t len;
		memcpy(&len, lengths + 4 * i, 4);
		start = get_bytes(&in, le32toh(len));
		if (!start)
			return false;
		d->col[i] = (struct cursor){ .p = start, .end = start + le32toh(len) };
	}
	return lengths && !cursor_left(&in);
}

int trace_decoder_start(struct trace_decoder *d, const struct chunk *c, const uint8_t *raw)
{
	d->left = 0;
	if (!cut_columns(d, raw, c->raw) || c->events > cursor_left(&d->col[COL_CODE]))
		return -1;
	d->left = c->events;
	d->previous = d->site = d->ctx = 0;
	d->previous_addr = 0;
	if (!d->template)
		vec_grow((void **)&d->template, &d->template_cap, 64, sizeof *d->template);
	memset(d->template, 0, sizeof *d->template);
	d->templates = 1;
	next_switch(d);
	return !d->left || d->until_switch == 0 ? 0 : -1;
}

static bool take_switch(struct trace_decoder *d, const struct trace_defs *defs)
{
	struct cursor *c = &d->col[COL_SWITCH];
	d->kept = 0;
	while (d->until_switch == 0) {
		uint64_t process = get_varint(c), thread = get_varint(c);
		if (process >= trace_processes(defs))
			return false;
		d->process = (uint32_t)process;
		d->thread = (uint32_t)thread;
		d->kept = (uint32_t)(thread >> 32);
		next_switch(d);
		if (c->bad)
			return false;
	}
	if (d->until_switch != UINT32_MAX)
		d->until_switch--;
	return true;
}

static bool known_shape(unsigned kind, unsigned nargs, uint64_t size)
{
	return kind != TRACE_PAD && kind < TRACE_KINDS && nargs == trace_kind_args(kind) &&
	       size <= TRACE_MAX_PAYLOAD;
}

static struct template *new_template(struct trace_decoder *d)
{
	struct cursor *c = &d->col[COL_TEMPLATE];
	uint64_t kind = get_byte(c), flags = get_byte(c), nargs = get_byte(c);
	uint64_t site = get_delta(c, d->site), ctx = get_delta(c, d->ctx), size = get_varint(c);
	struct template *t;
	if (c->bad || site > UINT32_MAX || ctx > UINT32_MAX ||
	    !known_shape((unsigned)kind, (unsigned)nargs, size))
		return NULL;
	if (d->templates >= d->template_cap)
		vec_grow((void **)&d->template, &d->template_cap, d->templates + 1,
			 sizeof *d->template);
	t = &d->template[d->templates++];
	memset(t, 0, sizeof *t);
	t->what = kind | flags << 8 | nargs << 16 | site << 32;
	t->where = ctx | size << 32;
	t->ip_process = TRACE_NO_PROCESS;
	d->site = (uint32_t)site;
	d->ctx = (uint32_t)ctx;
	return t;
}

static struct template *take_code(struct trace_decoder *d)
{
	uint64_t code = get_varint(&d->col[COL_CODE]);
	uint32_t n;
	if (d->col[COL_CODE].bad)
		return NULL;
	if (code == 0) {
		n = d->template[d->previous].next;
		if (!n)
			return NULL;
	} else if (code == 1) {
		n = d->templates;
		if (!new_template(d))
			return NULL;
	} else {
		if (code - 1 >= d->templates)
			return NULL;
		n = (uint32_t)code - 1;
	}
	if (code)
		d->template[d->previous].next = n;
	d->previous = n;
	return &d->template[n];
}

/* n bytes, 0..8, as a number. Reads eight; the chunk is followed by slack. */
static uint64_t take_bytes(struct cursor *c, unsigned n)
{
	uint64_t v;
	if (n > cursor_left(c)) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->p, 8);
	c->p += n;
	v = le64toh(v);
	return n == 8 ? v : v & ((1ull << 8 * n) - 1);
}

static bool take_word(struct trace_decoder *d, uint64_t *last)
{
	unsigned tag = get_byte(&d->col[COL_TAG]);
	unsigned n = tag >= TAG_PLAIN ? tag - TAG_PLAIN : tag - TAG_DELTA;
	struct cursor *c = &d->col[n <= 4 ? COL_SHORT : COL_LONG];
	uint64_t v;
	if (n > 8)
		return false;
	v = take_bytes(c, n);
	*last = tag >= TAG_PLAIN ? v : *last + (uint64_t)unzigzag(v);
	return !c->bad && !d->col[COL_TAG].bad;
}

static bool take_payload(struct trace_decoder *d, struct template *t, struct trace_event *ev)
{
	if (ev->size > WORDS_MAX_BYTES) {
		ev->data = get_bytes(&d->col[COL_BLOB], ev->size);
		return ev->data != NULL;
	}
	for (uint32_t i = 0; i * 8 < ev->size; i++) {
		uint64_t v;
		if (!take_word(d, &t->word[i]))
			return false;
		v = htole64(t->word[i]);
		memcpy(d->bytes + 8 * i, &v, 8);
	}
	ev->data = d->bytes;
	return true;
}

static void take_args(struct trace_decoder *d, struct template *t, struct trace_event *ev)
{
	unsigned i = 0;
	if (kind_has_addr(ev->kind)) {
		uint64_t guess = addr_guess(t, d->previous_addr);
		ev->arg[0] = get_delta(&d->col[COL_ADDR], guess);
		addr_learn(t, d->previous_addr, ev->arg[0]);
		d->previous_addr = ev->arg[0];
		i = 1;
	}
	for (; i < ev->nargs; i++)
		ev->arg[i] = t->arg[i] = get_delta(&d->col[COL_ARG], t->arg[i]);
	for (; i < TRACE_MAX_ARGS; i++)
		ev->arg[i] = 0;
}

static uint64_t site_ip(struct template *t, const struct trace_defs *defs, uint32_t process)
{
	const struct trace_site_def *site;
	if (t->ip_process == process)
		return t->ip;
	site = trace_site(defs, process, template_site(t));
	t->ip = site ? site->ip : 0;
	t->ip_process = process;
	return t->ip;
}

bool trace_decoder_next(struct trace_decoder *d, const struct trace_defs *defs,
			struct trace_event *ev)
{
	struct template *t;
	if (!d->left || !take_switch(d, defs))
		return false;
	t = take_code(d);
	if (!t)
		return false;
	ev->kind = template_kind(t);
	ev->flags = (uint8_t)(t->what >> 8);
	ev->nargs = template_nargs(t);
	ev->process = d->process;
	ev->thread = d->thread;
	ev->kept = d->kept;
	ev->site = template_site(t);
	ev->ctx = template_ctx(t);
	ev->size = template_size(t);
	ev->data = NULL;
	ev->ip = site_ip(t, defs, d->process);
	take_args(d, t, ev);
	if (d->col[COL_ADDR].bad || d->col[COL_ARG].bad || (ev->size && !take_payload(d, t, ev)))
		return false;
	d->left--;
	return true;
}
