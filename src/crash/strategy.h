/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract of a strategy, which makes crash states, one by one: one file strategy_NAME.c each, one
 * row of strategy.c's table each. All that it may ask of the run and of the engine is here.
 *
 * A state is an event, just before which the crash comes, and a version for each line of PM. A line
 * has its versions from `lo`, which is guaranteed, to `hi`, all that was stored to it so far; version
 * v holds its first v stores ("pieces", numbered from 1). A line is open where lo < hi.
 *
 * What is made must not depend on time or addresses: a resumed campaign makes the same again.
 */
#ifndef HOLDFAST_CRASH_STRATEGY_H
#define HOLDFAST_CRASH_STRATEGY_H

#include "base/base.h"

struct crash_gen;   /* a strategy at work: what it asks */
struct crash_state; /* what it makes */

/* How far it is, for people. */
struct crash_progress {
	const char *strategy; /* which made the last state */
	size_t point;         /* … at this one */
	size_t phase, phases; /* so much of the work is done, in equal parts */
	size_t ticket;        /* for `learn` */
};

/* What came of a state. */
struct crash_news {
	bool same; /* an earlier one has the same image: it is not tested again, and nothing else will be heard */
	uint64_t causes; /* that are known because of it, and were not before */
};

struct crash_strategy {
	const char *name, *about;
	bool heal; /* what is known to be fatal by now is taken out of its states before they are tested */
	void *(*start)(struct crash_gen *); /* memory of its own; may be NULL */
	/* The next state; false: there are no more, unless verdicts are to come. `out` is empty: every line is at hi. */
	bool (*next)(struct crash_gen *, void *own, struct crash_state *out);
	void (*stop)(void *own); /* may be NULL */
	/*
	 * The verdicts on the states that it made, in their order; number k counts from 0. They come when states have been made
	 * since, or when it says that it has no more, and is asked again: always at the same moment, however quick
	 * recovery was. May be NULL.
	 */
	void (*verdict)(void *own, uint64_t k, bool failed);
	/* Of those that combine others; else NULL. */
	void (*progress)(void *own, struct crash_progress *out);
	/* Tells what came of the state whose progress had this ticket: at once that it is the same as another, the rest some
	 * time before crash_gen_settle returns. What is made must not depend on which of the two it is. May be NULL. */
	void (*learn)(void *own, size_t ticket, const struct crash_news *);
};

/*
 * Most go from point to point: this calls `at_point` there with step = 0, 1, … until it says no, then goes to
 * the next point. `again` begins anew at the first one.
 */
bool crash_gen_points(struct crash_gen *, struct crash_state *out,
		      bool (*at_point)(struct crash_gen *, void *own, uint64_t step,
				       struct crash_state *out));
void crash_gen_again(struct crash_gen *);
/* Every state at this point is one of those at the next. */
bool crash_gen_covered(const struct crash_gen *);
/* Others choose an event: the crash comes just before it, and all questions are about that moment. */
void crash_gen_go(struct crash_gen *, uint64_t event, struct crash_state *out);
uint64_t crash_gen_event(const struct crash_gen *);

/* The lines that are open now, sorted. */
const uint32_t *crash_gen_open(struct crash_gen *, size_t *n);
/*
 * Some of them, if there are many: a program that fills an area has thousands of open lines, and
 * losing any one of them is like losing any other. A few for each place that stored to them; first one of each event, then the
 * second ones, and so on.
 */
const uint32_t *crash_gen_some(struct crash_gen *, size_t *n);
uint32_t crash_gen_lo(const struct crash_gen *, uint32_t line);
uint32_t crash_gen_hi(const struct crash_gen *, uint32_t line);
/* The event of its k-th piece, from 1; the pieces that it has before an event. */
uint64_t crash_gen_stored(const struct crash_gen *, uint32_t line, uint32_t k);
uint32_t crash_gen_version_at(const struct crash_gen *, uint32_t line, uint64_t event);
/* A number for its contents at a version: the same for the same contents. */
uint64_t crash_gen_contents(const struct crash_gen *, uint32_t line, uint32_t version);
/*
 * Some versions of an open line: the first is lo, the last is hi, and each differs in contents
 * from the one before. All of them if hi - lo is at most CRASH_PICK - 1; otherwise those where
 * one store event ends and another begins, thinned out evenly. Returns how many; 1 means that
 * nothing that was stored changes anything.
 */
