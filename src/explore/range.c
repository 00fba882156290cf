/* SPDX-License-Identifier: BSD-3-Clause */
/* --printable and --range: what each byte of the input may be. */
#include <stdlib.h>
#include <string.h>

#include "explore/input.h"

struct explore_source *explore_source_named(struct explore_plan *p, const char *name, size_t n)
{
	for (size_t i = 0; i < p->about.n; i++) {
		struct explore_source *a = &p->about.p[i];
		if ((strlen(a->name) == n && !memcmp(a->name, name, n)) ||
		    (strlen(a->given) == n && !memcmp(a->given, name, n)))
			return a;
	}
	return NULL;
}

/* A byte's value: 65, 0x41 or the character itself. */
static const char *byte_value(const char *s, uint8_t *out)
{
	char *end;
	if (*s < '0' || *s > '9') {
		*out = (uint8_t)*s;
		return *s ? s + 1 : NULL;
	}
	unsigned long v = strtoul(s, &end, 0);
	*out = (uint8_t)v;
	return v > 255 ? NULL : end;
}

static int one_range(struct explore_plan *p, const char *text, struct err *err)
{
	const char *colon = strchr(text, ':'), *from = text;
	struct explore_source *only =
		colon ? explore_source_named(p, text, (size_t)(colon - text)) : NULL;
	uint8_t lo, hi;
	if (only)
		from = colon + 1;
	const char *end = byte_value(from, &lo);
	if (!end || *end != '-' || !(end = byte_value(end + 1, &hi)) || *end)
		return err_set(err, EXIT_USAGE,
			       "--range takes [SOURCE:]A-B with A and B from 0 to 255 or "
			       "characters, not '%s'",
			       text);
	if (lo > hi)
		return err_set(err, EXIT_USAGE, "--range %s: no byte is in it", text);
	for (size_t i = 0; i < p->about.n; i++) {
		struct explore_source *a = &p->about.p[i];
		if (only ? a != only : a->pm)
			continue;
		if (hi < a->lo || lo > a->hi)
			return err_set(err, EXIT_USAGE,
				       "--range %s: no byte of %s is in it and in the other "
				       "ranges too",
				       text, a->name);
		a->lo = lo > a->lo ? lo : a->lo;
		a->hi = hi < a->hi ? hi : a->hi;
	}
	return 0;
}

int explore_ranges(struct explore_plan *p, const struct explore_inputs *o, struct err *err)
{
	for (size_t i = 0; o->printable && i < p->about.n; i++)
		if (!p->about.p[i].pm) {
			p->about.p[i].lo = ' ';
			p->about.p[i].hi = '~';
		}
	for (size_t i = 0; i < o->range.n; i++)
		if (one_range(p, o->range.p[i], err))
			return -1;
	for (size_t i = 0; i < p->source.n; i++) {
		memset(p->lo + p->source.p[i].first, p->about.p[i].lo, p->source.p[i].len);
		memset(p->hi + p->source.p[i].first, p->about.p[i].hi, p->source.p[i].len);
	}
	return 0;
}
