/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast fix: repair what was found. */
#include "cli/fix.h"

#include <stdlib.h>
#include <string.h>

#include "cli/choices.h"
#include "cli/run.h"
#include "cli/settings.h"

struct fix_cli {
	struct run_opts run;
	const char *source, *compile_commands, *build, *test, *patch, *sarif, *model;
	bool apply, changed, no_hoist, performance, warnings, quiet;
	struct cli_list only;
};

static const struct cli_option run_options[] = { RUN_OPTIONS(struct fix_cli), { NULL } };

static const struct cli_option fix_options[] = {
	{ "source", 0, CLI_FILE, "ROOT", offsetof(struct fix_cli, source),
	  "the source: only files below this folder are changed; the current folder without it" },
	{ "compile-commands", 0, CLI_FILE, "FILE", offsetof(struct fix_cli, compile_commands),
	  "how the files are compiled; without it compile_commands.json in ROOT or its build folder, else "
	  "what the debug information says" },
	{ "build", 0, CLI_TEXT, "CMD", offsetof(struct fix_cli, build),
	  "prove the patch: this shell command builds a patched copy of ROOT, in which the program "
	  "that was recorded is then run again" },
	{ "test", 0, CLI_TEXT, "CMD", offsetof(struct fix_cli, test),
	  "a shell command that must succeed in the patched copy, too; needs --build" },
	{ "patch", 0, CLI_FILE, "FILE", offsetof(struct fix_cli, patch),
	  "write the patch there; - is stdout, which it is without --apply, too" },
	{ "sarif", 0, CLI_FILE, "FILE", offsetof(struct fix_cli, sarif),
	  "write a SARIF 2.1.0 report of the findings, with the changes, which editors can apply" },
	{ "apply", 0, CLI_FLAG, NULL, offsetof(struct fix_cli, apply), "change the source" },
	{ "only", 0, CLI_LIST, "ID", offsetof(struct fix_cli, only),
	  "repair only the finding whose id begins so, whatever its level; may be given several times" },
	{ "warnings", 0, CLI_FLAG, NULL, offsetof(struct fix_cli, warnings),
	  "also repair what is only a warning: flushes and fences that seem to be missing" },
	{ "model", 0, CLI_CHOICE, NULL, offsetof(struct fix_cli, model), "what survives a crash",
	  &choices_model },
	{ "no-hoist", 0, CLI_FLAG, NULL, offsetof(struct fix_cli, no_hoist),
	  "put every fix at its store, however often that is executed in vain" },
	{ "performance", 0, CLI_FLAG, NULL, offsetof(struct fix_cli, performance),
	  "also remove flushes and fences that do nothing on any path; of others it is said why they stay" },
	{ "changed", 0, CLI_FLAG, NULL, offsetof(struct fix_cli, changed),
	  "also change files that are newer than the program: their lines may have moved" },
	{ "quiet", 'q', CLI_FLAG, NULL, offsetof(struct fix_cli, quiet),
	  "say nothing but the patch" },
	RUN_OPTIONS(struct fix_cli),
	{ NULL },
};

static int cmd_fix(int argc, char **argv);

const struct cli_verb verb_fix = {
	.name = "fix",
	.run = cmd_fix,
	.summary = "repair what was found, as a patch",
	.usage = "[options] (DIR | FINDINGS.json)",
	.about =
		"Reads the findings of a campaign or recording in DIR, or of a report that --json wrote, and "
		"makes a patch that adds what is missing: a flush after the store, a fence before the point that "
		"needs it, both; at the store, after a call, or in a copy of a function for the calls that pass "
		"persistent memory, wherever the fewest are executed in vain. Nothing else is changed, so that a "
		"correct program stays correct. Errors are repaired: missing flushes and fences, and what a crash "
		"shows to be in the right order but not held to it. What order cannot repair gets advice.\n\n"
		"The program's own functions are used to flush and fence, where it has some. Without --apply the source "
		"is not touched. Of each finding it is said what is inserted where, why there, and what was rejected.\n\n"
		"With --build the patch is proved: in a copy of the source, without it and with it, the program is built "
		"and the recorded command is run under check, and crash if the findings come from there. The findings "
		"must be gone, no other error may be there, output and status must be the same, and --test must "
		"succeed. A fix that fails is taken out.\n\n"
		"The status is 0 if all errors are repaired, 1 if some are not, 3 if the program cannot be "
		"built or run.",
	.examples =
		"holdfast fix --source src app-0.hft >fix.patch\ta patch, not proved\n"
		"holdfast fix --build make --test 'make check' --apply app-0.hft\tproved and applied\n"
		"holdfast fix --only 3f9c --patch fix.patch report.json\tone finding of a report\n",
	.options = fix_options,
};

