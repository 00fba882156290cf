/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Towards persistent memory: first the way from which most PM-modifying instructions can still be
 * reached (AGAMOTTO, section 4.3), callers included.
 *
 * Taken alone, that number would keep to the first branches of a program for ever, as everything lies
 * behind them: a loop that skips blanks has the priority of all that comes later. So it is halved as
 * often as it takes to tell
 *
 *   how well the way is known   not at all if no run took it; once if none did in this round of the
 *       loop; more if only runs of other lines did (a line is what comes from runs that did the same
 *       to PM), and most if this has been tried again and again. What comes from a run that did to PM
 *       what none had done ("young") is worth a second look, less with each run in between
 *   whether it leads out        what static analysis cannot know is that this path ends in an error
 *       message. Of each way it is known how many runs modified PM after it: if that is much less than
 *       on the side that was taken, it leads out; if much more, it leads back
 *   whether the solver finds an input for it: at the second, fourth, eighth … question without an answer
 *
 * Leading back is what makes the most of new ground. A run that goes once more round the loop that
 * reads a number finds its checksum wrong, and ends; no run has modified PM after that round, the
 * round is "open", and the other side of the comparison at the end is where others went on to PM.
 * So that is asked next, and the round is not open any more.
 *
 * A way counts, not the code it leads to: "if (…) flush();" leads past the flush to code that has run.
 * Ties: new ways, fewer tries, younger, from later runs; on a path that ended without PM from the end.
 *
 * Keys mostly fall (ways are taken, tries grow), so the top of the heap is looked at again when it
 * is taken, and put back if it has fallen. All are ranked anew now and then, and when the view
 * has learnt.
 */
#include <stdlib.h>

#include "symbolic/search.h"

#define FRACTION 24u /* bits, so that halving a small number leaves something */
#define NEW_ROUND 1u /* halvings: taken before, but not in this round */
#define NEW_LINE 3u  /* … in it, but not in this line of runs */
#define YOUNG 1u     /* … taken before, but not by runs that came from such a run */
#define KNOWN 3u     /* … taken before, and so was all else */
#define DRY 1u       /* … the run that it came from did nothing to PM behind the branch */
#define OUT 3u       /* … nor did most that went this way */
#define PIN 2u       /* … values that hardly decide anything */
#define MUCH 3
#define MAX_OPEN 32u
#define COSTLY 8u /* of what questions without an answer cost */
#define MAX_TRIES ((1u << 15) - 1)
#define MAX_AGE ((1u << 16) - 1)
#define ANEW 1024u /* takes until all are ranked again */

