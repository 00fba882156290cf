/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One round: an engine and explorers for one list of sources, until there is nothing left to try.
 * When the program names memory that is to be symbolic, the next round knows it as a source.
 */
#include <stdlib.h>
#include <string.h>

#include "explore/internal.h"

#define SHRINK_TRIES 80     /* for one finding */
#define SHRINK_SECONDS 10.0 /* for all of them */
#define SHRINK_SHARE                                                                               \
	0.1 /* … or this part of the time spent so far, if that is less; at least 1 s */

static char *cache_folder(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct err ignored;
	char *dir = base && *base == '/'   ? xasprintf("%s/holdfast", base)
		    : home && *home == '/' ? xasprintf("%s/.cache/holdfast", home)
					   : NULL;
	if (!dir || !make_folders(dir, &ignored))
		return dir;
	free(dir);
	return NULL;
}

static int open_engine(struct explore *x, struct err *err)
{
	const struct explore_plan *p = x->plan;
	const struct explore_search *how = &x->o->search;
	char *cache = cache_folder();
	struct symbolic_opts so = {
		.source = p->source.p,
		.nsource = p->source.n,
		.lo = p->lo,
		.hi = p->hi,
		.fixed = p->fixed,
		.strategy = how->strategy,
		.model = x->o->check.model,
		.random = how->random,
		.max_targets = how->max_targets,
		.solver_ms = (unsigned)(how->solver_seconds * 1000),
		.max_memory = (size_t)how->max_memory,
		.cache = cache,
		.stop = x->o->stop,
	};
	x->round.sym = symbolic_new(&so, err);
	free(cache);
	if (!x->round.sym)
		return -1;
	for (size_t i = 0; i < p->seed.n; i++)
		symbolic_seed(x->round.sym, &p->seed.p[i]);
	return explore_folder_seeds(x->folder, p, x->round.sym, err);
}

void explore_round_end(struct explore *x)
{
	for (size_t i = 0; i < x->round.started; i++) {
		for (size_t k = 0; k < TRACE_KINDS; k++)
			x->tally.kind[k] += x->round.slot[i].kind[k];
		explore_slot_end(&x->round.slot[i]);
	}
	x->tally.before = explore_stats(x);
	symbolic_input_free(&x->round.ready);
	if (x->round.sym)
		symbolic_free(x->round.sym);
	x->round.sym = NULL;
	x->round.started = 0;
	free(x->round.slot);
	x->round.slot = NULL;
}

/* A run that never takes its input is the only one there is. */
static int only_run(struct explore *x, struct err *err)
{
	struct launch_explorer_run run = { 0 };
	x->round.slot[0].input = symbolic_input_copy(&x->plan->seed.p[0]);
	x->runs++;
	int bad = explore_look(x, &x->round.slot[0], 0, &run, err);
	free(x->tally.unused);
	x->tally.unused = explore_slot_last_words(&x->round.slot[0]);
	x->tally.before.runs++;
	x->tally.before.paths++;
	return bad;
}

static void tell_alone(struct explore *x, const char *why)
{
	if (!x->tally.alone && why)
		x->hooks->alone(x->arg, why);
	free(x->tally.alone);
	x->tally.alone = xstrdup(why ? why : "asked for");
}

static void tell_view(struct explore *x, const struct launch_explorer *launch)
{
	const char *lacks, *text = launch_explorer_view(launch, &lacks);
	if (!x->tally.viewed)
		x->hooks->view(x->arg, text, lacks);
	x->tally.viewed = true;
	x->round.jobs = launch_explorer_beside(launch) ? x->o->limits.jobs : 1;
}

static int start_first(struct explore *x, bool *used, struct err *err)
{
	struct explore_slot *s = &x->round.slot[0];
	const char *why = NULL;
	size_t n;
	const uint8_t *cover;
	if (explore_slot_start(s, &x->o->program, x->plan, &x->o->check, used, err)) {
		explore_slot_end(s);
		return -1;
	}
	x->round.started = 1;
	tell_view(x, s->launch);
	if (open_engine(x, err))
		return -1;
	explore_slot_prefix(s, x->round.sym, *used);
	if (launch_explorer_forks(s->launch, &why)) {
		const uint64_t *block = launch_explorer_blocks(s->launch, &cover, &n);
		symbolic_prefix_cover(x->round.sym, block, cover, n);
	} else if (*used) {
		tell_alone(x, why);
	}
	return 0;
}

