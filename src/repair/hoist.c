/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase 3: a flush at the store is executed whenever the store is, also where it writes memory that is no PM,
 * or PM that a caller persists anyway. At a call further up it is executed for that call alone. The site with
 * the fewest executions in vain is taken, the innermost of those with as few.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "repair/internal.h"

static uint64_t in_vain(const struct repair_site *s)
{
	return s->counts.elsewhere + s->counts.persisted;
}

/* Why the fix cannot be at this call; xmalloc'ed, NULL: it can. */
static char *obstacle(const struct repair_site *s)
{
	if (s->no_edit)
		return xstrdup(s->no_edit);
	if (!s->counts.known)
		return xstrdup("nobody counted how often it is executed");
	if (!s->range && s->no_copy)
		return xasprintf("what is called cannot be copied: %s", s->no_copy);
	return NULL;
}

static char *cost(const struct repair_site *s)
{
	return xasprintf("%" PRIu64 " executions in vain: %" PRIu64
			 " on memory that is not persistent, "
			 "%" PRIu64 " on what others persist",
			 in_vain(s), s->counts.elsewhere, s->counts.persisted);
}

/* Ends the walk: there is nothing above where a fix would make sense. */
static const char *wall(const struct repair_site *s)
{
	if (s->indirect)
		return "the call goes through a pointer to a function";
	if (!s->pointers)
		return "the call passes no pointer: it writes the same memory whoever calls";
	return NULL;
}

static size_t choose(const struct repair_bug *b, struct repair_fix *f)
{
	size_t best = f->site;
	for (size_t i = f->site + 1; i < b->n && i <= b->holds; i++) {
		const struct repair_site *s = &b->site[i];
		if (wall(s)) {
			repair_reject(f, &s->at, xstrdup(wall(s)));
			break;
		}
		char *why = obstacle(s);
		if (why)
			repair_reject(f, &s->at, why);
		else if (in_vain(s) < in_vain(&b->site[best]))
			best = i;
	}
	return best;
}

/* A copy is more to read and to maintain: it has to save at least as many executions as are of use. */
static bool is_worth_it(const struct repair_bug *b, size_t from, size_t to)
{
	uint64_t saved = in_vain(&b->site[from]) - in_vain(&b->site[to]);
	return b->site[to].range || saved >= b->site[from].counts.lost;
}

static void move(const struct repair_bug *b, struct repair_fix *f, size_t best)
{
	for (size_t i = f->site; i < best; i++)
		if (!b->site[i].no_edit)
			repair_reject(f, &b->site[i].at, cost(&b->site[i]));
	free(f->why);
	f->why = cost(&b->site[best]);
	f->site = best;
	f->at = b->site[best].at;
	f->form = b->site[best].range ? REPAIR_RANGE : REPAIR_COPY;
}

/* The call goes to a copy anyway. */
static bool is_copied(const struct repair_plan *plan, const struct repair_place *call)
{
	for (size_t i = 0; i < plan->fix.n; i++)
		if (plan->fix.p[i].form == REPAIR_COPY &&
		    repair_same_place(&plan->fix.p[i].at, call))
			return true;
	return false;
}

/* Where a copy would not be worth it for this store alone. */
static void share_copy(const struct repair_bug *b, struct repair_fix *f, size_t best,
		       const struct repair_plan *plan)
{
	if (is_copied(plan, &b->site[best].at))
		move(b, f, best);
	else
		repair_reject(
			f, &b->site[best].at,
			xstrdup("a copy of the function would save fewer executions than are of use"));
}

void repair_hoist(const struct repair_bug *b, struct repair_plan *plan)
{
	size_t *best = xcalloc(plan->fix.n + 1, sizeof *best); /* 0: where it is */
	for (size_t i = 0; i < plan->fix.n; i++) {
		struct repair_fix *f = &plan->fix.p[i];
		const struct repair_bug *mine = &b[f->bug];
		if ((f->form != REPAIR_STORE && f->form != REPAIR_RANGE) ||
		    !mine->site[f->site].counts.known)
			continue;
		size_t to = choose(mine, f);
		if (to != f->site && is_worth_it(mine, f->site, to))
			move(mine, f, to);
		else if (to != f->site)
			best[i] = to;
	}
	for (size_t i = 0; i < plan->fix.n; i++)
		if (best[i])
			share_copy(&b[plan->fix.p[i].bug], &plan->fix.p[i], best[i], plan);
	free(best);
}
