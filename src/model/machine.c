/* SPDX-License-Identifier: BSD-3-Clause */
/* What acts cover. */
#include "model/machine.h"

unsigned model_flush_class(const struct trace_defs *defs, const struct trace_event *e)
{
	const struct trace_site_def *site = defs ? trace_site(defs, e->process, e->site) : NULL;
	return site ? site->class : TRACE_SITE_OTHER;
}

static struct model_range rounded(uint64_t lo, uint64_t hi, uint64_t to)
{
	return (struct model_range){ lo & ~(to - 1), (hi + to - 1) & ~(to - 1) };
}

struct model_range model_covers(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_STORE: return (struct model_range){ e->arg[0], e->arg[0] + e->size };
	case TRACE_FLUSH: return rounded(e->arg[0], e->arg[0] + 1, TRACE_LINE);
	case TRACE_SYNC: return rounded(e->arg[0], e->arg[0] + e->arg[1], MODEL_PAGE);
	case TRACE_FILE_WRITE: return (struct model_range){ e->arg[1], e->arg[1] + e->size };
	case TRACE_FILE_SYNC: return (struct model_range){ 0, UINT64_MAX };
	default: return (struct model_range){ 0, 0 };
	}
}
