/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models once more, slowly: one state per byte, every thread a bit, no cleverness.
 * Tests compare model.c with it on random histories. It knows one process and one file,
 * mapped at the address that model_reference_new is told.
 */
#ifndef HOLDFAST_MODEL_REFERENCE_H
#define HOLDFAST_MODEL_REFERENCE_H

#include "model/model.h"

struct reference;
struct reference *model_reference_new(const struct model_ops *, const struct trace_defs *,
				      uint64_t base, size_t size);
void model_reference_feed(struct reference *, const struct trace_event *);
/* The newest value of the byte: 'g' guaranteed or never stored, 'p' pending, 'd' dirty. */
char model_reference_state(const struct reference *, size_t offset);
/* Flushed by this thread since it was stored, and not yet fenced by it. */
bool model_reference_pending_by(const struct reference *, size_t offset, uint32_t thread);
bool model_reference_ever(const struct reference *, size_t offset);
void model_reference_free(struct reference *);

#endif
