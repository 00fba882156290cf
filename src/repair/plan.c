/* SPDX-License-Identifier: BSD-3-Clause */
/* The phases of a plan, of which the first is here: what each bug lacks, at its store. */
#include <stdlib.h>
#include <string.h>

#include "repair/internal.h"

const char *repair_form_text(enum repair_form form)
{
	static const char *const text[] = {
#define X(NAME, words) [REPAIR_##NAME] = words,
		REPAIR_FORMS(X)
#undef X
	};
	return text[form];
}

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

bool repair_same_function(const struct repair_place *a, const struct repair_place *b)
{
	return same_text(a->file, b->file) && same_text(a->function, b->function);
}

bool repair_same_place(const struct repair_place *a, const struct repair_place *b)
{
	return repair_same_function(a, b) && a->line == b->line &&
	       (a->column == b->column || !a->column || !b->column);
}

void repair_reject(struct repair_fix *f, const struct repair_place *at, char *why)
{
	VEC_PUSH(&f->rejected, ((struct repair_rejected){ *at, why }));
}

void repair_join(struct repair_fix *to, const struct repair_fix *from)
{
	for (size_t i = 0; i < from->bugs.n; i++)
		VEC_PUSH(&to->bugs, from->bugs.p[i]);
}

void repair_fix_free(struct repair_fix *f)
{
	for (size_t i = 0; i < f->rejected.n; i++)
		free(f->rejected.p[i].why);
	VEC_FREE(&f->rejected);
	VEC_FREE(&f->bugs);
	VEC_FREE(&f->stores);
	free(f->why);
}

void repair_drop(struct repair_plan *plan, size_t i)
{
	repair_fix_free(&plan->fix.p[i]);
	memmove(&plan->fix.p[i], &plan->fix.p[i + 1], (--plan->fix.n - i) * sizeof plan->fix.p[0]);
}

static struct repair_fix *add(struct repair_plan *plan, enum repair_form form, unsigned acts,
			      size_t bug, struct repair_place at, char *why)
{
	struct repair_fix f = { .form = form, .acts = acts, .bug = bug, .at = at, .why = why };
	VEC_PUSH(&f.bugs, bug);
	VEC_PUSH(&f.stores, bug);
	VEC_PUSH(&plan->fix, f);
	return &plan->fix.p[plan->fix.n - 1];
}

/* Several bugs of this function must be durable before the same point. */
static bool shares_point(const struct repair_bug *b, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++)
		if (k != i && b[k].lacks & REPAIR_FENCE &&
		    repair_same_place(&b[k].until, &b[i].until) &&
		    repair_same_function(&b[k].site[0].at, &b[i].site[0].at))
			return true;
	return false;
}

/* The innermost site that can be edited: what stores below it is somebody else's. SIZE_MAX: there is none. */
static size_t innermost(const struct repair_bug *b)
{
	for (size_t i = 0; i < b->n && i <= b->holds; i++)
		if (!b->site[i].no_edit && (i == 0 || b->site[i].range))
			return i;
		else if (b->site[i].indirect)
			break;
	return SIZE_MAX;
}

/* A flush there is; only the fence is missing. */
static void add_fence(const struct repair_bug *b, size_t i, struct repair_plan *plan)
{
	if (b->until.file) /* one for all that was flushed, in whatever loop that was */
		add(plan, REPAIR_BEFORE, REPAIR_FENCE, i, b->until,
		    xstrdup("the line is flushed; the fence comes before the statement that needs it"));
	else
		add(plan, REPAIR_FLUSHED, REPAIR_FENCE, i, b->flush,
		    xstrdup("the line is flushed here, and nothing waits for that"));
}

/* An undo log has what was there before the store; no call further up knows of the range. */
static void add_log(const struct repair_bug *b, size_t i, struct repair_plan *plan)
{
	if (b->site[0].no_edit)
		plan->none.p[i] =
			(struct repair_rejected){ b->site[0].at, xstrdup(b->site[0].no_edit) };
	else
		add(plan, REPAIR_LOGGED, REPAIR_LOG, i, b->site[0].at,
		    xstrdup("the transaction would not undo the store"));
}

static void add_store(const struct repair_bug *b, size_t n, size_t i, struct repair_plan *plan)
{
	size_t at = innermost(&b[i]);
	unsigned acts = b[i].lacks;
	bool before = acts == (REPAIR_FLUSH | REPAIR_FENCE) &&
		      repair_same_function(&b[i].until, &b[i].site[0].at) && shares_point(b, n, i);
	if (at == SIZE_MAX) {
		plan->none.p[i] = (struct repair_rejected){
			b[i].site[0].at,
			xstrdup(b[i].site[0].no_edit ? b[i].site[0].no_edit
						     : "no site can be edited"),
		};
		return;
	}
	struct repair_fix *f = add(
		plan, at ? REPAIR_RANGE : REPAIR_STORE, before ? REPAIR_FLUSH : acts, i,
		b[i].site[at].at,
		xstrdup(acts == REPAIR_FLUSH ? "a fence follows, but nothing flushes the line"
			: b[i].late
				? "nothing flushes the line, and the next fence comes after the "
				  "operation has ended"
				: "nothing flushes the line, and no fence follows"));
	f->site = at;
	for (size_t k = 0; k < at; k++)
		repair_reject(f, &b[i].site[k].at, xstrdup(b[i].site[k].no_edit));
	if (before)
		add(plan, REPAIR_BEFORE, REPAIR_FENCE, i, b[i].until,
		    xstrdup("one fence for all that must be persistent before this statement"));
}

void repair_make(const struct repair_bug *b, size_t n, const struct repair_opts *o,
		 struct repair_plan *plan)
{
	*plan = (struct repair_plan){ 0 };
	for (size_t i = 0; i < n; i++) {
		VEC_PUSH(&plan->none, ((struct repair_rejected){ 0 }));
		if (b[i].lacks == REPAIR_LOG)
			add_log(&b[i], i, plan);
		else if (b[i].lacks == REPAIR_FENCE && b[i].flush.file)
			add_fence(&b[i], i, plan);
		else
			add_store(b, n, i, plan);
	}
	repair_reduce(b, plan);
	if (!o || !o->no_hoist) {
		repair_hoist(b, plan);
		repair_reduce(b, plan);
		repair_cover(b, plan);
	}
}

void repair_free(struct repair_plan *plan)
{
	for (size_t i = 0; i < plan->fix.n; i++)
		repair_fix_free(&plan->fix.p[i]);
	for (size_t i = 0; i < plan->none.n; i++)
		free(plan->none.p[i].why);
	VEC_FREE(&plan->fix);
	VEC_FREE(&plan->none);
}
