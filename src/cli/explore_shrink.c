/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Smaller inputs for what was found: shorter sources, then bytes of their lowest value, in halves,
 * quarters and so on, as long as the run still shows the finding. Within limits: it only makes
 * an example nicer to look at.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/explore.h"

#define TRIES 80     /* for one finding */
#define SECONDS 10.0 /* for all of them */
#define SHARE 0.1    /* … or this part of the time spent so far, if that is less; at least 1 s */

struct shrink {
	struct explore *x;
	struct explore_hit *hit;
	unsigned left;
	double deadline;
	bool broken;
};

static bool over(const struct shrink *k)
{
	return k->broken || !k->left || now_seconds() > k->deadline || explore_interrupted();
}

/* Keeps the input if it shows the finding too; takes it anyway. */
static bool keep_if(struct shrink *k, struct symbolic_input *in)
{
	struct explore_slot *s = &k->x->slot[0];
	struct launch_explorer_run run = { 0 };
	struct err ignored;
	bool shows = false;
	k->left--;
	if (explore_slot_try(s, in, &run, &ignored))
		k->broken = true;
	else
		shows = explore_shows(k->x, k->hit, s, &run);
	if (shows) {
		symbolic_input_free(&k->hit->input);
		k->hit->input = *in;
		k->hit->branches = s->branches;
		k->hit->trail = s->trail;
		k->hit->f->input->rank = explore_rank(k->x->plan, in);
		k->hit->kept = false;
	} else {
		symbolic_input_free(in);
	}
	return shows;
}

static bool can_be_cut(const struct explore_plan *p, size_t i)
{
	const struct sym_source *s = &p->source.p[i];
	return !p->about.p[i].pm && s->kind != SYM_SRC_SOCKET && s->kind != SYM_SRC_MEMORY;
}

static void cut_source(struct shrink *k, size_t i)
{
	const struct explore_plan *p = k->x->plan;
	uint32_t length = explore_length(p, i, &k->hit->input);
	for (uint32_t step = length; step && !over(k); step /= 2) {
		while (length >= step && !over(k)) {
			struct symbolic_input in = explore_copy(&k->hit->input);
			uint8_t *at = in.byte + p->source.p[i].first;
			uint32_t to = length - step;
			if (p->about.p[i].text && p->about.p[i].lo == 0)
				memset(at + to, 0, length - to);
			else
				in.now[i] = to;
			if (!keep_if(k, &in))
				break;
			length = to;
		}
	}
}

/* What a byte should be, if it does not matter. A zero in the middle would cut a text. */
static uint8_t low_of(const struct explore_plan *p, size_t i)
{
	const struct explore_source *a = &p->about.p[i];
	return a->text && a->lo == 0 && a->hi >= '0' ? '0' : a->lo;
}

static bool is_low(const struct explore_plan *p, size_t i, const struct symbolic_input *in,
		   uint32_t from, uint32_t n)
{
	for (uint32_t b = from; b < from + n; b++)
		if (!p->fixed[b] && in->byte[b] != low_of(p, i))
			return false;
	return true;
}

static void lower(struct shrink *k, size_t i)
{
	const struct explore_plan *p = k->x->plan;
	uint32_t first = p->source.p[i].first, length = explore_length(p, i, &k->hit->input);
	for (uint32_t step = length; step && !over(k); step /= 2)
		for (uint32_t at = 0; at < length && !over(k); at += step) {
			uint32_t n = at + step < length ? step : length - at;
			if (is_low(p, i, &k->hit->input, first + at, n))
				continue;
			struct symbolic_input in = explore_copy(&k->hit->input);
			for (uint32_t b = first + at; b < first + at + n; b++)
				if (!p->fixed[b])
					in.byte[b] = low_of(p, i);
			keep_if(k, &in);
		}
}

int explore_shrink(struct explore *x, struct err *err)
{
	double now = now_seconds(), limit = (now - x->begun) * SHARE;
	(void)err;
	limit = limit < 1 ? 1 : limit > SECONDS ? SECONDS : limit;
	for (size_t i = 0; i < x->hit.n; i++) {
		struct shrink k = {
			.x = x, .hit = &x->hit.p[i], .left = TRIES, .deadline = now + limit
		};
		if (k.hit->phase != x->phase || k.hit->campaign || over(&k))
			continue;
		for (size_t s = 0; s < x->plan->source.n; s++)
			if (can_be_cut(x->plan, s))
				cut_source(&k, s);
		for (size_t s = 0; s < x->plan->source.n; s++)
			lower(&k, s);
	}
	return 0;
}
