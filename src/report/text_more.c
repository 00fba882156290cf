/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What keeps a long report readable: the other call paths of a finding in a line each, notes in a
 * line each, alike findings together, and at the end a table of files.
 */
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

#define OTHER_PATHS 4 /* that are shown; the rest is counted */
#define PATH_NAMES 5  /* functions of each */

void report_text_why(const struct text_out *o, const struct finding *f, size_t columns)
{
	struct buf label = { 0 };
	buf_printf(&label, "why %s", finding_level_name(f->level));
	for (size_t i = 0; i < f->why.n; i++)
		report_text_labelled(o, i ? "" : label.p, columns, f->why.p[i].text);
	buf_free(&label);
}

void report_text_verdict(const struct text_out *o, const struct finding *f, size_t columns)
{
	if (!f->verdict)
		return;
	char *text = finding_verdict_text(f->verdict);
	report_text_labelled(o, "verdict", columns, text);
	free(text);
}

/* "insert (list.c:20) ← main (list.c:40)": from the main frame's caller on. */
static char *callers(const struct finding_place *place)
{
	struct srcloc_where path = report_trim(place);
	const struct srcloc_frame *at = finding_main_frame(place);
	struct buf out = { 0 };
	size_t i = 0, shown = 0;
	while (i < path.n && &path.frame[i] != at)
		i++;
	for (i++; i < path.n && shown < PATH_NAMES; i++, shown++) {
		char *where = report_where(&path.frame[i], false);
		buf_printf(&out, "%s%s (%s)", shown ? " ← " : "", report_function(&path.frame[i]),
			   where);
		free(where);
	}
	if (i < path.n)
		buf_puts(&out, " ← …");
	return out.p ? out.p : xstrdup("(nobody)");
}

void report_text_paths(const struct text_out *o, const struct finding *f, size_t columns)
{
	size_t left = f->paths.n > OTHER_PATHS ? f->paths.n - OTHER_PATHS : 0;
	if (f->paths.n < 2)
		return;
	for (size_t i = 0; i < f->paths.n && i < OTHER_PATHS; i++) {
		char *by = callers(&f->paths.p[i].place);
		char *text = xasprintf("%llu× %s", (unsigned long long)f->paths.p[i].count, by);
		report_text_labelled(o, i ? "" : "called by", columns, text);
		free(text);
		free(by);
	}
	if (left) {
		char *text = xasprintf("… and %zu other call path%s", left, left == 1 ? "" : "s");
		report_text_labelled(o, "", columns, text);
		free(text);
	}
}

void report_text_line(const struct text_out *o, const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	report_text_level(o, f->level);
	if (at) {
		char *where = report_where(at, false);
		report_text_put(o, where, SIZE_MAX);
		if (at->function) {
			fputs(" in ", o->f);
			report_text_put(o, report_name(at, TEXT_NAME_WIDTH), SIZE_MAX);
		}
		fputs(": ", o->f);
		free(where);
	}
	report_text_put(o, f->message ? f->message : f->kind->title, SIZE_MAX);
	fprintf(o->f, " [%s%s%s]\n", f->kind->name, f->verdict ? ", " : "",
		f->verdict ? finding_proof_name(f->verdict->proof) : "");
}

/* ---- many findings ---- */

static enum finding_proof proof_of(const struct finding *f)
{
	return f->verdict ? f->verdict->proof : FINDING_PROOFS;
}

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* A crash or an input is a story of its own. */
static bool has_story(const struct finding *f)
{
	return f->crash || f->input;
}

/* The same in the same file; errors, in the same function. */
static bool alike(const struct finding *f, const struct finding *g)
{
	const struct srcloc_frame *a = finding_main_frame(&f->place);
	const struct srcloc_frame *b = finding_main_frame(&g->place);
	return f->kind == g->kind && f->level == g->level && proof_of(f) == proof_of(g) &&
	       !has_story(f) && !has_story(g) && a && b && same(a->file, b->file) &&
	       (f->level != FINDING_ERROR || same(a->function, b->function));
}

