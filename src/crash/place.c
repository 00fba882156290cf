/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths of the history's places, looked up when asked for and kept, with helpers marked. */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

static struct srcloc_where look_up(struct crash *c, uint32_t place)
{
	const struct crash_place *p = &c->h->place.p[place];
	return srcloc_path(c->src, p->process, p->ip, p->ctx);
}

/* Which functions are helpers: by all that they do in the whole history. */
static void find_helpers(struct crash *c)
{
	c->helpers = finding_helpers_new();
	for (uint32_t i = 0; i < c->h->place.n; i++) {
		const struct crash_place *p = &c->h->place.p[i];
		const struct trace_site_def *site =
			trace_site(trace_defs(c->h->reader), p->process, p->site);
		enum finding_act act;
		if (site && finding_act_of(site->class, p->stores, &act))
			finding_helpers_see(c->helpers, look_up(c, i), act);
	}
	finding_helpers_decide(c->helpers);
	c->path = xcalloc(c->h->place.n, sizeof *c->path);
}

const struct finding_place *crash_path(struct crash *c, uint32_t place)
{
	if (!c->path)
		find_helpers(c);
	struct finding_place *p = &c->path[place];
	if (!p->frame) {
		*p = finding_place_copy(look_up(c, place));
		finding_helpers_mark(c->helpers, p->frame, p->n);
	}
	return p;
}

/* The program's own, not a library's on its behalf: that one has an order of its own. */
bool crash_own_store(struct crash *c, uint32_t piece)
{
	const struct finding_place *path = crash_path(c, crash_piece_at(c->h, piece).place);
	const struct srcloc_frame *f = finding_main_frame(path);
	return f && f->module && path->frame[0].module && !strcmp(f->module, path->frame[0].module);
}

void crash_paths_free(struct crash *c)
{
	for (size_t i = 0; c->path && i < c->h->place.n; i++)
		free(c->path[i].frame);
	free(c->path);
	finding_helpers_free(c->helpers);
}
