/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast dump: what is in a trace, in source terms. */
#include "cli/choices.h"
#include "cli/dump.h"

#include <signal.h>
#include <stdlib.h>

#include "report/report.h"

struct dump_opts {
	struct cli_range events;
	bool summary, json, ops;
	struct infer_ops_opts find;
	uint64_t top, at;
	const char *image;
};

static const struct cli_option dump_options[] = {
	{ "summary", 0, CLI_FLAG, NULL, offsetof(struct dump_opts, summary),
	  "counts by kind, processes, threads, PM files and the places that store most; what is "
	  "shown when nothing else is asked for" },
	{ "events", 0, CLI_RANGE, "FROM..TO", offsetof(struct dump_opts, events),
	  "each event on a line, with its call path; all, or those numbered FROM to TO, of which "
	  "either may be left out, or one number" },
	{ "ops", 0, CLI_FLAG, NULL, offsetof(struct dump_opts, ops),
	  "the operations of the program, one on a line, and how they were found" },
	OPS_OPTIONS(struct dump_opts, find),
	{ "json", 0, CLI_FLAG, NULL, offsetof(struct dump_opts, json),
	  "print JSON: one document for the summary, one line for each event or operation" },
	{ "top", 0, CLI_NUMBER, "N", offsetof(struct dump_opts, top),
	  "how many store sites the summary names; 10 without it" },
	{ "image", 0, CLI_FILE, "OUTDIR", offsetof(struct dump_opts, image),
	  "write the PM files, and all others that the program changed, rebuilt from the trace, under their "
	  "names into this folder" },
	{ "at", 0, CLI_NUMBER, "N", offsetof(struct dump_opts, at),
	  "with --image: as they were just before event N; without it, at the end" },
	{ NULL },
};

static int cmd_dump(int argc, char **argv);

const struct cli_verb verb_dump = {
	.name = "dump",
	.run = cmd_dump,
	.summary = "show what is in a trace",
	.usage = "DIR [--events [FROM..TO]] [--ops] [--summary] [--json] [--image OUTDIR [--at N]]",
	.about =
		"Reads the trace in the folder DIR, as 'holdfast record' left it, and shows it in "
		"source terms.\n\n"
		"An event's line has its number, thread, kind and arguments, then the function and line "
		"where it happened and its callers, innermost first. [inlined] functions are in the path "
		"like others; [tail call] marks a function that was called and then left by a jump.\n\n"
		"Debug information is taken from the program and its libraries, which must not have "
		"changed since, or from separate files, found by build-id in /usr/lib/debug and in the "
		"folders named in HOLDFAST_DEBUG_PATH, separated by colons.",
	.examples =
		"holdfast dump prog-1.hft\tthe summary\n"
		"holdfast dump prog-1.hft --events ..99\tthe first hundred events\n"
		"holdfast dump prog-1.hft --events --json | jq 'select(.kind == \"store\")'\tfor scripts\n"
		"holdfast dump prog-1.hft --ops\twhich operations it made\n"
		"holdfast dump prog-1.hft --image out --at 500\tthe files just before event 500\n",
	.options = dump_options,
};

/* ---- all of it ---- */

static int show_text(struct trace_reader *r, const struct dump_opts *o, struct err *err)
{
	struct report_recording *rec = report_recording_new(r);
	const char *stale;
	int status = o->events.given ? report_recording_events(rec, o->events.from, o->events.to,
							       o->json, stdout, err)
				     : report_recording_summary(rec, o->top, o->json, stdout, err);
	for (size_t i = 0; (stale = report_recording_stale(rec, i)); i++)
		msg_warn(
			"%s has changed since the recording: its functions and lines are not shown",
			stale);
	report_recording_free(rec);
	return status;
}

static int show(struct trace_reader *r, const char *dir, const struct dump_opts *o)
{
	const char *why = NULL;
	struct err err = { 0 };
	if (!trace_is_whole(r, &why))
		msg_warn("%s is not whole: %s", dir, why ? why : "its end is missing");
	int bad = o->image ? trace_unpack(r, o->image, o->at, &err)
		  : o->ops ? dump_ops(r, &o->find, o->json, &err)
			   : show_text(r, o, &err);
	if (!bad)
		return EXIT_NOTHING;
	fflush(stdout);
	return cli_fail(&err);
}

static int check_opts(const struct dump_opts *o, int argc)
{
	if (argc != 1)
		return cli_usage(&verb_dump, argc ? "only one trace can be shown at a time"
						  : "which trace? Name its folder");
	if (o->events.given + o->summary + o->ops + !!o->image > 1)
		return cli_usage(&verb_dump,
				 "--events, --ops, --summary and --image exclude each other");
	if ((o->find.calls || o->find.way) && !o->ops)
		return cli_usage(&verb_dump, "--ops-calls and --ops-way go with --ops");
	if (o->at != UINT64_MAX && !o->image)
		return cli_usage(&verb_dump, "--at goes with --image");
	if (o->json && o->image)
		return cli_usage(&verb_dump, "--image prints nothing that could be JSON");
	return CLI_GO;
}

static int cmd_dump(int argc, char **argv)
{
	struct dump_opts o = { .top = 10, .at = UINT64_MAX };
	struct err err = { 0 };
	int status = cli_parse(&verb_dump, &o, &argc, &argv);
	if (status == CLI_GO)
		status = check_opts(&o, argc);
	if (status != CLI_GO)
		return status;
	signal(SIGPIPE, SIG_DFL); /* `| head` ends us, silently */
	struct trace_reader *r = trace_open(argv[0], &err);
	if (!r)
		return cli_fail(&err);
	uint64_t n = trace_count(r), first = o.image ? o.at : o.events.from;
	if ((o.events.given && first && first >= n) ||
	    (o.image && o.at != UINT64_MAX && first > n)) {
		msg_error("%s has only %llu events", argv[0], (unsigned long long)n);
		status = EXIT_USAGE;
	} else {
		stdout_printable(!o.json);
		status = show(r, argv[0], &o);
		stdout_printable(false);
	}
	trace_close(r);
	return status;
}
