/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast ci: all runs of the project file, and one report. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ci.h"

static const struct cli_option ci_options[] = {
	PROJECT_OPTION(struct ci_cli, project),
	{ "report", 0, CLI_FILES, "FILE", offsetof(struct ci_cli, file), "", &choices_format },
	{ "fail-on", 0, CLI_CHOICE, NULL, offsetof(struct ci_cli, fail_on), "for all runs",
	  &choices_level },
	{ "incomplete", 0, CLI_CHOICE, NULL, offsetof(struct ci_cli, incomplete),
	  "for all runs; error without it", &choices_incomplete },
	{ "baseline", 0, CLI_FILE, "OLD.json", offsetof(struct ci_cli, baseline), "for all runs" },
	{ "budget", 0, CLI_TEXT, "TIME", offsetof(struct ci_cli, budget),
	  "for all runs; for those that name none " OUTPUT_CI_BUDGET " without it" },
	{ "quiet", 'q', CLI_FLAG, NULL, offsetof(struct ci_cli, quiet),
	  "no reports in words but a line a run" },
	{ NULL },
};

static int cmd_ci(int argc, char **argv);

const struct cli_verb verb_ci = {
	.name = "ci",
	.run = cmd_ci,
	.summary = "do all runs of the project file, with one report and one status",
	.usage = "[options] [NAME…]",
	.about =
		"Does the runs of the nearest " PROJECT_FILE
		", or those that are named, one after the other, as "
		"'holdfast run' does; no colour, no live line. What they find goes into one report, the same "
		"finding once: SARIF in " OUTPUT_CI_SARIF
		" and whatever else is asked for, here or in the table [ci] of the "
		"file, whose keys are these options. Suppressed findings are in it as such.\n\n"
		"The status is 2 or 4 if a run could not be done for that reason; else 1 if a run has findings that "
		"count; else 3 if one could not be done or is incomplete; else 0. A signal (Ctrl-C) ends the run under way; what "
		"was found until then is reported, and the others are incomplete.",
	.examples = "holdfast ci --junit holdfast.xml\tall runs\n"
		    "holdfast ci --baseline old.json smoke\tfails only for what is new\n",
	.options = ci_options,
};

static void pass_on(struct ci *ci, const char *name, const char *value)
{
	if (value)
		VEC_PUSH(&ci->more, xasprintf("--%s=%s", name, value));
}

static int write_reports(struct ci *ci)
{
	struct report r = {
		.verb = "ci",
		.incomplete = ci->incomplete.n ? ci->incomplete.p : NULL,
		.broken = ci->worst == EXIT_PROGRAM,
		.findings = &ci->set,
		.notes = (const char *const *)ci->note.p,
		.nnotes = ci->note.n,
	};
	struct output_opts as = { .fail_on = ci->o->fail_on, .quiet = true };
	struct output out = { .o = &as };
	memcpy(as.file, ci->o->file, sizeof as.file);
	finding_sort(&ci->set);
	int status = output_write(&out, &r, stderr);
	return status == EXIT_USAGE || status == EXIT_INTERNAL ? status : EXIT_NOTHING;
}

/* After a signal. */
static void not_begun(struct ci *ci, const char *name)
{
	buf_printf(&ci->incomplete, "%s%s: it was not begun", ci->incomplete.n ? "; " : "", name);
	VEC_PUSH(&ci->note, xasprintf("%s: it was not begun", name));
	if (ci->worst == EXIT_NOTHING)
		ci->worst = EXIT_PROGRAM;
}

