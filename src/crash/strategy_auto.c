/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The default: several strategies side by side, each where it promises most.
 *
 * An *arm* is one strategy at one point. The campaign goes in rounds. For each, the arms with the best score are
 * chosen, a few for each call path, and each makes a few states; then all verdicts are waited for, and what they told is
 * added up:
 *
 *	score = causes/tested of the strategy × causes/tested of the call path × weight / (1 + tested of the arm)
 *
 * where every sum begins with a cause that nobody has found, and with some tests that nobody has made. So what was not
 * tried yet is better than what was tried in vain, what has found something is better still, and what is left behind
 * comes to its turn because the others get worse. Every strategy has its first states at every call path before any has
 * its thousandth anywhere.
 *
 * Strategies that go through the run by a plan of their own get a share of each round.
 *
 * What is chosen depends on the verdicts of earlier rounds, and on nothing else: not on time, nor on the number of cells.
 */
#include <stdlib.h>

#include "crash/strategy.h"

/* How arms of a kind are weighed, and how many states one makes in a round. */
static const struct part {
	const char *name;
	enum crash_reach base;
	bool always; /* also at points beyond those that were asked for */
	double weight;
	unsigned most;
} parts[] = {
	{ "prefix", CRASH_NEAR, true, 1, 1 },     { "lost", CRASH_NEAR, true, 1, 1 },
	{ "behind", CRASH_NEAR, true, 1, 4 },     { "ahead", CRASH_NEAR, true, 1, 4 },
	{ "random", CRASH_NEAR, false, 0.5, 4 },  { "lost", CRASH_FAR, false, 0.25, 1 },
	{ "behind", CRASH_FAR, false, 0.25, 4 },  { "ahead", CRASH_FAR, false, 0.25, 4 },
	{ "random", CRASH_FAR, false, 0.125, 4 },
};
#define PARTS (sizeof parts / sizeof *parts)
static const double rank_weight[] = { 1, 0.5, 0.125 };

#define FIRST_ROUNDS                                                                               \
	3u /* the first is an eighth of one: what fails is known before much is spent on it */
#define ROUND 64u /* states in a round; more if the run is long, as going through it takes time */
#define LONG (1u << 15)  /* stores for one more */
#define MOST_FOR_PATH 8u /* states of a round for one call path, unless there are few paths */
#define MOST_SAME 64u    /* states with an image that is known, in one turn */
#define PART_TESTED 32.0 /* tests of a strategy that nobody has made */
#define PATH_TESTED 8.0  /* … of a call path */

struct tally {
	uint64_t tested, causes;
};
struct arm {
	struct crash_gen *gen; /* NULL: not begun */
	uint32_t tested;
	bool done;
};
/* One that goes through the run by a plan of its own. It may have no more until it knows the verdicts of a round. */
struct plan {
	struct crash_gen *gen;
	uint64_t made; /* in this round */
	bool done;
};
/* An arm's share of a round. */
struct turn {
	uint64_t event, tie;
	size_t arm;
	double score;
	unsigned left, same;
};
struct scheduler {
	size_t points, paths, done;
	struct arm *arm;                  /* point * PARTS + part; behind them the plans */
	uint32_t *path;                   /* by point */
	struct tally part[PARTS], *tally; /* the latter by path */
	uint32_t *share;                  /* by path: states in this round */
	VEC(struct plan) plan;
	VEC(struct turn) turn;  /* of this round */
	size_t at;              /* the turn that made the last state */
	uint64_t rounds, round; /* so far; states in the one at hand */
	uint64_t whole;         /* … in one that is not among the first */
};

/* ---- from start to stop ---- */

static void add_plan(struct crash_gen *gen, struct scheduler *s, const char *name)
{
	VEC_PUSH(&s->plan, ((struct plan){ .gen = crash_gen_part(gen, name), .made = 1 }));
}

