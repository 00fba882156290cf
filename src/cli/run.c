/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What is no number is no port. */
static unsigned port_number(const char *text)
{
	char *end;
	unsigned long n = text ? strtoul(text, &end, 10) : 0;
	if (!text)
		return 0;
	return *text >= '0' && *text <= '9' && !*end && n > 0 && n <= 65535 ? (unsigned)n
									    : UINT_MAX;
}

struct launch_opts run_launch_opts(struct run_opts *o, char **argv, const char *const *more,
				   size_t nmore)
{
	o->watch.p = xrealloc(o->watch.p, (o->watch.n + nmore + 1) * sizeof *o->watch.p);
	for (size_t i = 0; i < nmore; i++)
		o->watch.p[o->watch.n++] = more[i];
	return (struct launch_opts){
		.argv = (const char *const *)argv,
		.pm = o->pm.p,
		.npm = o->pm.n,
		.persist = o->persist.p,
		.npersist = o->persist.n,
		.watch = o->watch.p,
		.nwatch = o->watch.n,
		.cpu = o->cpu,
		.stdin_path = o->stdin_path,
		.follow_forks = o->follow_forks,
		.no_pmem_force = o->no_pmem_force,
		.pmemcheck = o->pmemcheck,
		.lines = o->lines,
		.fault = o->fault,
		.client = o->client,
		.port = port_number(o->port),
		.ready = o->ready,
		.ready_timeout =
			(unsigned)(o->ready_timeout < UINT_MAX ? o->ready_timeout : UINT_MAX),
		.stop = o->stop,
	};
}

void run_opts_free(struct run_opts *o)
{
	free(o->pm.p);
	free(o->persist.p);
	free(o->watch.p);
}

const char *run_misuse(const struct run_opts *o)
{
	static struct err err;
	char *fault = o->fault ? launch_fault(o->fault, &err) : NULL;
	bool wrong = o->fault && !fault;
	free(fault);
	if (wrong)
		return err.text;
	if (!o->client && (o->port || o->ready || o->stop || o->ready_timeout))
		return "--port, --ready, --ready-timeout and --stop are for servers: they need "
		       "--client";
	if (o->client && !o->port && !o->ready)
		return "--client needs --port or --ready, to know when the program is ready";
	return NULL;
}

int run_wanted_missing(const struct run_opts *o, const struct launch_recording *rec,
		       struct err *err)
{
	if (o->persist.n && !rec->files && !rec->beside)
		return err_set(err, EXIT_PROGRAM,
			       "--persist %s%s: the program changes no file that matches with its "
			       "absolute path, or whose folder does",
			       o->persist.p[0], o->persist.n > 1 ? " and others" : "");
	if (!o->fault || rec->kind[TRACE_FAULT])
		return 0;
	return err_set(err, EXIT_PROGRAM, "--fault %s: the run has no such call, so nothing failed",
		       o->fault);
}

void run_say_no_pm(const struct run_opts *o, const uint64_t kind[TRACE_KINDS])
{
	msg_warn("the program never wrote persistent memory%s",
		 kind[TRACE_MAP] ? "" : ", and mapped none");
	if (o->pm.n)
		fprintf(stderr, "  Does --pm match the pool's absolute path?\n");
	else if (o->persist.n)
		fprintf(stderr, "  Does --persist match its absolute path?\n");
	else if (!kind[TRACE_MAP])
		fprintf(stderr,
			"  Writable shared mappings of files count as persistent memory.\n");
	if (kind[TRACE_FORK] && !o->follow_forks)
		fprintf(stderr, "  It started child processes: --follow-forks follows them too.\n");
}

/* ---- how it ended ---- */

static char *ended(const struct launch_result *res, const struct trace_defs *defs,
		   const char *doing, bool *broken)
{
	bool died = (res->status || res->signal) && launch_died(defs);
	if (died || res->stopped || (res->interrupted && (res->signal || res->client_status)))
		*broken = true;
	if (res->stopped)
		return xasprintf("%s stopped early: %s", doing, res->why.text);
	if (res->signal)
		return xasprintf("the program was ended by signal %d (%s)", res->signal,
				 strsignal(res->signal));
	if (died)
		return xasprintf("the tracer ended with status %d before the program did",
				 res->status);
	if (res->status)
		return xasprintf("the program ended with status %d", res->status);
	return res->client_status ? xasprintf("the client ended with status %d", res->client_status)
				  : NULL;
}

char *run_differs(char *why, const char *text)
{
	if (!text)
		return why;
	char *both = why ? xasprintf("%s; %s", why, text) : xstrdup(text);
	free(why);
	return both;
}

char *run_end(const struct launch_result *res, const struct trace_defs *defs, const char *doing,
	      bool *broken)
{
	return run_differs(ended(res, defs, doing, broken),
			   res->differs.status ? res->differs.text : NULL);
}

/* ---- what was looked at ---- */

void run_see(struct run_seen *s, const struct trace_event *e)
{
	s->events++;
	s->kind[e->kind]++;
	s->started += e->kind == TRACE_THREAD_START && e->arg[1]; /* by another thread */
}

/* How many there were, each counted once whatever it executed; and how many were born by a fork. */
static uint64_t processes(const struct trace_defs *defs, uint64_t *forked)
{
	uint64_t n = 0;
	*forked = 0;
	for (uint32_t i = 0; i < trace_processes(defs); i++) {
		uint8_t birth = trace_process(defs, i)->birth;
		n += birth != TRACE_BIRTH_EXEC;
		*forked += birth == TRACE_BIRTH_FORK;
	}
	return n;
}

static void count(struct buf *b, const char *before, uint64_t n, const char *one, const char *more)
{
	buf_printf(b, "%s%" PRIu64 " %s", before, n, n == 1 ? one : more);
}

char *run_looked(const struct run_seen *s, const struct trace_defs *defs, const char *more)
{
	struct buf b = { 0 };
	const char *before = "; not looked at: ";
	uint64_t forked, n = processes(defs, &forked);
	count(&b, " in ", s->events, "event", "events");
	count(&b, ": ", trace_files(defs), "mapped PM file", "mapped PM files");
	count(&b, ", ", n, "process", "processes");
	count(&b, ", ", n + s->started, "thread", "threads in one schedule");
	if (s->kind[TRACE_FORK] > forked) {
		count(&b, before, s->kind[TRACE_FORK] - forked,
		      "child process that was not followed (--follow-forks)",
		      "child processes that were not followed (--follow-forks)");
		before = ", ";
	}
	if (more)
		buf_printf(&b, "%s%s", before, more);
	buf_add(&b, "", 1);
	return b.p;
}
