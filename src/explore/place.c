/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a run crashed or hung: as gdb says it, or as the events of the run have it. */
#include <stdlib.h>
#include <string.h>

#include "explore/found.h"

#define FRAMES 64

/* "#1  0x0000555555555189 in walk (log=0x…) at /src/log.c:41": false: not a frame. */
static bool parse_frame(char *line, struct srcloc_frame *f)
{
	char *p = line, *end;
	if (*p++ != '#')
		return false;
	strtoul(p, &end, 10);
	p = end + strspn(end, " ");
	if (!strncmp(p, "0x", 2)) {
		f->offset = strtoull(p, &end, 16);
		p = strncmp(end, " in ", 4) ? end : end + 4;
	}
	end = strstr(p, " (");
	if (!end)
		return false;
	*end = 0;
	f->function = strcmp(p, "??") ? p : NULL;
	char *at = strstr(end + 1, ") at "), *from = strstr(end + 1, ") from ");
	if (at) {
		f->file = at + 5;
		char *colon = strrchr(at + 5, ':');
		if (colon) {
			*colon = 0;
			f->line = (uint32_t)strtoul(colon + 1, NULL, 10);
		}
	} else if (from) {
		f->module = from + 7;
	}
	return true;
}

bool explore_place_gdb(const char *program, const char *text, struct finding_place *place)
{
	char *own = xstrdup(text);
	struct srcloc_frame frame[FRAMES];
	size_t n = 0;
	bool known = false;
	for (char *line = strtok(own, "\n"); line && n < FRAMES; line = strtok(NULL, "\n")) {
		frame[n] = (struct srcloc_frame){ .module = program };
		if (parse_frame(line, &frame[n])) {
			known = known || (frame[n].function && frame[n].module == program);
			n++;
		}
	}
	if (known)
		*place = finding_place_copy((struct srcloc_where){ frame, n });
	free(own);
	return known;
}

static void feed_places(void *places, const struct trace_event *e)
{
	if (e->kind < TRACE_KINDS)
		srcloc_trace_feed(places, e);
}

void explore_place_at(const struct explore_slot *s, uint64_t ip, uint32_t ctx,
		      struct finding_place *place)
{
	const struct trace_defs *defs = launch_explorer_defs(s->launch);
	struct srcloc_trace *t = srcloc_trace_new(defs);
	explore_log_each(&s->prefix, defs, feed_places, t);
	explore_log_each(&s->log, defs, feed_places, t);
	if (ip)
		*place = finding_place_copy(srcloc_path(t, 0, ip, ctx));
	srcloc_trace_free(t);
}

void explore_place_run(const struct explore_slot *s, struct finding_place *place)
{
	explore_place_at(s, s->last_ip, s->last_ctx, place);
}

struct listing {
	struct srcloc_trace *places;
	explore_priority_each *each;
	void *arg;
};

static void list_one(void *arg, uint64_t ip, uint32_t priority, enum binary_mark mark)
{
	struct listing *l = arg;
	struct srcloc_where w = srcloc_trace_at(l->places, 0, ip);
	l->each(l->arg, &w.frame[w.n - 1], ip, priority, mark);
}

void explore_place_each(const struct explore_slot *s, struct binary_view *view,
			explore_priority_each *each, void *arg)
{
	const struct trace_defs *defs = launch_explorer_defs(s->launch);
	struct listing l = { .places = srcloc_trace_new(defs), .each = each, .arg = arg };
	explore_log_each(s->prefix.n ? &s->prefix : &s->log, defs, feed_places, l.places);
	binary_view_update(view);
	binary_view_each(view, list_one, &l);
	srcloc_trace_free(l.places);
}