static unsigned log2_of(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

struct pm {
	struct symbolic_search *q;
	struct symbolic_heap heap;
	uint64_t version;
	unsigned takes;
};

/* Questions about it that had no answer, for each that had one. */
static unsigned in_vain(const struct symbolic_way *w)
{
	return log2_of(w->failed / COSTLY / (w->tried + 1) + 1);
}

/* How many of the runs that went there modified PM then; a way that none took is taken to be average. */
static double yield(const struct symbolic_way *w)
{
	return (w->wet + 0.5) / (w->seen + 1.0);
}

/* From the way that was taken to the other one: how much more PM is modified there. */
static double gain(const struct symbolic_search *q, const struct symbolic_candidate *c)
{
	const struct symbolic_way *to = symbolic_search_way(q, c->way),
				  *from = symbolic_search_way(q, c->was);
	return c->branch && to->seen ? yield(to) / yield(from) : 1;
}

/* No run has modified PM after this round; where many did not, there is no hope any more. */
static bool is_open(const struct symbolic_search *q, uint32_t round)
{
	const struct symbolic_way *w =
		round == SYMBOLIC_NONE ? NULL : symbolic_search_way(q, round);
	return w && !w->wet && w->seen < MAX_OPEN;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How well known is what it would do? */
static uint64_t known(const struct symbolic_search *q, const struct symbolic_candidate *c,
		      bool repairs)
{
	const struct symbolic_way *way = symbolic_search_way(q, c->way),
				  *round = symbolic_search_way(q, c->round),
				  *line = symbolic_search_way(q, c->line);
	uint64_t young = (uint64_t)YOUNG + c->age + (repairs ? 0 : log2_of(line->tried + 1ull));
	uint64_t old = (uint64_t)KNOWN + line->tried + log2_of(round->tried + 1ull);
	if (repairs && is_open(q, c->open))
		return 0;
	if (!round->taken)
		return way->taken ? NEW_ROUND : 0;
	if ((repairs && is_open(q, c->open_line)) || !line->taken)
		old = NEW_LINE + log2_of(line->tried + 1ull);
	return least(young, old);
}

static unsigned halvings(const struct symbolic_search *q, const struct symbolic_candidate *c)
{
	const struct symbolic_way *way = symbolic_search_way(q, c->way),
				  *round = symbolic_search_way(q, c->round);
	double more = gain(q, c);
	bool repairs = c->dry && more >= MUCH;
	uint64_t n = in_vain(round) + in_vain(way) / 2 + known(q, c, repairs);
	if (c->pin)
		n += PIN;
	if (more * MUCH <= 1)
		n += OUT;
	else if (c->dry && !repairs)
		n += DRY;
	return n < 63 ? (unsigned)n : 63;
}

static struct symbolic_heap_item rank_of(struct pm *own, uint32_t id)
{
	struct symbolic_candidate c = symbolic_search_candidate(own->q, id);
	const struct symbolic_way *round = symbolic_search_way(own->q, c.round);
	uint64_t tries = (uint64_t)round->tried + round->failed;
	bool new = !symbolic_search_way(own->q, c.way)->taken;
	uint32_t run = (uint32_t)c.run;
	struct symbolic_heap_item item = { .candidate = id,
					   .order = c.dry ? UINT64_MAX - c.serial : c.serial };
	tries = least(tries, MAX_TRIES);
	item.key[0] = ((uint64_t)symbolic_search_priority(own->q, id) + 1) << FRACTION >>
		      halvings(own->q, &c);
	item.key[1] = (uint64_t) new << 63 | (MAX_TRIES - tries) << 48 |
		      (MAX_AGE - least(c.age, MAX_AGE)) << 32 | (new ? UINT32_MAX - run : run);
	return item;
}

static void *start(struct symbolic_search *q)
{
	struct pm *own = xcalloc(1, sizeof *own);
	own->q = q;
	own->version = symbolic_search_priorities(q);
	return own;
}

static void add(void *arg, uint32_t id)
{
	struct pm *own = arg;
	symbolic_heap_push(&own->heap, rank_of(own, id));
}

static bool take(void *arg, uint32_t *id)
{
	struct pm *own = arg;
	struct symbolic_heap_item top, now;
	uint64_t version = symbolic_search_priorities(own->q);
	if (own->version != version || own->takes++ % ANEW == ANEW - 1) {
		own->version = version;
		for (size_t i = 0; i < own->heap.v.n; i++)
			own->heap.v.p[i] = rank_of(own, own->heap.v.p[i].candidate);
		symbolic_heap_fix(&own->heap);
	}
	while (symbolic_heap_pop(&own->heap, &top)) {
		now = rank_of(own, top.candidate);
		if (!symbolic_heap_above(&top, &now)) {
			*id = top.candidate;
			return true;
		}
		symbolic_heap_push(&own->heap, now);
	}
	return false;
}

static void drop(void *arg, uint32_t id)
{
	struct pm *own = arg;
	symbolic_heap_drop(&own->heap, id);
}

static double rank(void *arg, uint32_t id)
{
	struct symbolic_heap_item item = rank_of(arg, id);
	return (double)item.key[0] * 0x1p64 + (double)item.key[1];
}

static void stop(void *arg)
{
	struct pm *own = arg;
	VEC_FREE(&own->heap.v);
	free(own);
}

const struct symbolic_searcher symbolic_searcher_pm = {
	.name = "pm",
	.about = "where most can still be done to persistent memory, then new code",
	.start = start,
	.add = add,
	.take = take,
	.drop = drop,
	.rank = rank,
	.stop = stop,
};
