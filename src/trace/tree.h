/* SPDX-License-Identifier: BSD-3-Clause */
/* What tree.c (events) and tree_list.c (what there is) share. */
#ifndef HOLDFAST_TRACE_TREE_H
#define HOLDFAST_TRACE_TREE_H

#include "trace/internal.h"

struct thing {
	struct trace_thing is;
	VEC(uint32_t) entry; /* in it, if it is a folder */
	uint32_t last;       /* the entry that got it last; TRACE_NOTHING: none */
};
struct trace_tree {
	const struct trace_defs *defs;
	VEC(struct thing) thing; /* the first is the root */
	VEC(struct trace_entry) entry;
	struct hmap entry_at; /* folder and name -> entry */
	struct hmap node;     /* -> thing */
	struct hmap file;     /* of traces without nodes -> thing */
};

static inline uint32_t tree_now(const struct trace_entry *e)
{
	return e->at.p[e->at.n - 1].thing;
}

#endif
