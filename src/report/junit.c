/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JUnit's XML, as GitLab, Jenkins and others read it: a finding is a test case. One whose level counts for the
 * status (--fail-on) has failed; the others are there with their text, suppressed ones are skipped. One more case
 * is the run itself, so that a report is never empty: an error if the run does not count as one.
 */
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

/* Text for XML: markup is escaped, and what XML does not allow becomes U+FFFD. */
static void put(FILE *out, const char *text, bool in_attribute)
{
	struct buf clean = { 0 };
	report_utf8(&clean, text);
	for (size_t i = 0; i < clean.n; i++) {
		unsigned char c = (unsigned char)clean.p[i];
		switch (c) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\n': fputs(in_attribute ? "&#10;" : "\n", out); break;
		case '\t': fputs(in_attribute ? "&#9;" : "\t", out); break;
		default:
			if (c < 0x20)
				fputs("\xef\xbf\xbd", out);
			else
				fputc(c, out);
		}
	}
	buf_free(&clean);
}

static void attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	put(out, value, true);
	fputc('"', out);
}

/* The finding in full, as people read it. */
static void put_words(FILE *out, const struct finding *f)
{
	char *text = NULL;
	size_t n;
	FILE *mem = open_memstream(&text, &n);
	if (!mem)
		return;
	report_show(f, mem);
	fclose(mem);
	put(out, text, false);
	free(text);
}

static bool fails(const struct report *r, const struct finding *f)
{
	return finding_fails(f, r->fails, r->suspicions);
}

static void put_name(FILE *out, const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	char *where = at ? report_where(at, false) : xstrdup("?");
	char *name = xasprintf("%s in %s (%s) %s", f->kind->name, at ? report_function(at) : "?",
			       where, f->id);
	attribute(out, "name", name);
	free(name);
	free(where);
	if (at && at->file && at->line) {
		attribute(out, "file", report_path(at->file));
		fprintf(out, " line=\"%u\"", at->line);
	}
}

static void put_case(FILE *out, const struct report *r, const struct finding *f)
{
	fputs("    <testcase", out);
	attribute(out, "classname", f->kind->name);
	put_name(out, f);
	fputs(">", out);
	if (f->suppressed) {
		fputs("<skipped message=\"suppressed\"/>", out);
	} else if (fails(r, f)) {
		fputs("<failure", out);
		attribute(out, "type", f->kind->name);
		attribute(out, "message", f->message ? f->message : f->kind->title);
		fputs(">", out);
		put_words(out, f);
		fputs("</failure>", out);
	} else {
		fputs("<system-out>", out);
		put_words(out, f);
		fputs("</system-out>", out);
	}
	fputs("</testcase>\n", out);
}

static double seconds(const struct report *r)
{
	for (size_t i = 0; i < r->nstats; i++)
		if (!strcmp(r->stats[i].name, "seconds"))
			return r->stats[i].value;
	return 0;
}

/* What makes the status 3 is an error. */
static bool run_fails(const struct report *r)
{
	return r->incomplete && r->broken;
}

static void put_run(FILE *out, const struct report *r)
{
	fputs("    <testcase classname=\"holdfast\" name=\"the run is complete\">", out);
	if (run_fails(r)) {
		fputs("<error type=\"incomplete\"", out);
		attribute(out, "message", r->incomplete);
		fputs("/>", out);
	} else if (r->incomplete) {
		fputs("<system-out>", out);
		put(out, r->incomplete, false);
		fputs("</system-out>", out);
	}
	fputs("</testcase>\n", out);
}

static void print(const struct report *r, FILE *out)
{
	const struct finding_set *set = r->findings;
	size_t failed = 0;
	struct buf name = { 0 };
	for (size_t i = 0; i < set->v.n; i++)
		failed += fails(r, set->v.p[i]);
	buf_printf(&name, "holdfast %s", r->verb);
	for (size_t i = 0; i < r->ncommand; i++)
		buf_printf(&name, " %s", r->command[i]);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", out);
	attribute(out, "name", name.p);
	fprintf(out,
		" tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"%zu\" time=\"%.3f\">\n",
		set->v.n + 1, failed, run_fails(r), finding_suppressed(set), seconds(r));
	put_run(out, r);
	for (size_t i = 0; i < set->v.n; i++)
		put_case(out, r, set->v.p[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
	buf_free(&name);
}

static int write_xml(const struct report *r, const char *path, struct err *err)
{
	return report_write_printed(r, print, path, err);
}

const struct report_format report_format_junit = {
	.name = "junit",
	.about = "write a JUnit XML report: a finding is a test case",
	.write = write_xml,
};
