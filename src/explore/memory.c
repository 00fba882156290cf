/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the program names with HOLDFAST_SYMBOLIC(): a source that is not known before the
 * program runs. When one comes up the round ends, the plan gets the source, and a new round
 * begins, with an engine that knows it.
 */
#include <stdlib.h>
#include <string.h>

#include "explore/input.h"

bool explore_memory_found(struct explore_memory *m, const struct explore_plan *p,
			  const struct launch_explorer *launch)
{
	size_t n, known = p->source.n;
	const uint8_t *input;
	const struct sym_source *all = launch_explorer_sources(launch, &n, &input);
	if (n <= known || m->source.n)
		return m->source.n > 0;
	m->bytes.n = 0;
	for (size_t i = known; i < n; i++) {
		VEC_PUSH(&m->source, all[i]);
		buf_add(&m->bytes, input + all[i].first, all[i].len);
	}
	return true;
}

static void extend_input(struct symbolic_input *in, const struct explore_plan *p, size_t before,
			 const struct buf *bytes)
{
	in->byte = xrealloc(in->byte, p->n + 1);
	memcpy(in->byte + before, bytes->p, p->n - before);
	in->n = p->n;
	for (size_t i = 0; i < p->source.n; i++)
		if (p->source.p[i].kind == SYM_SRC_MEMORY)
			in->now[i] = p->source.p[i].len;
}

static void add_source(struct explore_plan *p, const struct sym_source *s, unsigned number)
{
	struct explore_source a = { .name = xasprintf("memory%u", number),
				    .given = xasprintf("memory%u", number),
				    .lo = 0,
				    .hi = 255 };
	VEC_PUSH(&p->source, *s);
	VEC_PUSH(&p->about, a);
	p->source.p[p->source.n - 1].now = s->len;
	p->n = s->first + s->len;
}

bool explore_memory_extend(struct explore_memory *m, struct explore_plan *p)
{
	size_t before = p->n;
	if (!m->source.n)
		return false;
	for (size_t i = 0; i < m->source.n; i++)
		add_source(p, &m->source.p[i], (unsigned)(p->source.n - p->given + 1));
	p->lo = xrealloc(p->lo, p->n + 1);
	p->hi = xrealloc(p->hi, p->n + 1);
	p->fixed = xrealloc(p->fixed, p->n + 1);
	memset(p->lo + before, 0, p->n - before);
	memset(p->hi + before, 255, p->n - before);
	memset(p->fixed + before, 0, p->n - before);
	for (size_t i = 0; i < p->seed.n; i++)
		extend_input(&p->seed.p[i], p, before, &m->bytes);
	for (size_t i = 0; i < p->later.n; i++)
		extend_input(&p->later.p[i], p, before, &m->bytes);
	m->source.n = 0;
	return true;
}

void explore_memory_free(struct explore_memory *m)
{
	VEC_FREE(&m->source);
	buf_free(&m->bytes);
}
