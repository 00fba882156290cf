/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runs of one round: inputs go from the engine to idle explorers, and what their runs did goes
 * back to it. Whatever a run shows is looked at before the explorer gets the next input, since
 * its events are kept only till then.
 */
#include <stdlib.h>
#include <string.h>

#include "explore/internal.h"

#define POLL_MS 50
#define LATER 12 /* runs after which a seed of ours may have its turn */

/* ---- limits ---- */

/* Each phase gets its part of what is left. */
static double share(const struct explore *x)
{
	return 1.0 / (double)(x->last_phase - x->plan->phase + 1);
}

struct limits {
	double deadline; /* 0: none */
	uint64_t runs;   /* that may be started; UINT64_MAX: any number */
};

static struct limits limits_of(const struct explore *x)
{
	struct limits l = { 0, UINT64_MAX };
	double now = now_seconds();
	if (x->o->limits.seconds > 0) {
		double left = x->tally.begun + x->o->limits.seconds - now;
		l.deadline = now + (left > 0 ? left : 0) * share(x);
	}
	if (x->o->limits.runs) {
		/* Those that are run again to resume do not count. */
		uint64_t known = x->folder->known, from = x->runs > known ? x->runs : known;
		uint64_t done = from - known;
		uint64_t left = x->o->limits.runs > done ? x->o->limits.runs - done : 0;
		l.runs = from + (uint64_t)((double)left * share(x) + 0.999);
	}
	return l;
}

/* It is to end before all is explored. */
static bool cut(struct explore *x, const struct limits *l)
{
	if (explore_stopped(x))
		return true;
	if (l->deadline > 0 && now_seconds() > l->deadline)
		x->tally.cut = "the time was over";
	else if (x->o->limits.errors &&
		 finding_count(&x->found.set, FINDING_ERROR) >= x->o->limits.errors)
		x->tally.cut = "enough was found";
	else
		return false;
	return true;
}

/* ---- one run ---- */

int explore_look(struct explore *x, struct explore_slot *s, uint64_t number,
		 const struct launch_explorer_run *run, struct err *err)
{
	uint64_t path = explore_path(x, number);
	if (!explore_died(run))
		return explore_found_check(&x->found, s, x->plan, &x->o->check, path, err);
	if (explore_stopped(x))
		return 0; /* by the same Ctrl-C */
	struct explore_stage stage = explore_stage(x);
	char *dir = xasprintf("%s/" EXPLORE_TRY, x->folder->dir);
	int bad = explore_death_look(&x->deaths, &x->found, s, &stage, run, dir, path, err);
	free(dir);
	return bad;
}

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
	x->tally.used = x->tally.used || o.used_input;
	x->tally.dirtied += run->dirtied;
	explore_lefts_look(&x->tally.lefts, s);
	explore_memory_found(&x->round.memory, x->plan, s->launch);
	if (o.new_path && explore_folder_input(x->folder, x->plan, &s->input, err))
		return -1;
	if (explore_look(x, s, o.number, run, err))
		return -1;
	if (o.new_behaviour && s->stores && x->o->recover && !explore_died(run)) {
		struct symbolic_input copy = symbolic_input_copy(&s->input);
		copy.parent = o.number;
		VEC_PUSH(&x->recovery.input, copy);
	}
	return 0;
}

/* An input: the engine's, or one of our later seeds. */
static bool make_input(struct explore *x, struct symbolic_input *in)
{
	bool turn = x->plan->later.n && x->runs % LATER == LATER - 1;
	if (!turn && symbolic_next(x->round.sym, in))
		return true;
	if (!x->plan->later.n)
		return turn && symbolic_next(x->round.sym, in);
	*in = x->plan->later.p[--x->plan->later.n];
	return true;
}

static bool next_input(struct explore *x, struct symbolic_input *in)
{
	if (!x->round.ready.byte)
		return make_input(x, in);
	*in = x->round.ready;
	x->round.ready = (struct symbolic_input){ 0 };
	return true;
}

/* ---- all of them ---- */

static size_t busy(const struct explore_round *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->started; i++)
		n += r->slot[i].busy;
	return n;
}

/* The one of those that are busy whose run began first; NULL: none is. */
static struct explore_slot *longest(const struct explore_round *r)
{
	struct explore_slot *first = NULL;
	for (size_t i = 0; i < r->started; i++)
		if (r->slot[i].busy && (!first || r->slot[i].number < first->number))
			first = &r->slot[i];
	return first;
}

