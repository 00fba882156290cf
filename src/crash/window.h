/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows, in which everything in program order fails, and states in them: cause.c and recognise.c. */
#ifndef HOLDFAST_CRASH_WINDOW_H
#define HOLDFAST_CRASH_WINDOW_H

#include "crash/internal.h"

/* The crash lies in the window that the cause is: opened and not closed. */
bool crash_in_window(struct crash *, const struct crash_cause *, const struct crash_state *);
/* … and the store that opens it, which is told in any case (UINT32_MAX: none), is in the state, whatever that lacks besides. */
bool crash_window_open(struct crash *, const struct crash_cause *, const struct crash_state *,
		       uint32_t *opens);
/* … and it closes before it is opened again. */
bool crash_has_opened(struct crash *, const struct crash_cause *, const struct crash_state *);
/* A state in a window as it is when the window has just closed; false: nothing is lost then, or it never does. */
bool crash_leave_window(struct crash *, const struct crash_cause *window,
			const struct crash_state *, struct crash_state *out);
/*
 * Is a cause, found where the window is open but for its first store, one of its own? What is lost for no other reason than that it
 * would open the window (that is told with it), or close one, is none, nor is what comes after the store that survives: that is
 * the window again. The same statements may store to other objects, which nothing but their loss explains.
 */
bool crash_stands_apart(struct crash *, const struct crash_cause *window, struct crash_cause *);
/* Everything in program order fails at this event, and that is the window's: so it does wherever the same store has opened it. */
void crash_window_proved(struct crash *, size_t window, uint64_t event);

#endif
