/* SPDX-License-Identifier: BSD-3-Clause */
/* A lost store as the field that it makes: its type, by the debug information, and its value in either image. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash/explain.h"

static uint64_t number(const uint8_t *bytes, uint32_t len)
{
	uint64_t v = 0;
	memcpy(&v, bytes, len < 8 ? len : 8);
	return v;
}

static void add_text(struct buf *b, const uint8_t *bytes, uint32_t len)
{
	buf_puts(b, "\"");
	for (uint32_t i = 0; i < len; i++)
		if (bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\')
			buf_add(b, bytes + i, 1);
		else
			buf_printf(b, "\\x%02x", bytes[i]);
	buf_puts(b, "\"");
}

static char *value_text(const uint8_t *bytes, uint32_t len, enum srcloc_encoding how, bool hex)
{
	uint64_t v = number(bytes, len);
	struct buf b = { 0 };
	double d;
	float f;
	if (how == SRCLOC_CHAR)
		add_text(&b, bytes, len);
	else if (how == SRCLOC_FLOAT && len == 8)
		buf_printf(&b, "%g", (memcpy(&d, &v, 8), d));
	else if (how == SRCLOC_FLOAT && len == 4)
		buf_printf(&b, "%g", (double)(memcpy(&f, &v, 4), f));
	else if (how == SRCLOC_SIGNED && len < 8 && v >> (len * 8 - 1))
		buf_printf(&b, "%" PRId64, (int64_t)(v | ~0ull << (len * 8)));
	else if (how == SRCLOC_SIGNED)
		buf_printf(&b, "%" PRId64, (int64_t)v);
	else
		buf_printf(&b, hex ? "0x%" PRIx64 : "%" PRIu64, v);
	buf_add(&b, "", 1);
	return b.p;
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void add_values(struct finding_field *f, const struct crash_lost *lost,
		       enum srcloc_encoding how)
{
	bool hex = how == SRCLOC_POINTER || number(lost->has, lost->len) > UINT32_MAX ||
		   number(lost->should, lost->len) > UINT32_MAX;
	f->has = value_text(lost->has, lost->len, how, hex);
	f->should = value_text(lost->should, lost->len, how, hex);
}

void crash_lost_field(struct crash *c, const struct crash_lost *lost, struct finding_field *out)
{
	const struct srcloc_frame *f = finding_main_frame(crash_path(c, lost->place));
	const char *slash = strrchr(lost->path, '/');
	const char *statement = f && f->file ? finding_source_line(f->file, f->line) : NULL;
	struct srcloc_lvalue lv = { 0 };
	char where[512];
	bool typed = statement && srcloc_trace_lvalue(c->src, f, statement, &lv);
	bool fits = typed && (lv.size == lost->len || lv.encoding == SRCLOC_CHAR);
	*out = (struct finding_field){ .size = lost->len, .event = lost->event };
	out->data = xasprintf("%s+0x%" PRIx64, slash ? slash + 1 : lost->path, lost->off);
	if (typed) {
		out->object = copy(lv.type);
		out->member = copy(lv.member);
		out->type = copy(lv.member_type);
	}
	if (lost->len <= 8)
		add_values(out, lost, fits ? lv.encoding : SRCLOC_UNSIGNED);
	if (f)
		out->at = xstrdup(srcloc_text(f, where, sizeof where));
	if (statement)
		out->statement = xstrdup(statement + strspn(statement, " \t"));
}