/* The next explorer is started when there is work for it. */
static int one_more(struct explore *x, struct err *err)
{
	bool used;
	struct explore_slot *s = &x->round.slot[x->round.started];
	if (explore_slot_start(s, &x->o->program, x->plan, NULL, &used, err)) {
		explore_slot_end(s);
		return explore_stopped(x) ? 0 : -1;
	}
	x->round.started++;
	return 0;
}

/* May another run begin? Not while a crash campaign waits for the machine, and not with new sources. */
static bool may_run(struct explore *x, const struct limits *l)
{
	return !cut(x, l) && !x->round.memory.source.n && !x->recovery.input.n && x->runs < l->runs;
}

/* Gives work to all that are idle. */
static int hand_out(struct explore *x, const struct limits *l, struct err *err)
{
	struct explore_round *r = &x->round;
	r->dry = false;
	for (size_t i = 0; i < r->jobs && may_run(x, l); i++) {
		struct symbolic_input in = { 0 };
		bool new = i == r->started;
		if (!new && r->slot[i].busy)
			continue;
		if (new && (busy(r) < r->started || !symbolic_stats(r->sym)->paths))
			return 0;
		if (!next_input(x, &in)) {
			r->dry = true;
			return 0;
		}
		if (new &&one_more(x, err))
			return symbolic_input_free(&in), -1;
		if (i == r->started) /* interrupted */
			return symbolic_input_free(&in), 0;
		if (explore_slot_go(&r->slot[i], &in, r->sym, err))
			return symbolic_input_free(&in), -1;
		r->slot[i].number = x->runs++;
	}
	return 0;
}

/*
 * One input ahead, while all explorers are busy: they need not wait for the solver. With one explorer
 * there is none ahead, so that what is tried next depends on nothing but what was found before.
 */
static void look_ahead(struct explore *x, const struct limits *l)
{
	struct explore_round *r = &x->round;
	if (r->jobs == 1 || r->ready.byte || busy(r) < r->started || x->recovery.input.n ||
	    x->runs >= l->runs)
		return;
	if (!make_input(x, &r->ready))
		r->ready = (struct symbolic_input){ 0 };
}

/* 1: its run has ended; 0: not within the time. */
static int take_one(struct explore *x, struct explore_slot *s, int ms, struct err *err)
{
	struct launch_explorer_run run;
	int over = explore_slot_poll(s, ms, &run, err);
	if (over < 0)
		return explore_stopped(x) ? 0 : -1;
	return over && run_over(x, s, &run, err) ? -1 : over;
}

/* All that have ended. 1: there were some. */
static int take_ended(struct explore *x, struct err *err)
{
	struct explore_round *r = &x->round;
	int any = 0;
	for (size_t i = 0; i < r->started; i++) {
		int over = r->slot[i].busy ? take_one(x, &r->slot[i], 0, err) : 0;
		if (over < 0)
			return -1;
		any = any || over;
	}
	return any;
}

/* If none has ended, waits for the longest; not for long if there are others. l: NULL at the end. */
static int take_in(struct explore *x, const struct limits *l, struct err *err)
{
	int any = x->round.jobs > 1 ? take_ended(x, err) : 0;
	if (any)
		return any < 0 ? -1 : 0;
	if (l)
		look_ahead(x, l);
	struct explore_slot *s = longest(&x->round);
	if (!s)
		return 0;
	return take_one(x, s, busy(&x->round) > 1 ? 1 : POLL_MS, err) < 0 ? -1 : 0;
}

int explore_loop(struct explore *x, struct err *err)
{
	struct limits l = limits_of(x);
	for (;;) {
		if (hand_out(x, &l, err) || explore_keep(x, false, err))
			return -1;
		explore_step(x);
		if (cut(x, &l) || x->round.memory.source.n)
			return 0;
		if (busy(&x->round)) {
			if (take_in(x, &l, err))
				return -1;
		} else if (x->recovery.input.n) {
			if (explore_recover(x, err))
				return -1;
		} else if (x->round.dry) {
			return 0;
		} else if (x->runs >= l.runs) {
			x->tally.cut = "all paths that were asked for were run";
			return 0;
		}
	}
}

int explore_settle(struct explore *x, struct err *err)
{
	while (x->round.slot[0].busy && !explore_stopped(x))
		if (take_in(x, NULL, err))
			return -1;
	return 0;
}
