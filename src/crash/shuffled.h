/* SPDX-License-Identifier: BSD-3-Clause */
/* The same entries in another order (shuffled.c). */
#ifndef HOLDFAST_CRASH_SHUFFLED_H
#define HOLDFAST_CRASH_SHUFFLED_H

#include <stdbool.h>

/* What is said, in an order that does not depend on theirs; malloc'ed. */
char *crash_in_order(const char *text);
bool crash_same_but_order(const char *a, const char *b);
/* Is it one of these but for the order? `answers`: to the operations that follow, too. */
bool crash_shuffled(const char *was, const char *before, const char *after, bool answers);
/* Do entries change places that are there before and after, while others come or go? */
bool crash_reorders(const char *before, const char *after);

#endif
