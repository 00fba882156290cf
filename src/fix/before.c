/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Was an error there before the patch? Its identity is made of the statement's text and of what it lacks, and a patch changes both: a fence that is
 * added makes of a missing flush and fence elsewhere a missing flush, and a statement that got a flush reads otherwise. So errors are compared by
 * call paths, seen through the edits, and by what the stores lack, which may have become less.
 */
#include <stdlib.h>
#include <string.h>

#include "fix/proof.h"

/* A frame, as the source without the patch has it. */
struct spot {
	char *function;
	const struct source_file *file; /* NULL: none of the source */
	const char *name;               /* … then its name; NULL: not known */
	uint32_t line, column;          /* column 0: in what was inserted, or not known */
};
struct way {
	VEC(struct spot) spot;
};

/* The source's file of this name, which may be that of the copy. */
static const struct source_file *file_of(const struct fix_lab *l, const char *name)
{
	const struct source_file *f;
	struct err none;
	size_t n = l->copy ? strlen(l->copy) : 0;
	bool copied = n && !strncmp(name, l->copy, n) && name[n] == '/';
	char *path = copied ? xasprintf("%s%s", l->root, name + n) : xstrdup(name);
	bool bad = source_file_at(l->x->source, path, &f, &none) != 0;
	free(path);
	return bad ? NULL : f;
}

static struct spot spot_of(const struct fix_lab *l, const struct srcloc_frame *m, bool edited)
{
	const struct source_file *f = m->file ? file_of(l, m->file) : NULL;
	struct source_place now = { m->file, m->line, m->column }, was = now;
	if (f && edited && source_edits_origin(&l->x->edits, f, &now, &was))
		was = (struct source_place){ 0 };
	return (struct spot){ .file = f, .name = m->file, .line = was.line, .column = was.column };
}

static struct way way_of(const struct fix_lab *l, const struct finding_place *p, bool edited)
{
	struct way w = { 0 };
	for (size_t i = 0; i < p->n; i++) {
		struct spot s = spot_of(l, &p->frame[i], edited);
		s.function = p->frame[i].function ? finding_function(&p->frame[i]) : xstrdup("");
		VEC_PUSH(&w.spot, s);
	}
	return w;
}

static void way_free(struct way *w)
{
	for (size_t i = 0; i < w->spot.n; i++)
		free(w->spot.p[i].function);
	VEC_FREE(&w->spot);
}

static bool same_spot(const struct spot *a, const struct spot *b)
{
	if (a->line != b->line || a->file != b->file || strcmp(a->function, b->function) != 0)
		return false;
	return a->file || (a->name ? b->name && !strcmp(a->name, b->name) : !b->name);
}

/*
 * The same statement, called in the same way. A call that ended its function is a jump to the compiler, and a call once something
 * follows it: then one path has a frame more.
 */
static bool same_way(const struct way *a, const struct way *b)
{
	const struct way *less = a->spot.n < b->spot.n ? a : b, *more = less == a ? b : a;
	size_t i = 0;
	if (!less->spot.n || !same_spot(&less->spot.p[0], &more->spot.p[0]))
		return false;
	for (size_t k = 0; i < less->spot.n && k < more->spot.n; k++)
		i += same_spot(&less->spot.p[i], &more->spot.p[k]);
	return i == less->spot.n;
}

static unsigned lacks(const struct finding *f)
{
	return f->kind == finding_kind_info(FINDING_MISSING_FLUSH)             ? REPAIR_FLUSH
	       : f->kind == finding_kind_info(FINDING_MISSING_FENCE)           ? REPAIR_FENCE
	       : f->kind == finding_kind_info(FINDING_MISSING_FLUSH_AND_FENCE) ? FIX_BOTH
									       : 0;
}

static bool no_more(const struct finding *now, const struct finding *was)
{
	return now->kind == was->kind || (lacks(now) && !(lacks(now) & ~lacks(was)));
}

static bool has_way(const struct fix_lab *l, const struct finding *was, const struct way *w)
{
	bool same = false;
	for (size_t i = 0; !same && i <= was->paths.n; i++) {
		struct way old = way_of(l, i ? &was->paths.p[i - 1].place : &was->place, false);
		same = same_way(&old, w);
		way_free(&old);
	}
	return same;
}

/* Some finding, of any level, says it of this path. */
static bool was_said(const struct fix_lab *l, const struct finding_set *before,
		     const struct finding *f, const struct finding_place *p)
{
	struct way w = way_of(l, p, true);
	bool any = false;
	for (size_t i = 0; !any && i < before->v.n; i++)
		any = !before->v.p[i]->crash && no_more(f, before->v.p[i]) &&
		      has_way(l, before->v.p[i], &w);
	way_free(&w);
	return any;
}

bool fix_was_there(const struct fix_lab *l, const struct finding_set *before,
		   const struct finding *f)
{
	bool all = !f->crash && f->place.n;
	for (size_t i = 0; all && i <= f->paths.n; i++) {
		const struct finding_place *p = i ? &f->paths.p[i - 1].place : &f->place;
		all = was_said(l, l->x->set, f, p) || was_said(l, before, f, p);
	}
	return all;
}

/* The store that is planned to be followed by something, at this frame or none. */
static bool is_store(const struct fix_lab *l, const struct repair_place *store,
		     const struct srcloc_frame *m)
{
	struct spot s = spot_of(l, m, true);
	return s.file && store->file && s.file == file_of(l, store->file) &&
	       s.line == store->line && (!s.column || !store->column || s.column == store->column);
}

bool fix_is_for(const struct fix_lab *l, const struct finding *f, size_t entry)
{
	const struct fix *x = l->x;
	const struct srcloc_frame *m = finding_main_frame(&f->place);
	for (size_t i = 0; m && i < x->bug.n; i++)
		for (const struct srcloc_frame *k = f->place.frame;
		     x->with.p[i].entry == entry && k <= m; k++)
			if (is_store(l, &x->bug.p[i].site[0].at, k))
				return true;
	return false;
}
