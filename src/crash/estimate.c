/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many images a campaign will test, before it begins: its strategy makes states as if recovery handled all of them, and
 * nothing is run. Where there are very many, only the first are made, and how far the strategy says that it got tells the rest.
 * What fails costs more, and what contains a known cause less: it is an estimate.
 */
#include <stdlib.h>

#include "crash/internal.h"

#define MOST 20000u         /* states */
#define MOST_ROUNDS 64u     /* … by the length of the run: going through it takes time */
#define MOST_STEPS 20000000 /* stores that are gone over, and more in any case */
#define LONGEST 4000000u    /* a run in which nothing is tried out */

struct dry {
	struct crash_world w;
	struct crash_gen *gen;
	VEC(struct crash_heard) heard;
};

static size_t give(struct dry *d)
{
	size_t n = d->heard.n;
	for (size_t i = 0; i < n; i++) {
		struct crash_heard *h = &d->heard.p[i];
		h->maker->strategy->verdict(h->maker->own, h->number, false);
	}
	d->heard.n = 0;
	return n;
}

static bool settle(void *arg)
{
	give(arg);
	return true;
}

static bool make(struct dry *d, struct crash_state *s)
{
	do {
		s->at.n = 0;
		if (crash_gen_next(d->gen, s))
			return true;
	} while (give(d));
	return false;
}

/* A state that has an image of its own, whose verdict nobody knows. */
static bool counts(struct crash *c, struct dry *d, const struct crash_state *s, struct hmap *made)
{
	struct crash_progress p;
	struct crash_verdict ignored;
	struct crash_gen *maker = d->w.maker;
	uint64_t hash = crash_gen_image(d->gen, s), key = crash_judge_key(c, s, hash);
	bool same = hmap_get(made, key, NULL);
	hmap_put(made, key, 1);
	crash_gen_progress(d->gen, &p);
	crash_gen_learn(d->gen, p.ticket, &(struct crash_news){ .same = same });
	if (maker && maker->strategy->verdict)
		VEC_PUSH(&d->heard,
			 ((struct crash_heard){ .maker = maker, .number = d->w.number }));
	uint64_t run = crash_suffix_key(c, hash, crash_ops_begun(c->h, s->event));
	return !same && crash_is_mine(c, run) &&
	       !(c->hooks && c->hooks->known && c->hooks->known(c->hooks->arg, run, &ignored));
}

/* The part of the work that is done; 0: it cannot be told. */
static double part_of(const struct crash *c, const struct crash_gen *gen)
{
	struct crash_progress p;
	crash_gen_progress(gen, &p);
	double part = c->points.v.n ? (double)p.point / (double)c->points.v.n : 0;
	return p.phases > 1 ? (double)p.phase / (double)p.phases : part;
}

bool crash_estimate(struct crash *c, uint64_t *images)
{
	struct dry d = { .w = crash_look(c) };
	struct crash_state s = { 0 };
	struct hmap made = { 0 };
	uint64_t n = 0, states = 0,
		 most = MOST_ROUNDS * (1 + MOST_STEPS / ((uint64_t)c->h->pieces + 1));
	bool ended = false, quiet = msg_quiet;
	msg_quiet = true; /* what a strategy has to say it says when it is in earnest */
	*images = 0;
	if (c->h->pieces <= LONGEST) {
		d.w.wishes.budget = false;
		d.w.reads = NULL;
		d.w.told = NULL;
		d.w.settle = settle;
		d.w.settle_arg = &d;
		d.gen = crash_gen_new(&d.w, c->opts.strategy);
		most = most < MOST ? most : MOST;
		while (states++ < most && !(ended = !make(&d, &s)))
			n += counts(c, &d, &s, &made);
		double part = ended ? 1 : part_of(c, d.gen);
		*images = part > 0 ? (uint64_t)((double)n / part) : 0;
		crash_gen_free(d.gen);
	}
	crash_cursor_free(&d.w.cursor);
	crash_state_free(&s);
	hmap_free(&made);
	VEC_FREE(&d.heard);
	msg_quiet = quiet;
	return ended || *images > 0;
}