#define CRASH_PICK 9u
unsigned crash_gen_pick(const struct crash_gen *, uint32_t line, uint32_t out[CRASH_PICK]);
/* Walks over the picked versions of some open lines, all but lo, or all but hi: the other extreme of each line first,
 * then what lies between. Begins zeroed. */
struct crash_walk {
	size_t line;     /* how many of the open lines are done or begun */
	bool between;    /* the extremes are done */
	unsigned k, end; /* version[k .. end) is left of the last of them */
	uint32_t version[CRASH_PICK];
};
enum crash_walk_kind { CRASH_WALK_NOT_LO, CRASH_WALK_NOT_HI };
bool crash_gen_walk(struct crash_gen *, struct crash_walk *, enum crash_walk_kind, uint32_t *line,
		    uint32_t *version);
/* What one system call has written to several lines, as a whole: it alone is there, the newest first; or it alone is not, the oldest
 * first. False: there are no more than k. */
bool crash_gen_whole(struct crash_gen *, enum crash_walk_kind, size_t k, struct crash_state *);

/* Puts a line at a version; all open lines at lo. */
void crash_gen_set(struct crash_gen *, struct crash_state *, uint32_t line, uint32_t version);
void crash_gen_lost(struct crash_gen *, struct crash_state *);
/* All open lines are as they were before an event, as far as that may be lost. */
void crash_gen_lose_since(struct crash_gen *, struct crash_state *, uint64_t event);
/* A number for the image of a state: the same for the same image. */
uint64_t crash_gen_image(const struct crash_gen *, const struct crash_state *);
/*
 * Which lines recovery reads before it overwrites them, on the image of a state, in the order of the first
 * reads: it behaves the same on every state that agrees on them. False: cannot be told. The list is
 * the caller's to free.
 */
bool crash_gen_reads(struct crash_gen *, const struct crash_state *, uint32_t **line, size_t *n);
/* The k-th state that loses stores which are suspected to be missing (suspect_plan.c); false: there are no more. */
bool crash_gen_planned(struct crash_gen *, size_t k, struct crash_state *out);
/* The k-th state that breaks what the program seems to rely on (breach.c); false: there are no more. */
bool crash_gen_breach(struct crash_gen *, size_t k, struct crash_state *out);
bool crash_gen_breaches(const struct crash_gen *); /* there are some */
uint64_t crash_gen_random(struct crash_gen *);     /* the same sequence for the same seed */

/*
 * Update behaviours (infer/infer.h): bursts of stores to one object. A group has those that one of them represents, which
 * are its first ones.
 */
struct crash_behaviours;
struct crash_behaviours *crash_gen_behaviours(struct crash_gen *);
void crash_behaviours_free(struct crash_behaviours *);
/* The behaviours of a group; NULL: there is none of that number. */
const uint32_t *crash_behaviours_of(const struct crash_behaviours *, size_t group, size_t *n);
/* It has statements that none which was taken has. */
bool crash_behaviour_is_new(const struct crash_behaviours *, uint32_t behaviour);
void crash_behaviour_take(struct crash_behaviours *, uint32_t behaviour);
/* The pieces of an example, in order: the first, or a late one; malloc'ed, NULL: there is none. */
struct crash_update {
	uint32_t line, number; /* in its line, from 1 */
	uint64_t stored;       /* the event */
	/* A crash before this event, and none later, may lose the piece and nothing in its line that the behaviour does
	 * not store: it is the event that guarantees the piece, or that of such a store, or the end. */
	uint64_t until;
};
struct crash_update *crash_behaviour_example(const struct crash_behaviours *, uint32_t behaviour,
					     bool late, size_t *n);
