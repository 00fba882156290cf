/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a run: are the files what was recorded? If not, where, and why probably. */
#include "launch/internal.h"

#include <inttypes.h>

struct run {
	const struct trace_live *live;
	const struct trace_defs *defs;
};

static bool unfollowed(const struct run *r)
{
	return trace_live_unfollowed(r->live) > 0;
}

static bool several(const struct run *r)
{
	return trace_processes(r->defs) > 1;
}

static bool any(const struct run *r)
{
	(void)r;
	return true;
}

/* After what the tracer has said that it does not see: the first that fits. */
static const struct {
	bool (*fits)(const struct run *);
	const char *cause;
} causes[] = {
	{ unfollowed, "a child process that was not recorded wrote to it (--follow-forks)" },
	{ several, "processes wrote to the same place at the same time, in an order that is not "
		   "known" },
	{ any, "another program wrote to it, or this one did in a way that is not recorded" },
};

static const char *likely_cause(const struct run *r)
{
	static const char *const unseen[] = {
#define X(NAME, words) words,
		TRACE_UNSEEN(X)
#undef X
	};
	size_t i = 0;
	for (size_t k = 0; k < TRACE_UNSEEN_COUNT; k++)
		if (trace_live_unseen(r->live, (enum trace_unseen)k))
			return unseen[k];
	while (!causes[i].fits(r))
		i++;
	return causes[i].cause;
}

/* One that was killed may have stored what it could not tell any more. */
static bool all_told(const struct trace_defs *defs)
{
	for (uint32_t i = 0; i < trace_processes(defs); i++)
		if (!trace_process(defs, i)->ended)
			return false;
	return true;
}

static void describe(const struct trace_difference *d, char *text, size_t size)
{
	size_t n = 0;
	if (d->built_size != d->real_size)
		n += (size_t)snprintf(text, size, "it has %" PRIu64 " bytes instead of %" PRIu64,
				      d->real_size, d->built_size);
	if (!d->bytes)
		return;
	n += (size_t)snprintf(text + n, size - n,
			      "%s%" PRIu64 " byte%s differ%s, the first at 0x%" PRIx64 "-0x%" PRIx64
			      ", ",
			      n ? ", and " : "", d->bytes, d->bytes == 1 ? "" : "s",
			      d->bytes == 1 ? "s" : "", d->off, d->off + d->len - 1);
	if (d->event)
		snprintf(text + n, size - n,
			 "in a page that event %" PRIu32 " was the last to write", d->event);
	else
		snprintf(text + n, size - n, "in a page that no event wrote");
}

void launch_compare(const struct trace_live *live, struct launch_result *res)
{
	struct run r = { live, trace_live_defs(live) };
	struct trace_difference d;
	char what[256];
	if (res->stopped || !all_told(r.defs) || !trace_live_differs(live, &d))
		return;
	describe(&d, what, sizeof what);
	err_set(&res->differs, EXIT_PROGRAM, "%s is not what was recorded: %s; likely cause: %s",
		trace_file(r.defs, d.file)->path, what, likely_cause(&r));
}
