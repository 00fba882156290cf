/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast check: misuse of persistent memory, live or from a trace. */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "report/report.h"
#include "trace/trace.h"

struct check_cli {
	struct run_opts run;
	const char *model, *json, *sarif, *html, *fail_on, *suppress, *baseline;
	struct cli_list oracle;
	bool notes, gen_suppressions, quiet;
};

static const struct cli_option check_options[] = {
	{ "model", 0, CLI_CHOICE, "adr|eadr|msync", offsetof(struct check_cli, model),
	  "what survives a crash: adr (stores need a flush and a fence; the default), eadr (caches "
	  "survive), msync (files on ordinary disks)" },
	{ "oracle", 0, CLI_LIST, "FILE.so", offsetof(struct check_cli, oracle),
	  "load a custom oracle; may be given several times" },
	{ "notes", 0, CLI_FLAG, NULL, offsetof(struct check_cli, notes),
	  "also report flushes that cover several stores and fences that order several lines" },
	{ "json", 0, CLI_FILE, "FILE", offsetof(struct check_cli, json),
	  "write a JSON report; - is stdout" },
	{ "sarif", 0, CLI_FILE, "FILE", offsetof(struct check_cli, sarif),
	  "write a SARIF 2.1.0 report" },
	{ "html", 0, CLI_FILE, "FILE", offsetof(struct check_cli, html),
	  "write a report for a browser" },
	{ "fail-on", 0, CLI_CHOICE, "error|performance|warning|none",
	  offsetof(struct check_cli, fail_on),
	  "end with status 1 for findings of this level or a graver one; performance without it" },
	{ "suppress", 0, CLI_FILE, "FILE", offsetof(struct check_cli, suppress),
	  "do not report what the file lists" },
	{ "gen-suppressions", 0, CLI_FLAG, NULL, offsetof(struct check_cli, gen_suppressions),
	  "print entries for --suppress instead of the report" },
	{ "baseline", 0, CLI_FILE, "OLD.json", offsetof(struct check_cli, baseline),
	  "report only what an earlier JSON report does not have" },
	RUN_OPTIONS(struct check_cli),
	{ "quiet", 'q', CLI_FLAG, NULL, offsetof(struct check_cli, quiet), "no report in words" },
	{ NULL },
};

static int cmd_check(int argc, char **argv);

const struct cli_verb verb_check = {
	.name = "check",
	.run = cmd_check,
	.summary = "find misuse of persistent memory in one run",
	.usage = "[options] (DIR | [--] PROGRAM [ARGUMENTS])",
	.about =
		"Runs PROGRAM, or reads the trace in DIR, and reports stores that are not persistent "
		"when they should be, and flushes and fences that do nothing, each with its call path "
		"and what shaped the state.\n\n"
		"A program is analysed while it runs, on a second core; no trace is kept. Its input "
		"and output are its own, and the report goes to stderr; with DIR it goes to stdout.\n\n"
		"An error is a store that is lost when the program ends or unmaps the file, although "
		"the program persists the same location or other stores of the same statement. "
		"Performance findings cost time only. Warnings are suspicions.\n\n"
		"The status is 1 if there is a finding of the level that --fail-on names or a graver "
		"one, else 0; the program's own status does not matter, but is said if it is not 0.",
	.examples =
		"holdfast check -- ./app pool\tcheck a run\n"
		"holdfast check --html r.html app-0.hft\tcheck a recording, with a page to browse\n"
		"holdfast check --oracle pmdk-atomic-op.so -- ./app pool\twith a custom oracle\n",
	.options = check_options,
	.command = true,
};

/* One analysis: where the events come from, and what to say about the run. */
struct session {
	struct check_cli *o;
	struct check *check;
	struct trace_live *live; /* one of these two */
	struct trace_reader *reader;
	struct launch *launch;
	char *incomplete;
	char **command; /* of the program under test */
	size_t ncommand;
	struct finding_suppressions *suppressions; /* NULL: none */
	char **baseline;                           /* ids */
	size_t nbaseline;
	uint64_t events, kind[TRACE_KINDS]; /* how many, and of each kind */
	double started, saved;              /* when */
};

/* A live run's reports are written now and then, so that whoever kills us keeps the findings. */
#define SAVE_EVERY 2.0    /* seconds */
#define LOOK_EVERY 65536u /* events */

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void save(struct session *);

