/* SPDX-License-Identifier: BSD-3-Clause */
/* What check and crash both found: the same store, in both their words. */
#include <string.h>

#include "campaign/internal.h"

static bool same_place(const struct finding *a, const struct finding *b)
{
	const struct srcloc_frame *x = finding_main_frame(&a->place),
				  *y = finding_main_frame(&b->place);
	return x && y && x->file && y->file && x->line == y->line && !strcmp(x->file, y->file);
}

static bool is(const struct finding *f, enum finding_kind kind)
{
	return f->kind == finding_kind_info(kind);
}

static bool is_missing(const struct finding *f)
{
	return is(f, FINDING_MISSING_FLUSH) || is(f, FINDING_MISSING_FENCE) ||
	       is(f, FINDING_MISSING_FLUSH_AND_FENCE);
}

struct finding *campaign_shown_by_crash(const struct finding_set *set, const struct finding *f)
{
	if (!is_missing(f) && !is(f, FINDING_TRANSIENT_DATA) && !is(f, FINDING_LATE_PERSIST))
		return NULL;
	for (size_t i = 0; i < set->v.n; i++)
		if (set->v.p[i]->crash && is_missing(set->v.p[i]) && same_place(set->v.p[i], f))
			return set->v.p[i];
	return NULL;
}
