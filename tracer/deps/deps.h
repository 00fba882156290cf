/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dependences between accesses to PM, with --hf-deps.
 *
 *   sets.c     sets of labels, as small numbers
 *   cells.c    the labels of eight bytes; those of volatile memory
 *   told.c     what is told: loads, what accesses and branches come from, activations of functions
 *   values.c   IR: labels of values, and their unions
 *   build.c    IR: what is put into a block
 *
 * Each load of PM is a label. Generated code keeps the labels of every value beside it, as a number that
 * stands for a set: of a temporary in another temporary, of registers in the guest state's shadow, which the
 * core keeps for each thread and around signal handlers, of memory in cells. What is not labelled has 0, and
 * code that meets nothing else calls nothing.
 */
#ifndef HOLDFAST_TRACER_DEPS_H
#define HOLDFAST_TRACER_DEPS_H

#include "record/record.h"

extern Bool deps_on;
extern const struct block_hooks deps_hooks; /* for instrument() */
void deps_setup(void);
void deps_run(void);                /* the program goes on: a time to tidy up */
void deps_forked(void);             /* in a process that the program has forked */
void deps_clear(Addr a, SizeT len); /* somebody else wrote there */

#endif