static int feed(void *arg, const struct trace_event *e, struct err *err)
{
	struct session *s = arg;
	(void)err;
	check_feed(s->check, e);
	s->events++;
	s->kind[e->kind]++;
	if (s->live && s->events % LOOK_EVERY == 0 && now() - s->saved > SAVE_EVERY)
		save(s);
	return 0;
}

static struct check *start(struct session *s, const struct trace_defs *defs, const char *replay,
			   struct err *err)
{
	struct check_opts co = {
		.model = model_find(s->o->model ? s->o->model : "adr"),
		.notes = s->o->notes,
		.plugin = s->o->oracle.p,
		.nplugin = s->o->oracle.n,
		.replay = replay,
	};
	return check_new(&co, defs, err);
}

/* ---- a program ---- */

static void describe_end(struct session *s, const struct launch_result *res)
{
	if (res->stopped)
		s->incomplete = xasprintf("the analysis stopped early: %s", res->why.text);
	else if (res->signal)
		s->incomplete = xasprintf("the program was ended by signal %d (%s)", res->signal,
					  strsignal(res->signal));
	else if (res->status)
		s->incomplete = xasprintf("the program ended with status %d", res->status);
}

static int check_program(struct session *s, char **argv, struct finding_set *out, struct err *err)
{
	struct launch_result res = { 0 };
	size_t n;
	if (!(s->live = trace_live_new(NULL, feed, s, err)) ||
	    !(s->check = start(s, trace_live_defs(s->live), NULL, err)))
		return -1;
	const char *const *more = check_watches(s->check, &n);
	struct launch_opts lo = run_launch_opts(&s->o->run, argv, more, n);
	while (argv[s->ncommand])
		s->ncommand++;
	s->command = argv;
	s->launch = launch_new(&lo, err);
	if (!s->launch || launch_run(s->launch, s->live, &res, err))
		return -1;
	describe_end(s, &res);
	check_end(s->check);
	check_report(s->check, out);
	if (res.pmem_forced)
		msg_info("PMEM_IS_PMEM_FORCE=1 was set for the program");
	return 0;
}

/* ---- a trace ---- */

/* The first process's arguments, which lie one behind the other, each ended by a zero byte. */
static void command_of(struct session *s, const struct trace_defs *defs)
{
	const struct trace_process_def *p = trace_process(defs, 0);
	if (!p || !p->command_len)
		return;
	for (uint32_t i = 0; i < p->command_len; i += (uint32_t)strlen(p->command + i) + 1) {
		s->command = xrealloc(s->command, (s->ncommand + 1) * sizeof *s->command);
		s->command[s->ncommand++] = p->command + i;
	}
}

static int check_trace(struct session *s, const char *dir, struct finding_set *out, struct err *err)
{
	struct trace_event e;
	const char *why;
	int more;
	if (!(s->reader = trace_open(dir, err)))
		return -1;
	char *replay = xasprintf("holdfast dump %s", dir);
	s->check = start(s, trace_defs(s->reader), replay, err);
	if (!s->check)
		return free(replay), -1;
	while ((more = trace_next(s->reader, &e, err)) == 1)
		feed(s, &e, err);
	bool whole = trace_is_whole(s->reader, &why);
	if (more < 0)
		s->incomplete = xasprintf("the trace is damaged: %s", err->text);
	else if (!whole)
		s->incomplete = xstrdup(why);
	check_end(s->check);
	check_report(s->check, out);
	command_of(s, trace_defs(s->reader));
	free(replay);
	return 0;
}

/* ---- reports ---- */

/* Before the run: a mistake in these files must not cost the run's findings. */
static int load_filters(struct session *s, struct err *err)
{
	const struct check_cli *o = s->o;
	if (o->suppress && !(s->suppressions = finding_suppressions_load(o->suppress, err)))
		return -1;
	return o->baseline ? report_read_ids(o->baseline, &s->baseline, &s->nbaseline, err) : 0;
}

static void filter(struct session *s, struct finding_set *set)
{
	if (s->suppressions)
		finding_suppressions_apply(s->suppressions, set);
	finding_baseline_apply(set, (const char *const *)s->baseline, s->nbaseline);
}

static void say_stale(void *arg, const char *path, unsigned line, const char *entry)
{
	(void)arg;
	msg_warn("%s:%u suppresses nothing any more: %s", path, line, entry);
}

