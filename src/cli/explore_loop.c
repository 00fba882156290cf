/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runs of one phase: inputs go from the engine to idle explorers, and what their runs did goes
 * back to it. Whatever a run shows is looked at before the explorer gets the next input, since
 * its events are kept only till then.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/explore.h"

#define POLL_MS 50
#define LATER 12 /* runs after which a seed of ours may have its turn */

size_t explore_cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 && n < 1024 ? (size_t)n : 1;
}

struct symbolic_stats explore_stats(struct explore *x)
{
	struct symbolic_stats all = x->before.stats;
	if (!x->sym)
		return all;
	const struct symbolic_stats *s = symbolic_stats(x->sym);
	all.runs += s->runs;
	all.paths += s->paths;
	all.diverged += s->diverged;
	all.predicted += s->predicted;
	all.dropped += s->dropped;
	all.infeasible += s->infeasible;
	all.undecided += s->undecided;
	all.branches += s->branches;
	all.behaviours += s->behaviours;
	all.candidates = s->candidates;
	all.nodes = s->nodes > all.nodes ? s->nodes : all.nodes;
	all.memory = s->memory > all.memory ? s->memory : all.memory;
	all.blocks = s->blocks > all.blocks ? s->blocks : all.blocks;
	all.pm = s->pm > all.pm ? s->pm : all.pm;
	all.blocks_all = s->blocks_all > all.blocks_all ? s->blocks_all : all.blocks_all;
	all.pm_all = s->pm_all > all.pm_all ? s->pm_all : all.pm_all;
	all.solve.queries += s->solve.queries;
	all.solve.sat += s->solve.sat;
	all.solve.unsat += s->solve.unsat;
	all.solve.timeouts += s->solve.timeouts;
	all.solve.trivial += s->solve.trivial;
	all.solve.cache_hits += s->solve.cache_hits;
	all.solve.enumerated += s->solve.enumerated;
	all.solve.z3 += s->solve.z3;
	all.solve.seconds += s->solve.seconds;
	all.solve.z3_seconds += s->solve.z3_seconds;
	return all;
}

/* ---- limits ---- */

/* Each phase gets its part of what is left. */
static double share(const struct explore *x)
{
	return 1.0 / (double)(x->max_extra - x->phase + 1);
}

struct limits {
	double deadline; /* 0: none */
	uint64_t runs;   /* that may be started; UINT64_MAX: any number */
};

static struct limits limits_of(const struct explore *x)
{
	struct limits l = { 0, UINT64_MAX };
	double now = now_seconds();
	if (x->time_limit > 0) {
		double left = x->begun + x->time_limit - now;
		l.deadline = now + (left > 0 ? left : 0) * share(x);
	}
	if (x->o->max_paths) {
		/* Those that are run again, to go on from there, do not count. */
		uint64_t from = x->runs > x->paths_before ? x->runs : x->paths_before;
		uint64_t done = from - x->paths_before;
		uint64_t left = x->o->max_paths > done ? x->o->max_paths - done : 0;
		l.runs = from + (uint64_t)((double)left * share(x) + 0.999);
	}
	return l;
}

/* Not by what it was told to do, but before it was through. */
static bool cut(struct explore *x, const struct limits *l)
{
	if (explore_interrupted())
		return true;
	if (l->deadline > 0 && now_seconds() > l->deadline)
		x->cut = "the time was over";
	else if (x->o->max_findings && finding_count(&x->set, FINDING_ERROR) >= x->o->max_findings)
		x->cut = "enough was found";
	else
		return false;
	return true;
}

/* ---- one run ---- */

static int run_over(struct explore *x, struct explore_slot *s,
		    const struct launch_explorer_run *run, struct err *err)
{
	struct symbolic_outcome o = { 0 };
	const uint8_t *cover;
	size_t n;
	const uint64_t *block = launch_explorer_blocks(s->launch, &cover, &n);
	symbolic_run_cover(s->run, block, cover, n);
	symbolic_run_end(s->run, &o);
	s->run = NULL;
	x->used = x->used || o.used_input;
	x->dirtied += run->dirtied;
	explore_memory_found(x, s);
	if (o.new_path && explore_keep_input(x, &s->input, err))
		return -1;
	if (explore_look(x, s, &o, run, err))
		return -1;
	if (o.new_behaviour && s->stores && x->o->crash.recover && !run->hung && !run->signal) {
		struct symbolic_input copy = explore_copy(&s->input);
		copy.parent = o.number;
		VEC_PUSH(&x->recover, copy);
	}
	return 0;
}