static int go(struct ci *ci, char **names, struct err *err)
{
	bool all = !*names;
	pass_on(ci, "fail-on", ci->o->fail_on);
	pass_on(ci, "incomplete", ci->o->incomplete ? ci->o->incomplete : OUTPUT_INCOMPLETE_ERROR);
	pass_on(ci, "baseline", ci->o->baseline);
	pass_on(ci, "budget", ci->o->budget);
	if (ci->o->quiet)
		VEC_PUSH(&ci->more, xstrdup("--quiet"));
	for (char **n = names; *n; n++)
		if (!project_run(ci->p, *n, err))
			return -1;
	for (size_t i = 0; i < ci->p->table.n; i++) {
		const struct project_table *t = &ci->p->table.p[i];
		const char *name = project_run_name(t);
		bool wanted = name && all;
		for (char **n = names; name && *n; n++)
			wanted |= !strcmp(*n, name);
		if (wanted && ci_stopped())
			not_begun(ci, name);
		else if (wanted && ci_run(ci, t, err))
			return -1;
	}
	return ci->note.n ? 0 : err_set(err, EXIT_USAGE, "%s has no runs", ci->p->path);
}

static void set_sarif(struct ci_cli *o)
{
	for (size_t i = 0; report_format_at(i); i++)
		if (!strcmp(report_format_at(i)->name, "sarif") && !o->file[i])
			o->file[i] = OUTPUT_CI_SARIF;
}

static int run_all(const struct ci_cli *o, const struct project *p, char **names)
{
	const char *tmp = getenv("TMPDIR");
	struct ci ci = { .o = o, .p = p };
	struct err err;
	int bad = 0;
	for (size_t i = 0; !bad && report_format_at(i); i++)
		bad = o->file[i] && report_check_path(o->file[i], &err);
	ci.folder = xasprintf("%s/holdfast-ci.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!bad && !mkdtemp(ci.folder))
		bad = err_errno(&err, EXIT_INTERNAL, "cannot make %s", ci.folder);
	if (!bad) {
		ci_catch_signals();
		bad = go(&ci, names, &err);
		rmdir(ci.folder);
	}
	int status = bad ? cli_fail(&err) : write_reports(&ci);
	for (size_t i = 0; i < ci.note.n; i++)
		free(ci.note.p[i]);
	VEC_FREE(&ci.note);
	free(ci.folder);
	project_words_free(&ci.more);
	buf_free(&ci.incomplete);
	finding_set_free(&ci.set);
	return status ? status : ci.worst;
}

/* The words of a command line for cli_parse, which moves them; the array is xmalloc'ed. */
static char **line_of(const struct project_words *words)
{
	char **line = xcalloc(words->n + 1, sizeof *line);
	for (size_t i = 0; i < words->n; i++)
		line[i] = words->p[i];
	return line;
}

/* What the file's table [ci] says, then the command line, which wins. */
static int do_ci(struct project *p, const struct project_words *given)
{
	struct ci_cli o = { 0 };
	struct project_words words = { 0 };
	struct err err;
	VEC_PUSH(&words, xstrdup(verb_ci.name));
	int bad = project_options(p, project_table(p, "ci"), &verb_ci, true, &words, &err);
	for (size_t i = 1; i < given->n; i++)
		VEC_PUSH(&words, xstrdup(given->p[i]));
	char **line = line_of(&words), **argv = line;
	int argc = (int)words.n,
	    status = bad ? cli_fail(&err) : cli_parse(&verb_ci, &o, &argc, &argv);
	if (status == CLI_GO) {
		set_sarif(&o);
		status = run_all(&o, p, argv);
	}
	free(line);
	project_words_free(&words);
	return status;
}

static int cmd_ci(int argc, char **argv)
{
	struct ci_cli o = { 0 };
	struct project p;
	struct project_words given = { 0 };
	struct err err;
	for (char **w = argv; *w; w++)
		VEC_PUSH(&given, xstrdup(*w));
	int status = cli_parse(&verb_ci, &o, &argc, &argv);
	msg_plain = true;
	if (status == CLI_GO && project_open(o.project, &p, &err))
		status = cli_fail(&err);
	if (status == CLI_GO) {
		status = do_ci(&p, &given);
		project_free(&p);
	}
	project_words_free(&given);
	return status;
}