/* Returns the status if a report could not be written, else 0. */
static int write_reports(const struct check_cli *o, const struct report *r, bool live,
			 struct err *err)
{
	FILE *text = live ? stderr : stdout;
	int bad = 0;
	if (o->gen_suppressions)
		finding_suppressions_write(r->findings, stdout);
	else if (!o->quiet && !(o->json && strcmp(o->json, "-") == 0 && !live))
		report_text(r, text);
	/* One that cannot be written does not keep the others from being. */
	if (o->json && report_json(r, o->json, err))
		bad = cli_fail(err);
	if (o->sarif && report_sarif(r, o->sarif, err))
		bad = cli_fail(err);
	if (o->html && report_html(r, o->html, err))
		bad = cli_fail(err);
	return bad;
}

static int verdict(const struct check_cli *o, const struct finding_set *set)
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

#define STATS 4

static struct report describe(struct session *s, struct finding_set *set,
			      struct report_stat stats[STATS])
{
	stats[0] = (struct report_stat){ "events", (double)s->events };
	stats[1] = (struct report_stat){ "lines", (double)check_lines(s->check) };
	stats[2] = (struct report_stat){ "memory", (double)check_memory(s->check) };
	stats[3] = (struct report_stat){ "seconds", now() - s->started };
	finding_sort(set);
	filter(s, set);
	return (struct report){
		.verb = "check",
		.model = s->o->model ? s->o->model : "adr",
		.command = (const char *const *)s->command,
		.ncommand = s->ncommand,
		.incomplete = s->incomplete,
		.findings = set,
		.stats = stats,
		.nstats = STATS,
	};
}

static bool is_file(const char *path)
{
	return path && strcmp(path, "-") != 0;
}

static void save(struct session *s)
{
	const struct check_cli *o = s->o;
	struct finding_set set = { 0 };
	struct report_stat stats[STATS];
	struct err err;
	if (is_file(o->json) || is_file(o->sarif) || is_file(o->html)) {
		check_report(s->check, &set);
		struct report r = describe(s, &set, stats);
		r.incomplete = "the program is still running";
		/* what cannot be written now is complained of at the end */
		if (is_file(o->json))
			(void)report_json(&r, o->json, &err);
		if (is_file(o->sarif))
			(void)report_sarif(&r, o->sarif, &err);
		if (is_file(o->html))
			(void)report_html(&r, o->html, &err);
		finding_set_free(&set);
	}
	s->saved = now();
}

static int conclude(struct session *s, struct finding_set *set, struct err *err)
{
	struct report_stat stats[STATS];
	struct report r = describe(s, set, stats);
	if (!s->kind[TRACE_STORE]) {
		if (!s->o->quiet)
			run_say_no_pm(&s->o->run, s->kind);
		if (!r.incomplete)
			r.incomplete =
				"the program never wrote persistent memory: there was nothing to check";
	}
	int bad = write_reports(s->o, &r, s->live != NULL, err);
	if (s->suppressions)
		finding_suppressions_stale(s->suppressions, say_stale, NULL);
	for (size_t i = 0; check_stale(s->check, i); i++)
		msg_warn("%s has changed since it was recorded: its places are not shown",
			 check_stale(s->check, i));
	return bad ? bad : verdict(s->o, set);
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int cmd_check(int argc, char **argv)
{
	struct check_cli o = { 0 };
	struct session s = { .o = &o };
	struct finding_set set = { 0 };
	struct err err = { 0 };
	s.started = s.saved = now();
	int status = cli_parse(&verb_check, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_check, "a program to run or a trace is needed");
	msg_quiet = o.quiet;
	bool trace = argc == 1 && is_folder(argv[0]);
	if (load_filters(&s, &err))
		status = cli_fail(&err);
	else if (trace ? check_trace(&s, argv[0], &set, &err) : check_program(&s, argv, &set, &err))
		status = cli_fail(&err);
	else
		status = conclude(&s, &set, &err);
	finding_set_free(&set);
	check_free(s.check);
	launch_free(s.launch);
	trace_live_free(s.live);
	if (s.reader) {
		trace_close(s.reader);
		free(s.command);
	}
	free(s.incomplete);
	finding_suppressions_free(s.suppressions);
	report_free_ids(s.baseline, s.nbaseline);
	free(o.oracle.p);
	run_opts_free(&o.run);
	return status;
}
