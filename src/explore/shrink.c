/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Smaller inputs for what was found: shorter sources, then bytes of their lowest value, in halves,
 * quarters and so on, as long as the input still shows the finding. Within limits: it only makes
 * an example nicer to look at.
 */
#include <stdlib.h>
#include <string.h>

#include "explore/input.h"

static bool over(const struct explore_shrink *k)
{
	return !k->tries || now_seconds() > k->deadline;
}

/* The new input is the input from now on if it shows the same; it is freed otherwise. */
static bool keep_if(struct explore_shrink *k, struct symbolic_input *in, struct symbolic_input *new)
{
	k->tries--;
	if (!k->shows(k->arg, new)) {
		symbolic_input_free(new);
		return false;
	}
	symbolic_input_free(in);
	*in = *new;
	return true;
}

static bool can_be_cut(const struct explore_plan *p, size_t i)
{
	const struct sym_source *s = &p->source.p[i];
	return !p->about.p[i].pm && s->kind != SYM_SRC_SOCKET && s->kind != SYM_SRC_MEMORY;
}

static void cut_source(struct explore_shrink *k, size_t i, struct symbolic_input *in)
{
	const struct explore_plan *p = k->plan;
	uint32_t length = explore_input_length(p, i, in);
	for (uint32_t step = length; step && !over(k); step /= 2) {
		while (length >= step && !over(k)) {
			struct symbolic_input new = symbolic_input_copy(in);
			uint8_t *at = new.byte + p->source.p[i].first;
			uint32_t to = length - step;
			if (p->about.p[i].text && p->about.p[i].lo == 0)
				memset(at + to, 0, length - to);
			else
				new.now[i] = to;
			if (!keep_if(k, in, &new))
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

static void lower(struct explore_shrink *k, size_t i, struct symbolic_input *in)
{
	const struct explore_plan *p = k->plan;
	uint32_t first = p->source.p[i].first, length = explore_input_length(p, i, in);
	for (uint32_t step = length; step && !over(k); step /= 2)
		for (uint32_t at = 0; at < length && !over(k); at += step) {
			uint32_t n = at + step < length ? step : length - at;
			if (is_low(p, i, in, first + at, n))
				continue;
			struct symbolic_input new = symbolic_input_copy(in);
			for (uint32_t b = first + at; b < first + at + n; b++)
				if (!p->fixed[b])
					new.byte[b] = low_of(p, i);
			keep_if(k, in, &new);
		}
}

void explore_shrink(struct explore_shrink *k, struct symbolic_input *in)
{
	for (size_t i = 0; i < k->plan->source.n; i++)
		if (can_be_cut(k->plan, i))
			cut_source(k, i, in);
	for (size_t i = 0; i < k->plan->source.n; i++)
		lower(k, i, in);
}
