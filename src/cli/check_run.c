/* SPDX-License-Identifier: BSD-3-Clause */
/* Events from a program or a trace go through the analysis of src/check. */
#include "cli/check.h"

#include <stdlib.h>

#define LOOK_EVERY 65536u /* events */

static int feed(void *arg, const struct trace_event *e, struct err *err)
{
	struct check_run *r = arg;
	(void)err;
	check_feed(r->check, e);
	run_see(&r->seen, e);
	if (r->live && r->look && r->seen.events % LOOK_EVERY == 0)
		r->look(r);
	return 0;
}

static struct check *start(struct check_run *r, const struct trace_defs *defs, const char *replay,
			   struct err *err)
{
	struct check_opts co = {
		.model = model_find(r->model),
		.notes = r->how.notes,
		.include_libs = r->how.include_libs,
		.plugin = r->how.oracle ? r->how.oracle->p : NULL,
		.nplugin = r->how.oracle ? r->how.oracle->n : 0,
		.replay = replay,
		.recovery = r->how.recovery,
		.nrecovery = r->how.nrecovery,
	};
	return check_new(&co, defs, err);
}

/* ---- a program ---- */

int check_run_program(struct check_run *r, struct run_opts *run, char **argv,
		      struct finding_set *out, struct err *err)
{
	struct launch_result res = { 0 };
	size_t n;
	if (!(r->live = trace_live_new(NULL, feed, r, err)) ||
	    !(r->check = start(r, trace_live_defs(r->live), NULL, err)))
		return -1;
	trace_live_verify(r->live);
	const char *const *more = check_watches(r->check, &n);
	struct launch_opts lo = run_launch_opts(run, argv, more, n);
	lo.files = model_find(r->model)->files != MODEL_FILES_AT_ONCE;
	while (argv[r->ncommand])
		r->ncommand++;
	r->command = argv;
	r->launch = launch_new(&lo, err);
	if (!r->launch || launch_run(r->launch, r->live, &res, err))
		return -1;
	r->incomplete = run_end(&res, trace_live_defs(r->live), "the analysis", &r->broken);
	check_end(r->check);
	check_report(r->check, out);
	if (res.pmem_forced)
		msg_info("PMEM_IS_PMEM_FORCE=1 was set for the program");
	return 0;
}

/* ---- a trace ---- */

/* Orders that the operations of a recording with dependences keep. */
static int check_orders(struct check_run *r, const char *replay, struct finding_set *out,
			struct err *err)
{
	bool asked = r->how.ops.calls || r->how.ops.way;
	if (!r->seen.kind[TRACE_FRAME] && asked)
		msg_warn(
			"the recording has no dependences ('holdfast record --deps'): its operations "
			"do not matter to check");
	if (!r->seen.kind[TRACE_FRAME])
		return 0;
	struct infer_ops *ops = infer_ops_read(r->reader, &r->how.ops, err);
	char *found = ops ? infer_ops_sentence(ops) : NULL;
	if (found)
		msg_info("orders of: %s", found);
	int bad = !ops || check_order(r->reader, ops, model_find(r->model), replay, out, err);
	free(found);
	infer_ops_free(ops);
	return bad ? -1 : 0;
}

int check_run_trace(struct check_run *r, const char *dir, struct finding_set *out, struct err *err)
{
	struct trace_event e;
	const char *why;
	int more;
	if (!(r->reader = trace_open(dir, err)))
		return -1;
	char *replay = xasprintf("holdfast dump %s", dir);
	r->check = start(r, trace_defs(r->reader), replay, err);
	if (!r->check)
		return free(replay), -1;
	while ((more = trace_next(r->reader, &e, err)) == 1)
		feed(r, &e, err);
	bool whole = trace_is_whole(r->reader, &why);
	if (more < 0)
		r->incomplete = xasprintf("the trace is damaged: %s", err->text);
	else if (!whole || launch_died(trace_defs(r->reader)))
		r->incomplete = xstrdup(whole ? RUN_DIED : why);
	r->broken = r->incomplete != NULL;
	r->incomplete = run_differs(r->incomplete, trace_differs(trace_defs(r->reader)));
	check_end(r->check);
	check_report(r->check, out);
	int bad = check_orders(r, replay, out, err);
	r->command = launch_command(trace_defs(r->reader), &r->ncommand);
	free(replay);
	return bad ? -1 : 0;
}

void check_run_free(struct check_run *r)
{
	check_free(r->check);
	launch_free(r->launch);
	trace_live_free(r->live);
	if (r->reader) {
		trace_close(r->reader);
		free(r->command);
	}
	free(r->incomplete);
}

/* ---- as a part of other verbs ---- */

int check_folder(const char *dir, const char *model, const struct check_folder *how,
		 struct finding_set *out, struct err *err)
{
	struct check_run r = { .model = model, .how = *how };
	int bad = check_run_trace(&r, dir, out, err);
	char *loaded = bad ? NULL : check_loaded(r.check);
	if (loaded)
		msg_info("oracles %s", loaded);
	free(loaded);
	check_run_free(&r);
	return bad;
}

char **check_folder_watches(const struct check_folder *how, struct err *err)
{
	struct check_run r = { .how = *how };
	char **copy = NULL;
	size_t n;
	if ((r.live = trace_live_new(NULL, NULL, NULL, err)) &&
	    (r.check = start(&r, trace_live_defs(r.live), NULL, err))) {
		const char *const *names = check_watches(r.check, &n);
		copy = xcalloc(n + 1, sizeof *copy);
		for (size_t i = 0; i < n; i++)
			copy[i] = xstrdup(names[i]);
	}
	check_run_free(&r);
	return copy;
}

void check_folder_watches_free(char **watch)
{
	for (char **w = watch; w && *w; w++)
		free(*w);
	free(watch);
}
