/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast dump: what is in a trace, in source terms. */
#include "cli/cli.h"
#include "cli/dump.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct dump_opts {
	struct cli_range events;
	bool summary, json;
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
	{ "json", 0, CLI_FLAG, NULL, offsetof(struct dump_opts, json),
	  "print JSON: one document for the summary, one line for each event" },
	{ "top", 0, CLI_NUMBER, "N", offsetof(struct dump_opts, top),
	  "how many store sites the summary names; 10 without it" },
	{ "image", 0, CLI_FILE, "OUTDIR", offsetof(struct dump_opts, image),
	  "write the contents of each PM file, rebuilt from the trace, into this folder" },
	{ "at", 0, CLI_NUMBER, "N", offsetof(struct dump_opts, at),
	  "with --image: as they were just before event N; without it, at the end" },
	{ NULL },
};

static int cmd_dump(int argc, char **argv);

const struct cli_verb verb_dump = {
	.name = "dump",
	.run = cmd_dump,
	.summary = "show what is in a trace",
	.usage = "DIR [--events [FROM..TO]] [--summary] [--json] [--image OUTDIR [--at N]]",
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
		"holdfast dump prog-1.hft --image out --at 500\tPM files just before event 500\n",
	.options = dump_options,
};

bool dump_place(const struct dump *d, uint32_t process, uint64_t addr, struct dump_piece *at)
{
	const struct imap_item *it = process < d->pm.n ? imap_find(&d->pm.p[process], addr) : NULL;

	if (!it)
		return false;
	*at = d->piece.p[it->val];
	at->offset += addr - at->addr;
	at->addr = addr;
	return true;
}

/* The PM mappings of a process; a forked one starts with its parent's. */
static struct imap *pm_of(struct dump *d, uint32_t process)
{
	while (d->pm.n <= process) {
		uint32_t born = (uint32_t)d->pm.n;
		const struct trace_process_def *def = trace_process(d->defs, born);
		struct imap map = { 0 };

		if (def && def->birth == TRACE_BIRTH_FORK && def->parent_index < born) {
			const struct imap *from = &d->pm.p[def->parent_index];
			for (size_t i = 0; i < from->n; i++)
				imap_set(&map, from->p[i].lo, from->p[i].hi, from->p[i].val);
		}
		VEC_PUSH(&d->pm, map);
	}
	return &d->pm.p[process];
}

static void follow(struct dump *d, const struct trace_event *ev)
{
	struct imap *pm = pm_of(d, ev->process);
	uint64_t lo = ev->arg[0], hi = lo + ev->arg[1];

	switch (ev->kind) {
	case TRACE_MODULE_LOAD:
	case TRACE_MODULE_UNLOAD: d->moved++; break;
	case TRACE_MAP:
		if (hi > lo && trace_file(d->defs, (uint32_t)ev->arg[2])) {
			struct dump_piece piece = { lo, ev->arg[3], (uint32_t)ev->arg[2] };
			imap_set(pm, lo, hi, d->piece.n);
			VEC_PUSH(&d->piece, piece);
			break;
		} /* else fall through */
		__attribute__((fallthrough));
	case TRACE_UNMAP:
		if (hi > lo)
			imap_clear(pm, lo, hi);
		break;
	default: break;
	}
}

int dump_each(struct dump *d, uint64_t to, dump_use *use, void *arg, struct err *err)
{
	struct trace_event ev;
	int more;

	while ((more = trace_next(d->reader, &ev, err)) > 0) {
		bool late = ev.kind == TRACE_UNMAP; /* it speaks of what was there */
		srcloc_trace_feed(d->loc, &ev);
		if (!late)
			follow(d, &ev);
		use(d, &ev, arg);
		if (late)
			follow(d, &ev);
		if (ev.num >= to)
			return 0;
	}
	return more;
}

