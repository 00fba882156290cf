/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolic execution, with --hf-sym.
 *
 *   instr.c     the two versions of each block: which it is to be, and the fast one
 *   build.c     the slow version
 *   slow.c      what the slow version calls: statements
 *   addr.c      symbolic addresses: tables, choices, places, pins
 *   values.c    … the values that one can have
 *   places.c    … what is read and written, if these are few
 *   concrete.c  operations that are not followed
 */
#ifndef HOLDFAST_TRACER_EXEC_H
#define HOLDFAST_TRACER_EXEC_H

#include "world/world.h"

extern const struct block_hooks exec_hooks; /* for instrument() */
extern Bool exec_verify;                    /* say what each expression should be */
void exec_setup(void);                      /* options of VEX */
void exec_end(void);                        /* at the end of a run: what was not followed */

#endif
