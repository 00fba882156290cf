/* SPDX-License-Identifier: BSD-3-Clause */
/* Where events happened, numbered: process, instruction and context. */
#include <stdlib.h>

#include "trace/trace.h"

/* The key under which it is, or would be: entries with one hash follow each other. */
static uint64_t key_of(const struct trace_wheres *w, uint32_t process, uint32_t site, uint32_t ctx,
		       uint32_t *found)
{
	uint64_t key = hash_mix((uint64_t)site << 32 | ctx, process), at;
	*found = TRACE_NOWHERE;
	for (; hmap_get(&w->at, key, &at); key++) {
		const struct trace_where *p = &w->v.p[at];
		if (p->process == process && p->site == site && p->ctx == ctx) {
			*found = (uint32_t)at;
			break;
		}
	}
	return key;
}

uint32_t trace_where_find(const struct trace_wheres *w, uint32_t process, uint32_t site,
			  uint32_t ctx)
{
	uint32_t found;
	(void)key_of(w, process, site, ctx, &found);
	return found;
}

uint32_t trace_where_of(struct trace_wheres *w, const struct trace_event *e)
{
	uint32_t found;
	uint64_t key = key_of(w, e->process, e->site, e->ctx, &found);
	if (found == TRACE_NOWHERE) {
		found = (uint32_t)w->v.n;
		hmap_put(&w->at, key, found);
		VEC_PUSH(&w->v, ((struct trace_where){ e->process, e->site, e->ctx, e->ip }));
	}
	return found;
}

void trace_wheres_free(struct trace_wheres *w)
{
	VEC_FREE(&w->v);
	hmap_free(&w->at);
}
