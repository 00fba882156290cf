/* SPDX-License-Identifier: BSD-3-Clause */
/* An exploration from start to end, phase by phase, and its result. */
#include "explore/explore.h"

#include <stdlib.h>
#include <string.h>

#include "explore/internal.h"

#define KEEP_EVERY 1.0 /* seconds */
#define ROW_EVERY 0.5  /* … of the chart */

int explore_opts_check(const struct explore_opts *o, struct err *err)
{
	unsigned first, last;
	char *program = launch_resolve(o->program.argv[0], err);
	int bad = !program || launch_check_program(program, err);
	free(program);
	if (bad || explore_phases(&o->inputs, &first, &last, err))
		return -1;
	for (unsigned phase = first; phase <= last; phase++) {
		struct explore_plan *p = explore_plan_new(&o->inputs, o->program.argv, phase, err);
		if (!p)
			return -1;
		explore_plan_free(p);
	}
	return 0;
}

struct explore *explore_new(const struct explore_opts *o, struct explore_folder *folder,
			    const struct explore_hooks *hooks, void *arg)
{
	struct explore *x = xcalloc(1, sizeof *x);
	x->o = o;
	x->folder = folder;
	x->hooks = hooks;
	x->arg = arg;
	return x;
}

/* ---- what the other files ask ---- */

bool explore_stopped(const struct explore *x)
{
	return *x->o->stop || campaign_interrupted(); /* which has signal handlers of its own */
}

struct explore_stage explore_stage(const struct explore *x)
{
	return (struct explore_stage){
		.program = &x->o->program,
		.plan = x->plan,
		.defs = x->round.started ? launch_explorer_defs(x->round.slot[0].launch) : NULL,
	};
}

uint64_t explore_path(const struct explore *x, uint64_t number)
{
	return x->tally.before.runs + number + 1;
}

struct symbolic_stats explore_stats(const struct explore *x)
{
	struct symbolic_stats all = x->tally.before;
	if (x->round.sym)
		explore_stats_add(&all, symbolic_stats(x->round.sym));
	return all;
}

static void add_row(struct explore *x)
{
	struct symbolic_stats s = explore_stats(x);
	explore_chart_add(&x->tally.chart, now_seconds() - x->tally.begun, &s, x->found.set.v.n);
}

void explore_step(struct explore *x)
{
	if (now_seconds() - x->tally.chart.last > ROW_EVERY ||
	    x->found.set.v.n != x->tally.chart.findings)
		add_row(x);
	x->hooks->step(x->arg, x);
}

/* ---- keeping ---- */

static int put_counts(struct explore *x, const char *state, struct err *err)
{
	struct symbolic_stats s = explore_stats(x);
	const char *strategy = x->o->search.strategy, *about;
	return explore_folder_counts(x->folder, state,
				     strategy ? strategy : symbolic_search_at(0, &about), &s,
				     x->found.set.v.n, now_seconds() - x->tally.begun, err);
}

int explore_keep(struct explore *x, bool all, struct err *err)
{
	struct explore_folder *f = x->folder;
	double now = now_seconds();
	if (!all && now - f->kept < KEEP_EVERY)
		return 0;
	f->kept = now;
	int bad = ((x->found.news || all) &&
		   explore_folder_findings(f, &x->found, &x->o->program, x->plan, err)) ||
		  put_counts(x, "running", err);
	return campaign_db_commit(f->db, err) || bad || campaign_db_begin(f->db, err) ? -1 : 0;
}

static int keep_end(struct explore *x, struct err *err)
{
	bool through = !x->tally.cut && !explore_stopped(x);
	char *path = xasprintf("%s/coverage.csv", x->folder->dir);
	int bad = put_counts(x, through ? "finished" : "stopped", err);
	bad = campaign_db_commit(x->folder->db, err) || bad;
	bad = bad || explore_chart_write(&x->tally.chart, path, err);
	explore_folder_clear(x->folder, EXPLORE_TRY);
	free(path);
	return bad ? -1 : 0;
}

/* ---- from start to end ---- */

static int all_phases(struct explore *x, struct err *err)
{
	unsigned phase;
	if (explore_phases(&x->o->inputs, &phase, &x->last_phase, err))
		return -1;
	for (;; phase++) {
		x->plan = explore_plan_new(&x->o->inputs, x->o->program.argv, phase, err);
		if (!x->plan || explore_phase(x, err))
			return -1;
		if (explore_stopped(x) || phase == x->last_phase)
			return 0;
		explore_plan_free(x->plan);
		x->plan = NULL;
	}
}

int explore_run(struct explore *x, struct err *err)
{
	x->tally.begun = x->folder->kept = now_seconds();
	srcloc_keep();
	int bad = all_phases(x, err);
	if (*x->o->stop == EXPLORE_LATE) {
		x->tally.cut = "the time was over";
		bad = 0;
	}
	x->tally.seconds = now_seconds() - x->tally.begun;
	add_row(x);
	if (bad || keep_end(x, err))
		return -1;
	explore_found_merge(&x->found);
	return 0;
}

struct explore_result explore_result(struct explore *x)
{
	return (struct explore_result){
		.seconds = x->tally.seconds > 0 ? x->tally.seconds : now_seconds() - x->tally.begun,
		.stopped = explore_stopped(x) && *x->o->stop != EXPLORE_LATE,
		.cut = x->tally.cut,
		.used = x->tally.used,
		.unused = x->tally.unused,
		.alone = x->tally.alone,
		.kind = x->tally.kind,
		.crashed = x->deaths.crashed,
		.hung = x->deaths.hung,
		.tracer_only = x->deaths.tracer_only,
		.lost = x->deaths.lost,
		.dirtied = x->tally.dirtied,
		.checking = x->found.checking,
		.verifying = x->tally.verifying,
		.campaigns = x->recovery.campaigns,
		.unwell = x->recovery.unwell,
		.why_unwell = x->recovery.why_unwell,
		.differs = x->tally.differs,
		.concrete = x->tally.concrete.p,
		.nconcrete = x->tally.concrete.n,
		.left = x->tally.lefts.v.p,
		.nleft = x->tally.lefts.v.n,
		.chart = &x->tally.chart,
		.findings = &x->found.set,
	};
}

void explore_priorities(struct explore *x, explore_priority_each *each, void *arg)
{
	explore_place_each(x->round.slot, symbolic_view(x->round.sym), each, arg);
}

void explore_free(struct explore *x)
{
	explore_round_end(x);
	explore_plan_free(x->plan);
	explore_memory_free(&x->round.memory);
	explore_found_free(&x->found);
	VEC_FREE(&x->deaths.v);
	explore_recovery_free(&x->recovery);
	VEC_FREE(&x->tally.chart.v);
	for (size_t i = 0; i < x->tally.concrete.n; i++)
		free(x->tally.concrete.p[i].name);
	VEC_FREE(&x->tally.concrete);
	explore_lefts_free(&x->tally.lefts);
	free(x->tally.alone);
	free(x->tally.unused);
	free(x->tally.differs);
	free(x);
}
