/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fix/internal.h"

const char *fix_state_name(enum fix_state s)
{
	static const char *const name[] = {
#define X(NAME, word, about) [FIX_##NAME] = word,
		FIX_STATES(X)
#undef X
	};
	return name[s];
}

void fix_tell(struct fix *x, size_t entry, const char *fmt, ...)
{
	char *line = NULL;
	va_list ap;
	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = xstrdup(fmt);
	va_end(ap);
	VEC_PUSH(&x->entry.p[entry].say, line);
}

void *fix_keep(struct fix *x, void *p)
{
	VEC_PUSH(&x->kept, p);
	return p;
}

/* How many bytes the flush behind a call is told, and why these are bytes. */
static void tell_range(struct fix *x, size_t entry, const struct repair_fix *f)
{
	const struct fix_range *r = &x->with.p[f->bug].range[f->site];
	if (f->form == REPAIR_RANGE && r->evidence)
		fix_tell(x, entry, "  '%s' is a number of bytes: %s", r->size, r->evidence);
}

/* What the plan says of a bug, for its finding. */
static void tell_plan(struct fix *x)
{
	char where[512];
	for (size_t i = 0; i < x->bug.n; i++)
		if (x->plan.none.p[i].why)
			fix_tell(x, x->with.p[i].entry, "no fix: %s", x->plan.none.p[i].why);
	for (size_t i = 0; i < x->plan.fix.n; i++) {
		const struct repair_fix *f = &x->plan.fix.p[i];
		struct srcloc_frame at = { .file = f->at.file,
					   .function = f->at.function,
					   .line = f->at.line };
		size_t told = SIZE_MAX;
		for (size_t k = 0; k < f->bugs.n; k++) {
			size_t entry = x->with.p[f->bugs.p[k]].entry;
			if (entry == told)
				continue;
			told = entry;
			fix_tell(x, entry, "%s %s, %s: %s",
				 f->acts == FIX_BOTH       ? "flush and fence"
				 : f->acts == REPAIR_FLUSH ? "flush"
				 : f->acts == REPAIR_LOG   ? "log"
							   : "fence",
				 repair_form_text(f->form), srcloc_text(&at, where, sizeof where),
				 f->why);
			tell_range(x, entry, f);
			for (size_t r = 0; r < f->rejected.n; r++)
				fix_tell(x, entry, "  not at %s:%u: %s",
					 f->rejected.p[r].at.file ? f->rejected.p[r].at.file
								  : "a place without source",
					 f->rejected.p[r].at.line, f->rejected.p[r].why);
			if (x->out.p[i])
				fix_tell(x, entry, "  taken out: %s", x->out.p[i]);
		}
	}
}

/* A finding is planned for if all its bugs have all their fixes. */
static void set_states(struct fix *x)
{
	bool *has = xcalloc(x->entry.n + 1, sizeof *has);
	for (size_t i = 0; i < x->plan.fix.n; i++)
		for (size_t k = 0; k < x->plan.fix.p[i].bugs.n; k++)
			has[x->with.p[x->plan.fix.p[i].bugs.p[k]].entry] = true;
	for (size_t i = 0; i < x->entry.n; i++)
		if (has[i])
			x->entry.p[i].state = FIX_PLANNED;
	for (size_t i = 0; i < x->bug.n; i++)
		if (x->plan.none.p[i].why && x->entry.p[x->with.p[i].entry].state == FIX_PLANNED)
			x->entry.p[x->with.p[i].entry].state = FIX_NONE;
	for (size_t i = 0; i < x->plan.fix.n; i++)
		for (size_t k = 0; x->out.p[i] && k < x->plan.fix.p[i].bugs.n; k++)
			x->entry.p[x->with.p[x->plan.fix.p[i].bugs.p[k]].entry].state = FIX_OUT;
	/* … which is more than was asked for, where it is a warning */
	for (size_t i = 0; !x->o.nonly && !x->o.warnings && i < x->entry.n; i++)
		if (x->entry.p[i].state == FIX_NONE && x->entry.p[i].f->level != FINDING_ERROR)
			x->entry.p[i].state = FIX_LEFT;
	free(has);
}

