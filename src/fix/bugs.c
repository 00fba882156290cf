/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings become bugs: which store lacks what, and before which point. */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

#define PATHS 32u /* call paths of a finding that are looked at, as many as a report has */

/* How the kinds of findings are repaired. Those that are not here are none of ours. */
enum way {
	BY_PLACE, /* the finding's place is the store */
	BY_CRASH, /* the stores that are lost must be persistent before the one that survives is made */
	BY_LOSS,  /* … as soon as they are made: the operation ends */
	BY_LOG,   /* the transaction that it is in has to know of the store */
	BY_WORDS, /* order alone does not help */
};
static const struct {
	enum finding_kind kind;
	const char *oracle; /* the kind's name, where an oracle has brought it */
	enum way way;
	unsigned lacks;
} ways[] = {
	{ FINDING_MISSING_FLUSH, NULL, BY_PLACE, REPAIR_FLUSH },
	{ FINDING_MISSING_FENCE, NULL, BY_PLACE, REPAIR_FENCE },
	{ FINDING_MISSING_FLUSH_AND_FENCE, NULL, BY_PLACE, FIX_BOTH },
	{ FINDING_LATE_PERSIST, NULL, BY_PLACE, FIX_BOTH },
	{ FINDING_BROKEN_ORDER, NULL, BY_WORDS, 0 },
	{ FINDING_ORDERING, NULL, BY_CRASH, FIX_BOTH },
	{ FINDING_LOST_OPERATION, NULL, BY_LOSS, FIX_BOTH },
	{ FINDING_ATOMICITY, NULL, BY_WORDS, 0 },
	{ FINDING_HALF_OPERATION, NULL, BY_WORDS, 0 },
	{ 0, "unlogged-store", BY_LOG, REPAIR_LOG },
	{ 0, "store-outside-tx", BY_PLACE, FIX_BOTH },
};
#define WAYS (sizeof ways / sizeof *ways)

const struct finding_kind_info *fix_kind(const struct finding *f)
{
	const struct finding_kind_info *because = f->crash ? f->crash->because : NULL;
	if (because && (f->kind == finding_kind_info(FINDING_HALF_OPERATION) ||
			(f->kind == finding_kind_info(FINDING_LOST_OPERATION) &&
			 because == finding_kind_info(FINDING_ATOMICITY))))
		return because;
	return f->kind;
}

static size_t way_of(const struct finding *f)
{
	const struct finding_kind_info *kind = fix_kind(f);
	size_t i = 0;
	while (i < WAYS && (ways[i].oracle ? strcmp(kind->name, ways[i].oracle) != 0
					   : kind != finding_kind_info(ways[i].kind)))
		i++;
	return i;
}

bool fix_repairs(const struct finding *f)
{
	size_t i = way_of(f);
	return i < WAYS && ways[i].way != BY_WORDS && f->level == FINDING_ERROR && !f->suppressed;
}

char *fix_hint(const struct finding_set *set, const char *what)
{
	struct buf b = { 0 };
	size_t i = 0;
	while (i < set->v.n && !fix_repairs(set->v.p[i]))
		i++;
	if (i == set->v.n || !what)
		return NULL;
	buf_puts(&b, "holdfast fix ");
	shell_quote(&b, what, strlen(what));
	buf_add(&b, "", 1);
	return b.p;
}

static bool asked_for(const struct fix *x, const struct finding *f)
{
	for (size_t i = 0; i < x->o.nonly; i++)
		if (!strncmp(f->id, x->o.only[i], strlen(x->o.only[i])))
			return true;
	return !x->o.nonly && !f->suppressed &&
	       (f->level == FINDING_ERROR || (x->o.warnings && f->level == FINDING_WARNING));
}

/* What the same function stores to what it should persist is repaired with an error: it needs it no less for being sure only of that. */
static bool goes_with(const struct fix *x, const struct finding *f)
{
	const struct srcloc_frame *m = finding_main_frame(&f->place);
	size_t way = way_of(f);
	if (x->o.nonly || f->level != FINDING_WARNING || f->suppressed || way == WAYS || !m ||
	    !m->file || !m->function || ways[way].way != BY_PLACE || ways[way].oracle)
		return false;
	for (size_t i = 0; i < x->set->v.n; i++) {
		const struct finding *e = x->set->v.p[i];
		const struct srcloc_frame *at = finding_main_frame(&e->place);
		size_t w = way_of(e);
		if (e->level == FINDING_ERROR && !e->suppressed && w != WAYS &&
		    ways[w].way == BY_PLACE && at && at->file && at->function &&
		    !strcmp(at->file, m->file) && !strcmp(at->function, m->function))
			return true;
	}
	return false;
}

