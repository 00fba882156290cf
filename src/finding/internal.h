/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/finding share. */
#ifndef HOLDFAST_FINDING_INTERNAL_H
#define HOLDFAST_FINDING_INTERNAL_H

#include "finding/finding.h"

const char *finding_basename(const char *path);
/* Globs against a word; the list ends with NULL. */
bool finding_match_any(const char *const *globs, const char *word);

/*
 * What the identity is made from, see identity.c. Without source it lacks the statement:
 * `by_position` then asks to tell places in one function apart by their order.
 */
uint64_t finding_shape(const struct finding *, bool *by_position);

#endif