static void *start(struct crash_gen *gen)
{
	struct scheduler *s = xcalloc(1, sizeof *s);
	struct hmap number = { 0 };
	s->points = crash_gen_spots(gen);
	s->arm = xcalloc(s->points * PARTS + 1, sizeof *s->arm);
	s->path = xcalloc(s->points + 1, sizeof *s->path);
	for (size_t i = 0; i < s->points; i++) {
		struct crash_spot spot = crash_gen_spot(gen, i);
		uint64_t path = s->paths;
		if (!hmap_get(&number, spot.path, &path))
			hmap_put(&number, spot.path, s->paths++);
		s->path[i] = (uint32_t)path;
		for (size_t k = 0; k < PARTS && spot.extra; k++)
			s->arm[i * PARTS + k].done = !parts[k].always;
	}
	hmap_free(&number);
	for (size_t i = 0; i < s->points * PARTS; i++)
		s->done += s->arm[i].done;
	s->tally = xcalloc(s->paths + 1, sizeof *s->tally);
	s->share = xcalloc(s->paths + 1, sizeof *s->share);
	s->whole = ROUND + crash_gen_length(gen) / LONG;
	if (crash_gen_breaches(gen))
		add_plan(gen, s, "invariants");
	if (!crash_gen_wishes(gen)->narrow) /* its states are not at points */
		add_plan(gen, s, "representative");
	return s;
}

static void stop(void *own)
{
	struct scheduler *s = own;
	for (size_t i = 0; i < s->points * PARTS; i++)
		crash_gen_free(s->arm[i].gen);
	for (size_t i = 0; i < s->plan.n; i++)
		crash_gen_free(s->plan.p[i].gen);
	VEC_FREE(&s->plan);
	VEC_FREE(&s->turn);
	free(s->arm);
	free(s->path);
	free(s->tally);
	free(s->share);
	free(s);
}

/* ---- the next round ---- */

static double rate(const struct tally *t, double tested)
{
	return ((double)t->causes + 1) / ((double)t->tested + tested);
}

static int by_score(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	if (x->score < y->score || x->score > y->score)
		return x->score < y->score ? 1 : -1;
	if (x->tie != y->tie)
		return x->tie < y->tie ? -1 : 1;
	return (x->arm > y->arm) - (x->arm < y->arm);
}

static int by_event(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->arm > y->arm) - (x->arm < y->arm);
}

/* All that may have a turn; of equal ones, strategies in the order of the table, and call paths in any that does not favour
 * those that the run begins with. */
static void weigh(struct crash_gen *gen, struct scheduler *s)
{
	for (size_t i = 0; i < s->points; i++) {
		struct crash_spot spot = crash_gen_spot(gen, i);
		double path = rate(&s->tally[s->path[i]], PATH_TESTED) * rank_weight[spot.rank];
		for (size_t k = 0; k < PARTS; k++) {
			const struct arm *arm = &s->arm[i * PARTS + k];
			double score = rate(&s->part[k], PART_TESTED) * path * parts[k].weight /
				       (1 + (double)arm->tested);
			uint64_t tie = (uint64_t)k << 32 | (uint32_t)hash_mix(s->path[i], i);
			if (!arm->done)
				VEC_PUSH(&s->turn, ((struct turn){ spot.event, tie, i * PARTS + k,
								   score, parts[k].most, 0 }));
		}
	}
	if (s->turn.n)
		qsort(s->turn.p, s->turn.n, sizeof *s->turn.p, by_score);
}

/* Keeps the best, in the order of the run, one round forwards and the next one backwards. */
static void keep_best(struct scheduler *s)
{
	uint64_t sum = 0, most = s->paths ? 3 * s->round / s->paths : 0;
	size_t n = 0;
	most = most > MOST_FOR_PATH ? most : MOST_FOR_PATH;
	for (size_t i = 0; i < s->paths; i++)
		s->share[i] = 0;
	for (size_t i = 0; i < s->turn.n && sum < s->round; i++) {
		struct turn t = s->turn.p[i];
		uint32_t *share = &s->share[s->path[t.arm / PARTS]];
		if (*share + t.left > most)
			continue;
		*share += t.left;
		sum += t.left;
		s->turn.p[n++] = t;
	}
	s->turn.n = n;
	if (n)
		qsort(s->turn.p, n, sizeof *s->turn.p, by_event);
	for (size_t i = 0; i < n / 2 && s->rounds % 2; i++) {
		struct turn t = s->turn.p[i];
		s->turn.p[i] = s->turn.p[n - 1 - i];
		s->turn.p[n - 1 - i] = t;
	}
}

