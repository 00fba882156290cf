/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast explore: run a program with inputs that take other ways through it, towards PM. */
#include "cli/explore.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/campaign_internal.h"
#include "cli/check.h"
#include "cli/folder.h"

#define TIMEOUT 10.0 /* seconds for a run */

#define T struct explore_opts
const struct cli_option explore_options[] = {
	{ "sym-arg", 0, CLI_LIST, "N[:LEN]", offsetof(T, sym_arg),
	  "argument N of the program (1 is the first) is symbolic, up to LEN bytes long; without LEN "
	  "as long as it is given. What is given is the first input" },
	{ "sym-args", 0, CLI_WORDS, "MIN MAX LEN", offsetof(T, sym_args),
	  "from MIN to MAX symbolic arguments of up to LEN bytes behind those that are given" },
	{ "sym-stdin", 0, CLI_NUMBER, "LEN", offsetof(T, sym_stdin),
	  "the standard input is symbolic, up to LEN bytes; it begins as LEN zero bytes, or as "
	  "--stdin or --seed has it" },
	{ "sym-file", 0, CLI_LIST, "PATH[:LEN|:FROM-END]", offsetof(T, sym_file),
	  "what is read from this file, or mapped, is symbolic: the first LEN bytes or a range, "
	  "without it all of the file. END may lie beyond the file's end: it may grow. It begins "
	  "as it is" },
	{ "sym-socket", 0, CLI_NUMBER, "LEN", offsetof(T, sym_socket),
	  "the program serves TCP: LEN bytes that a client sends it are symbolic" },
	{ "packet", 0, CLI_LIST, "TEMPLATE", offsetof(T, packet),
	  "what the client sends, with $1 to $9 for symbolic parts of 8 bytes, $1:16 for one of "
	  "16, which begin as letters 'a'; \\r \\n \\t \\0 \\xHH \\\\ \\$ are known. Several are sent one "
	  "by one, the next when an answer came. A --seed has all of them, one behind the other" },
	{ "sym-env", 0, CLI_LIST, "NAME[:LEN]", offsetof(T, sym_env),
	  "the environment variable is symbolic, up to LEN bytes" },
	{ "sym-pm", 0, CLI_LIST, "PATH[:LEN|:FROM-END]", offsetof(T, sym_pm),
	  "the contents of the pool are symbolic: recovery code meets any image" },
	{ "sym-memory", 0, CLI_FLAG, NULL, offsetof(T, sym_memory),
	  "only memory that the program names with HOLDFAST_SYMBOLIC() is symbolic; that is so in any "
	  "case, but such inputs cannot be tried without the tracer" },
	{ "seed", 0, CLI_LIST, "[SOURCE=]FILE", offsetof(T, seed),
	  "an input to begin with; may be given several times. Sources are called stdin, arg1, "
	  "socket, env-NAME, file-NAME, pm-NAME" },
	{ "printable", 0, CLI_FLAG, NULL, offsetof(T, printable),
	  "symbolic bytes are printable ASCII, but for those of --sym-pm" },
	{ "range", 0, CLI_LIST, "[SOURCE:]A-B", offsetof(T, range),
	  "symbolic bytes are in this range (0x30-0x39, 48-57, 0-z is from byte 0 on); bytes of a "
	  "seed outside of it stay as they are" },
	{ "port", 0, CLI_TEXT, "PORT", offsetof(T, run.port),
	  "the TCP port that the program listens on; it is found out without this" },
	{ "stop", 0, CLI_TEXT, "CMD|SIGNAL", offsetof(T, run.stop),
	  "what ends the program when all packets are sent; TERM without it" },
	{ "strategy", 0, CLI_CHOICE, NULL, offsetof(T, strategy), "which branch to try next",
	  &choices_search },
	{ "max-time", 0, CLI_TEXT, "TIME", offsetof(T, max_time),
	  "end after this time (90s, 10m, 2h); without limits it goes on till all is explored" },
	{ "max-paths", 0, CLI_NUMBER, "N", offsetof(T, max_paths), "end after N runs" },
	{ "max-findings", 0, CLI_NUMBER, "N", offsetof(T, max_findings),
	  "end when N errors were found" },
	{ "max-memory", 0, CLI_TEXT, "SIZE", offsetof(T, max_memory),
	  "for expressions and paths: the branches that promise least are given up" },
	{ "max-targets", 0, CLI_NUMBER, "N", offsetof(T, max_targets),
	  "other targets of a jump or address to try; 16 without it" },
	{ "timeout", 0, CLI_TEXT, "TIME", offsetof(T, timeout),
	  "a run that takes longer hangs; 10s without it" },
	{ "solver-timeout", 0, CLI_TEXT, "TIME", offsetof(T, solver_timeout),
	  "for one question to the solver; 2s without it" },
	{ "random", 0, CLI_NUMBER, "N", offsetof(T, random),
	  "what chance begins with, for strategies that use it" },
	{ "pin", 0, CLI_FLAG, NULL, offsetof(T, pin),
	  "fixed clock and random numbers for the program" },
	{ "no-fork", 0, CLI_FLAG, NULL, offsetof(T, no_fork),
	  "a new process for each run, instead of forks of one that stands before its first use of "
	  "the input" },
	{ "jobs", 'j', CLI_NUMBER, "N", offsetof(T, crash.jobs),
	  "runs side by side; one less than there are cores without it" },
	{ "recover", 0, CLI_TEXT, "CMD", offsetof(T, crash.recover),
	  "crash every path that does something new to PM, as 'holdfast crash' does, with this "
	  "recovery command" },
	{ "crash-strategy", 0, CLI_CHOICE, NULL, offsetof(T, crash.strategy),
	  "which crash states to test", &choices_strategy },
	{ "budget", 0, CLI_TEXT, "TIME|STATES", offsetof(T, crash.budget),
	  "for the crashes of one path; 300 images without it" },
	{ "points", 0, CLI_CHOICE, NULL, offsetof(T, crash.points), "where to crash",
	  &choices_points },
	{ "expect-exit", 0, CLI_TEXT, "LIST", offsetof(T, crash.expect_exit),
	  "exit statuses of a recovery that are fine (0,3-5); 0 without it" },
	{ "fail-regex", 0, CLI_TEXT, "REGEX", offsetof(T, crash.fail_regex),
	  "a recovery whose output matches has failed" },
	{ "recover-timeout", 0, CLI_TEXT, "TIME", offsetof(T, crash.timeout),
	  "a recovery that takes longer hangs; 10s without it" },
	{ "model", 0, CLI_CHOICE, NULL, offsetof(T, crash.model), "what survives a crash",
	  &choices_model },
	{ "oracle", 0, CLI_LIST, "FILE.so", offsetof(T, oracle),
	  "load a custom oracle; may be given several times" },
	{ "notes", 0, CLI_FLAG, NULL, offsetof(T, notes),
	  "also report flushes that cover several stores and fences that order several lines" },
	{ "show-priorities", 0, CLI_FLAG, NULL, offsetof(T, show_priorities),
	  "at the end, print how much PM can still be modified from each line of the program" },
	{ "verify", 0, CLI_FLAG, NULL, offsetof(T, verify),
	  "compare every expression with the machine's value; for finding mistakes of holdfast" },
	{ "export", 0, CLI_FILE, "DIR", offsetof(T, export_dir),
	  "put all inputs that took a way of their own there, as a test suite" },
	{ "csv", 0, CLI_FILE, "FILE", offsetof(T, csv),
	  "paths, coverage and findings over time; - is stdout" },
	{ "output", 'o', CLI_FILE, "DIR", offsetof(T, folder),
	  "folder for inputs and results; without it PROGRAM-N.hft in the current folder" },
	{ "resume", 0, CLI_FLAG, NULL, offsetof(T, crash.resume),
	  "go on with the exploration in DIR, with its settings" },
	{ "fresh", 0, CLI_FLAG, NULL, offsetof(T, crash.fresh),
	  "throw away the results of an earlier exploration in DIR" },
	RUN_PROGRAM_OPTIONS(T),
	OUTPUT_OPTIONS(T),
	{ NULL },
};
#undef T

