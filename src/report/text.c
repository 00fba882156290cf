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
 * and for a crash, after the call path:
 *
 *     persistent    list.c:9 in insert
 *          8 |         l->n++;
 *     >    9 |         l->valid = 1;
 *         10 |         pm_persist(l, 64);
 *     lost          list.c:7 in insert
 *     also lost     list.c:10 in insert
 *     state         before event 130, 1 line lost, 1 line ahead
 *     recovery      failed with exit status 3
 *         | list: valid, but without a head
 *
 * Names and source lines come from the program: control characters in them are not printed.
 */
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

#define PATH_HEAD 24 /* frames of a long call path that are shown, … */
#define PATH_TAIL 6  /* … and at its end */
#define MANY 8    /* findings: with so many they are told in short, and there is a table of files */
#define CALLERS 8 /* of a store that a crash is about */

static const char *const level_color[] = {
	[FINDING_ERROR] = "1;31",
	[FINDING_PERFORMANCE] = "1;35",
	[FINDING_WARNING] = "1;33",
	[FINDING_NOTE] = "1;36",
};

void report_text_level(const struct text_out *o, enum finding_level level)
{
	report_text_color(o, level_color[level]);
	fprintf(o->f, "%s:", finding_level_name(level));
	report_text_plain(o);
	fputc(' ', o->f);
}

static const char *frame_note(const struct srcloc_frame *f)
{
	if (f->inlined)
		return "(inlined)";
	if (f->kind == SRCLOC_TAIL)
		return "(left by a jump)";
	return f->kind == SRCLOC_INTERRUPTED ? "(interrupted)" : "";
}

static void put_frame(const struct text_out *o, const struct srcloc_frame *f, bool marked,
		      size_t names, size_t places)
{
	char *where = report_where(f, false);
	if (marked)
		report_text_color(o, BOLD);
	fprintf(o->f, "    %c ", marked ? '>' : ' ');
	report_text_padded(o, report_name(f, TEXT_NAME_WIDTH), names);
	if (f->kind != SRCLOC_SIGNAL && f->kind != SRCLOC_CUT) {
		fputs("  ", o->f);
		if (*frame_note(f))
			report_text_padded(o, where, places);
		else
			report_text_put(o, where, SIZE_MAX);
	}
	if (*frame_note(f))
		fprintf(o->f, "  %s", frame_note(f));
	if (marked)
		report_text_plain(o);
	fputc('\n', o->f);
	free(where);
}

static void put_path(const struct text_out *o, const struct finding_place *place)
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
		size_t n = report_text_width(report_name(&path.frame[i], TEXT_NAME_WIDTH));
		names = n > names ? n : names;
		places = report_text_width(where) > places ? report_text_width(where) : places;
		free(where);
	}
	fputs("  call path\n", o->f);
	for (size_t i = 0; i < path.n; i++) {
		if (i == cut) {
			fprintf(o->f, "      … %zu more …\n", path.n - PATH_TAIL - cut);
			i = path.n - PATH_TAIL;
		}
		put_frame(o, &path.frame[i], &path.frame[i] == main_frame, names, places);
	}
}

static bool is_store_of_crash(const struct finding_related *r)
{
	return !strcmp(r->role, "persisted") || !strcmp(r->role, "lost");
}

static bool same_line(const struct srcloc_frame *a, const struct srcloc_frame *b)
{
	return a && b && a->file && b->file && a->line == b->line && !strcmp(a->file, b->file);
}

/* "      called by put (list.c:20) ← main (list.c:40)" */
static void put_callers(const struct text_out *o, const struct finding_place *place)
{
	struct srcloc_where path = report_trim(place);
	const struct srcloc_frame *at = finding_main_frame(place);
	size_t first = 0, shown = 0;
	while (first < path.n && &path.frame[first] != at)
		first++;
	for (size_t i = first + 1; i < path.n && shown < CALLERS; i++, shown++) {
		char *where = report_where(&path.frame[i], false);
		fputs(shown ? " ← " : "      called by ", o->f);
		report_text_put(o, report_name(&path.frame[i], TEXT_NAME_WIDTH), SIZE_MAX);
		fputs(" (", o->f);
		report_text_put(o, where, SIZE_MAX);
		fputc(')', o->f);
		free(where);
	}
	if (shown)
		fputs(first + 1 + shown < path.n ? " ← …\n" : "\n", o->f);
}