static bool choose_round(struct crash_gen *gen, struct scheduler *s)
{
	s->turn.n = s->at = 0;
	s->round = s->rounds < FIRST_ROUNDS ? s->whole >> (FIRST_ROUNDS - s->rounds) : s->whole;
	weigh(gen, s);
	keep_best(s);
	for (size_t i = 0; i < s->plan.n; i++) {
		struct plan *p = &s->plan.p[i];
		p->done = p->done || !p->made;
		p->made = 0;
		if (!p->done)
			VEC_PUSH(&s->turn, ((struct turn){ .arm = s->points * PARTS + i,
							   .left = (unsigned)s->round / 2 }));
	}
	s->rounds++;
	return s->turn.n > 0;
}

/* ---- states ---- */

/* Where nothing is old, the far arm has nothing to add. */
static bool begin(struct crash_gen *gen, struct arm *arm, size_t point, const struct part *p)
{
	if (!arm->gen && p->base == CRASH_FAR && crash_gen_all_near(gen, point))
		return false;
	if (!arm->gen)
		arm->gen = crash_gen_part_at(gen, p->name, point, p->base);
	return true;
}

static bool make(struct crash_gen *gen, struct scheduler *s, size_t i, struct crash_state *out)
{
	size_t arms = s->points * PARTS;
	if (i >= arms) {
		bool made = crash_gen_next(s->plan.p[i - arms].gen, out);
		s->plan.p[i - arms].made += made;
		return made;
	}
	struct arm *arm = &s->arm[i];
	if (begin(gen, arm, i / PARTS, &parts[i % PARTS]) && crash_gen_next(arm->gen, out))
		return true;
	crash_gen_free(arm->gen);
	arm->gen = NULL;
	arm->done = true;
	s->done++;
	return false;
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	struct scheduler *s = own;
	for (;;) {
		for (; s->at < s->turn.n; s->at++) {
			struct turn *t = &s->turn.p[s->at];
			if (t->left && make(gen, s, t->arm, out)) {
				t->left--;
				return true;
			}
		}
		if ((s->rounds && !crash_gen_settle(gen)) || !choose_round(gen, s))
			return false;
	}
}

static void tell(void *own, struct crash_progress *out)
{
	const struct scheduler *s = own;
	size_t arms = s->points * PARTS, i = s->at < s->turn.n ? s->turn.p[s->at].arm : arms;
	const struct crash_gen *gen = i < arms               ? s->arm[i].gen
				      : i - arms < s->plan.n ? s->plan.p[i - arms].gen
							     : NULL;
	if (gen)
		crash_gen_progress(gen, out);
	out->phase = s->done;
	out->phases = arms;
	out->ticket = i;
}

/* An image that is known costs nothing, so the arm may make another. */
static void learn(void *own, size_t ticket, const struct crash_news *news)
{
	struct scheduler *s = own;
	size_t arms = s->points * PARTS;
	if (news->same) {
		struct turn *t = &s->turn.p[s->at];
		t->left += t->same++ < MOST_SAME;
		return;
	}
	if (ticket >= arms)
		return;
	s->arm[ticket].tested++;
	s->part[ticket % PARTS].tested++;
	s->part[ticket % PARTS].causes += news->causes;
	s->tally[s->path[ticket / PARTS]].tested++;
	s->tally[s->path[ticket / PARTS]].causes += news->causes;
}

const struct crash_strategy crash_strategy_auto = {
	.name = "auto",
	.about =
		"representative, prefix, lost, behind, ahead and random side by side, in rounds, each where it promises "
		"most; where dependences were recorded, invariants as well",
	.heal = true,
	.start = start,
	.next = next,
	.stop = stop,
	.progress = tell,
	.learn = learn,
};