static int cmd_explore(int argc, char **argv);

const struct cli_verb verb_explore = {
	.name = "explore",
	.run = cmd_explore,
	.summary = "find inputs that take a program to bugs that no test reaches",
	.usage = "--sym-… [options] ([--] PROGRAM [ARGUMENTS] | --resume DIR)",
	.about =
		"Runs PROGRAM again and again, each time with an input that takes another way through it. "
		"Parts of the input are symbolic: conditions that depend on them are followed through the "
		"program, its libraries and the kernel, and a solver finds the bytes that make one of them "
		"go the other way. Branches from which most persistent memory can still be modified come "
		"first.\n\n"
		"Each path that does something new to PM is checked as 'holdfast check' does; with "
		"--recover it is crashed as 'holdfast crash' does. Inputs that make the program crash or "
		"hang are findings too, if they do so without the tracer as well. Nothing that the runs "
		"write lasts: files, pools and folders are private to each.\n\n"
		"Every finding comes with the smallest input that shows it, as files and a script that runs "
		"the program with it; 'holdfast replay' does that, too. 'holdfast status' and 'holdfast "
		"show' look at the folder. Ctrl-C ends it with a report, a second one at once; --resume "
		"goes on.\n\n"
		"The status is 1 if there is a finding of the level that --fail-on names or a graver one, "
		"else 0, also where the program never uses the input, which is said; 3 if the program "
		"cannot be run or private folders cannot be made.",
	.examples =
		"holdfast explore --sym-stdin 12 -- ./app pool\t12 bytes of standard input\n"
		"holdfast explore --sym-file ops.txt --printable --max-time 10m -- ./app pool ops.txt\t"
		"a file of commands\n"
		"holdfast explore --packet 'SET $1 $2\\r\\n' --packet 'GET $1\\r\\n' -- ./server pool\t"
		"a server\n"
		"holdfast explore --sym-pm pool:0-512 -- ./app recover pool\trecovery, on any image\n"
		"holdfast explore --sym-arg 2 --recover './app check pool' -- ./app pool insert\t"
		"with crashes on each path\n",
	.options = explore_options,
	.command = true,
};