/* An input: the engine's, or one of our later seeds. */
static bool make_input(struct explore *x, struct symbolic_input *in)
{
	bool turn = x->plan->later.n && x->runs % LATER == LATER - 1;
	if (!turn && symbolic_next(x->sym, in))
		return true;
	if (!x->plan->later.n)
		return turn && symbolic_next(x->sym, in);
	*in = x->plan->later.p[--x->plan->later.n];
	return true;
}

static bool next_input(struct explore *x, struct symbolic_input *in)
{
	if (!x->ready.byte)
		return make_input(x, in);
	*in = x->ready;
	x->ready = (struct symbolic_input){ 0 };
	return true;
}

/* ---- all of them ---- */

static size_t busy(const struct explore *x)
{
	size_t n = 0;
	for (size_t i = 0; i < x->started; i++)
		n += x->slot[i].busy;
	return n;
}

/* The next explorer is started when there is work for it. */
static int one_more(struct explore *x, struct err *err)
{
	bool used;
	struct explore_slot *s = &x->slot[x->started];
	if (explore_slot_start(s, x, &used, err)) {
		explore_slot_end(s);
		if (explore_interrupted())
			return 0;
		return -1;
	}
	x->started++;
	return 0;
}

/* Gives work to all that are idle. x->dry: there is no more. */
static int hand_out(struct explore *x, const struct limits *l, struct err *err)
{
	x->dry = false;
	for (size_t i = 0; i < x->nslots && !cut(x, l) && !x->memory.n && x->runs < l->runs; i++) {
		struct symbolic_input in = { 0 };
		if (i < x->started && x->slot[i].busy)
			continue;
		if (x->recover.n) /* it wants the machine for itself */
			return 0;
		if (i == x->started && (busy(x) < x->started || !symbolic_stats(x->sym)->paths))
			return 0;
		if (!next_input(x, &in)) {
			x->dry = true;
			return 0;
		}
		if (i == x->started && one_more(x, err))
			return symbolic_input_free(&in), -1;
		if (i >= x->started || explore_slot_go(&x->slot[i], &in, true, err)) {
			symbolic_input_free(&in);
			return i >= x->started ? 0 : -1;
		}
		x->slot[i].number = x->runs++;
	}
	return 0;
}

/*
 * One input ahead, while all explorers are busy: they need not wait for the solver. With one explorer
 * there is none ahead, so that what is tried next depends on nothing but what was found before.
 */
static void look_ahead(struct explore *x, const struct limits *l)
{
	if (x->nslots == 1 || x->ready.byte || busy(x) < x->started || x->recover.n ||
	    x->runs >= l->runs)
		return;
	if (!make_input(x, &x->ready))
		x->ready = (struct symbolic_input){ 0 };
}

/* 1: its run has ended; 0: not within the time. */
static int take_one(struct explore *x, struct explore_slot *s, int ms, struct err *err)
{
	struct launch_explorer_run run;
	int over = explore_slot_poll(s, ms, &run, err);
	if (over < 0)
		return explore_interrupted() ? 0 : -1;
	return over && run_over(x, s, &run, err) ? -1 : over;
}

/* All that have ended. 1: there were some. */
static int take_ended(struct explore *x, struct err *err)
{
	int any = 0;
	for (size_t i = 0; i < x->started; i++) {
		int over = x->slot[i].busy ? take_one(x, &x->slot[i], 0, err) : 0;
		if (over < 0)
			return -1;
		any = any || over;
	}
	return any;
}

/* If none has ended, waits for the one that has been at it longest; not for long if there are others. */
static int take_in(struct explore *x, const struct limits *l, struct err *err)
{
	struct explore_slot *first = NULL;
	int any = x->nslots > 1 ? take_ended(x, err) : 0;
	if (any)
		return any < 0 ? -1 : 0;
	if (l)
		look_ahead(x, l);
	for (size_t i = 0; i < x->started; i++)
		if (x->slot[i].busy && (!first || x->slot[i].number < first->number))
			first = &x->slot[i];
	if (!first)
		return 0;
	return take_one(x, first, busy(x) > 1 ? 1 : POLL_MS, err) < 0 ? -1 : 0;
}

static int loop(struct explore *x, struct err *err)
{
	struct limits l = limits_of(x);
	for (;;) {
		if (hand_out(x, &l, err) || explore_keep_now(x, false, err))
			return -1;
		explore_say(x);
		if (cut(x, &l) || x->memory.n)
			return 0;
		if (busy(x)) {
			if (take_in(x, &l, err))
				return -1;
		} else if (x->recover.n) {
			if (explore_recover(x, err))
				return -1;
		} else if (x->dry) {
			return 0;
		} else if (x->runs >= l.runs) {
			x->cut = "all paths that were asked for were run";
			return 0;
		}
	}
}

