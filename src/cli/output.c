/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/output.h"

#include <string.h>

void output_ci(struct output_opts *o)
{
	if (!o->ci)
		return;
	msg_plain = true;
	if (!o->incomplete)
		o->incomplete = OUTPUT_INCOMPLETE_ERROR;
	for (size_t i = 0; report_format_at(i); i++)
		if (!strcmp(report_format_at(i)->name, "sarif") && !o->file[i])
			o->file[i] = OUTPUT_CI_SARIF;
}

static const char *kind_at(const void *arg, size_t i)
{
	(void)arg;
	return i < FINDING_KINDS_COUNT ? finding_kind_info((enum finding_kind)i)->name : NULL;
}

/* Custom oracles bring kinds of their own, so a name that nobody knows is no error. */
static void check_kinds(const struct cli_list *kinds)
{
	for (size_t i = 0; i < kinds->n; i++) {
		const char *kind = kinds->p[i];
		if (kind[strcspn(kind, "*?[")] || finding_kind_named(kind))
			continue;
		const char *near = cli_nearest(kind, kind_at, NULL);
		msg_warn("no kind of finding is called '%s', unless a custom oracle has it%s%s%s",
			 kind, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
}

int output_open(struct output *out, const struct output_opts *o, struct err *err)
{
	finding_helpers_overrule(o->helper.p, o->helper.n, o->no_helper.p, o->no_helper.n);
	*out = (struct output){ .o = o };
	check_kinds(&o->enable);
	check_kinds(&o->disable);
	/* What takes long should not end with a report that cannot be kept. */
	for (size_t i = 0; report_format_at(i); i++)
		if (o->file[i] && report_check_path(o->file[i], err))
			return -1;
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
	const struct output_opts *o = out->o;
	finding_select_kinds(set, o->disable.p, o->disable.n, o->enable.p, o->enable.n);
	finding_select_source(set);
	if (out->suppressions)
		finding_suppressions_apply(out->suppressions, set);
	finding_baseline_apply(set, (const char *const *)out->baseline, out->nbaseline);
}

static bool is_file(const char *path)
{
	return path && strcmp(path, "-") != 0;
}

static bool takes_stdout(const struct output_opts *o)
{
	for (size_t i = 0; report_format_at(i); i++)
		if (o->file[i] && !is_file(o->file[i]))
			return true;
	return false;
}

/* How many levels count for the status, the gravest first. */
static int failing_levels(const struct output_opts *o)
{
	const char *level = o->fail_on ? o->fail_on : finding_level_name(OUTPUT_FAIL_ON);
	if (strcmp(level, OUTPUT_FAIL_NEVER) == 0)
		return 0;
	int l = FINDING_ERROR;
	while (l < FINDING_LEVELS && strcmp(finding_level_name((enum finding_level)l), level) != 0)
		l++;
	return l + 1;
}

static int found(const struct output_opts *o, const struct finding_set *set)
{
	for (size_t i = 0; i < set->v.n; i++)
		if (finding_fails(set->v.p[i], failing_levels(o), !o->fail_on))
			return EXIT_FINDINGS;
	return EXIT_NOTHING;
}

bool output_strict(const char *incomplete)
{
	return incomplete && !strcmp(incomplete, OUTPUT_INCOMPLETE_ERROR);
}

/* Nothing was found; but was it looked for? */
static int verdict(const struct output_opts *o, const struct report *r)
{
	int status = found(o, r->findings);
	if (status != EXIT_NOTHING || !r->incomplete || !r->broken)
		return status;
	if (o->quiet)
		msg_error("incomplete: %s", r->incomplete);
	return EXIT_PROGRAM;
}

/* The report, with what the options say of it. */
static struct report with_options(const struct output_opts *o, const struct report *r)
{
	struct report own = *r;
	own.top = o->top;
	own.fails = failing_levels(o);
	own.suspicions = !o->fail_on;
	own.broken = r->broken || (r->incomplete && output_strict(o->incomplete));
	return own;
}

int output_write(const struct output *out, const struct report *report, FILE *text)
{
	const struct output_opts *o = out->o;
	struct report own = with_options(o, report), *r = &own;
	struct err err;
	int bad = 0;
	if (o->gen_suppressions)
		finding_suppressions_write(r->findings, stdout);
	else if (!o->quiet && !(takes_stdout(o) && text == stdout))
		report_print(r, o->format, text);
	/* One that cannot be written does not keep the others from being. */
	for (size_t i = 0; report_format_at(i); i++)
		if (o->file[i] && report_format_at(i)->write(r, o->file[i], &err))
			bad = cli_fail(&err);
	return bad ? bad : verdict(o, r);
}

const char *output_json(const struct output *out)
{
	for (size_t i = 0; report_format_at(i); i++)
		if (!strcmp(report_format_at(i)->name, "json") && is_file(out->o->file[i]))
			return out->o->file[i];
	return NULL;
}

bool output_has_files(const struct output *out)
{
	for (size_t i = 0; report_format_at(i); i++)
		if (is_file(out->o->file[i]))
			return true;
	return false;
}

void output_save(const struct output *out, const struct report *report)
{
	struct report own = with_options(out->o, report), *r = &own;
	struct err ignored; /* what cannot be written now is complained of at the end */
	for (size_t i = 0; report_format_at(i); i++)
		if (is_file(out->o->file[i]))
			(void)report_format_at(i)->write(r, out->o->file[i], &ignored);
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
