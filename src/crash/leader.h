/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that may do the work of several threads (leader.c). */
#ifndef HOLDFAST_CRASH_LEADER_H
#define HOLDFAST_CRASH_LEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crash;
struct crash_leaders;
struct hmap;

/* Operation op, from 1. */
bool crash_leads(struct crash *, size_t op);
/* What is said in an operation -> 1: it is fine in part, 2: no. */
struct hmap *crash_leaders_said(struct crash *);
void crash_leaders_free(struct crash_leaders *);

/* said.c: all lines are of one of the others, and none is missing that both have. */
bool crash_said_between(const char *was, const char *before, const char *after);
/* coarse.c: the statements of a place's call path. */
uint64_t crash_statement_of(struct crash *, uint32_t place);

#endif
