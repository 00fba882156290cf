/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/output.h"

#include <string.h>

int output_open(struct output *out, const struct output_opts *o, struct err *err)
{
	*out = (struct output){ .o = o };
	if (o->suppress && !(out->suppressions = finding_suppressions_load(o->suppress, err)))
		return -1;
	return o->baseline ? report_read_ids(o->baseline, &out->baseline, &out->nbaseline, err) : 0;
}

void output_close(struct output *out)
{
	finding_suppressions_free(out->suppressions);
	report_free_ids(out->baseline, out->nbaseline);
}

void output_filter(const struct output *out, struct finding_set *set)
{
	finding_sort(set);
	if (out->suppressions)
		finding_suppressions_apply(out->suppressions, set);
	finding_baseline_apply(set, (const char *const *)out->baseline, out->nbaseline);
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static bool is_file(const char *path)
{
	return path && strcmp(path, "-") != 0;
}

static int verdict(const struct output_opts *o, const struct finding_set *set)
{
	const char *level = o->fail_on ? o->fail_on : "performance";
	if (strcmp(level, "none") == 0)
		return EXIT_NOTHING;
	for (int l = FINDING_ERROR; l < FINDING_LEVELS; l++) {
		if (finding_count(set, (enum finding_level)l))
			return EXIT_FINDINGS;
		if (strcmp(finding_level_name((enum finding_level)l), level) == 0)
			break;
	}
	return EXIT_NOTHING;
}

int output_write(const struct output *out, const struct report *r, FILE *text)
{
	const struct output_opts *o = out->o;
	struct err err;
	int bad = 0;
	if (o->gen_suppressions)
		finding_suppressions_write(r->findings, stdout);
	else if (!o->quiet && !(is_stdout(o->json) && text == stdout))
		report_text(r, text);
	/* One that cannot be written does not keep the others from being. */
	if (o->json && report_json(r, o->json, &err))
		bad = cli_fail(&err);
	if (o->sarif && report_sarif(r, o->sarif, &err))
		bad = cli_fail(&err);
	if (o->html && report_html(r, o->html, &err))
		bad = cli_fail(&err);
	return bad ? bad : verdict(o, r->findings);
}

bool output_has_files(const struct output *out)
{
	return is_file(out->o->json) || is_file(out->o->sarif) || is_file(out->o->html);
}

void output_save(const struct output *out, const struct report *r)
{
	struct err ignored; /* what cannot be written now is complained of at the end */
	if (is_file(out->o->json))
		(void)report_json(r, out->o->json, &ignored);
	if (is_file(out->o->sarif))
		(void)report_sarif(r, out->o->sarif, &ignored);
	if (is_file(out->o->html))
		(void)report_html(r, out->o->html, &ignored);
}

static void say_stale(void *arg, const char *path, unsigned line, const char *entry)
{
	(void)arg;
	msg_warn("%s:%u suppresses nothing any more: %s", path, line, entry);
}

void output_say_stale(const struct output *out)
{
	if (out->suppressions)
		finding_suppressions_stale(out->suppressions, say_stale, NULL);
}
