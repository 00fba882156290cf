/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run a command on images of PM files, again and again, each time on a slightly different one.
 *
 * A runner has cells, each with its own copy of the files and its own sandbox, in which the
 * command sees the copy at the files' original paths:
 *
 *    caller                                cell
 *    runner_write(cell, …)  ────────▶      image (tmpfs)  ◀── seen as /the/original/pool
 *    runner_start(cell)     ────────▶      command runs; judged; what it dirtied is put back
 *    runner_wait()          ◀────────      verdict
 *
 * Images cost what is touched, not their size. One thread uses a runner; the cells work side by
 * side in processes and threads of their own. Whatever ends holdfast, kill -9 included, nothing
 * is left behind: no process, no file, no mount.
 */
#ifndef HOLDFAST_RUNNER_RUNNER_H
#define HOLDFAST_RUNNER_RUNNER_H

#include "sandbox/sandbox.h"

enum runner_verdict {
	RUNNER_OK,
	RUNNER_FAILED,  /* an exit status that is not expected, or the output says so */
	RUNNER_CRASHED, /* ended by a signal */
	RUNNER_HUNG,    /* still running after the timeout */
	RUNNER_FLOODED, /* wrote more than the output cap */
	RUNNER_BROKEN,  /* could not be run: not the image's fault; see `why` */
	RUNNER_DIFFERS, /* what it says is not what it should: for those who compare, see `said` */
};
const char *runner_verdict_name(enum runner_verdict); /* "ok", "failed", … */

struct runner_file {
	const char *path; /* absolute, as recorded */
	uint64_t addr;    /* map it at this address in the command; 0: anywhere */
	bool beside;      /* not PM: where it cannot be shown, the command sees it as it is */
};

/* What is seen at a path. */
enum runner_kind {
	RUNNER_FILE, /* one of the files; a second name of it is a hard link */
	RUNNER_FOLDER,
	RUNNER_OTHER_FOLDER, /* it has nothing in common with the one that is really there */
	RUNNER_LINK,         /* a symbolic one */
	RUNNER_GONE,         /* nothing, though something may be really there */
};
struct runner_name {
	const char *path; /* absolute; folders come before what is in them */
	enum runner_kind kind;
	uint32_t file;      /* RUNNER_FILE */
	const char *target; /* RUNNER_LINK */
};

struct runner_opts {
	const char *command; /* a shell command, or plain words that are run without a shell */
	const struct runner_file *file;
	size_t nfile;
	unsigned cells;
	/*
	 * How the command gets to see the images; NULL: in the best way that works. "{pool}" in the
	 * command is the path where it sees the first file, "{pool1}" the second's, … "{dir}" the
	 * folder.
	 */
	const struct sandbox_view *view;
	unsigned timeout_ms;
	size_t output_cap;       /* bytes of stdout and stderr together */
	uint64_t memory;         /* bytes of private memory; 0: no limit */
	const char *expect_exit; /* "0", "0,2-4": statuses that are fine; NULL: "0" */
	const char *fail_regex;  /* extended; a match in the output is a failure; may be NULL */
	/*
	 * What is in the files: the standard output of the probe, run on what the command leaves, and then of
	 * `next`, in which {ops} is a file (runner_ops); without the parts of lines that match. `own`: that of
	 * the command as well, and before; it is all there is where both are NULL.
	 */
	bool listen, own;
	const char *probe, *next, *ignore;
	bool fast; /* fork server: stop the command at main and fork per image */
	/* A server as recovery: it is started, the client judges, it is stopped. */
	const char *client; /* NULL: no server */
	unsigned port;      /* it is up when it listens here; 0: see ready */
	const char *ready;  /* it is up when its output matches */
	const char *stop;   /* "TERM", "SIGINT" or a command; NULL: TERM */
};

/* Between what the probe, or the command, and what `next` said. */
#define RUNNER_THEN "\f\n"
struct runner_result {
	enum runner_verdict verdict;
	int status;    /* exit status, or the signal's number if it crashed */
	double spent;  /* seconds from start to end of the command */
	bool replaced; /* it unlinked or replaced a PM file */
	bool strays;   /* it left processes running, which were killed */
	bool hasty;    /* RUNNER_HUNG: after the shorter time of runner_patience */
	char *output; /* stdout and stderr as they came, at most 64 KiB; malloc'ed. With `listen`, if all
			* is well, all that was said */
	uint64_t said; /* hash of what all said; 0: not asked for, or one failed */
	size_t noutput;
	char *trace;   /* backtrace, where runner_backtrace made one; malloc'ed, may be NULL */
	char why[256]; /* RUNNER_BROKEN */
};
void runner_result_free(struct runner_result *);

