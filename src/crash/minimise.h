/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for the cause of a failing state: minimise.c begins it, minimise_window.c has the windows. */
#ifndef HOLDFAST_CRASH_MINIMISE_H
#define HOLDFAST_CRASH_MINIMISE_H

#include "crash/internal.h"

#define MOST_RUNS 40u /* recoveries for one cause; what is not known by then stays unknown */

/* The search for one cause. */
struct search {
	struct crash *c;
	struct crash_state state; /* the smallest failing one so far */
	struct crash_verdict verdict;
	uint64_t runs;
	struct err *err;
	bool broken;
	bool hasty;   /* it does not hang at all */
	size_t apart; /* a window, and 1: states that have opened it do not count; 0: none */
};

/* It must make do with what it knows: from now on nothing is run, and everything seems fine. */
bool crash_search_spent(const struct search *);
/* Does it fail in the same way? */
bool crash_search_fails(struct search *, const struct crash_state *);
bool crash_search_prefix_fails(struct search *, uint64_t event);
/* The earliest moment at which n pieces are there: no later fence has guaranteed any of them. Before
 * there is PM nothing is crashed, though files may have been written. */
uint64_t crash_search_moment(const struct crash_history *, size_t n);
/* Makes the cause the window in which the state is. */
void crash_search_window(struct search *, struct crash_cause *);

#endif
