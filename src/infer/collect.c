/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ways that look at calls share: operations from the calls of a walk, and the names of functions. */
#include <stdlib.h>

#include "infer/internal.h"
#include "infer/walk.h"
#include "srcloc/srcloc.h"

uint32_t infer_collect_name(struct infer_collect *c, uint32_t process, uint64_t addr)
{
	uint64_t key = hash_mix(addr, process), id;
	char buf[256];
	if (hmap_get(&c->name, key, &id))
		return (uint32_t)id;
	struct srcloc_where w = srcloc_trace_at(c->src, process, addr);
	const struct srcloc_frame *f = &w.frame[w.n - 1];
	const char *text = f->function ? srcloc_short_name(f->function, buf, sizeof buf)
				       : srcloc_text(f, buf, sizeof buf);
	id = infer_ops_name(c->ops, text, SIZE_MAX);
	hmap_put(&c->name, key, id);
	return (uint32_t)id;
}

void infer_collect_op(struct infer_collect *c, const struct infer_thread *t,
		      const struct infer_child *k)
{
	VEC_PUSH(&c->ops->op,
		 ((struct infer_op){ .begin = k->begin,
				     .end = k->rest,
				     .said = k->said,
				     .process = t->process,
				     .thread = t->thread,
				     .site = k->site,
				     .target = k->target,
				     .name = infer_collect_name(c, t->process, k->target) }));
}

void infer_collect(struct infer_collect *c, struct trace_reader *r,
		   void (*closed)(void *, struct infer_thread *))
{
	struct infer_walk w = { .defs = trace_defs(r), .closed = closed, .arg = c };
	struct trace_event e;
	struct err ignored = { 0 }; /* a damaged trace is read as far as it goes */
	infer_walk_begin(&w);
	c->src = w.src;
	while (trace_next(r, &e, &ignored) == 1)
		infer_walk_event(&w, &e);
	infer_walk_end(&w);
	hmap_free(&c->name);
}
