/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report for people:
 *
 *   error: store is never flushed [missing-flush]
 *     8 bytes are fenced but never flushed
 *     at list.c:7:10 in insert
 *          6 | {
 *     >    7 |         l->head = v;
 *            |                 ^
 *          8 |         pm_fence();
 *     call path
 *       > insert   list.c:7   (inlined)
 *         main     list.c:14
 *     last store   list.c:7 in insert: what is lost
 *     fix          flush the line between the store and the fence
 *     …
 *
 * Names and source lines come from the program: control characters in them are not printed.
 */
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

#define CONTEXT 2     /* lines around the marked one */
#define PATH_HEAD 24  /* frames of a long call path that are shown, … */
#define PATH_TAIL 6   /* … and at its end */
#define NAME_WIDTH 48 /* of a function in a call path */
#define TAB 8

struct out {
	FILE *f;
	bool color;
};

static const char *const level_color[] = {
	[FINDING_ERROR] = "1;31",
	[FINDING_PERFORMANCE] = "1;35",
	[FINDING_WARNING] = "1;33",
	[FINDING_NOTE] = "1;36",
};
#define BOLD "1"
#define DIM "2"
#define GREEN "32"

static void color(const struct out *o, const char *code)
{
	if (o->color)
		fprintf(o->f, "\033[%sm", code);
}

static void plain(const struct out *o)
{
	color(o, "0");
}

/* Columns that a text takes: one a character. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* Prints the text without control characters, tabs as blanks; at most `max` columns. */
static void put(const struct out *o, const char *text, size_t max)
{
	struct buf clean = { 0 };
	size_t column = 0;

	report_utf8(&clean, text);
	buf_add(&clean, "", 1);
	for (const char *p = clean.p; *p; p++) {
		bool begins = (*p & 0xc0) != 0x80;
		if (begins && column + 1 >= max && width(p) > 1) {
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

static void put_padded(const struct out *o, const char *text, size_t columns)
{
	size_t n = width(text);

	put(o, text, columns);
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

static void put_line(const struct out *o, const struct srcloc_frame *f, uint32_t number)
{
	const char *line = finding_source_line(f->file, number);
	bool marked = number == f->line;

	color(o, marked ? BOLD : DIM);
	fprintf(o->f, "  %c %5u |", marked ? '>' : ' ', number);
	if (!marked)
		plain(o);
	if (*line)
		fputc(' ', o->f);
	put(o, line, 160);
	plain(o);
	fputc('\n', o->f);
	if (!marked || !f->column || f->column > strlen(line) ||
	    screen_column(line, f->column) > 150)
		return;
	color(o, DIM);
	fprintf(o->f, "    %5s |", "");
	plain(o);
	color(o, GREEN);
	fprintf(o->f, " %*s^", (int)screen_column(line, f->column), "");
	plain(o);
	fputc('\n', o->f);
}

static void put_excerpt(const struct out *o, const struct srcloc_frame *f)
{
	struct report_excerpt e = report_excerpt(f, CONTEXT);

	for (uint32_t i = 0; i < e.n; i++)
		put_line(o, f, e.first + i);
	if (report_source_note(e.state))
		fprintf(o->f, "    (%s)\n", report_source_note(e.state));
}

static const char *frame_note(const struct srcloc_frame *f)
{
	if (f->inlined)
		return "(inlined)";
	if (f->kind == SRCLOC_TAIL)
		return "(left by a jump)";
	return f->kind == SRCLOC_INTERRUPTED ? "(interrupted)" : "";
}

static void put_frame(const struct out *o, const struct srcloc_frame *f, bool marked, size_t names,
		      size_t places)
{
	char *where = report_where(f, false);

	if (marked)
		color(o, BOLD);
	fprintf(o->f, "    %c ", marked ? '>' : ' ');
	put_padded(o, report_function(f), names);
	if (f->kind != SRCLOC_SIGNAL && f->kind != SRCLOC_CUT) {
		fputs("  ", o->f);
		if (*frame_note(f))
			put_padded(o, where, places);
		else
			put(o, where, SIZE_MAX);
	}
	if (*frame_note(f))
		fprintf(o->f, "  %s", frame_note(f));
	if (marked)
		plain(o);
	fputc('\n', o->f);
	free(where);
}

static void put_path(const struct out *o, const struct finding_place *place)
{
	struct srcloc_where path = report_trim(place);
	const struct srcloc_frame *main_frame = finding_main_frame(place);
	size_t names = 0, places = 0, cut = path.n > PATH_HEAD + PATH_TAIL + 1 ? PATH_HEAD : path.n;

	if (path.n < 2)
		return;
	for (size_t i = 0; i < path.n; i++) {
		if (i >= cut && i < path.n - PATH_TAIL)
			continue;
		char *where = report_where(&path.frame[i], false);
		size_t n = width(report_function(&path.frame[i]));
		names = n > names ? n : names;
		places = width(where) > places ? width(where) : places;
		free(where);
	}
	names = names > NAME_WIDTH ? NAME_WIDTH : names;
	fputs("  call path\n", o->f);
	for (size_t i = 0; i < path.n; i++) {
		if (i == cut) {
			fprintf(o->f, "      … %zu more …\n", path.n - PATH_TAIL - cut);
			i = path.n - PATH_TAIL;
		}
		put_frame(o, &path.frame[i], &path.frame[i] == main_frame, names, places);
	}
}

/* "  last store   " */
static void put_label(const struct out *o, const char *label, size_t columns)
{
	char *words = xstrdup(label);

	for (char *p = words; *p; p++)
		*p = *p == '-' ? ' ' : *p;
	fputs("  ", o->f);
	color(o, DIM);
	put_padded(o, words, columns);
	plain(o);
	fputs("  ", o->f);
	free(words);
}

static void put_labelled(const struct out *o, const char *label, size_t columns, const char *text)
{
	if (!text)
		return;
	put_label(o, label, columns);
	put(o, text, SIZE_MAX);
	fputc('\n', o->f);
}

static void put_related(const struct out *o, const struct finding_related *r, size_t columns)
{
	const struct srcloc_frame *at = finding_main_frame(&r->place);

	put_label(o, r->role, columns);
	if (at) {
		char *where = report_where(at, false);
		put(o, where, SIZE_MAX);
		if (at->function) {
			fputs(" in ", o->f);
			put(o, at->function, NAME_WIDTH);
		}
		free(where);
	}
	if (r->message) {
		fputs(at ? ": " : "", o->f);
		put(o, r->message, SIZE_MAX);
	}
	fputc('\n', o->f);
}

static void put_facts(const struct out *o, const struct finding *f)
{
	size_t columns = strlen("replay");
	char *seen;

	for (size_t i = 0; i < f->related.n; i++)
		if (width(f->related.p[i].role) > columns)
			columns = width(f->related.p[i].role);
	for (size_t i = 0; i < f->related.n; i++)
		put_related(o, &f->related.p[i], columns);
	put_labelled(o, "data", columns, f->data);
	put_labelled(o, "fix", columns, f->advice);
	seen = f->count == 1
		       ? xasprintf("once, at event %llu", (unsigned long long)f->event)
		       : xasprintf("%llu times, first at event %llu", (unsigned long long)f->count,
				   (unsigned long long)f->event);
	put_labelled(o, "seen", columns, f->place.n ? seen : NULL);
	free(seen);
	put_labelled(o, "id", columns, f->id);
	put_labelled(o, "replay", columns, f->replay);
}

static void put_finding(const struct out *o, const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);

	color(o, level_color[f->kind->level]);
	fprintf(o->f, "%s:", finding_level_name(f->kind->level));
	plain(o);
	fputc(' ', o->f);
	color(o, BOLD);
	put(o, f->kind->title, SIZE_MAX);
	plain(o);
	color(o, DIM);
	fputs(" [", o->f);
	put(o, f->kind->name, SIZE_MAX);
	fputc(']', o->f);
	plain(o);
	fputc('\n', o->f);
	if (f->message && strcmp(f->message, f->kind->title)) {
		fputs("  ", o->f);
		put(o, f->message, SIZE_MAX);
		fputc('\n', o->f);
	}
	if (at) {
		char *where = report_where(at, true);
		fputs("  at ", o->f);
		put(o, where, SIZE_MAX);
		if (at->function) {
			fputs(" in ", o->f);
			put(o, at->function, SIZE_MAX);
		}
		fputc('\n', o->f);
		free(where);
		put_excerpt(o, at);
	}
	put_path(o, &f->place);
	put_facts(o, f);
	fputc('\n', o->f);
}

static void put_summary(const struct out *o, const struct finding_set *set)
{
	char *text = report_summary(set);
	const char *tint = GREEN;

	for (int i = FINDING_LEVELS; i-- > 0;)
		if (finding_count(set, (enum finding_level)i))
			tint = level_color[i];
	color(o, tint);
	fputs(text, o->f);
	plain(o);
	fputc('\n', o->f);
	free(text);
}

void report_text(const struct report *r, FILE *file)
{
	struct out o = { file, color_wanted(file) };

	for (size_t i = 0; i < r->findings->v.n; i++)
		if (!r->findings->v.p[i]->suppressed)
			put_finding(&o, r->findings->v.p[i]);
	if (r->incomplete) {
		color(&o, level_color[FINDING_WARNING]);
		fputs("incomplete:", file);
		plain(&o);
		fputc(' ', file);
		put(&o, r->incomplete, SIZE_MAX);
		fputc('\n', file);
	}
	put_summary(&o, r->findings);
	fflush(file);
}
