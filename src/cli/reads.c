/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdfast reads: which lines of PM files a command reads before it writes them. The exhaustive
 * strategy runs it in the sandbox of a recovery.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/recording.h"
#include "trace/trace.h"

struct reads_cli {
	struct run_opts run;
};

static const struct cli_option reads_options[] = {
	RUN_OPTIONS(struct reads_cli),
	{ NULL },
};

static int cmd_reads(int argc, char **argv);

const struct cli_verb verb_reads = {
	.name = "reads",
	.run = cmd_reads,
	.summary = "which lines a command reads before it writes them",
	.usage = "[options] [--] COMMAND [ARGUMENTS]",
	.about =
		"Runs COMMAND under the tracer and prints, in the order of the first reads, the path of the "
		"file and the offset of each line of persistent memory that it reads before it has "
		"written what it reads; then \"end\".",
	.examples = "holdfast reads -- ./app check pool\twhat recovery looks at\n",
	.options = reads_options,
	.command = true,
};

struct look {
	struct trace_reader *reader;
	struct trace_image *image; /* for the mappings */
	struct hmap written;       /* line -> bits of its bytes */
	struct hmap said;
};

static uint64_t key_of(uint32_t file, uint64_t off)
{
	return (uint64_t)file << 44 | off / TRACE_LINE;
}

static uint64_t bits(uint64_t off, uint64_t n)
{
	return (n >= 64 ? ~0ull : (1ull << n) - 1) << off % TRACE_LINE;
}

static void touch(struct look *l, uint32_t file, uint64_t off, uint64_t len, bool write)
{
	while (len) {
		uint64_t room = TRACE_LINE - off % TRACE_LINE, n = room < len ? room : len;
		uint64_t key = key_of(file, off), done = 0;
		hmap_get(&l->written, key, &done);
		if (write) {
			hmap_put(&l->written, key, done | bits(off, n));
		} else if (bits(off, n) & ~done && !hmap_get(&l->said, key, NULL)) {
			hmap_put(&l->said, key, 1);
			printf("%s 0x%" PRIx64 "\n", trace_file(trace_defs(l->reader), file)->path,
			       off / TRACE_LINE * TRACE_LINE);
		}
		off += n;
		len -= n;
	}
}

static void access_memory(struct look *l, const struct trace_event *e, uint64_t len, bool write)
{
	uint64_t done = 0, off, n;
	uint32_t file;
	while (done < len &&
	       trace_image_locate(l->image, e->process, e->arg[0] + done, &file, &off, &n)) {
		n = n < len - done ? n : len - done;
		touch(l, file, off, n, write);
		done += n;
	}
}

static int look_at(struct look *l, const struct trace_event *e, struct err *err)
{
	switch (e->kind) {
	case TRACE_LOAD: access_memory(l, e, e->arg[1], false); return 0;
	case TRACE_STORE: access_memory(l, e, e->size, true); return 0;
	case TRACE_FILE_READ: touch(l, (uint32_t)e->arg[0], e->arg[1], e->arg[2], false); return 0;
	case TRACE_FILE_WRITE: touch(l, (uint32_t)e->arg[0], e->arg[1], e->size, true); return 0;
	case TRACE_MAP:
	case TRACE_UNMAP:
	case TRACE_FORK: return trace_image_apply(l->image, e, err);
	default: return 0;
	}
}

static int look(const char *dir, struct err *err)
{
	struct look l = { .reader = trace_open(dir, err) };
	struct trace_event e;
	int more = -1;
	if (l.reader && (l.image = trace_image_new(l.reader, err)))
		while ((more = trace_next(l.reader, &e, err)) == 1)
			if (look_at(&l, &e, err)) {
				more = -1;
				break;
			}
	trace_image_free(l.image);
	if (l.reader)
		trace_close(l.reader);
	hmap_free(&l.written);
	hmap_free(&l.said);
	return more;
}

/* Its output would be taken for ours. */
static int record(struct reads_cli *o, char **argv, const char *dir, struct err *err)
{
	struct recording rec;
	struct launch_opts lo = run_launch_opts(&o->run, argv, NULL, 0);
	int out = dup(STDOUT_FILENO);
	lo.loads = true;
	lo.follow_forks = true;
	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, EXIT_INTERNAL, "cannot redirect the output");
	int bad = recording_make(&lo, dir, true, &rec, err);
	dup2(out, STDOUT_FILENO);
	close(out);
	return bad;
}

static int cmd_reads(int argc, char **argv)
{
	struct reads_cli o = { 0 };
	struct err err;
	char dir[] = "/tmp/holdfast-reads.XXXXXX";
	int status = cli_parse(&verb_reads, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_reads, "a command to run is needed");
	if (!mkdtemp(dir)) {
		err_errno(&err, EXIT_PROGRAM, "cannot make a folder in /tmp");
		return cli_fail(&err);
	}
	status = record(&o, argv, dir, &err) || look(dir, &err) ? cli_fail(&err) : EXIT_NOTHING;
	if (!status)
		puts("end"); /* else something is missing */
	char *trace = xasprintf("%s/trace", dir);
	unlink(trace);
	rmdir(dir);
	free(trace);
	run_opts_free(&o.run);
	return status;
}
