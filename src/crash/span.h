/* SPDX-License-Identifier: BSD-3-Clause */
/* Between which two moments what was in flight may or may not have happened: what a crash state is compared with. */
#ifndef HOLDFAST_CRASH_SPAN_H
#define HOLDFAST_CRASH_SPAN_H

#include "crash/history.h"

struct crash_span {
	uint64_t from, to;
	uint64_t event; /* the crash is before it */
	size_t ended;   /* so many operations have ended before that */
	size_t op;      /* in flight, or the last that ended; from 1, 0: none */
	bool flying;
};
/* False: several are in flight, it never ended, or none has begun yet: how the program gets ready, over several
 * steps perhaps, is its own affair. */
bool crash_span_of(const struct crash_history *, uint64_t event, struct crash_span *);
/* It must be there after a crash. */
bool crash_op_owed(const struct crash_op *, uint64_t event);
/* So many of the newest `far` that have ended, as far as a crash can tell, will only be acknowledged. */
uint64_t crash_span_due(const struct crash_history *, const struct crash_span *, size_t far);
/* Must what is said have the operations from `gone` on, from 1; 0: it is none of the states before the newest `far` operations? One that is
 * in flight, and those before it that were not acknowledged, may be lost together; if nobody knows how far back
 * that goes, nothing is known. */
bool crash_span_promised(const struct crash_history *, const struct crash_span *, long gone,
			 size_t far);
/* Their numbers, as they were found, follow each other. */
bool crash_ops_follow(const struct crash_history *, size_t first, size_t last);

/* ops.c: sets `latest` and `solid` of all. */
void crash_ops_chain(struct crash_history *);
void crash_op_free(struct crash_op *);
/* narrow.c: those that overlap last only as long as a crash may leave part of what they store. */
void crash_ops_narrow(struct crash_history *);
/* settled.c: sets `settled` of all. */
void crash_ops_settle(struct crash_history *);

#endif
