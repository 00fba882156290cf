/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Representative testing (Neal, "SQUINT", chapter 4): the update behaviour that represents a group is crashed in every way,
 * and where recovery fails, so are those that it represents and whose statements have not been tested yet.
 *
 * The states of a behaviour are the down-closed subsets of its pieces: a piece is there only if all that are surely
 * persistent before it are. They need no search: just before a moment at which some of its pieces would become guaranteed, each of
 * its lines is at any version between what is guaranteed and what is stored. The rest of memory is up to date, or, in a
 * second pass, as it was when the behaviour began, as far as that may be lost.
 *
 *	          key   value valid │ sfence        moment 1: 2 x 2 x 2 subsets, on three lines
 *	all        ■      ■     ■                   distance 0
 *	nothing    □      □     □
 *	           □      ■     ■                   distance 1 from all
 *	           □      □     ■                   … and from nothing: recovery fails
 *
 * Most failures need few lines that are ahead or behind, so that all behaviours have the states at distance 0 tested
 * before any has those at distance 1, and so on, by turns: lines that are not as in "all", lines that are not as in
 * "nothing". A behaviour of more than SMALL pieces ends after SHARE states.
 *
 * Last come those that no failing one represents, with statements that no state was about.
 */
#include <stdlib.h>

#include "crash/strategy.h"

#define SMALL 16u  /* pieces of a behaviour whose subsets are all tested */
#define SHARE 256u /* states of a larger one */
#define TRIES 64u  /* choices for each of them */

/* Asking what recovery reads takes a run under the tracer, as long as hundreds of others. */
#define FEW_STATES 1024u /* for which nobody is asked, where a moment has no more of them */
#define MOST_ASKED 24u   /* states of one moment that it is asked of */
#define ASK_FROM                                                                                   \
	3u /* the distance from which on it pays; those who have only a share never come that far */

/* A behaviour that is tested. */
struct target {
	uint32_t group, behaviour;
	bool late; /* its late example */
	bool done;
	unsigned distance; /* of the states that are next */
	uint64_t event;    /* of its first store */
	uint64_t states;   /* so far */
	uint64_t tried;    /* choices, many of which come at other moments */
};

/* What recovery reads of the lines of a behaviour in a state at distance 0 or 1: a bit for each digit. */
struct reads {
	uint32_t behaviour, mask;
	bool late;
	size_t moment;
	unsigned leg;          /* pass and side */
	unsigned digit, value; /* the one that differs; digit CRASH_SUBSET_LINES: none does */
};

enum pass { REST_THERE, REST_LOST, PASSES };

struct search {
	struct crash_behaviours *all;
	VEC(struct target) target; /* those of this round, by event; behind them, new ones */
	size_t at, round_end;
	struct hmap followed;    /* groups that failed */
	VEC(uint32_t) failed;    /* … that are not followed up yet */
	VEC(uint32_t) group;     /* by state */
	uint64_t heard;          /* verdicts */
	bool rest;               /* those that nobody represents have been added */
	uint64_t cut;            /* behaviours that have had their share */
	VEC(struct reads) reads; /* of all targets */
	/* the target at hand */
	bool loaded, begun; /* … and its choice below */
	bool farther;       /* it has states at a larger distance */
	struct crash_update *update;
	size_t updates;
	uint64_t *moment;
	size_t moments, m; /* m: which of them */
	enum pass pass;
	struct crash_subset set;
};

/* ---- what to test ---- */

static void add_target(struct search *s, size_t group, uint32_t behaviour)
{
	size_t n;
	crash_behaviour_take(s->all, behaviour);
	for (int late = 0; late < 2; late++) {
		struct crash_update *u = crash_behaviour_example(s->all, behaviour, late, &n);
		if (u)
			VEC_PUSH(&s->target, ((struct target){ .group = (uint32_t)group,
							       .behaviour = behaviour,
							       .late = late,
							       .event = u->stored }));
		free(u);
	}
}

/* Those of a group with statements that were not tested yet. */
static void follow_up(struct search *s, size_t group)
{
	size_t n;
	const uint32_t *behaviour = crash_behaviours_of(s->all, group, &n);
	for (size_t i = 0; i < n; i++)
		if (crash_behaviour_is_new(s->all, behaviour[i]))
			add_target(s, group, behaviour[i]);
}