/* ---- smaller inputs, at the end ---- */

struct shrinking {
	struct explore *x;
	struct explore_hit *hit;
	struct explore_shrink shrink;
};

static bool still_shows(void *arg, const struct symbolic_input *in)
{
	struct shrinking *k = arg;
	struct explore *x = k->x;
	struct launch_explorer_run run = { 0 };
	struct err ignored;
	bool broken = explore_slot_try(&x->round.slot[0], in, x->o->stop, &run, &ignored) != 0;
	if (broken || explore_stopped(x))
		k->shrink.tries = 0;
	if (broken || !explore_shows(k->hit, &x->round.slot[0], &x->o->check, &run))
		return false;
	explore_hit_replace(k->hit, x->plan, in, &x->round.slot[0]);
	return true;
}

static void shrink_all(struct explore *x)
{
	double now = now_seconds(), limit = (now - x->tally.begun) * SHRINK_SHARE;
	limit = limit < 1 ? 1 : limit > SHRINK_SECONDS ? SHRINK_SECONDS : limit;
	for (size_t i = 0; i < x->found.hit.n; i++) {
		struct explore_hit *hit = &x->found.hit.p[i];
		struct shrinking k = { x,
				       hit,
				       { x->plan, still_shows, &k, SHRINK_TRIES, now + limit } };
		if (hit->phase != x->plan->phase || hit->campaign || explore_stopped(x))
			continue;
		struct symbolic_input in = symbolic_input_copy(&hit->input);
		explore_shrink(&k.shrink, &in);
		symbolic_input_free(&in);
	}
}

/* ---- all of it ---- */

/* Adds up what was not followed, before the engine goes. */
static void add_concrete(struct explore *x)
{
	uint64_t n;
	const char *name;
	for (size_t i = 0; (name = symbolic_concrete(x->round.sym, i, &n)); i++) {
		size_t k = 0;
		while (k < x->tally.concrete.n && strcmp(x->tally.concrete.p[k].name, name) != 0)
			k++;
		if (k == x->tally.concrete.n) {
			struct explore_concrete c = { xstrdup(name), 0 };
			VEC_PUSH(&x->tally.concrete, c);
		}
		x->tally.concrete.p[k].n += n;
	}
	const char *example = NULL;
	/* Bytes that the engine did not know of yet are no mistake. */
	uint64_t wrong = x->round.memory.source.n ? 0 : symbolic_wrong(x->round.sym, &example);
	if (wrong)
		x->hooks->wrong(x->arg, wrong, example ? example : "?");
}

/* Until all is explored, or there is a source that the engine does not know. */
static int one_round(struct explore *x, struct err *err)
{
	bool used = false;
	int bad = start_first(x, &used, err);
	if (!bad && !explore_memory_found(&x->round.memory, x->plan, x->round.slot[0].launch)) {
		bad = !used ? only_run(x, err) : explore_loop(x, err) || explore_settle(x, err);
		if (!bad && used && !x->round.memory.source.n)
			shrink_all(x);
		if (!bad && x->round.slot[0].kind[TRACE_STORE])
			explore_verify(x);
	}
	x->hooks->round(x->arg, x,
			!bad && !x->round.memory.source.n && x->plan->phase == x->last_phase);
	if (x->round.sym && (!bad || explore_stopped(x)))
		bad = explore_keep(x, true, err);
	if (x->round.sym)
		add_concrete(x);
	return bad;
}

int explore_phase(struct explore *x, struct err *err)
{
	int bad;
	do {
		x->round.slot = xcalloc(x->o->limits.jobs, sizeof *x->round.slot);
		bad = one_round(x, err);
		explore_round_end(x);
	} while (!bad && !explore_stopped(x) && explore_memory_extend(&x->round.memory, x->plan));
	return bad;
}