/* A file of the bugs' paths is below the root; or no path has one. */
static bool has_source(struct fix *x)
{
	bool any = false;
	for (size_t i = 0; i < x->with.n; i++) {
		const struct finding_place *p = &x->entry.p[x->with.p[i].entry].f->place;
		for (size_t k = 0; k < p->n; k++) {
			const struct source_file *f;
			struct err none;
			if (!p->frame[k].file || finding_is_library(&p->frame[k]))
				continue;
			any = true;
			if (!source_file_at(x->source, p->frame[k].file, &f, &none) &&
			    *f->name != '/')
				return true;
		}
	}
	return !any;
}

static int plan(struct fix *x, struct err *err)
{
	struct repair_opts ro = { .no_hoist = x->o.no_hoist };
	fix_find_bugs(x);
	if (!has_source(x))
		return err_set(err, EXIT_USAGE,
			       "%s has no file of the program's source: --source names its folder",
			       x->o.root ? x->o.root : "the current folder");
	if (fix_read_trace(x, err))
		return -1;
	fix_find_blocks(x);
	repair_make(x->bug.p, x->bug.n, &ro, &x->plan);
	for (size_t i = 0; i < x->plan.fix.n; i++)
		VEC_PUSH(&x->out, NULL);
	fix_find_removals(x);
	if (fix_make_edits(x, err))
		return -1;
	set_states(x);
	tell_plan(x);
	return 0;
}

struct fix *fix_new(const struct fix_opts *o, const struct finding_set *set, struct err *err)
{
	struct fix *x = xcalloc(1, sizeof *x);
	struct source_options so = {
		.root = o->root,
		.compile_commands = o->compile_commands,
		.object = o->object,
		.objects = o->objects,
		.changed = o->changed,
	};
	x->o = *o;
	x->set = set;
	x->source = source_open(&so, err);
	if (x->source && !plan(x, err))
		return x;
	fix_free(x);
	return NULL;
}

void fix_free(struct fix *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->entry.n; i++) {
		for (size_t k = 0; k < x->entry.p[i].say.n; k++)
			free(x->entry.p[i].say.p[k]);
		VEC_FREE(&x->entry.p[i].say);
	}
	for (size_t i = 0; i < x->means.n; i++) {
		free(x->means.p[i].pattern);
		free(x->means.p[i].general);
	}
	for (size_t i = 0; i < x->with.n; i++)
		free(x->with.p[i].flush.frame);
	for (size_t i = 0; i < x->out.n; i++)
		free(x->out.p[i]);
	for (size_t i = 0; i < x->proof.n; i++)
		free(x->proof.p[i]);
	for (size_t i = 0; i < x->kept.n; i++)
		free(x->kept.p[i]);
	repair_free(&x->plan);
	source_edits_free(&x->edits);
	source_close(x->source);
	VEC_FREE(&x->entry);
	VEC_FREE(&x->means);
	VEC_FREE(&x->bug);
	VEC_FREE(&x->with);
	VEC_FREE(&x->out);
	VEC_FREE(&x->proof);
	VEC_FREE(&x->touched);
	VEC_FREE(&x->removal);
	VEC_FREE(&x->kept);
	free(x);
}

size_t fix_count(const struct fix *x, enum fix_state state)
{
	size_t n = 0;
	for (size_t i = 0; i < x->entry.n; i++)
		n += x->entry.p[i].state == state;
	return n;
}

size_t fix_edits(const struct fix *x)
{
	return x->edits.edit.n;
}

void fix_patch(const struct fix *x, struct buf *out)
{
	source_edits_diff(&x->edits, out);
}
