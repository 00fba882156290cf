/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models once more, slowly: one state per byte, every thread a bit, no cleverness, and rules
 * of its own, written from what the models mean and not from the table. Tests compare with it
 * what check, crash and explore make of the same events. It knows one process and one file,
 * whose first byte is mapped at `base`.
 */
#ifndef HOLDFAST_MODEL_REFERENCE_H
#define HOLDFAST_MODEL_REFERENCE_H

#include "model/model.h"

#define MODEL_REFERENCE_THREADS 64u

struct reference;
/* `unit`: bytes of a unit; 0: as the model has it. NULL: it does not know the model. */
struct reference *model_reference_new(const char *model, const struct trace_defs *, uint64_t base,
				      size_t size, uint32_t unit);
void model_reference_feed(struct reference *, const struct trace_event *);
uint32_t model_reference_unit(const struct reference *);
/* The newest value of the byte: 'g' guaranteed or never stored, 'p' pending, 'd' dirty. */
char model_reference_state(const struct reference *, size_t offset);
/* Flushed by this thread since it was stored, and not yet fenced by it. */
bool model_reference_pending_by(const struct reference *, size_t offset, uint32_t thread);
bool model_reference_ever(const struct reference *, size_t offset);
/* Of the unit that has the byte: how many stores (of at most eight bytes) there were, and how
 * many of these are guaranteed, in order. */
uint32_t model_reference_hi(const struct reference *, size_t offset);
uint32_t model_reference_lo(const struct reference *, size_t offset);
/* The unit's newest store: 'g', 'p', 'd', or '-' if there is none. */
char model_reference_unit_state(const struct reference *, size_t offset);
void model_reference_free(struct reference *);

#endif
