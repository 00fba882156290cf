/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command reads: it is run under the tracer, and its loads are looked at as they come. */
#include <stdlib.h>

#include "launch/launch.h"

struct look {
	const struct trace_defs *defs;
	struct trace_reads *reads;
};

static int look_at(void *arg, const struct trace_event *e, struct err *err)
{
	struct look *l = arg;
	return trace_reads_event(l->reads, e, err);
}

static void take(const struct look *l, struct launch_reads *out)
{
	size_t n;
	const struct trace_read *r = trace_reads_all(l->reads, &n);
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(&out->read, r[i]);
	r = trace_reads_overwritten(l->reads, &n);
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(&out->written, r[i]);
	for (uint32_t i = 0; i < trace_files(l->defs); i++)
		VEC_PUSH(&out->file, xstrdup(trace_file(l->defs, i)->path));
}

static int run(const struct launch_opts *o, struct launch_reads *out, struct err *err)
{
	struct launch *l = launch_new(o, err);
	struct look look = { 0 };
	struct trace_live *live = l ? trace_live_new(NULL, look_at, &look, err) : NULL;
	struct launch_result res;
	int bad = -1;
	if (live) {
		look.defs = trace_live_defs(live);
		look.reads = trace_reads_new(look.defs);
		bad = launch_run(l, live, &res, err);
		if (!bad && res.stopped)
			bad = err_set(err, res.why.status, "%s", res.why.text);
		if (!bad)
			take(&look, out);
		trace_reads_free(look.reads);
		trace_live_free(live);
	}
	launch_free(l);
	return bad;
}

int launch_reads(const struct launch_opts *o, struct launch_reads *out, struct err *err)
{
	struct launch_opts with = *o;
	*out = (struct launch_reads){ 0 };
	with.loads = true;
	with.follow_forks = true;
	return run(&with, out, err);
}

void launch_reads_free(struct launch_reads *r)
{
	for (size_t i = 0; i < r->file.n; i++)
		free(r->file.p[i]);
	VEC_FREE(&r->file);
	VEC_FREE(&r->read);
	VEC_FREE(&r->written);
}