/* All that `until` is of some pieces, sorted; malloc'ed. */
uint64_t *crash_behaviour_moments(const struct crash_update *, size_t n, size_t *moments);

/*
 * Subsets of the stores to a few lines, by distance: so many lines are not as in "all", or not as in "nothing". Each line is a
 * digit, whose values are its versions.
 */
#define CRASH_SUBSET_LINES 32u

/* A line, and the versions that make a difference, from all to nothing. */
struct crash_digit {
	uint32_t line;
	uint32_t version[CRASH_PICK];
	unsigned n;
};

enum crash_side { CRASH_FROM_ALL, CRASH_FROM_NOTHING, CRASH_SIDES };

struct crash_subset {
	enum crash_side side;
	struct crash_digit digit[CRASH_SUBSET_LINES];
	unsigned digits;
	unsigned chosen[CRASH_SUBSET_LINES]; /* digits, ascending, as many as the distance, … */
	unsigned value[CRASH_SUBSET_LINES];  /* … and which of their versions */
};

/* The first choice at a distance, and the next; false: there is none. */
bool crash_subset_first(struct crash_subset *, unsigned distance);
bool crash_subset_next(struct crash_subset *, unsigned distance);
/* The version of a digit in the choice at hand. */
uint32_t crash_subset_version(const struct crash_subset *, unsigned digit, unsigned distance);

/* What was asked for; 0 and false: nothing. */
struct crash_wishes {
	uint64_t random; /* states for each point that are drawn at random */
	uint64_t few;    /* so many states at a point are all tested */
	bool no_reduce;  /* test states that recovery cannot tell apart, too */
	bool budget;     /* something ends the campaign */
	bool narrow;     /* only some of the points are wanted */
};
const struct crash_wishes *crash_gen_wishes(const struct crash_gen *);

/* ---- those that combine others ---- */

const char *crash_gen_name(const struct crash_gen *); /* as it was asked for: "a+b" */
/* A part is a strategy at work by itself; NULL: there is none of that name. */
struct crash_gen *crash_gen_part(struct crash_gen *, const char *name);
/*
 * … at one point and no other. With CRASH_NEAR only what was stored of late may be lost: since the operation began, or, where
 * none is known, in a window before the point (points_recent.c). What is older is taken to be there, and crash_gen_lost leaves
 * alone what nothing ever guarantees: the same old stores would be lost in every state, and hide what else may go wrong.
 */
enum crash_reach { CRASH_FAR, CRASH_NEAR };
struct crash_gen *crash_gen_part_at(struct crash_gen *, const char *name, size_t point,
				    enum crash_reach);
/* CRASH_FAR and CRASH_NEAR make the same states there. */
bool crash_gen_all_near(struct crash_gen *, size_t point);
/* What a strategy may know of the points. */
struct crash_spot {
	uint64_t event;
	uint32_t path; /* points with the same one are alike */
	uint8_t rank; /* 0: one for each path; 1: something else is open there than at those before; 2: the others */
	bool extra; /* beyond those that --max-per-path asks for */
};
size_t crash_gen_spots(const struct crash_gen *);
struct crash_spot crash_gen_spot(const struct crash_gen *, size_t point);
uint64_t crash_gen_length(const struct crash_gen *); /* of the run: stores */
/* Waits until all verdicts are there, and `learn` has heard of them. False: nothing more is wanted. */
bool crash_gen_settle(struct crash_gen *);
/* Passes on what came of a state. */
void crash_gen_learn(struct crash_gen *, size_t ticket, const struct crash_news *);
bool crash_gen_next(struct crash_gen *, struct crash_state *out);
void crash_gen_progress(const struct crash_gen *, struct crash_progress *out);
void crash_gen_free(struct crash_gen *);

#endif
