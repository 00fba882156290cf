/* SPDX-License-Identifier: BSD-3-Clause */
/* An input: its size, its rank, and how people get to see it. */
#include <stdlib.h>
#include <string.h>

#include "explore/input.h"

#define CHANGES 8 /* places in a pool that are shown */
#define SHOWN 96  /* bytes of a source that are shown to people */

uint32_t explore_input_length(const struct explore_plan *p, size_t i,
			      const struct symbolic_input *in)
{
	const uint8_t *at = in->byte + p->source.p[i].first;
	const uint8_t *end = p->about.p[i].text ? memchr(at, 0, in->now[i]) : NULL;
	return end ? (uint32_t)(end - at) : in->now[i];
}

uint64_t explore_input_rank(const struct explore_plan *p, const struct symbolic_input *in)
{
	uint64_t length = 0, high = 0;
	for (size_t i = 0; i < p->source.n; i++) {
		uint32_t n = explore_input_length(p, i, in), first = p->source.p[i].first;
		length += n;
		for (uint32_t k = 0; k < n; k++)
			high += !p->fixed[first + k] && in->byte[first + k] != p->lo[first + k];
	}
	return length << 32 | high;
}

static void show(struct buf *b, const uint8_t *bytes, size_t n)
{
	buf_puts(b, "\"");
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		uint8_t c = bytes[i];
		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c >= ' ' && c < 127)
			buf_printf(b, "%c", c);
		else if (c == '\n' || c == '\r' || c == '\t')
			buf_printf(b, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
		else
			buf_printf(b, "\\x%02x", c);
	}
	buf_puts(b, n > SHOWN ? "\"…" : "\"");
}

/* Only what is not as in the pool: "at 68 "\xff\xff", at 96 "\x01"". */
static void show_changes(struct buf *b, const struct explore_plan *p, size_t i,
			 const struct symbolic_input *in)
{
	const struct sym_source *s = &p->source.p[i];
	const uint8_t *now = in->byte + s->first, *was = p->about.p[i].base;
	unsigned shown = 0;
	for (uint32_t k = 0; k < in->now[i]; k++) {
		uint32_t from = k, n = 0;
		if (now[k] == was[k])
			continue;
		while (k < in->now[i] && now[k] != was[k])
			k++, n++;
		if (++shown > CHANGES) {
			buf_puts(b, ", …");
			return;
		}
		buf_printf(b, "%s at %llu ", shown > 1 ? "," : "",
			   (unsigned long long)(s->off + from));
		show(b, now + from, n);
	}
	buf_puts(b, shown ? "" : " nothing");
}

static void show_packets(struct buf *b, const struct explore_plan *p, size_t i,
			 const struct symbolic_input *in)
{
	const uint8_t *at = in->byte + p->source.p[i].first;
	for (size_t k = 0; k < p->packet.n; at += p->packet.p[k++]) {
		buf_printf(b, "%spacket %zu: ", k ? "\n" : "", k + 1);
		show(b, at, p->packet.p[k]);
	}
}

char *explore_input_text(const struct explore_plan *p, const struct symbolic_input *in)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < p->source.n; i++) {
		uint32_t n = explore_input_length(p, i, in);
		if (p->about.p[i].pm) {
			buf_printf(&b, "%s%s: changed", i ? "\n" : "", p->about.p[i].name);
			show_changes(&b, p, i, in);
			continue;
		}
		if (p->source.p[i].kind == SYM_SRC_SOCKET) {
			buf_puts(&b, i ? "\n" : "");
			show_packets(&b, p, i, in);
			continue;
		}
		buf_printf(&b, "%s%s: %u byte%s", i ? "\n" : "", p->about.p[i].name, n,
			   n == 1 ? "" : "s");
		if (p->source.p[i].off)
			buf_printf(&b, " at %llu", (unsigned long long)p->source.p[i].off);
		buf_puts(&b, ", ");
		show(&b, in->byte + p->source.p[i].first, n);
	}
	buf_add(&b, "", 1);
	return b.p;
}