/* Of one run, not of the exploration. */
bool explore_kept(const struct cli_option *o)
{
	static const char *const not_kept[] = {
		"max-time",
		"max-paths",
		"max-findings",
		"max-memory",
		"jobs",
		"csv",
		"export",
		"output",
		"resume",
		"fresh",
		"report",
		"fail-on",
		"suppress",
		"baseline",
		"quiet",
		"gen-suppressions",
		"show-priorities",
		"verify",
	};
	for (size_t i = 0; i < sizeof not_kept / sizeof *not_kept; i++)
		if (!strcmp(o->name, not_kept[i]))
			return false;
	return true;
}

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	if (signals++)
		_exit(128 + sig); /* what runs ends with us */
}

const volatile sig_atomic_t *explore_signals(void)
{
	return &signals;
}

bool explore_interrupted(void)
{
	return signals || campaign_interrupted();
}

void explore_catch(bool on)
{
	static const int which[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on ? on_signal : SIG_DFL };
	for (size_t i = 0; i < sizeof which / sizeof *which; i++)
		sigaction(which[i], &sa, NULL);
}

/* ---- from the start to the report ---- */

static int time_of(const char *text, const char *option, double *out, struct err *err)
{
	if (!text || (units_time(text, out) && *out > 0))
		return 0;
	return err_set(err, EXIT_USAGE, "--%s: '%s' is not a time", option, text);
}

int explore_limits(struct explore *x, struct err *err)
{
	uint64_t port = 0;
	x->run_limit = TIMEOUT;
	if (x->o->max_memory && !units_size(x->o->max_memory, &x->max_memory))
		return err_set(err, EXIT_USAGE, "--max-memory: '%s' is not a size",
			       x->o->max_memory);
	if (x->o->run.port) {
		port = strtoul(x->o->run.port, NULL, 10);
		if (!port || port > 65535)
			return err_set(err, EXIT_USAGE, "--port: '%s' is not a port",
				       x->o->run.port);
	}
	if ((x->o->run.port || x->o->run.stop) && !x->o->sym_socket && !x->o->packet.n)
		return err_set(err, EXIT_USAGE,
			       "--port and --stop are for servers: they need --sym-socket or "
			       "--packet");
	return time_of(x->o->max_time, "max-time", &x->time_limit, err) ||
			       time_of(x->o->timeout, "timeout", &x->run_limit, err) ||
			       time_of(x->o->solver_timeout, "solver-timeout", &x->solver_limit,
				       err) ||
			       explore_extra(x->o, &x->min_extra, &x->max_extra, err)
		       ? -1
		       : 0;
}

/* All that can be wrong is looked for before anything is made. */
static int check_options(struct explore *x, struct err *err)
{
	char *program = launch_resolve(x->argv[0], err);
	int bad = !program || launch_check_program(program, err);
	free(program);
	if (bad || explore_limits(x, err))
		return -1;
	if (x->o->crash.recover && campaign_check(&x->o->crash, err))
		return -1;
	for (x->phase = x->min_extra; x->phase <= x->max_extra; x->phase++) {
		struct explore_plan *p = explore_plan_new(x->o, x->argv, x->phase, err);
		if (!p)
			return -1;
		explore_plan_free(p);
	}
	return 0;
}

/* Functions that the custom oracles want to see called. */
static int add_watches(struct explore *x, struct err *err)
{
	struct check_folder how = { .oracle = &x->o->oracle };
	struct run_opts *run = &x->o->run;
	char **names = check_folder_watches(&how, err);
	if (!names)
		return -1;
	for (char **n = names; *n; n++) {
		VEC_PUSH(&x->own, *n);
		run->watch.p = xrealloc(run->watch.p, (run->watch.n + 1) * sizeof *run->watch.p);
		run->watch.p[run->watch.n++] = *n;
	}
	free(names);
	return 0;
}