struct runner;
/* What is wrong whatever the view: commands that are not found, expressions. No files are needed. */
int runner_check(const struct runner_opts *, struct err *);
/* So many can be shown here: each takes two descriptors in every cell. */
size_t runner_most_files(void);
/* Checks these and the view, and starts the cells: fewer if there are no descriptors for all. */
struct runner *runner_new(const struct runner_opts *, struct err *);
const struct sandbox_view *runner_view(const struct runner *);
unsigned runner_cells(const struct runner *);
bool runner_fast(const struct runner *); /* the fork server works, as far as is known yet */

/*
 * The image of an idle cell. All files begin absent, until they are given a size, which may
 * change any time; what is new is zero. Writes stay within it. These change what the next start
 * sees; the command's own changes never last.
 */
int runner_size(struct runner *, unsigned cell, uint32_t file, uint64_t size, struct err *);
int runner_write(struct runner *, unsigned cell, uint32_t file, uint64_t off, const void *,
		 size_t len, struct err *);
/* What {ops} holds at the next start. */
int runner_ops(struct runner *, unsigned cell, const void *, size_t len, struct err *);
/* Before all else, {ops}'s command is run with these, and not listened to; none: it is not. */
int runner_before(struct runner *, unsigned cell, const void *, size_t len, struct err *);
/* At the next start, all that is listened to, and the command, are run before once, and not heard; {ops} is then what
 * runner_before has. Not for servers. */
void runner_again(struct runner *, unsigned cell);
/* The next start waits so many milliseconds for each command, if that is less than the timeout; 0: as long as that. */
void runner_patience(struct runner *, unsigned cell, unsigned ms);
bool runner_has_ops(const char *command); /* it says {ops} */
/* Where the file is seen: its path by default, NULL: nowhere (it was unlinked). Cheap only if
 * that is where it is already. */
int runner_name(struct runner *, unsigned cell, uint32_t file, const char *path, struct err *);

/* All names at once; files that have none are seen nowhere. */
int runner_names(struct runner *, unsigned cell, const struct runner_name *, size_t n,
		 struct err *);

/* From now on nobody waits for a verdict longer than this (now_seconds); 0: as long as it takes. */
void runner_until(struct runner *, double when);
/* An idle cell, waiting for one if need be; results are not lost. -1 and err: all broken, or
 * interrupted by a signal or by runner_until. */
int runner_idle(struct runner *, struct err *);
/* Starts the command; `tag` comes back with the result. */
int runner_start(struct runner *, unsigned cell, uint64_t tag, struct err *);
/* The next result: 1, 0 if nothing runs and none waits, -1 if interrupted likewise, or broken.
 * `block` false: 0 if none is there yet. */
int runner_wait(struct runner *, bool block, uint64_t *tag, unsigned *cell, struct runner_result *,
		struct err *);
unsigned runner_running(const struct runner *);

/*
 * For one image, on an idle cell. The first runs the command under gdb and returns the backtrace
 * (malloc'ed), NULL if there is no gdb or nothing crashed. The second runs a command (NULL: the
 * runner's; gdb: under an interactive gdb) with the caller's terminal as its own, no limits
 * but the timeout where `timeout_ms` is not 0, and judges it.
 */
char *runner_backtrace(struct runner *, unsigned cell, struct err *);
int runner_interactive(struct runner *, unsigned cell, bool gdb, const char *command,
		       struct runner_result *, struct err *);
/* Runs another command on the image and returns all of its standard output, malloc'ed. */
char *runner_capture(struct runner *, unsigned cell, const char *command, struct err *);
/*
 * Calls a function in a process of its own in the sandbox, with the words of the runner's command and
 * its environment, and returns the bytes that it writes to `out`, malloc'ed. Programs that it runs
 * see the image. NULL and err: it did not return 0 in time, a signal came, the view has the files
 * elsewhere, or the command is a server (runner_calls).
 */
typedef int runner_function(void *arg, char **argv, int out);
bool runner_calls(const struct runner *);
void *runner_call(struct runner *, unsigned cell, runner_function *, void *arg, size_t *n,
		  struct err *);
/* Writes the image's files into a folder, sparse, under their names of the moment, without what all names
 * have in common at the front ("/data/a/pool", "/data/log" -> "a/pool", "log"). */
int runner_export(struct runner *, unsigned cell, const char *dir, struct err *);

/* Kills what runs and waits until all is gone. */
void runner_free(struct runner *);

#endif
