/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast infer: which orders of stores a program seems to rely on. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run.h"
#include "cli/types.h"
#include "infer/infer.h"
#include "report/report.h"

struct infer_cli {
	struct run_opts run;
	const char *model, *folder;
	struct infer_ops_opts find;
	uint64_t top;
	bool types, json, quiet;
};

static const struct cli_option infer_options[] = {
	{ "types", 0, CLI_FLAG, NULL, offsetof(struct infer_cli, types),
	  "show the objects that are stored to, their fields, and how they were told; needs no dependences" },
	{ "top", 0, CLI_NUMBER, "N", offsetof(struct infer_cli, top),
	  "how many beliefs are shown, the best supported first, or types, the most stored to; all without it" },
	{ "json", 0, CLI_FLAG, NULL, offsetof(struct infer_cli, json),
	  "print JSON: an object on a line for each belief, or field" },
	{ "model", 0, CLI_CHOICE, NULL, offsetof(struct infer_cli, model), "what survives a crash",
	  &choices_model },
	OPS_OPTIONS(struct infer_cli, find),
	{ "output", 'o', CLI_FILE, "DIR", offsetof(struct infer_cli, folder),
	  "folder for the trace; without it PROGRAM-N.hft in the current folder" },
	{ "quiet", 'q', CLI_FLAG, NULL, offsetof(struct infer_cli, quiet),
	  "only errors on stderr" },
	RUN_OPTIONS(struct infer_cli),
	{ NULL },
};

static int cmd_infer(int argc, char **argv);

const struct cli_verb verb_infer = {
	.name = "infer",
	.run = cmd_infer,
	.summary = "show which orders of stores a program seems to rely on",
	.usage = "[options] (DIR | [--] PROGRAM [ARGUMENTS])",
	.about =
		"Runs PROGRAM and records it with its dependences, or reads the trace in DIR, which "
		"'holdfast record --deps' made. Prints the likely invariants: pairs of statements of which the "
		"program seems to rely on one being persistent before the other is stored, or on both at once, by "
		"what it computes from what, and under which conditions it reads and writes. Each has how often the "
		"run kept it, of how many cases, and how often such a dependence was seen.\n\n"
		"An order that is not kept is no bug by itself: 'holdfast crash --strategy invariants' crashes where "
		"that shows. docs/INFER.md says more.\n\n"
		"With --types: which objects the program stores to, with their fields, by what its statements assign to and by "
		"other evidence; 'holdfast crash --strategy representative' goes by them.",
	.examples = "holdfast infer -- ./app run pool\trecord, and show all\n"
		    "holdfast infer --top 10 app-0.hft\tof a recording\n"
		    "holdfast infer --types app-0.hft\tthe objects that it stores to\n"
		    "holdfast infer --json app-0.hft | jq 'select(.broken > 0)'\tfor scripts\n",
	.options = infer_options,
	.command = true,
};

/* ---- in words ---- */

/* "`node->next` (list.c:41)", or "the store at insert (list.c:41)". */
static char *statement_text(struct infer_beliefs *b, uint32_t statement)
{
	const struct srcloc_frame *f = finding_main_frame(infer_statement_place(b, statement));
	const char *target = infer_statement_target(b, statement);
	char buf[512];
	if (!f)
		return xstrdup("a store at an unknown place");
	if (target && f->file)
		return xasprintf("`%s` (%s:%u)", target,
				 strrchr(f->file, '/') ? strrchr(f->file, '/') + 1 : f->file,
				 f->line);
	return xasprintf("the store at %s", srcloc_text(f, buf, sizeof buf));
}

static void print_text(struct infer_beliefs *b, const struct infer_belief *belief)
{
	const struct infer_rule_info *rule = infer_rule(belief->rule);
	char *first = statement_text(b, belief->first), *second = statement_text(b, belief->second);
	if (rule->atomic)
		printf("%s  %s and %s become persistent at once", rule->name, first, second);
	else
		printf("%s  %s is persistent before %s is %s", rule->name, first, second,
		       *second == '`' ? "stored" : "made");
	printf(": %" PRIu64 " of %" PRIu64 " (seen %" PRIu64 "×)\n", belief->held,
	       belief->held + belief->broken, belief->seen);
	free(first);
	free(second);
}

static char *number(uint64_t n)
{
	return xasprintf("%" PRIu64, n);
}

static char *place_text(const struct infer_beliefs *b, uint32_t statement)
{
	const struct srcloc_frame *f = finding_main_frame(infer_statement_place(b, statement));
	if (!f)
		return NULL;
	return f->file ? xasprintf("%s:%u", f->file, f->line)
		       : xasprintf("%s+0x%" PRIx64, f->module ? f->module : "", f->offset);
}

