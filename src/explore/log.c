/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of events, packed. */
#include <stdlib.h>
#include <string.h>

#include "explore/slot.h"

/* The arguments of the event follow, then its data, padded to a multiple of 8. The ip is the site's. */
struct packed {
	uint32_t num; /* from the log's first event */
	uint32_t site, ctx, thread, size;
	uint8_t kind, flags, nargs, process;
};

#define SMALL 64u /* bytes of data: most have fewer, and are copied at once */

void explore_log_add(struct explore_log *log, const struct trace_event *e)
{
	static const char zero[8];
	uint32_t size = e->data ? e->size : 0;
	if (!log->n++)
		log->first = e->num;
	struct packed p = { (uint32_t)(e->num - log->first),
			    e->site,
			    e->ctx,
			    e->thread,
			    size,
			    e->kind,
			    e->flags,
			    e->nargs,
			    (uint8_t)e->process };
	size_t args = e->nargs * sizeof *e->arg, small = size <= SMALL ? size : 0;
	char all[sizeof p + sizeof e->arg + SMALL + 8] = { 0 };
	memcpy(all, &p, sizeof p);
	memcpy(all + sizeof p, e->arg, args);
	if (small)
		memcpy(all + sizeof p + args, e->data, small);
	buf_add(&log->bytes, all, sizeof p + args + (small + 7) / 8 * 8);
	if (small == size)
		return;
	buf_add(&log->bytes, e->data, size);
	buf_add(&log->bytes, zero, -size % 8);
}

#define KNOWN 1024u /* sites that were looked up last */

struct known_site {
	uint64_t ip;
	uint32_t process, site;
};

static uint64_t ip_of(const struct trace_defs *defs, struct known_site *known, uint32_t process,
		      uint32_t site)
{
	struct known_site *k = &known[site % KNOWN];
	if (k->site != site || k->process != process) {
		const struct trace_site_def *def = trace_site(defs, process, site);
		*k = (struct known_site){ def ? def->ip : 0, process, site };
	}
	return k->ip;
}

void explore_log_each(const struct explore_log *log, const struct trace_defs *defs,
		      void (*each)(void *, const struct trace_event *), void *arg)
{
	struct known_site *known = xcalloc(KNOWN, sizeof *known);
	known[0].site = UINT32_MAX; /* not even the first is known */
	for (size_t at = 0; at < log->bytes.n;) {
		struct packed p;
		struct trace_event e = { 0 };
		memcpy(&p, log->bytes.p + at, sizeof p);
		at += sizeof p;
		e.num = log->first + p.num;
		e.kind = p.kind;
		e.flags = p.flags;
		e.nargs = p.nargs;
		e.process = p.process;
		e.thread = p.thread;
		e.site = p.site;
		e.ctx = p.ctx;
		e.size = p.size;
		e.ip = ip_of(defs, known, p.process, p.site);
		memcpy(e.arg, log->bytes.p + at, p.nargs * sizeof *e.arg);
		at += p.nargs * sizeof *e.arg;
		e.data = p.size ? (const uint8_t *)log->bytes.p + at : NULL;
		at += (p.size + 7u) / 8 * 8;
		each(arg, &e);
	}
	free(known);
}

void explore_log_free(struct explore_log *log)
{
	buf_free(&log->bytes);
	*log = (struct explore_log){ 0 };
}

void explore_log_clear(struct explore_log *log)
{
	log->bytes.n = 0;
	log->first = log->n = 0;
}
