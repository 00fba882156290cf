/* SPDX-License-Identifier: BSD-3-Clause */
/* What the report for people is put together from: colours, columns, labels, source lines. */
#include <string.h>

#include "report/text.h"

#define TAB 8

void report_text_color(const struct text_out *o, const char *code)
{
	if (o->color)
		fprintf(o->f, "\033[%sm", code);
}

void report_text_plain(const struct text_out *o)
{
	report_text_color(o, "0");
}

size_t report_text_width(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

void report_text_put(const struct text_out *o, const char *text, size_t max)
{
	struct buf clean = { 0 };
	size_t column = 0;
	report_utf8(&clean, text);
	buf_add(&clean, "", 1);
	for (const char *p = clean.p; *p; p++) {
		bool begins = (*p & 0xc0) != 0x80;
		if (begins && column + 1 >= max && report_text_width(p) > 1) {
			fputs("…", o->f);
			break;
		}
		if (*p == '\t') {
			size_t blanks = TAB - column % TAB;
			fprintf(o->f, "%*s", (int)blanks, "");
			column += blanks;
			continue;
		}
		bool c1 = (*p & 0xff) == 0xc2 && (p[1] & 0xe0) == 0x80; /* U+0080…U+009f */
		if ((*p & 0xff) < 0x20 || *p == 0x7f || c1)
			fputc('?', o->f);
		else
			fputc(*p, o->f);
		p += c1;
		column += begins;
	}
	buf_free(&clean);
}

void report_text_padded(const struct text_out *o, const char *text, size_t columns)
{
	size_t n = report_text_width(text);
	report_text_put(o, text, columns);
	if (n < columns)
		fprintf(o->f, "%*s", (int)(columns - n), "");
}

/* The column on the screen of a byte of a line, from 0. */
static size_t screen_column(const char *line, uint32_t column)
{
	size_t at = 0;
	for (uint32_t i = 1; i < column && *line; i++, line++)
		at += *line == '\t' ? TAB - at % TAB : (*line & 0xc0) != 0x80;
	return at;
}

static void put_line(const struct text_out *o, const struct srcloc_frame *f, uint32_t number)
{
	const char *line = finding_source_line(f->file, number);
	bool marked = number == f->line;
	report_text_color(o, marked ? BOLD : DIM);
	fprintf(o->f, "  %c %5u |", marked ? '>' : ' ', number);
	if (!marked)
		report_text_plain(o);
	if (*line)
		fputc(' ', o->f);
	report_text_put(o, line, TEXT_LINE_WIDTH);
	report_text_plain(o);
	fputc('\n', o->f);
	if (!marked || !f->column || f->column > strlen(line) ||
	    screen_column(line, f->column) > 150)
		return;
	report_text_color(o, DIM);
	fprintf(o->f, "    %5s |", "");
	report_text_plain(o);
	report_text_color(o, GREEN);
	fprintf(o->f, " %*s^", (int)screen_column(line, f->column), "");
	report_text_plain(o);
	fputc('\n', o->f);
}

void report_text_excerpt(const struct text_out *o, const struct srcloc_frame *f, uint32_t context)
{
	struct report_excerpt e = report_excerpt(f, context);
	for (uint32_t i = 0; i < e.n; i++)
		put_line(o, f, e.first + i);
	if (report_source_note(e.state))
		fprintf(o->f, "    (%s)\n", report_source_note(e.state));
}

void report_text_label(const struct text_out *o, const char *label, size_t columns)
{
	fputs("  ", o->f);
	report_text_color(o, DIM);
	report_text_padded(o, label, columns);
	report_text_plain(o);
	fputs("  ", o->f);
}

void report_text_labelled(const struct text_out *o, const char *label, size_t columns,
			  const char *text)
{
	if (!text)
		return;
	report_text_label(o, label, columns);
	report_text_put(o, text, SIZE_MAX);
	fputc('\n', o->f);
}