static int find_folder(struct explore *x, int argc, char **argv, struct err *err)
{
	bool resume = x->o->crash.resume;
	if (resume && (argc != 1 || !folder_is(argv[0])))
		return err_set(err, EXIT_USAGE, "--resume needs the exploration's folder");
	x->shown = resume         ? xstrdup(argv[0])
		   : x->o->folder ? xstrdup(x->o->folder)
				  : folder_default(argv[0]);
	x->cwd = getcwd(NULL, 0);
	if (!x->cwd)
		return err_errno(err, EXIT_PROGRAM, "the current folder has no name");
	x->dir = *x->shown == '/' ? xstrdup(x->shown) : xasprintf("%s/%s", x->cwd, x->shown);
	if (resume)
		return 0;
	x->argc = (size_t)argc;
	x->argv = xcalloc(x->argc + 1, sizeof *x->argv);
	memcpy(x->argv, argv, x->argc * sizeof *x->argv);
	return check_options(x, err);
}

static int all_phases(struct explore *x, struct err *err)
{
	for (x->phase = x->min_extra; x->phase <= x->max_extra; x->phase++) {
		x->plan = explore_plan_new(x->o, x->argv, x->phase, err);
		if (!x->plan || explore_phase(x, err))
			return -1;
		if (explore_interrupted())
			return 0;
		if (x->phase == x->max_extra)
			return 0;
		explore_plan_free(x->plan);
		x->plan = NULL;
	}
	return 0;
}

static int explore(struct explore *x, int argc, char **argv, struct err *err)
{
	if (!solve_available())
		return err_set(err, EXIT_INTERNAL,
			       "this holdfast was built without Z3: it cannot explore");
	if (output_open(&x->out, &x->o->output, err) || find_folder(x, argc, argv, err) ||
	    explore_open(x, err))
		return -1;
	if (x->resumed && (chdir(x->cwd) || check_options(x, err)))
		return err->status ? -1 : err_errno(err, EXIT_PROGRAM, "cannot go to %s", x->cwd);
	if (add_watches(x, err))
		return -1;
	x->nslots = x->o->crash.jobs ? x->o->crash.jobs : explore_cores() - 1;
	x->nslots = !x->nslots ? 1 : x->nslots > 256 ? 256 : x->nslots;
	x->begun = x->kept = now_seconds();
	srcloc_keep();
	explore_catch(true);
	int bad = all_phases(x, err);
	progress_end();
	x->seconds = now_seconds() - x->begun;
	explore_row(x);
	if (!bad)
		bad = explore_keep_end(x, err) || explore_export(x, err);
	explore_catch(false);
	return bad ? -1 : 0;
}

void explore_end(struct explore *x)
{
	struct err err;
	for (size_t i = 0; i < x->started; i++)
		explore_slot_end(&x->slot[i]);
	free(x->slot);
	if (x->sym)
		symbolic_free(x->sym);
	explore_plan_free(x->plan);
	if (x->db && campaign_db_close(x->db, &err))
		msg_warn("%s", err.text);
	for (size_t i = 0; i < x->hit.n; i++) {
		symbolic_input_free(&x->hit.p[i].input);
		free(x->hit.p[i].campaign);
	}
	VEC_FREE(&x->hit);
	VEC_FREE(&x->death);
	VEC_FREE(&x->recover);
	VEC_FREE(&x->chart);
	VEC_FREE(&x->memory);
	buf_free(&x->memory_bytes);
	for (size_t i = 0; i < x->concrete.n; i++)
		free(x->concrete.p[i].name);
	VEC_FREE(&x->concrete);
	hmap_free(&x->shapes);
	hmap_free(&x->inputs);
	finding_set_free(&x->set);
	settings_free(&x->own);
	free(x->argv);
	free(x->dir);
	free(x->shown);
	free(x->cwd);
	free(x->alone);
	free(x->unused);
	free(x->why_unwell);
}

void explore_opts_free(struct explore_opts *o)
{
	struct cli_list *const lists[] = { &o->sym_arg, &o->sym_args, &o->sym_file,
					   &o->sym_env, &o->sym_pm,   &o->packet,
					   &o->seed,    &o->range,    &o->oracle };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		free(lists[i]->p);
	run_opts_free(&o->run);
}

static int cmd_explore(int argc, char **argv)
{
	struct explore_opts o = { 0 };
	struct explore x = { .o = &o };
	struct err err = { 0 };
	int status = cli_parse(&verb_explore, &o, &argc, &argv);
	if (status == CLI_GO && argc == 0)
		status = cli_usage(&verb_explore, "a program to run is needed");
	if (status != CLI_GO) {
		explore_opts_free(&o);
		return status;
	}
	msg_quiet = o.output.quiet;
	status = explore(&x, argc, argv, &err) ? cli_fail(&err) : explore_report(&x, &err);
	output_close(&x.out);
	explore_end(&x);
	explore_opts_free(&o);
	return status;
}
