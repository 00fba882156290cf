/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the findings that are to be repaired come from. */
#include "cli/fix.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/campaign.h"
#include "cli/check.h"
#include "report/report.h"

extern const struct cli_verb verb_crash;

void fix_input_word(struct fix_input *in, struct cli_list *list, char *text)
{
	VEC_PUSH(&in->own, text);
	list->p = xrealloc(list->p, (list->n + 1) * sizeof *list->p);
	list->p[list->n++] = text;
}

/* ---- a folder ---- */

/* A setting of the campaign, as it is given on the command line. */
static void add_setting(struct fix_input *in, const struct cli_option *opt, const char *text)
{
	char *copy = xstrdup(text), *rest = copy, *part;
	VEC_PUSH(&in->own, copy);
	if (opt->type == CLI_FLAG) {
		fix_input_word(in, &in->crash, xasprintf("--%s", opt->name));
		return;
	}
	while ((part = strsep(&rest, opt->type == CLI_LIST ? "\n" : ""))) {
		fix_input_word(in, &in->crash, xasprintf("--%s", opt->name));
		fix_input_word(in, &in->crash, xstrdup(part));
		if (opt->type != CLI_LIST)
			break;
	}
}

static int add_settings(struct fix_input *in, struct campaign_db *db, struct err *err)
{
	struct campaign_settings s = { 0 };
	struct cli_walk walk = { 0 };
	const struct cli_option *opt;
	int bad = 0;
	for (size_t i = 0; !bad && campaign_setting_name(i); i++)
		bad = campaign_settings_resume(db, campaign_setting_name(i), "campaign", &s, err);
	while (!bad && (opt = cli_next_option(&verb_crash, &walk)))
		if (campaign_settings_get(&s, opt->name))
			add_setting(in, opt, campaign_settings_get(&s, opt->name));
	if (!bad && campaign_settings_get(&s, "model") && !in->model)
		in->model = xstrdup(campaign_settings_get(&s, "model"));
	campaign_settings_free(&s);
	return bad;
}

static void add_finding(void *arg, const struct campaign_db_finding *row)
{
	struct fix_input *in = arg;
	struct err err;
	struct finding *f = report_finding_parse(row->finding, &err);
	if (f)
		VEC_PUSH(&in->findings.v, f);
	else
		msg_warn("%s", err.text);
}

static int load_campaign(struct fix_input *in, struct err *err)
{
	struct campaign_db *db = campaign_db_open(in->dir, CAMPAIGN_DB_READ, err);
	struct err ignored;
	int bad = !db || campaign_db_each_finding(db, add_finding, in, err) ||
		  add_settings(in, db, err);
	if (db)
		campaign_db_close(db, &ignored);
	in->crashed = true;
	return bad ? -1 : 0;
}

static int load_command(struct fix_input *in, struct err *err)
{
	struct trace_reader *r = trace_open(in->dir, err);
	struct trace_event e;
	size_t n;
	if (!r)
		return -1;
	int more = trace_next(r, &e, err);
	char **command = launch_command(trace_defs(r), &n);
	for (size_t i = 0; i < n; i++)
		fix_input_word(in, &in->command, xstrdup(command[i]));
	free(command);
	trace_close(r);
	return more < 0 ? -1 : 0;
}

static int load_folder(struct fix_input *in, const char *dir, struct err *err)
{
	static const struct check_folder plain;
	in->dir = xstrdup(dir);
	in->folder = getcwd(NULL, 0);
	if (load_command(in, err))
		return -1;
	if (campaign_is(dir))
		return load_campaign(in, err);
	return check_folder(dir, in->model ? in->model : model_find(NULL)->name, &plain,
			    &in->findings, err);
}

/* ---- a report ---- */

static int load_report(struct fix_input *in, const char *path, struct err *err)
{
	struct report_read r;
	if (report_read(path, &r, err))
		return -1;
	in->findings = r.findings;
	r.findings = (struct finding_set){ 0 };
	in->folder = r.folder ? xstrdup(r.folder) : getcwd(NULL, 0);
	if (!in->model && r.model)
		in->model = xstrdup(r.model);
	for (size_t i = 0; i < r.command.n; i++)
		fix_input_word(in, &in->command, xstrdup(r.command.p[i]));
	report_read_free(&r);
	return 0;
}

static int load_log(struct fix_input *in, const char *path, struct err *err)
{
	char **command;
	size_t n;
	if (fix_read_pmemcheck(path, &in->findings, &command, &n, err))
		return -1;
	in->folder = getcwd(NULL, 0);
	for (size_t i = 0; i < n; i++)
		fix_input_word(in, &in->command, command[i]);
	free(command);
	return 0;
}

/* ---- all of it ---- */

static void add_object(struct fix_input *in, const char *path)
{
	char *whole =
		*path == '/' || !in->folder ? xstrdup(path) : xasprintf("%s/%s", in->folder, path);
	for (size_t i = 0; i < in->object.n; i++)
		if (!strcmp(in->object.p[i], whole)) {
			free(whole);
			return;
		}
	fix_input_word(in, &in->object, whole);
}

/* The program, and whatever else the places are in. */
static void add_objects(struct fix_input *in)
{
	if (in->command.n && strchr(in->command.p[0], '/'))
		add_object(in, in->command.p[0]);
	for (size_t i = 0; i < in->findings.v.n; i++) {
		const struct finding_place *p = &in->findings.v.p[i]->place;
		for (size_t k = 0; k < p->n; k++)
			if (p->frame[k].module && *p->frame[k].module == '/' && p->frame[k].file &&
			    !finding_is_library(&p->frame[k]))
				add_object(in, p->frame[k].module);
	}
}

int fix_input_load(struct fix_input *in, const char *path, const char *model, struct err *err)
{
	in->model = model ? xstrdup(model) : NULL;
	if (launch_folder_is(path)   ? load_folder(in, path, err)
	    : fix_is_pmemcheck(path) ? load_log(in, path, err)
				     : load_report(in, path, err))
		return -1;
	finding_sort(&in->findings);
	add_objects(in);
	return 0;
}

void fix_input_free(struct fix_input *in)
{
	finding_set_free(&in->findings);
	for (size_t i = 0; i < in->own.n; i++)
		free(in->own.p[i]);
	VEC_FREE(&in->own);
	free(in->command.p);
	free(in->object.p);
	free(in->crash.p);
	free(in->dir);
	free(in->folder);
	free(in->model);
}