/* A name in the folder for the file, that no file before it has. */
static char *image_path(const struct dump *d, const char *dir, uint32_t file)
{
	const char *path = dump_file_path(d, file), *slash = strrchr(path, '/');
	unsigned same = 1;

	path = slash ? slash + 1 : path;
	for (uint32_t i = 0; i < file; i++) {
		const char *other = dump_file_path(d, i), *cut = strrchr(other, '/');
		same += !strcmp(cut ? cut + 1 : other, path);
	}
	return same == 1 ? xasprintf("%s/%s", dir, path) : xasprintf("%s/%s.%u", dir, path, same);
}

static int write_image(struct dump *d, const char *dir, uint64_t at, struct err *err)
{
	struct trace_image *image = trace_image_new(d->reader, err);
	int status = -1;

	if (!image)
		return -1;
	if (mkdir(dir, 0777) && errno != EEXIST)
		err_errno(err, EXIT_USAGE, "cannot make the folder %s", dir);
	else
		status = trace_image_run(image, at, err);
	for (uint32_t i = 0; !status && i < trace_files(d->defs); i++) {
		char *path = image_path(d, dir, i);
		status = trace_image_write_file(image, i, path, err);
		if (!status)
			msg_info("%s: %s, %llu bytes", dump_file_path(d, i), path,
				 (unsigned long long)trace_image_size(image, i));
		free(path);
	}
	trace_image_free(image);
	return status;
}

static int show(struct dump *d, const struct dump_opts *o)
{
	const char *why = NULL;
	struct err err = { 0 };
	int status = 0;

	if (!trace_is_whole(d->reader, &why))
		msg_warn("%s is not whole: %s", d->dir, why ? why : "its end is missing");
	if (o->image)
		status = write_image(d, o->image, o->at, &err);
	else if (o->events.given)
		status = dump_events(d, o->events.from, o->events.to, &err);
	else
		status = dump_summary(d, o->top, &err);
	const char *stale;
	for (size_t i = 0; (stale = srcloc_trace_stale(d->loc, i)); i++)
		msg_warn(
			"%s has changed since the recording: its functions and lines are not shown",
			stale);
	if (!status)
		return EXIT_NOTHING;
	fflush(stdout);
	return cli_fail(&err);
}

static int check_opts(const struct dump_opts *o, int argc)
{
	if (argc != 1)
		return cli_usage(&verb_dump, argc ? "only one trace can be shown at a time"
						  : "which trace? Name its folder");
	if (o->events.given + o->summary + !!o->image > 1)
		return cli_usage(&verb_dump, "--events, --summary and --image exclude each other");
	if (o->at != UINT64_MAX && !o->image)
		return cli_usage(&verb_dump, "--at goes with --image");
	if (o->json && o->image)
		return cli_usage(&verb_dump, "--image prints nothing that could be JSON");
	return CLI_GO;
}

static int cmd_dump(int argc, char **argv)
{
	struct dump_opts o = { .top = 10, .at = UINT64_MAX };
	struct dump d = { 0 };
	struct err err = { 0 };
	int status = cli_parse(&verb_dump, &o, &argc, &argv);

	if (status == CLI_GO)
		status = check_opts(&o, argc);
	if (status != CLI_GO)
		return status;
	signal(SIGPIPE, SIG_DFL); /* `| head` ends us, silently */
	d.dir = argv[0];
	d.json = o.json;
	d.reader = trace_open(d.dir, &err);
	if (!d.reader)
		return cli_fail(&err);
	uint64_t n = trace_count(d.reader), first = o.image ? o.at : o.events.from;
	if ((o.events.given && first && first >= n) ||
	    (o.image && o.at != UINT64_MAX && first > n)) {
		msg_error("%s has only %llu events", d.dir, (unsigned long long)n);
		status = EXIT_USAGE;
	} else {
		d.defs = trace_defs(d.reader);
		d.loc = srcloc_trace_new(d.defs);
		status = show(&d, &o);
	}
	srcloc_trace_free(d.loc);
	for (size_t i = 0; i < d.pm.n; i++)
		imap_free(&d.pm.p[i]);
	VEC_FREE(&d.pm);
	VEC_FREE(&d.piece);
	trace_close(d.reader);
	return status;
}