static int by_event(const void *a, const void *b)
{
	const struct target *x = a, *y = b;
	if (x->done != y->done)
		return x->done < y->done ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->behaviour != y->behaviour)
		return x->behaviour < y->behaviour ? -1 : 1;
	return (int)x->late - (int)y->late;
}

/* In the order of the run, which is quicker than to jump about in it. */
static void new_round(struct search *s)
{
	if (s->target.n)
		qsort(s->target.p, s->target.n, sizeof *s->target.p, by_event);
	while (s->target.n && s->target.p[s->target.n - 1].done)
		s->target.n--;
	s->round_end = s->target.n;
	s->at = 0;
}

/* Before a new round: what has failed in the last one, or, when nothing is left, all that was never tested. */
static void add_targets(struct search *s)
{
	size_t n;
	for (size_t i = 0; i < s->failed.n; i++)
		follow_up(s, s->failed.p[i]);
	s->failed.n = 0;
	new_round(s);
	if (s->target.n || s->rest || s->heard < s->group.n)
		return;
	s->rest = true;
	for (size_t g = 0; crash_behaviours_of(s->all, g, &n); g++)
		follow_up(s, g);
	new_round(s);
}

static void *start(struct crash_gen *gen)
{
	struct search *s = xcalloc(1, sizeof *s);
	const uint32_t *behaviour;
	size_t n;
	s->all = crash_gen_behaviours(gen);
	for (size_t g = 0; (behaviour = crash_behaviours_of(s->all, g, &n)); g++)
		add_target(s, g, behaviour[0]);
	new_round(s);
	return s;
}

static void verdict(void *own, uint64_t k, bool failed)
{
	struct search *s = own;
	uint32_t group = s->group.p[k];
	s->heard++;
	if (!failed || hmap_get(&s->followed, group, NULL))
		return;
	hmap_put(&s->followed, group, 1);
	VEC_PUSH(&s->failed, group);
}

/* ---- a behaviour, and its moments ---- */

static void load(struct search *s)
{
	const struct target *t = &s->target.p[s->at];
	free(s->update);
	free(s->moment);
	s->update = crash_behaviour_example(s->all, t->behaviour, t->late, &s->updates);
	s->moment = crash_behaviour_moments(s->update, s->updates, &s->moments);
	s->m = 0;
	s->pass = REST_THERE;
	s->set.side = CRASH_FROM_ALL;
	s->loaded = true;
	s->begun = s->farther = false;
}

static void add_version(struct crash_gen *gen, struct crash_digit *d, uint32_t version)
{
	if (d->n && crash_gen_contents(gen, d->line, d->version[d->n - 1]) ==
			    crash_gen_contents(gen, d->line, version))
		return;
	if (d->n < CRASH_PICK)
		d->version[d->n++] = version;
	else
		d->version[CRASH_PICK - 1] = version;
}

/* The versions of a line at this moment: all, and without each piece of the behaviour from the last to the first. */
static void add_digit(struct crash_gen *gen, struct search *s, uint32_t line)
{
	uint32_t lo = crash_gen_lo(gen, line), hi = crash_gen_hi(gen, line), first = 0;
	struct crash_digit d = { .line = line };
	if (s->pass == REST_THERE)
		add_version(gen, &d, hi);
	for (size_t k = s->updates; k-- > 0;) {
		const struct crash_update *u = &s->update[k];
		if (u->line != line || u->number > hi || u->number <= lo)
			continue;
		add_version(gen, &d, s->pass == REST_THERE ? u->number - 1 : u->number);
		first = u->number;
	}
	if (s->pass == REST_LOST && first)
		add_version(gen, &d, first - 1);
	if (d.n > 1)
		s->set.digit[s->set.digits++] = d;
}

static void set_digits(struct crash_gen *gen, struct search *s)
{
	struct hmap seen = { 0 };
	s->set.digits = 0;
	for (size_t i = 0; i < s->updates && s->set.digits < CRASH_SUBSET_LINES; i++) {
		uint32_t line = s->update[i].line;
		if (s->update[i].stored >= s->moment[s->m] || hmap_get(&seen, line, NULL))
			continue;
		hmap_put(&seen, line, 1);
		add_digit(gen, s, line);
	}
	hmap_free(&seen);
}

