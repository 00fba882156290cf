/* SPDX-License-Identifier: BSD-3-Clause */
/* What watch.c and watch_tail.c share: functions to be watched are named w_… */
#ifndef TESTS_TRACER_WATCH_H
#define TESTS_TRACER_WATCH_H

#include <stdint.h>

typedef uint64_t six_fn(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

void saw_call(const char *name, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
void saw_return(const char *name, uint64_t result);
six_fn w_sum, w_outer, w_fact, w_leap, w_leap_in, w_in_handler, w_raise, w_stay, w_gone;
six_fn w_before, w_behind; /* watch_tail.c: the first jumps to the second */

#endif