/* " (before it: list.c:12, list.c:15)": earlier writers of the same bytes. */
static void put_writers(const struct text_out *o, const struct finding *f)
{
	const char *sep = " (before it: ";
	for (size_t i = 0; i < f->related.n; i++) {
		const struct finding_related *r = &f->related.p[i];
		const struct srcloc_frame *at = finding_main_frame(&r->place);
		if (strcmp(r->role, "writer") || !at)
			continue;
		char *where = report_where(at, false);
		fputs(sep, o->f);
		report_text_put(o, where, SIZE_MAX);
		free(where);
		sep = ", ";
	}
	if (*sep == ',')
		fputc(')', o->f);
}

/* "  also  list.c:20  3f9c0a…  n->next = head;" */
static void put_alike(const struct text_out *o, const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	char *where = report_where(at, true);
	struct report_excerpt e = report_excerpt(at, 0);
	report_text_label(o, "also", strlen("also"));
	report_text_put(o, where, SIZE_MAX);
	fprintf(o->f, ", %s", f->id);
	if (e.n) {
		const char *line = finding_source_line(at->file, at->line);
		fputs("  ", o->f);
		report_text_put(o, line + strspn(line, " \t"), TEXT_NAME_WIDTH);
	}
	put_writers(o, f);
	fputc('\n', o->f);
	free(where);
}

void report_text_many(const struct text_out *o, const struct finding_set *set,
		      report_text_put_finding *whole, report_text_put_finding *brief)
{
	bool *put = xcalloc(set->v.n, sizeof *put);
	for (size_t i = 0; i < set->v.n; i++) {
		const struct finding *f = set->v.p[i];
		if (put[i] || f->suppressed || f->level == FINDING_NOTE)
			continue;
		(f->level == FINDING_ERROR || has_story(f) ? whole : brief)(o, f);
		for (size_t k = i + 1; k < set->v.n; k++) {
			const struct finding *g = set->v.p[k];
			if (!put[k] && !g->suppressed && alike(f, g)) {
				put_alike(o, g);
				put[k] = true;
			}
		}
		fputc('\n', o->f);
	}
	free(put);
}

/* ---- the table of files ---- */

struct file_row {
	const char *file;
	size_t n[FINDING_LEVELS];
};

static int by_gravity(const void *a, const void *b)
{
	const struct file_row *x = a, *y = b;
	for (int i = 0; i < FINDING_LEVELS; i++)
		if (x->n[i] != y->n[i])
			return x->n[i] > y->n[i] ? -1 : 1;
	return strcmp(x->file, y->file);
}

void report_text_files(const struct text_out *o, const struct finding_set *set)
{
	VEC(struct file_row) rows = { 0 };
	size_t width = strlen("file");
	for (size_t i = 0; i < set->v.n; i++) {
		const struct finding *f = set->v.p[i];
		const struct srcloc_frame *at = finding_main_frame(&f->place);
		const char *file = at && at->file     ? report_path(at->file)
				   : at && at->module ? report_base(at->module)
						      : "(nowhere)";
		size_t k = 0;
		if (f->suppressed)
			continue;
		while (k < rows.n && strcmp(rows.p[k].file, finding_intern(file)))
			k++;
		if (k == rows.n)
			VEC_PUSH(&rows, ((struct file_row){ finding_intern(file), { 0 } }));
		rows.p[k].n[f->level]++;
		width = report_text_width(file) > width ? report_text_width(file) : width;
	}
	qsort(rows.p, rows.n, sizeof *rows.p, by_gravity);
	report_text_padded(o, "file", width);
	for (int i = 0; i < FINDING_LEVELS; i++)
		fprintf(o->f, "  %11s", finding_level_name((enum finding_level)i));
	fputc('\n', o->f);
	for (size_t k = 0; k < rows.n; k++) {
		report_text_padded(o, rows.p[k].file, width);
		for (int i = 0; i < FINDING_LEVELS; i++)
			fprintf(o->f, "  %11zu", rows.p[k].n[i]);
		fputc('\n', o->f);
	}
	fputc('\n', o->f);
	VEC_FREE(&rows);
}
