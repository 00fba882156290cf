/* SPDX-License-Identifier: BSD-3-Clause */
/* The verb explore and its options. */
#include "cli/choices.h"
#include "cli/explore.h"

#define T struct explore_cli
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
	{ "strategy", 0, CLI_CHOICE, NULL, offsetof(T, strategy),
	  "which branch to try next; several take turns: pm+coverage", &choices_search },
	{ "max-time", 0, CLI_TEXT, "TIME", offsetof(T, max_time),
	  "end after this time (90s, 10m, 2h); without limits it goes on till all is explored",
	  .once = true },
	{ "max-paths", 0, CLI_NUMBER, "N", offsetof(T, max_paths), "end after N runs",
	  .once = true },
	{ "max-findings", 0, CLI_NUMBER, "N", offsetof(T, max_findings),
	  "end when N errors were found", .once = true },
	{ "max-memory", 0, CLI_TEXT, "SIZE", offsetof(T, max_memory),
	  "for expressions and paths: the branches that promise least are given up", .once = true },
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
	  "runs side by side; one less than there are cores without it", .once = true },
	{ "recover", 0, CLI_TEXT, "CMD", offsetof(T, crash.recover),
	  "crash every path that does something new to PM, as 'holdfast crash' does, with this "
	  "recovery command" },
	{ "probe", 0, CLI_TEXT, "CMD", offsetof(T, crash.probe),
	  "the same, with or without --recover: CMD prints what is in the pool, and on a crash image it must "
	  "be what it was before the operation in flight, or after it" },
	{ "continue", 0, CLI_TEXT, "CMD", offsetof(T, crash.go_on),
	  "the same, with or without these: CMD goes on with the operations that follow the one in flight, {ops} in "
	  "it, and must print what it prints if that one had not begun, or had ended" },
	{ "ops-file", 0, CLI_FILE, "FILE|SOURCE", offsetof(T, crash.ops_file),
	  "the operations for --continue, one a line: where this is a symbolic file, or stdin, those of the path" },
	{ "ops-skip", 0, CLI_NUMBER, "N", offsetof(T, crash.ops_skip),
	  "its first N lines are no operations but a header, which {ops} has, too" },
	{ "suffix", 0, CLI_NUMBER, "N", offsetof(T, crash.suffix),
	  "at most so many operations are in {ops}; 200 without it" },
	{ "ops-calls", 0, CLI_TEXT, "GLOB,…", offsetof(T, crash.ops_calls), OPS_CALLS_HELP },
	{ "ops-way", 0, CLI_CHOICE, NULL, offsetof(T, crash.ops_way), OPS_WAY_HELP, &choices_ways },
	{ "ignore", 0, CLI_TEXT, "REGEX", offsetof(T, crash.ignore),
	  "what is printed is compared without the parts of lines that match" },
	{ "crash-strategy", 0, CLI_CHOICE, NULL, offsetof(T, crash.strategy),
	  "which crash states to test; several take turns: lost+behind", &choices_strategy },
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
	CHECK_OPTIONS(T),
	{ "show-priorities", 0, CLI_FLAG, NULL, offsetof(T, show_priorities),
	  "at the end, print how much PM can still be modified from each line of the program",
	  .once = true },
	{ "verify", 0, CLI_FLAG, NULL, offsetof(T, verify),
	  "compare every expression with the machine's value; for finding mistakes of holdfast",
	  .once = true },
	{ "export", 0, CLI_FILE, "DIR", offsetof(T, export_dir),
	  "put all inputs that took a way of their own there, as a test suite", .once = true },
	{ "csv", 0, CLI_FILE, "FILE", offsetof(T, csv),
	  "paths, coverage and findings over time; - is stdout", .once = true },
	{ "output", 'o', CLI_FILE, "DIR", offsetof(T, folder),
	  "folder for inputs and results; without it PROGRAM-N.hft in the current folder",
	  .once = true },
	{ "resume", 0, CLI_FLAG, NULL, offsetof(T, crash.resume),
	  "go on with the exploration in DIR, with its settings", .once = true },
	{ "fresh", 0, CLI_FLAG, NULL, offsetof(T, crash.fresh),
	  "throw away the results of an earlier exploration in DIR", .once = true },
	RUN_PROGRAM_OPTIONS(T),
	OUTPUT_OPTIONS(T),
	{ NULL },
};
#undef T

const struct cli_verb verb_explore = {
	.name = "explore",
	.run = explore_cli_main,
	.summary = "find inputs that take a program to bugs that no test reaches",
	.usage = "--sym-… [options] ([--] PROGRAM [ARGUMENTS] | --resume DIR)",
	.about =
		"Runs PROGRAM again and again, each time with an input that takes another way through it. "
		"Parts of the input are symbolic: conditions that depend on them are followed through the "
		"program, its libraries and the kernel, and a solver finds the bytes that make one of them "
		"go the other way. Branches from which most persistent memory can still be modified come "
		"first.\n\n"
		"Each path that does something new to PM is checked as 'holdfast check' does; with "
		"--recover, --probe or --continue it is crashed as 'holdfast crash' does. Inputs that make the program crash or "
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