/* The stores that a crash is about are shown with their source, unless it was shown above. */
static void put_related(const struct text_out *o, const struct finding *f,
			const struct finding_related *r, size_t columns)
{
	const struct srcloc_frame *at = finding_main_frame(&r->place);
	char *role = report_role(r->role);
	report_text_label(o, role, columns);
	free(role);
	if (at) {
		char *where = report_where(at, false);
		report_text_put(o, where, SIZE_MAX);
		if (at->function) {
			fputs(" in ", o->f);
			report_text_put(o, report_name(at, TEXT_NAME_WIDTH), SIZE_MAX);
		}
		free(where);
	}
	if (r->message) {
		fputs(at ? ": " : "", o->f);
		report_text_put(o, r->message, SIZE_MAX);
	}
	fputc('\n', o->f);
	if (f->crash && is_store_of_crash(r) && at &&
	    !same_line(at, finding_main_frame(&f->place))) {
		report_text_excerpt(o, at, 1);
		put_callers(o, &r->place);
	}
}

static size_t label_columns(const struct finding *f)
{
	bool wide = f->crash || (f->input && f->input->backtrace);
	size_t columns = wide ? report_text_crash_columns() : strlen("replay");
	if (f->verdict && columns < strlen("verdict"))
		columns = strlen("verdict");
	if (f->why.n && columns < strlen("why ") + strlen(finding_level_name(f->level)))
		columns = strlen("why ") + strlen(finding_level_name(f->level));
	if (f->paths.n > 1 && columns < strlen("called by"))
		columns = strlen("called by");
	for (size_t i = 0; i < f->related.n; i++) {
		char *role = report_role(f->related.p[i].role);
		if (report_text_width(role) > columns)
			columns = report_text_width(role);
		free(role);
	}
	return columns;
}

static char *seen(const struct finding *f)
{
	if (f->crash && !f->verdict)
		return report_text_crash_seen(f);
	if (f->input && f->input->paths)
		return xasprintf(
			"on %llu path%s, first on path %llu", (unsigned long long)f->input->paths,
			f->input->paths == 1 ? "" : "s", (unsigned long long)f->input->path);
	if (f->count == 1)
		return xasprintf("once, at event %llu", (unsigned long long)f->event);
	return xasprintf("%llu times, first at event %llu", (unsigned long long)f->count,
			 (unsigned long long)f->event);
}

static void put_facts(const struct text_out *o, const struct finding *f)
{
	size_t columns = label_columns(f);
	char *how_often = seen(f);
	for (size_t i = 0; i < f->related.n; i++)
		put_related(o, f, &f->related.p[i], columns);
	if (f->crash)
		report_text_crash(o, f->crash, columns);
	if (f->input)
		report_text_input(o, f->input, columns);
	report_text_verdict(o, f, columns);
	report_text_why(o, f, columns);
	report_text_paths(o, f, columns);
	report_text_labelled(o, "data", columns, f->data);
	report_text_labelled(o, "fix", columns, f->advice);
	report_text_labelled(o, "seen", columns, f->place.n || f->crash ? how_often : NULL);
	free(how_often);
	report_text_labelled(o, "id", columns, f->id);
	report_text_labelled(o, "replay", columns, f->replay);
}

static void put_title(const struct text_out *o, const struct finding *f)
{
	report_text_level(o, f->level);
	report_text_color(o, BOLD);
	report_text_put(o, f->kind->title, SIZE_MAX);
	report_text_plain(o);
	report_text_color(o, DIM);
	fputs(" [", o->f);
	report_text_put(o, f->kind->name, SIZE_MAX);
	fputc(']', o->f);
	report_text_plain(o);
	fputc('\n', o->f);
	if (f->message && strcmp(f->message, f->kind->title)) {
		fputs("  ", o->f);
		report_text_put(o, f->message, SIZE_MAX);
		fputc('\n', o->f);
	}
}

