/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line a finding as compilers have it, so that editors jump to it:
 *
 *	demo/notes.c:144:13: error: store is never flushed: … [missing-flush]
 *	demo/notes.c:145:9: note: last fence: …
 */
#include <stdlib.h>

#include "report/internal.h"

/* On one line; names and messages come from elsewhere. */
static void put_line(FILE *out, const char *text)
{
	struct buf own = { 0 };
	report_utf8(&own, text);
	buf_add(&own, "", 1);
	printable(own.p, own.n - 1);
	for (char *p = own.p; *p; p++)
		*p = *p == '\n' || *p == '\t' ? ' ' : *p;
	fputs(own.p, out);
	buf_free(&own);
}

/* "list.c:41:5: "; without source "prog+0x1234: ". */
static void put_place(FILE *out, const struct finding_place *place)
{
	const struct srcloc_frame *at = finding_main_frame(place);
	char *where = at ? report_where(at, true) : xstrdup("holdfast");
	put_line(out, where);
	fputs(": ", out);
	free(where);
}

static void put_finding(FILE *out, const struct finding *f)
{
	put_place(out, &f->place);
	fprintf(out, "%s: %s", report_sarif_level(f->level), f->kind->title);
	if (f->message) {
		fputs(": ", out);
		put_line(out, f->message);
	}
	fprintf(out, " [%s]\n", f->kind->name);
	for (size_t i = 0; i < f->related.n; i++) {
		const struct finding_related *r = &f->related.p[i];
		char *role = report_role(r->role);
		if (!finding_main_frame(&r->place)) {
			free(role);
			continue;
		}
		put_place(out, &r->place);
		fprintf(out, "note: %s", role);
		if (r->message) {
			fputs(": ", out);
			put_line(out, r->message);
		}
		fputc('\n', out);
		free(role);
	}
}

static void print(const struct report *r, FILE *out)
{
	for (size_t i = 0; i < r->findings->v.n; i++)
		if (!r->findings->v.p[i]->suppressed)
			put_finding(out, r->findings->v.p[i]);
	if (r->incomplete) {
		fputs("holdfast: warning: incomplete: ", out);
		put_line(out, r->incomplete);
		fputc('\n', out);
	}
}

static int write_lines(const struct report *r, const char *path, struct err *err)
{
	return report_write_printed(r, print, path, err);
}

const struct report_format report_format_gcc = {
	.name = "gcc",
	.about = "write a line a finding, as compilers do, for editors",
	.write = write_lines,
	.print = print,
	.printed = "a line a finding, as compilers do, for editors",
};