/* ---- what comes of it ---- */

static int write_patch(const struct fix_cli *o, const struct fix *x, struct err *err)
{
	struct buf patch = { 0 };
	bool out = !o->patch || !strcmp(o->patch, "-");
	fix_patch(x, &patch);
	FILE *f = out ? stdout : fopen(o->patch, "we");
	int bad = !f || (patch.n && fwrite(patch.p, 1, patch.n, f) != patch.n);
	if (f && (out ? fflush(f) : fclose(f)))
		bad = 1;
	buf_free(&patch);
	return bad ? err_errno(err, EXIT_USAGE, "cannot write the patch to %s",
			       out ? "stdout" : o->patch)
		   : 0;
}

static int write_sarif(const struct fix_cli *o, const struct fix_input *in, struct fix *x,
		       struct err *err)
{
	struct report r = {
		.verb = "fix",
		.model = in->model,
		.command = in->command.p,
		.ncommand = in->command.n,
		.findings = &in->findings,
	};
	struct report_change *change = fix_changes(x, &r.nchange);
	r.change = change;
	int bad = report_sarif(&r, o->sarif, err);
	free(change);
	return bad;
}

static int finish(const struct fix_cli *o, const struct fix_input *in, struct fix *x,
		  struct err *err)
{
	if (o->sarif && write_sarif(o, in, x, err))
		return -1;
	if ((o->patch || !o->apply) && write_patch(o, x, err))
		return -1;
	return o->apply ? fix_apply(x, err) : 0;
}

static int status_of(const struct fix *x)
{
	return fix_count(x, FIX_NONE) || fix_count(x, FIX_OUT) || fix_count(x, FIX_ADVICE)
		       ? EXIT_FINDINGS
		       : EXIT_NOTHING;
}

/* ---- the proof ---- */

/* The options of the run, as record takes them. */
static void record_words(struct fix_input *in, const struct fix_cli *o, struct cli_list *words)
{
	for (const struct cli_option *opt = run_options; opt->name; opt++) {
		char *text = settings_text(opt, o), *rest = text, *part;
		while (text && (part = strsep(&rest, "\n"))) {
			fix_input_word(in, words, xasprintf("--%s", opt->name));
			if (opt->type != CLI_FLAG)
				fix_input_word(in, words, xstrdup(part));
		}
		free(text);
	}
}

static int prove(const struct fix_cli *o, struct fix_input *in, struct fix *x, struct err *err)
{
	struct cli_list record = { 0 };
	if (!o->build)
		return 0;
	if (!in->command.n)
		return err_set(err, EXIT_USAGE,
			       "nobody knows which command was recorded: --build "
			       "needs findings with one");
	record_words(in, o, &record);
	struct fix_proof p = {
		.build = o->build,
		.test = o->test,
		.command = in->command.p,
		.ncommand = in->command.n,
		.folder = in->folder,
		.crash = in->crash.p,
		.ncrash = in->crash.n,
		.record = record.p,
		.nrecord = record.n,
		.stdin_path = o->run.stdin_path,
	};
	int bad = fix_prove(x, &p, err);
	free(record.p);
	return bad;
}

static int work(const struct fix_cli *o, const char *path, struct err *err)
{
	struct fix_input in = { 0 };
	int status = -1;
	if (!fix_input_load(&in, path, o->model, err)) {
		struct fix_opts fo = {
			.dir = in.dir,
			.root = o->source,
			.compile_commands = o->compile_commands,
			.model = in.model,
			.object = in.object.p,
			.objects = in.object.n,
			.only = o->only.p,
			.nonly = o->only.n,
			.changed = o->changed,
			.no_hoist = o->no_hoist,
			.warnings = o->warnings,
			.performance = o->performance,
		};
		struct fix *x = fix_new(&fo, &in.findings, err);
		if (x && !prove(o, &in, x, err)) {
			if (!o->quiet)
				fix_say(x, o->patch && strcmp(o->patch, "-") ? stdout : stderr);
			status = finish(o, &in, x, err) ? -1 : status_of(x);
		}
		fix_free(x);
	}
	fix_input_free(&in);
	return status;
}

static int cmd_fix(int argc, char **argv)
{
	struct fix_cli o = { 0 };
	struct err err = { 0 };
	int status = cli_parse(&verb_fix, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc != 1)
		return cli_usage(&verb_fix, "a folder or a report with findings is needed");
	if (o.test && !o.build)
		return cli_usage(&verb_fix, "--test needs --build");
	msg_quiet = o.quiet;
	status = work(&o, argv[0], &err);
	free(o.only.p);
	run_opts_free(&o.run);
	return status < 0 ? cli_fail(&err) : status;
}
