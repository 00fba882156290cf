/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOLDFAST_REPAIR_INTERNAL_H
#define HOLDFAST_REPAIR_INTERNAL_H

#include "repair/repair.h"

bool repair_same_function(const struct repair_place *, const struct repair_place *);
bool repair_same_place(const struct repair_place *, const struct repair_place *);
/* Takes the sentence. */
void repair_reject(struct repair_fix *, const struct repair_place *, char *why);
/* What the second repairs the first does from now on. */
void repair_join(struct repair_fix *, const struct repair_fix *);
void repair_fix_free(struct repair_fix *);
void repair_drop(struct repair_plan *, size_t i);

/* Phase 2, reduce.c: fixes that do the same become one. */
/* What the flush of an object behind a call covers goes into it. */
void repair_cover(const struct repair_bug *, struct repair_plan *);
void repair_reduce(const struct repair_bug *, struct repair_plan *);
/* Phase 3, hoist.c: a fix goes to the call where it costs least. */
void repair_hoist(const struct repair_bug *, struct repair_plan *);

#endif