static char *function_text(const struct infer_beliefs *b, uint32_t statement)
{
	const struct srcloc_frame *f = finding_main_frame(infer_statement_place(b, statement));
	return f && f->function ? xstrdup(f->function) : NULL;
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void print_json(struct infer_beliefs *b, const struct infer_belief *belief)
{
	const struct infer_rule_info *rule = infer_rule(belief->rule);
	struct report_field field[] = {
		{ "rule", xstrdup(rule->name), false },
		{ "belief", xstrdup(rule->belief), false },
		{ "first", place_text(b, belief->first), false },
		{ "first_function", function_text(b, belief->first), false },
		{ "first_target", copy(infer_statement_target(b, belief->first)), false },
		{ "second", place_text(b, belief->second), false },
		{ "second_function", function_text(b, belief->second), false },
		{ "second_target", copy(infer_statement_target(b, belief->second)), false },
		{ "held", number(belief->held), true },
		{ "broken", number(belief->broken), true },
		{ "seen", number(belief->seen), true },
		{ "event", number(belief->event), true },
		{ "broken_event", belief->broken ? number(belief->broke) : NULL, true },
		{ "odd", number(belief->odd), true },
	};
	report_fields(field, sizeof field / sizeof *field, stdout);
	for (size_t i = 0; i < sizeof field / sizeof *field; i++)
		free(field[i].text);
}

/* ---- a recording ---- */

static void print_all(struct infer_beliefs *b, const struct infer_cli *o)
{
	size_t n;
	const struct infer_belief *all = infer_beliefs_all(b, &n);
	const char *stale;
	stdout_printable(!o->json);
	for (size_t i = 0; i < n && (!o->top || i < o->top); i++)
		(o->json ? print_json : print_text)(b, &all[i]);
	if (!n && !o->json)
		printf("no operation stores to two places that depend on each other\n");
	stdout_printable(false);
	for (size_t i = 0; (stale = infer_beliefs_stale(b, i)); i++)
		msg_warn("%s has changed since the recording: its places are not shown", stale);
}

static void say_operations(const struct infer_ops *ops)
{
	char *found = infer_ops_sentence(ops);
	msg_info("%s", found ? found : "no operations are known: the whole run counts as one");
	free(found);
}

static int show(const char *dir, const struct infer_cli *o, struct err *err)
{
	struct trace_reader *r = trace_open(dir, err);
	struct infer_ops *ops = r ? infer_ops_read(r, &o->find, err) : NULL;
	struct infer_beliefs *b =
		ops ? infer_beliefs_read(r, ops, model_find(o->model), NULL, err) : NULL;
	const char *why = NULL;
	if (b && !trace_is_whole(r, &why))
		msg_warn("%s is not whole: %s", dir, why ? why : "its end is missing");
	if (b) {
		say_operations(ops);
		print_all(b, o);
	}
	infer_beliefs_free(b);
	infer_ops_free(ops);
	trace_close(r);
	return b ? 0 : -1;
}

static int record(struct infer_cli *o, char **argv, char **dir, struct err *err)
{
	struct launch_opts lo = run_launch_opts(&o->run, argv, NULL, 0);
	struct launch_recording rec = { 0 };
	lo.deps = !o->types;
	*dir = o->folder ? xstrdup(o->folder) : launch_folder_default(argv[0], err);
	if (!*dir || launch_record(&lo, *dir, false, &rec, err)) {
		if (*dir && !o->folder)
			rmdir(*dir);
		return -1;
	}
	if (!rec.kind[TRACE_STORE])
		run_say_no_pm(&o->run, rec.kind);
	msg_info("recorded %" PRIu64 " events in %s", rec.events, *dir);
	return 0;
}

static int cmd_infer(int argc, char **argv)
{
	struct infer_cli o = { 0 };
	struct err err = { 0 };
	char *dir = NULL;
	int status = cli_parse(&verb_infer, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_infer, "a program to run or a trace is needed");
	if (run_misuse(&o.run))
		return cli_usage(&verb_infer, "%s", run_misuse(&o.run));
	msg_quiet = o.quiet;
	signal(SIGPIPE, SIG_DFL); /* `| head` ends us, silently */
	bool trace = argc == 1 && launch_folder_is(argv[0]);
	if (trace)
		dir = xstrdup(argv[0]);
	if ((!trace && record(&o, argv, &dir, &err)) ||
	    (o.types ? types_show(dir, o.model, o.json, o.top, &err) : show(dir, &o, &err)))
		status = cli_fail(&err);
	else
		status = EXIT_NOTHING;
	free(dir);
	run_opts_free(&o.run);
	return status;
}
