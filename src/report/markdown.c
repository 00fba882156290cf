/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A summary in Markdown, for the comment on a change or the page of a CI job: a sentence, a table with a row a finding
 * that counts, the worst first, and what the run says of itself. GitHub takes 65,536 characters, so the table ends
 * after MAX_ROWS; the reports have the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

#define MAX_ROWS 50
#define MAX_TEXT 300 /* bytes of a message */

/* As plain words in a cell: names and messages come from elsewhere. */
static void put_cell(FILE *out, const char *text)
{
	struct buf own = { 0 };
	size_t n = 0;
	report_utf8(&own, text);
	buf_add(&own, "", 1);
	printable(own.p, own.n - 1);
	for (const char *p = own.p; *p && n < MAX_TEXT; p++, n++) {
		if (strchr("\\`*_{}[]<>#|~&@", *p))
			fprintf(out, "&#%d;", *p);
		else
			fputc(*p == '\n' || *p == '\t' ? ' ' : *p, out);
	}
	while (own.p[n] && (own.p[n] & 0xc0) == 0x80) /* not in the middle of a character */
		fputc(own.p[n++], out);
	if (own.p[n])
		fputs(" …", out);
	buf_free(&own);
}

static void put_row(FILE *out, const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	char *where = at ? report_where(at, false) : xstrdup("?");
	fprintf(out, "| %s | %s | ", finding_level_name(f->level), f->kind->name);
	put_cell(out, where);
	fputs(" | ", out);
	put_cell(out, at ? report_function(at) : "?");
	fputs(" | ", out);
	put_cell(out, f->message ? f->message : f->kind->title);
	fprintf(out, " | %s |\n", f->id);
	free(where);
}

static void put_table(FILE *out, const struct finding_set *set, size_t count)
{
	size_t n = 0;
	fputs("\n| level | kind | where | function | what | id |\n|---|---|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < set->v.n && n < MAX_ROWS; i++)
		if (!set->v.p[i]->suppressed) {
			put_row(out, set->v.p[i]);
			n++;
		}
	if (count > n)
		fprintf(out, "\n… and %zu more.\n", count - n);
}

static void print(const struct report *r, FILE *out)
{
	const struct finding_set *set = r->findings;
	size_t count = set->v.n - finding_suppressed(set);
	char *summary = report_summary(set);
	fputs("### Holdfast: ", out);
	fputs(count ? summary : "nothing found", out);
	if (!count && finding_suppressed(set))
		fprintf(out, " (%zu suppressed)", finding_suppressed(set));
	fputs("\n", out);
	free(summary);
	if (count)
		put_table(out, set, count);
	if (r->incomplete) {
		fputs("\n**Incomplete:** ", out);
		put_cell(out, r->incomplete);
		fputs("\n", out);
	}
	for (size_t i = 0; i < r->nnotes; i++) {
		fputs(i ? "- " : "\n- ", out);
		put_cell(out, r->notes[i]);
		fputs("\n", out);
	}
}

static int write_markdown(const struct report *r, const char *path, struct err *err)
{
	return report_write_printed(r, print, path, err);
}

const struct report_format report_format_markdown = {
	.name = "markdown",
	.about = "write a summary in Markdown, for a comment on a change",
	.write = write_markdown,
};