/* ---- its moments ---- */

static bool is_there(const struct search *s, const struct crash_gen *gen, unsigned distance,
		     const struct crash_update *u)
{
	for (unsigned i = 0; i < s->set.digits; i++)
		if (s->set.digit[i].line == u->line)
			return u->number <= crash_subset_version(&s->set, i, distance);
	return u->number <= crash_gen_hi(gen, u->line);
}

/*
 * A subset is there at several moments: from when its last piece is stored, and until one that is not in it is guaranteed. It is
 * made at the last at which nothing else is lost with it.
 */
static bool is_moment(const struct crash_gen *gen, const struct search *s, unsigned distance)
{
	uint64_t now = s->moment[s->m], last = 0, until = UINT64_MAX, want;
	for (size_t i = 0; i < s->updates && s->update[i].stored < now; i++) {
		const struct crash_update *u = &s->update[i];
		if (is_there(s, gen, distance, u))
			last = u->stored + 1;
		else if (u->until < until)
			until = u->until;
	}
	want = until == UINT64_MAX || last > until ? last : until;
	return now >= want && (!s->m || s->moment[s->m - 1] < want);
}

static void set_state(struct crash_gen *gen, const struct search *s, unsigned distance,
		      struct crash_state *out)
{
	if (s->pass == REST_LOST)
		crash_gen_lose_since(gen, out, s->update[0].stored);
	for (unsigned i = 0; i < s->set.digits; i++)
		crash_gen_set(gen, out, s->set.digit[i].line,
			      crash_subset_version(&s->set, i, distance));
}

/* ---- what recovery reads ---- */

/* All lines, where nobody was asked. `asked`: of how many states of this moment. */
static uint32_t known_reads(const struct search *s, unsigned digit, unsigned value, size_t *asked)
{
	const struct target *t = &s->target.p[s->at];
	uint32_t mask = UINT32_MAX;
	*asked = 0;
	for (size_t i = 0; i < s->reads.n; i++) {
		const struct reads *r = &s->reads.p[i];
		if (r->behaviour != t->behaviour || r->late != t->late || r->moment != s->m ||
		    r->leg != s->pass * CRASH_SIDES + s->set.side)
			continue;
		++*asked;
		if (r->digit == digit && r->value == value)
			mask = r->mask;
	}
	return mask;
}

static bool worth_asking(const struct crash_gen *gen, const struct search *s)
{
	uint64_t few = crash_gen_wishes(gen)->few, product = 1;
	few = few ? few : FEW_STATES;
	for (unsigned i = 0; i < s->set.digits && product <= few; i++)
		product *= s->set.digit[i].n;
	return product > few && s->updates <= SMALL && !crash_gen_wishes(gen)->no_reduce;
}

/* Asks on a state where one digit differs, or none. */
static void ask(struct crash_gen *gen, struct search *s, unsigned digit, unsigned value,
		struct crash_state *state)
{
	const struct target *t = &s->target.p[s->at];
	struct reads r = { .behaviour = t->behaviour,
			   .late = t->late,
			   .moment = s->m,
			   .leg = s->pass * CRASH_SIDES + s->set.side,
			   .digit = digit,
			   .value = value };
	size_t n = 0, asked;
	uint32_t *line = NULL, base = known_reads(s, CRASH_SUBSET_LINES, 0, &asked);
	s->set.chosen[0] = digit;
	s->set.value[0] = value;
	crash_gen_go(gen, s->moment[s->m], state);
	set_state(gen, s, digit < CRASH_SUBSET_LINES, state);
	if (digit < CRASH_SUBSET_LINES && !(base >> digit & 1))
		r.mask = base; /* it does not see the difference */
	else if (asked == MOST_ASKED || !crash_gen_reads(gen, state, &line, &n))
		return;
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < s->set.digits; k++)
			if (s->set.digit[k].line == line[i])
				r.mask |= 1u << k;
	free(line);
	VEC_PUSH(&s->reads, r);
}