bool fix_leaves_warnings(const struct fix *x)
{
	for (size_t i = 0; i < x->entry.n; i++) {
		const struct finding *f = x->entry.p[i].f;
		size_t way = way_of(f);
		if (x->entry.p[i].state == FIX_LEFT && f->level == FINDING_WARNING &&
		    !f->suppressed && !x->o.nonly && way < WAYS && ways[way].way == BY_PLACE)
			return true;
	}
	return false;
}

static const struct finding_related *related(const struct finding *f, const char *role)
{
	for (size_t i = 0; i < f->related.n; i++)
		if (!strcmp(f->related.p[i].role, role))
			return &f->related.p[i];
	return NULL;
}

static struct repair_place main_place(const struct finding_place *p)
{
	const struct srcloc_frame *m = finding_main_frame(p);
	if (!m || !m->file)
		return (struct repair_place){ 0 };
	return (struct repair_place){ m->file, m->function, m->line, m->column };
}

/* "pool+0x40, 8 bytes": the cache line, told from others by its file and number. */
static uint64_t line_of(const char *data, uint32_t *bytes, uint64_t *offset)
{
	char *end;
	const char *plus = data ? strrchr(data, '+') : NULL;
	*bytes = 0;
	if (!plus)
		return 0;
	uint64_t off = *offset = strtoull(plus + 1, &end, 16);
	if (*end == ',')
		*bytes = (uint32_t)strtoul(end + 1, NULL, 10);
	return hash_seeded(data, (size_t)(plus - data), off / TRACE_LINE) | 1;
}

static size_t add(struct fix *x, size_t entry, unsigned lacks, const struct finding_place *store)
{
	const struct finding *f = x->entry.p[entry].f;
	VEC_PUSH(&x->bug, ((struct repair_bug){ .id = f->id, .lacks = lacks }));
	VEC_PUSH(&x->with, ((struct fix_bug){ .entry = entry,
					      .event = UINT64_MAX,
					      .until = UINT64_MAX,
					      .fenced = UINT64_MAX,
					      .stores = SIZE_MAX }));
	fix_find_sites(x, x->bug.n - 1, store);
	return x->bug.n - 1;
}

/* How many of the outermost frames are the same calls; the function after them holds both. */
static void set_holder(struct fix *x, size_t bug, const struct finding_place *until)
{
	struct fix_bug *w = &x->with.p[bug];
	size_t i = w->frames, k = until->n;
	while (i > 1 && k > 1 && w->frame[i - 1]->offset == until->frame[k - 1].offset &&
	       w->frame[i - 1]->line == until->frame[k - 1].line) {
		i--;
		k--;
	}
	x->bug.p[bug].holds = i ? i - 1 : 0;
}

static size_t by_path(struct fix *x, size_t entry, unsigned lacks, const struct finding_place *p)
{
	const struct finding_related *end = related(x->entry.p[entry].f, "end");
	size_t bug = add(x, entry, lacks, p), frames = x->with.p[bug].frames;
	if (end)
		set_holder(x, bug, &end->place);
	else /* it was lost when the program ended: after all calls */
		x->bug.p[bug].holds = frames ? frames - 1 : 0;
	return bug;
}

/* The same statement; and, if asked, called in the same way. */
static bool same_path(const struct finding_place *a, const struct finding_place *b, bool calls)
{
	struct finding_place x = { a->frame, calls || !a->n ? a->n : 1 };
	struct finding_place y = { b->frame, calls || !b->n ? b->n : 1 };
	return a->n && b->n && finding_same_path(&x, &y, true);
}

/* Whether this path of a finding brings anything that those before it do not. */
static bool is_other(const struct finding *f, size_t path, bool calls)
{
	const struct finding_place *p = &f->paths.p[path].place;
	bool other = !same_path(p, &f->place, calls);
	for (size_t i = 0; other && i < path; i++)
		other = !same_path(p, &f->paths.p[i].place, calls);
	return other;
}

/*
 * The other paths to the statement, or to other stores of what it calls, each of which is a bug of its own: a fix at a call is for one of them. Where
 * there are very many, all fixes are at the stores.
 */
static void by_other_paths(struct fix *x, size_t entry, unsigned lacks, size_t first)
{
	const struct finding *f = x->entry.p[entry].f;
	bool calls = f->paths.n <= PATHS;
	if (!calls && !x->bug.p[first].site[0].no_edit)
		x->bug.p[first].n = 1;
	for (size_t i = 0; i < f->paths.n; i++) {
		if (!is_other(f, i, calls))
			continue;
		size_t bug = by_path(x, entry, lacks, &f->paths.p[i].place);
		struct repair_bug *b = &x->bug.p[bug];
		if (b->holds > x->bug.p[first].holds)
			b->holds = x->bug.p[first].holds;
		if (!calls && !b->site[0].no_edit)
			b->n = 1;
		x->with.p[bug].path = &f->paths.p[i].place;
		x->with.p[bug].offset = UINT64_MAX;
	}
}

