/* SPDX-License-Identifier: BSD-3-Clause */
/* Run a program under the tracer and keep the trace in a folder. */
#include "launch/internal.h"

static int count(void *arg, const struct trace_event *e, struct err *err)
{
	struct launch_recording *rec = arg;
	(void)err;
	if (e->kind < TRACE_KINDS)
		rec->kind[e->kind]++;
	return 0;
}

bool launch_died(const struct trace_defs *defs)
{
	const struct trace_process_def *first = trace_process(defs, 0), *last = first;
	for (uint32_t i = 0; i < trace_processes(defs); i++)
		if (trace_process(defs, i)->pid == first->pid)
			last = trace_process(defs, i); /* … after an exec */
	return last && !last->ended;
}

static uint32_t beside(const struct trace_defs *defs)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < trace_nodes(defs); i++)
		n += trace_node(defs, i)->kind != TRACE_IS_FOLDER;
	return n;
}

/* Runs the program, its events into the writer; -1: it did not run. */
static int run(struct launch *l, struct trace_writer *w, struct launch_recording *rec,
	       struct err *err)
{
	struct trace_live *live = trace_live_new(w, count, rec, err);
	if (!live)
		return -1;
	trace_live_verify(live);
	int bad = launch_run(l, live, &rec->result, err);
	rec->events = trace_live_events(live);
	rec->files = trace_files(trace_live_defs(live));
	rec->beside = beside(trace_live_defs(live));
	rec->died = !bad && launch_died(trace_live_defs(live));
	trace_live_free(live);
	return bad;
}

static int record(struct launch *l, const char *dir, bool force, struct launch_recording *rec,
		  struct err *err)
{
	bool existed;
	if (launch_folder_clear(dir, force, &existed, err))
		return -1;
	struct trace_writer *w = trace_create(dir, err);
	if (!w || run(l, w, rec, err)) {
		if (w)
			trace_abandon(w);
		launch_folder_remove(dir, !existed);
		return -1;
	}
	if (rec->result.differs.status &&
	    trace_put_differs(w, rec->result.differs.text, &rec->result.why))
		rec->result.stopped = true;
	if (rec->result.stopped)
		trace_abandon(w);
	else if (trace_finish(w, &rec->result.why))
		rec->result.stopped = true;
	return 0;
}

int launch_record(const struct launch_opts *o, const char *dir, bool force,
		  struct launch_recording *rec, struct err *err)
{
	struct launch_opts all = *o;
	all.files = true;
	*rec = (struct launch_recording){ 0 };
	struct launch *l = launch_new(&all, err);
	if (!l)
		return -1;
	double start = now_seconds();
	int bad = record(l, dir, force, rec, err);
	rec->seconds = now_seconds() - start;
	launch_free(l);
	return bad;
}
