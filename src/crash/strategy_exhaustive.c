/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All states; or, where there are many, one of each kind that recovery can tell apart.
 *
 * Each open line is a digit whose values are its versions with different contents, hi first.
 * The search keeps a stack of decided digits; those that are not decided are at hi. To go on,
 * the topmost digit is turned; one that has no more values is undecided again and the one
 * below is turned. With all digits decided at once that is an odometer: every state, once.
 *
 * The reduction decides a digit only when recovery has read that line:
 *
 *      decided      state       recovery reads     so decide
 *      –            a0 b0 c0    b, then a          b0 a0
 *      b0 a1        a1 b0 c0    b, then a          –
 *      b1           a0 b1 c0    b, then c          b1 c0
 *      b1 c1        a0 b1 c1    b, then c          –           4 states instead of 8
 *
 * Why nothing is left out: a stack stands for all states that agree with it, the empty one for
 * all. Take the states that a stack stands for, let recovery read r1 … rk beyond what is decided
 * in the one that is tried, and sort the others by the first of r1 … rk in which they differ from
 * it. Those that differ in none agree with it on everything that recovery reads, and recovery is
 * deterministic: it does the same on them. Those that differ first in ri agree with the stack
 * r1 … ri, ri turned, and that is what the search goes through later. No order of the reads is
 * needed for this; and where they cannot be told, "it read everything" is a safe answer.
 */
#include <stdlib.h>

#include "crash/strategy.h"

/*
 * Asking what recovery reads takes a run under the tracer, as long as hundreds of others: not
 * for a few states, and not for long where it reads everything anyway.
 */
#define FEW_STATES 1024u
#define ASKS_TO_JUDGE 16u

struct digit {
	uint32_t line;
	size_t first, n; /* its values: version[first .. first + n) */
	bool decided;
};
struct decision {
	size_t digit, value;
};
struct search {
	bool reduce;
	unsigned asks, in_vain;  /* at this point */
	VEC(struct digit) digit; /* sorted by line */
	VEC(uint32_t) version;
	VEC(struct decision) stack;
};

/* ---- digits ---- */

static void add_digit(const struct crash_gen *gen, struct search *s, uint32_t line)
{
	uint32_t lo = crash_gen_lo(gen, line), hi = crash_gen_hi(gen, line);
	struct digit d = { .line = line, .first = s->version.n };
	struct hmap seen = { 0 };
	uint64_t unused;
	for (uint32_t v = hi + 1; v-- > lo;) {
		uint64_t hash = crash_gen_contents(gen, line, v);
		if (hmap_get(&seen, hash, &unused))
			continue;
		hmap_put(&seen, hash, v);
		VEC_PUSH(&s->version, v);
	}
	hmap_free(&seen);
	d.n = s->version.n - d.first;
	if (d.n > 1)
		VEC_PUSH(&s->digit, d);
	else
		s->version.n = d.first;
}

static bool few_states(const struct crash_gen *gen, const struct search *s)
{
	uint64_t few = crash_gen_wishes(gen)->few, product = 1;
	if (!few)
		few = FEW_STATES;
	for (size_t i = 0; i < s->digit.n && product <= few; i++)
		product *= s->digit.p[i].n < few ? s->digit.p[i].n : few + 1;
	return product <= few;
}

static void begin(struct crash_gen *gen, struct search *s)
{
	size_t n;
	const uint32_t *open = crash_gen_open(gen, &n);
	s->digit.n = s->version.n = s->stack.n = 0;
	for (size_t i = 0; i < n; i++)
		add_digit(gen, s, open[i]);
	s->asks = s->in_vain = 0;
	s->reduce = !crash_gen_wishes(gen)->no_reduce && !few_states(gen, s);
}

/* ---- the search ---- */

static void decide(struct search *s, size_t digit)
{
	if (s->digit.p[digit].decided)
		return;
	s->digit.p[digit].decided = true;
	VEC_PUSH(&s->stack, ((struct decision){ digit, 0 }));
}

static void decide_line(struct search *s, uint32_t line)
{
	size_t at = BISECT(i, s->digit.n, s->digit.p[i].line < line);
	if (at < s->digit.n && s->digit.p[at].line == line)
		decide(s, at);
}

static void decide_what_is_read(struct crash_gen *gen, struct search *s,
				const struct crash_state *state)
{
	uint32_t *line = NULL;
	size_t n = 0;
	if (s->stack.n == s->digit.n)
		return;
	if (!s->reduce || !crash_gen_reads(gen, state, &line, &n)) {
		for (size_t i = 0; i < s->digit.n; i++)
			decide(s, i);
		return;
	}
	for (size_t i = 0; i < n; i++)
		decide_line(s, line[i]);
	free(line);
	s->asks++;
	s->in_vain += s->stack.n == s->digit.n;
	if (!crash_gen_wishes(gen)->few && s->asks >= ASKS_TO_JUDGE &&
	    s->in_vain >= s->asks - s->asks / 8)
		s->reduce = false;
}

static bool turn(struct search *s)
{
	while (s->stack.n) {
		struct decision *top = &s->stack.p[s->stack.n - 1];
		if (++top->value < s->digit.p[top->digit].n)
			return true;
		s->digit.p[top->digit].decided = false;
		s->stack.n--;
	}
	return false;
}

static bool at_point(struct crash_gen *gen, void *own, uint64_t step, struct crash_state *out)
{
	struct search *s = own;
	if (step == 0) {
		if (crash_gen_covered(gen))
			return false;
		begin(gen, s);
	} else if (!turn(s)) {
		return false;
	}
	for (size_t i = 0; i < s->stack.n; i++) {
		const struct digit *d = &s->digit.p[s->stack.p[i].digit];
		crash_gen_set(gen, out, d->line, s->version.p[d->first + s->stack.p[i].value]);
	}
	decide_what_is_read(gen, s, out);
	return true;
}

static void *start(struct crash_gen *gen)
{
	(void)gen;
	return xcalloc(1, sizeof(struct search));
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	(void)own;
	return crash_gen_points(gen, out, at_point);
}

static void stop(void *own)
{
	struct search *s = own;
	VEC_FREE(&s->digit);
	VEC_FREE(&s->version);
	VEC_FREE(&s->stack);
	free(s);
}

const struct crash_strategy crash_strategy_exhaustive = {
	.name = "exhaustive",
	.about = "all states that recovery can tell apart",
	.start = start,
	.next = next,
	.stop = stop,
};