static void by_place(struct fix *x, size_t entry, unsigned lacks)
{
	const struct finding *f = x->entry.p[entry].f;
	const struct finding_related *flush = related(f, "last-flush");
	size_t bug = by_path(x, entry, lacks, &f->place);
	struct fix_bug *w = &x->with.p[bug];
	w->event = f->event;
	x->bug.p[bug].line = line_of(f->data, &w->bytes, &w->offset);
	w->path = x->bug.p[bug].line ? &f->place : NULL;
	if (lacks == REPAIR_FENCE) /* what bypasses the cache needs no flush: it is its own */
		x->bug.p[bug].flush = flush ? main_place(&flush->place) : x->bug.p[bug].site[0].at;
	else
		by_other_paths(x, entry, lacks, bug);
}

static bool same_place(const struct repair_place *a, const struct repair_place *b)
{
	return a->file && b->file && !strcmp(a->file, b->file) && a->line == b->line &&
	       a->column == b->column;
}

static bool is_lost(const struct finding_related *r)
{
	return !strcmp(r->role, "lost") || !strcmp(r->role, "also-lost");
}

static void by_crash(struct fix *x, size_t entry)
{
	const struct finding *f = x->entry.p[entry].f;
	const struct finding_related *ahead = related(f, "persisted");
	bool wrong = !ahead, any = false;
	for (size_t i = 0; ahead && i < f->related.n; i++)
		wrong |= is_lost(&f->related.p[i]) && f->related.p[i].event > ahead->event;
	if (wrong) {
		fix_advise(x, entry);
		return;
	}
	for (size_t i = 0; i < f->related.n; i++) {
		const struct finding_related *r = &f->related.p[i];
		if (!is_lost(r))
			continue;
		size_t bug = add(x, entry, FIX_BOTH, &r->place);
		x->with.p[bug].event = r->event;
		x->with.p[bug].until = ahead->event;
		x->with.p[bug].needs = &ahead->place;
		x->bug.p[bug].until = main_place(&ahead->place);
		set_holder(x, bug, &ahead->place);
		any = true;
	}
	if (!any)
		fix_advise(x, entry);
}

static void by_loss(struct fix *x, size_t entry)
{
	const struct finding *f = x->entry.p[entry].f;
	bool any = false;
	for (size_t i = 0; i < f->related.n; i++) {
		if (!is_lost(&f->related.p[i]))
			continue;
		size_t bug = add(x, entry, FIX_BOTH, &f->related.p[i].place);
		x->with.p[bug].event = f->related.p[i].event;
		x->with.p[bug].until = f->crash ? f->crash->event : UINT64_MAX;
		any = true;
	}
	if (!any)
		fix_advise(x, entry);
}

static void by_log(struct fix *x, size_t entry)
{
	size_t bug = add(x, entry, REPAIR_LOG, &x->entry.p[entry].f->place);
	const char *why = fix_no_log(x, &x->with.p[bug]);
	x->bug.p[bug].site[0].no_edit = why;
	if (!why)
		return;
	x->bug.n = x->with.n = bug;
	fix_tell(x, entry, "no fix: %s", why);
	fix_advise(x, entry);
}

/* What a transaction logs it also flushes: where the same store lacks both, the log is enough. */
static void drop_logged(struct fix *x)
{
	size_t n = 0;
	for (size_t i = 0; i < x->bug.n; i++) {
		bool logged = false;
		for (size_t k = 0; k < x->bug.n; k++)
			logged |= x->bug.p[i].lacks != REPAIR_LOG &&
				  x->bug.p[k].lacks == REPAIR_LOG &&
				  same_place(&x->bug.p[i].site[0].at, &x->bug.p[k].site[0].at);
		if (logged) {
			x->entry.p[x->with.p[i].entry].state = FIX_LEFT;
			continue;
		}
		x->bug.p[n] = x->bug.p[i];
		x->with.p[n++] = x->with.p[i];
	}
	x->bug.n = x->with.n = n;
}

void fix_find_bugs(struct fix *x)
{
	for (size_t i = 0; i < x->set->v.n; i++) {
		const struct finding *f = x->set->v.p[i];
		size_t way = way_of(f);
		VEC_PUSH(&x->entry, ((struct fix_entry){ .f = f, .state = FIX_LEFT }));
		if (way == WAYS || (!asked_for(x, f) && !goes_with(x, f)))
			continue;
		x->entry.p[i].state = FIX_NONE;
		if (ways[way].way == BY_PLACE)
			by_place(x, i, ways[way].lacks);
		else if (ways[way].way == BY_CRASH)
			by_crash(x, i);
		else if (ways[way].way == BY_LOSS)
			by_loss(x, i);
		else if (ways[way].way == BY_LOG)
			by_log(x, i);
		else
			fix_advise(x, i);
	}
	drop_logged(x);
}