static void ask_all(struct crash_gen *gen, struct search *s, struct crash_state *scratch)
{
	ask(gen, s, CRASH_SUBSET_LINES, 0, scratch);
	for (unsigned d = 0; d < s->set.digits; d++)
		for (unsigned v = 1; v < s->set.digit[d].n; v++)
			ask(gen, s, d, v, scratch);
	crash_gen_go(gen, s->moment[s->m], scratch);
}

/*
 * Recovery does the same on two states that agree on what it reads in one of them. So a choice adds nothing if recovery, in
 * the state where all or all but one of its lines are not changed, reads none of those that are.
 */
static bool is_redundant(const struct search *s, unsigned distance)
{
	uint32_t changed = 0;
	size_t asked;
	if (distance < ASK_FROM || !s->reads.n)
		return false;
	for (unsigned i = 0; i < distance; i++)
		changed |= 1u << s->set.chosen[i];
	if (!(changed & known_reads(s, CRASH_SUBSET_LINES, 0, &asked)))
		return true;
	for (unsigned i = 0; i < distance; i++) {
		uint32_t mask = known_reads(s, s->set.chosen[i], s->set.value[i], &asked);
		if (!(changed & ~(1u << s->set.chosen[i]) & mask))
			return true;
	}
	return false;
}

/* ---- from state to state ---- */

/* Moment by moment, from all and from nothing, with the rest there and lost. */
static bool next_leg(struct search *s)
{
	s->begun = false;
	if (++s->m < s->moments)
		return true;
	s->m = 0;
	if (++s->set.side < CRASH_SIDES)
		return true;
	s->set.side = CRASH_FROM_ALL;
	return ++s->pass < PASSES;
}

/* A large behaviour has had its share. */
static bool is_spent(const struct search *s)
{
	const struct target *t = &s->target.p[s->at];
	return s->updates > SMALL && (t->states >= SHARE || t->tried >= SHARE * TRIES);
}

static bool in_leg(struct crash_gen *gen, struct search *s, unsigned distance,
		   struct crash_state *scratch)
{
	bool more;
	if (!s->begun)
		set_digits(gen, s);
	if (!s->begun && distance == ASK_FROM && worth_asking(gen, s))
		ask_all(gen, s, scratch);
	s->farther |= s->set.digits > distance;
	do {
		more = s->begun ? crash_subset_next(&s->set, distance)
				: crash_subset_first(&s->set, distance);
		s->begun = true;
		s->target.p[s->at].tried++;
	} while (more && !is_spent(s) &&
		 (is_redundant(s, distance) || !is_moment(gen, s, distance)));
	return more && !is_spent(s);
}

/* The next state of the target at hand, at its distance. */
static bool in_target(struct crash_gen *gen, struct search *s, struct crash_state *out)
{
	struct target *t = &s->target.p[s->at];
	if (!s->loaded)
		load(s);
	do {
		if (is_spent(s)) {
			s->farther = false;
			s->cut++;
			return false;
		}
		crash_gen_go(gen, s->moment[s->m], out);
		if (in_leg(gen, s, t->distance, out)) {
			set_state(gen, s, t->distance, out);
			t->states++;
			VEC_PUSH(&s->group, t->group);
			return true;
		}
	} while (next_leg(s));
	return false;
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	struct search *s = own;
	for (;;) {
		for (; s->at < s->round_end; s->at++, s->loaded = false) {
			if (in_target(gen, s, out))
				return true;
			s->target.p[s->at].done = !s->farther;
			s->target.p[s->at].distance++;
		}
		add_targets(s);
		if (!s->round_end)
			return false;
	}
}

static void stop(void *own)
{
	struct search *s = own;
	if (s->cut)
		msg_info(
			"%llu behaviours of more than %u pieces: their %u states nearest to everything and to nothing were made",
			(unsigned long long)s->cut, SMALL, SHARE);
	crash_behaviours_free(s->all);
	free(s->update);
	VEC_FREE(&s->target);
	VEC_FREE(&s->failed);
	VEC_FREE(&s->group);
	free(s->moment);
	VEC_FREE(&s->reads);
	hmap_free(&s->followed);
	free(s);
}

const struct crash_strategy crash_strategy_representative = {
	.name = "representative",
	.about =
		"bursts of stores to one object, one of each kind in every way; where it fails, those like it",
	.start = start,
	.next = next,
	.verdict = verdict,
	.stop = stop,
};