static void put_at(const struct text_out *o, const struct srcloc_frame *at, uint32_t context)
{
	char *where = report_where(at, true);
	fputs("  at ", o->f);
	report_text_put(o, where, SIZE_MAX);
	if (at->function) {
		fputs(" in ", o->f);
		report_text_put(o, o->columns > 6 ? report_name(at, o->columns - 6) : at->function,
				SIZE_MAX);
	}
	fputc('\n', o->f);
	free(where);
	report_text_excerpt(o, at, context);
}

/* Without the blank line after it. */
static void put_whole(const struct text_out *o, const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	put_title(o, f);
	if (at)
		put_at(o, at, TEXT_CONTEXT);
	put_path(o, &f->place);
	put_facts(o, f);
}

/* What is not an error needs no more, where there is much; `show` has the rest. */
static void put_short(const struct text_out *o, const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	size_t columns = label_columns(f);
	put_title(o, f);
	if (at)
		put_at(o, at, 0);
	for (size_t i = 0; i < f->related.n; i++)
		if (!strcmp(f->related.p[i].role, "writer"))
			put_related(o, f, &f->related.p[i], columns);
	report_text_verdict(o, f, columns);
	report_text_why(o, f, columns);
	report_text_paths(o, f, columns);
	report_text_labelled(o, "fix", columns, f->advice);
	report_text_labelled(o, "id", columns, f->id);
}

static void put_finding(const struct text_out *o, const struct finding *f)
{
	put_whole(o, f);
	fputc('\n', o->f);
}

static void put_summary(const struct text_out *o, const struct report *r)
{
	const struct finding_set *set = r->findings;
	char *text = report_summary(set);
	const char *tint = r->incomplete ? level_color[FINDING_WARNING] : GREEN;
	bool nothing = true;
	for (int i = FINDING_LEVELS; i-- > 0;)
		if (finding_count(set, (enum finding_level)i)) {
			tint = level_color[i];
			nothing = false;
		}
	report_text_color(o, tint);
	fputs(text, o->f);
	report_text_plain(o);
	if (nothing && r->looked)
		report_text_put(o, r->looked, SIZE_MAX);
	fputc('\n', o->f);
	free(text);
}

void report_show(const struct finding *f, FILE *file)
{
	struct report_fit fit;
	struct text_out o = { report_fit_begin(&fit, file), color_wanted(file) };
	o.columns = fit.columns;
	put_finding(&o, f);
	report_fit_end(&fit);
	fflush(file);
}

/* The gravest in full, up to `top`; others, and notes, in a line each. */
static void put_findings(const struct text_out *o, const struct report *r)
{
	const struct finding_set *set = r->findings;
	size_t shown = 0, lines = 0, notes = finding_count(set, FINDING_NOTE);
	size_t all = 0;
	for (int i = 0; i < FINDING_LEVELS; i++)
		all += finding_count(set, (enum finding_level)i);
	if (!r->top && all - notes >= MANY)
		report_text_many(o, set, put_whole, put_short);
	for (size_t i = 0; i < set->v.n; i++) {
		const struct finding *f = set->v.p[i];
		bool note = f->level == FINDING_NOTE;
		if (f->suppressed || (!note && !r->top && all - notes >= MANY))
			continue;
		if (!note && (!r->top || shown < r->top)) {
			put_finding(o, f);
			shown++;
		} else {
			report_text_line(o, f);
			lines++;
		}
	}
	if (lines)
		fputc('\n', o->f);
	if (all >= MANY)
		report_text_files(o, set);
}

void report_text(const struct report *r, FILE *to)
{
	struct report_fit fit;
	struct text_out o = { report_fit_begin(&fit, to), color_wanted(to) };
	o.columns = fit.columns;
	FILE *file = o.f;
	put_findings(&o, r);
	for (size_t i = 0; i < r->nnotes; i++) {
		report_text_put(&o, r->notes[i], SIZE_MAX);
		fputc('\n', file);
	}
	if (r->incomplete) {
		report_text_color(&o, level_color[FINDING_WARNING]);
		fputs("incomplete:", file);
		report_text_plain(&o);
		fputc(' ', file);
		report_text_put(&o, r->incomplete, SIZE_MAX);
		fputc('\n', file);
	}
	if (r->repair) {
		fputs("to repair it: ", file);
		report_text_put(&o, r->repair, SIZE_MAX);
		fputc('\n', file);
	}
	put_summary(&o, r);
	report_fit_end(&fit);
	fflush(to);
}