/* The first explorer is needed once more: its run may end. */
static int settle(struct explore *x, struct err *err)
{
	while (x->slot[0].busy && !explore_interrupted())
		if (take_in(x, NULL, err))
			return -1;
	return 0;
}

static char *cache_folder(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct err ignored;
	char *dir = base && *base == '/'   ? xasprintf("%s/holdfast", base)
		    : home && *home == '/' ? xasprintf("%s/.cache/holdfast", home)
					   : NULL;
	if (!dir || !explore_mkdir(dir, &ignored))
		return dir;
	free(dir);
	return NULL;
}

static int open_engine(struct explore *x, struct err *err)
{
	const struct explore_plan *p = x->plan;
	char *cache = cache_folder();
	struct symbolic_opts so = {
		.source = p->source.p,
		.nsource = p->source.n,
		.lo = p->lo,
		.hi = p->hi,
		.fixed = p->fixed,
		.strategy = x->o->strategy,
		.random = x->o->random,
		.max_targets = (unsigned)x->o->max_targets,
		.solver_ms = (unsigned)(x->solver_limit * 1000),
		.max_memory = (size_t)x->max_memory,
		.cache = cache,
		.stop = explore_signals(),
	};
	x->sym = symbolic_new(&so, err);
	free(cache);
	if (!x->sym)
		return -1;
	for (size_t i = 0; i < p->seed.n; i++)
		symbolic_seed(x->sym, &p->seed.p[i]);
	return x->resumed ? explore_seeds_kept(x, err) : 0;
}

static void close_engine(struct explore *x)
{
	for (size_t i = 0; i < x->started; i++)
		explore_slot_end(&x->slot[i]);
	x->before.stats = explore_stats(x);
	symbolic_input_free(&x->ready);
	if (x->sym)
		symbolic_free(x->sym);
	x->sym = NULL;
	x->started = 0;
	free(x->slot);
	x->slot = NULL;
}

/* A run that never takes its input is the only one there is. */
static int only_run(struct explore *x, struct err *err)
{
	struct symbolic_outcome o = { .new_path = true, .new_behaviour = true };
	struct launch_explorer_run run = { 0 };
	x->slot[0].input = explore_copy(&x->plan->seed.p[0]);
	x->runs++;
	int bad = explore_look(x, &x->slot[0], &o, &run, err);
	free(x->unused);
	x->unused = explore_slot_last_words(&x->slot[0]);
	x->before.stats.runs++;
	x->before.stats.paths++;
	return bad;
}

static void say_alone(struct explore *x, const char *why)
{
	if (!x->alone && why)
		msg_info("each run is a new process: %s", why);
	free(x->alone);
	x->alone = xstrdup(why ? why : "asked for");
}

static int start_first(struct explore *x, bool *used, struct err *err)
{
	struct explore_slot *s = &x->slot[0];
	const char *why = NULL;
	size_t n;
	const uint8_t *cover;
	if (explore_slot_start(s, x, used, err)) {
		explore_slot_end(s);
		return -1;
	}
	x->started = 1;
	if (open_engine(x, err))
		return -1;
	explore_slot_prefix(s, *used);
	if (launch_explorer_forks(s->launch, &why)) {
		const uint64_t *block = launch_explorer_blocks(s->launch, &cover, &n);
		symbolic_prefix_cover(x->sym, block, cover, n);
	} else if (*used) {
		say_alone(x, why);
	}
	return 0;
}

/* Until all is explored, or there is a source that the engine does not know. */
static int one_round(struct explore *x, struct err *err)
{
	bool used = false;
	int bad = start_first(x, &used, err);
	if (!bad && !explore_memory_found(x, &x->slot[0])) {
		if (!used)
			bad = only_run(x, err);
		else
			bad = loop(x, err) || settle(x, err) ||
			      (!x->memory.n && explore_shrink(x, err));
	}
	progress_end();
	if (!bad && !x->memory.n && x->o->show_priorities && x->phase == x->max_extra)
		explore_priorities(x, stdout);
	if (x->sym && (!bad || explore_interrupted()))
		bad = explore_keep_now(x, true, err);
	explore_keep_concrete(x);
	return bad;
}

int explore_phase(struct explore *x, struct err *err)
{
	int bad;
	do {
		x->slot = xcalloc(x->nslots, sizeof *x->slot);
		bad = one_round(x, err);
		close_engine(x);
	} while (!bad && !explore_interrupted() && explore_memory_extend(x));
	return bad;
}
