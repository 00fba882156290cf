/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run.h"

#include <stdlib.h>

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
		.watch = o->watch.p,
		.nwatch = o->watch.n,
		.cpu = o->cpu,
		.stdin_path = o->stdin_path,
		.follow_forks = o->follow_forks,
		.no_pmem_force = o->no_pmem_force,
		.no_pmemcheck = o->no_pmemcheck,
	};
}

void run_opts_free(struct run_opts *o)
{
	free(o->pm.p);
	free(o->watch.p);
}

void run_say_no_pm(const struct run_opts *o, const uint64_t kind[TRACE_KINDS])
{
	msg_warn("the program never wrote persistent memory%s",
		 kind[TRACE_MAP] ? "" : ", and mapped none");
	if (o->pm.n)
		fprintf(stderr, "  Does --pm match the pool's absolute path?\n");
	else if (!kind[TRACE_MAP])
		fprintf(stderr,
			"  Writable shared mappings of files count as persistent memory.\n");
	if (kind[TRACE_FORK] && !o->follow_forks)
		fprintf(stderr, "  It started child processes: --follow-forks follows them too.\n");
}
