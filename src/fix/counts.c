/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often the sites of a bug are executed: on what is lost, on what others persist, on memory that is not PM. Of what a
 * crash shows that is not known: what it loses is persisted in the end, by those who come too late.
 */
#include <stdlib.h>

#include "fix/internal.h"
#include "infer/infer.h"

static void count(struct fix *x, size_t bug, const struct infer_profile *p)
{
	struct repair_bug *b = &x->bug.p[bug];
	const struct fix_bug *w = &x->with.p[bug];
	struct infer_at *at = xcalloc(w->frames + 1, sizeof *at);
	for (size_t i = 0; i < w->frames && i < b->n; i++) {
		const struct srcloc_frame *f = w->frame[i];
		at[i] = (struct infer_at){ f->function, f->file, f->line };
		struct infer_uses u = infer_profile_uses(p, at, i + 1);
		b->site[i].counts =
			(struct repair_counts){ u.lost > 0, u.lost, u.persisted, u.elsewhere };
	}
	free(at);
}

void fix_count_sites(struct fix *x, struct trace_reader *r)
{
	struct infer_profile *p = infer_profile_read(r, model_find(x->o.model));
	for (size_t i = 0; i < x->bug.n; i++)
		if (x->with.p[i].until == UINT64_MAX)
			count(x, i, p);
	infer_profile_free(p);
}
