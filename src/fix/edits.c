/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan becomes edits of the source; copies of functions are shared by all fixes that need them. */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

/* A function that is there once more, for persistent memory. */
struct copy {
	struct source_function fn;
	char *name;
	struct source_edits inside;
};
struct work {
	struct fix *x;
	struct source_edits edits;
	VEC(struct copy) copy;
	struct err err;
};

static struct source_place source_place(const struct repair_place *p)
{
	return (struct source_place){ p->file, p->line, p->column };
}

static bool in_line(const struct source_owner *o)
{
	return o->bytes && o->bytes <= TRACE_LINE && (o->bytes <= 8 || o->bytes <= o->align);
}

/* "" if there is nothing to do; NULL and err if it cannot be said. */
static char *say(struct work *w, const struct repair_idiom *i, unsigned acts, const char *address,
		 const char *size)
{
	char *text = repair_idiom_text(i, acts, address ? address : "%a", size ? size : "%n");
	if (*text && (address || !strstr(text, "%a")))
		return text;
	err_set(&w->err, EXIT_NOTHING, "the program's fence needs an address, and there is none");
	free(text);
	return NULL;
}

/* The statements for a range, "" if there is nothing to do; NULL and err if they cannot be said. */
static char *code(struct work *w, const struct source_statement *at, unsigned acts, bool line,
		  const char *address, const char *size)
{
	const char *top;
	struct err none;
	if (fix_syncs(w->x)) { /* one call does it all, and waits */
		if (!(acts & REPAIR_FLUSH))
			return xstrdup("");
		acts = FIX_BOTH;
	}
	struct repair_idiom i = fix_idiom(w->x, at, line, acts, &top);
	char *text = say(w, &i, acts, address, size);
	repair_idiom_free(&i);
	if (text && source_may_follow(w->x->source, at, text, &none)) {
		free(text);
		i = fix_own_idiom(w->x, at, acts, &top);
		text = say(w, &i, acts, address, size);
		repair_idiom_free(&i);
	}
	if (text && (!top || !source_insert_top(w->x->source, at->file, top, &w->edits, &w->err)))
		return fix_spaced(at->file, text);
	free(text);
	return NULL;
}

static unsigned acts_at(const struct fix_bug *b, unsigned acts)
{
	return b->store.form == SOURCE_STREAM ? acts & ~(unsigned)REPAIR_FLUSH : acts;
}

/* "if (n) {", the lines, "}" */
static char *guarded(const char *guard, const char *lines, const char *indent)
{
	struct buf b = { 0 };
	buf_printf(&b, "if (%s) {\n%s", guard, indent);
	for (const char *c = lines; *c; c++) {
		buf_add(&b, c, 1);
		if (*c == '\n')
			buf_puts(&b, indent);
	}
	buf_add(&b, "\n}", 3);
	return b.p;
}

/* 1: it is done. */
static int put_after_loop(struct work *w, const struct source_loop *loop, unsigned acts,
			  struct source_edits *to)
{
	char *text = code(w, &loop->statement, acts, false, loop->base, loop->bytes);
	char *all = text && loop->guard
			    ? guarded(loop->guard, text, fix_indent(loop->statement.file))
			    : xstrdup(text ? text : "");
	int bad = !text || source_insert_after(w->x->source, &loop->statement, all, to, &w->err);
	free(text);
	free(all);
	return bad ? -1 : 1;
}

/*
 * A loop that stores over a range that is known: one flush of the range behind the loop does for all of its rounds, if the store is
 * all that happens in them, or nothing there persists. 1: so it is done.
 */
static int after_loop(struct work *w, const struct fix_bug *b, unsigned acts,
		      struct source_edits *to)
{
	const struct srcloc_frame *f = b->frames ? b->frame[0] : NULL;
	struct source_place at = { f ? f->file : NULL, f ? f->line : 0, f ? f->column : 0 };
	struct source_loop loop;
	struct err none;
	if (!f || !acts || b->store.statement.where == SOURCE_IN_EXPRESSION ||
	    source_loop_around(w->x->source, &at, &b->store, &loop, &none) || !loop.base ||
	    (!loop.alone && !fix_is_quiet(w->x, b, &loop)) || loop.statement.no_after)
		return 0;
	return put_after_loop(w, &loop, acts, to);
}

/* The fix is for stores to several parts of a struct, of which this is the last: all of it is flushed. */
static bool is_for_parts(const struct work *w, const struct repair_fix *f, const struct fix_bug *b)
{
	for (size_t i = 0; f && i < f->bugs.n; i++) {
		const struct fix_bug *other = &w->x->with.p[f->bugs.p[i]];
		if (other->store.lvalue && strcmp(other->store.lvalue, b->store.lvalue) != 0 &&
		    fix_flushes_whole(w->x, b))
			return true;
	}
	return false;
}

/* All of the struct, behind the statement that has the store and is beside those of its other parts. */
static int after_lifted(struct work *w, const struct fix_bug *b, unsigned acts,
			struct source_edits *to)
{
	const struct source_owner *o = &b->store.owner;
	char *text = code(w, &b->lifted, acts, in_line(o), o->address, o->size);
	int bad = !text ||
		  (*text && source_insert_after(w->x->source, &b->lifted, text, to, &w->err));
	free(text);
	return bad ? -1 : 0;
}

/* For all that the store's statement stores to. */
static char *store_code(struct work *w, const struct source_store *s, unsigned acts)
{
	unsigned first = s->also ? acts & REPAIR_FLUSH : acts;
	char *text = first ? code(w, &s->statement, first, s->in_line, s->address, s->size)
			   : xstrdup("");
	char *more =
		text && s->also ? code(w, &s->statement, acts, s->in_line, s->also, s->size) : NULL;
	if (!s->also || !text)
		return text;
	char *both = more ? xasprintf("%s%s%s", text, *text ? " " : "", more) : NULL;
	free(text);
	free(more);
	return both;
}

static int after_store(struct work *w, const struct fix_bug *b, const struct repair_fix *f,
		       unsigned acts, struct source_edits *to)
{
	const struct source_store *s = &b->store;
	bool whole = is_for_parts(w, f, b) || (s->beside && fix_flushes_whole(w->x, b));
	acts = acts_at(b, acts);
	if (whole && b->lift)
		return after_lifted(w, b, acts, to);
	int done = after_loop(w, b, acts, to);
	if (done)
		return done < 0 ? -1 : 0;
	char *text = !acts   ? xstrdup("")
		     : whole ? code(w, &s->statement, acts, in_line(&s->owner), s->owner.address,
				    s->owner.size)
			     : store_code(w, s, acts);
	int bad = !text || (*text && source_insert_store(w->x->source, s, text, to, &w->err));
	free(text);
	return bad ? -1 : 0;
}

static int before_store(struct work *w, const struct fix_bug *b)
{
	const struct source_store *s = &b->store;
	char *text = fix_log_text(s);
	int bad = source_insert_before(w->x->source, &s->statement, text, &w->edits, &w->err);
	free(text);
	return bad;
}

/* What a flush was told, which a fence behind it may need: where a function stores to, else the pointer before the size. */
static const char *flushed_address(struct work *w, const struct source_place *at)
{
	struct source_store s;
	struct source_call c;
	struct err none;
	if (!source_store_at(w->x->source, at, 0, &s, &none) && s.calls && !s.capture)
		return s.address;
	if (source_call_at(w->x->source, at, NULL, &c, &none) || c.arguments < 2)
		return NULL;
	const struct source_argument *a = &c.argument[c.arguments - 2];
	return a->again && a->pointer ? a->text : NULL;
}

/* A fence beside a statement. */
static int fence_at(struct work *w, const struct repair_fix *f)
{
	struct source_place at = source_place(&f->at);
	struct source_statement s;
	const char *address = NULL;
	if (source_statement_at(w->x->source, &at, &s, &w->err))
		return -1;
	if (f->form == REPAIR_FLUSHED)
		address = flushed_address(w, &at);
	char *text = code(w, &s, REPAIR_FENCE, false, address, NULL);
	int bad = !text ||
		  (f->form == REPAIR_BEFORE
			   ? source_insert_before(w->x->source, &s, text, &w->edits, &w->err)
			   : source_insert_after(w->x->source, &s, text, &w->edits, &w->err));
	free(text);
	return bad ? -1 : 0;
}

static int add_code(struct work *w, const struct source_statement *at, unsigned acts,
		    const struct fix_range *r, struct buf *to)
{
	char *text = code(w, at, acts, false, r->address, r->size);
	if (!text)
		return -1;
	buf_printf(to, "%s%s", to->n ? "\n" : "", text);
	free(text);
	return 0;
}

/* Whether a store before this one, of the same call, is in the same range. */
static bool is_done(const struct work *w, const struct repair_fix *f, size_t i)
{
	const char *address = w->x->with.p[f->stores.p[i]].range[f->site].address;
	for (size_t k = 0; k < i; k++)
		if (!strcmp(w->x->with.p[f->stores.p[k]].range[f->site].address, address))
			return true;
	return false;
}

static bool has_ranges(const struct work *w, const struct repair_fix *f)
{
	for (size_t i = 1; i < f->stores.n; i++)
		if (!is_done(w, f, i))
			return true;
	return false;
}

/* As after_loop(), of a call that fills in an element; a fence may be in what is called, and has to come after the flush. */
static int after_loop_of(struct work *w, const struct repair_fix *f, const struct source_call *c)
{
	const struct fix_range *r = &w->x->with.p[f->bug].range[f->site];
	struct source_loop loop;
	struct err none;
	if (f->acts != REPAIR_FLUSH || has_ranges(w, f) ||
	    source_loop_around_call(w->x->source, c, r->address, &loop, &none) || !loop.base ||
	    !loop.alone || loop.statement.no_after)
		return 0;
	return put_after_loop(w, &loop, f->acts, &w->edits);
}

/* Each range once; the fence behind the last. */
static int after_call(struct work *w, const struct repair_fix *f)
{
	const struct source_call *c = &w->x->with.p[f->bug].call[f->site];
	const struct fix_range *last = NULL;
	struct buf all = { 0 };
	int bad = after_loop_of(w, f, c);
	if (bad)
		return bad < 0 ? -1 : 0;
	for (size_t i = 0; !bad && i < f->stores.n; i++) {
		if (is_done(w, f, i))
			continue;
		if (last)
			bad = add_code(w, &c->statement, f->acts & REPAIR_FLUSH, last, &all);
		last = &w->x->with.p[f->stores.p[i]].range[f->site];
	}
	bad = bad || !last || add_code(w, &c->statement, f->acts, last, &all) ||
	      source_insert_after(w->x->source, &c->statement, all.p, &w->edits, &w->err);
	buf_free(&all);
	return bad ? -1 : 0;
}

/* ---- copies ---- */

static bool name_is_taken(struct work *w, const struct source_file *file, const char *name)
{
	struct source_place at = { .file = file->path };
	struct source_function fn;
	struct err err;
	return !source_function_at(w->x->source, &at, name, &fn, &err);
}

/* The copy of the function that has this place. NULL: there can be none. */
static struct copy *copy_of(struct work *w, const struct source_place *at)
{
	struct copy new = { 0 };
	if (source_function_at(w->x->source, at, NULL, &new.fn, &w->err))
		return NULL;
	for (size_t i = 0; i < w->copy.n; i++)
		if (w->copy.p[i].fn.file == new.fn.file &&
		    w->copy.p[i].fn.span.from == new.fn.span.from)
			return &w->copy.p[i];
	new.name = xasprintf("%s_pm", new.fn.name);
	for (int n = 2; name_is_taken(w, new.fn.file, new.name); n++) {
		free(new.name);
		new.name = xasprintf("%s_pm%d", new.fn.name, n);
	}
	VEC_PUSH(&w->copy, new);
	return &w->copy.p[w->copy.n - 1];
}

/* The call is one of the copy. */
static int redirect(struct work *w, const struct source_call *c, const char *name,
		    struct source_edits *to)
{
	return source_replace(w->x->source, c->statement.file, c->name.from,
			      c->name.to - c->name.from, name, to, &w->err);
}

/* A flush in a copy of the function that stores, copies of those that call it, and one call of the last. */
static int in_copy(struct work *w, const struct repair_fix *f, size_t bug)
{
	const struct fix_bug *b = &w->x->with.p[bug];
	const struct repair_bug *r = &w->x->bug.p[bug];
	struct source_place at = source_place(&r->site[0].at);
	struct copy *c = copy_of(w, &at);
	if (!c || after_store(w, b, NULL, REPAIR_FLUSH, &c->inside))
		return -1;
	for (size_t i = 1; i <= f->site; i++) {
		char *name = fix_keep(w->x, xstrdup(c->name));
		at = source_place(&r->site[i].at);
		c = i < f->site ? copy_of(w, &at) : NULL;
		if ((i < f->site && !c) ||
		    redirect(w, &b->call[i], name, c ? &c->inside : &w->edits))
			return -1;
	}
	if (!(f->acts & REPAIR_FENCE))
		return 0;
	const struct source_statement *s = &b->call[f->site].statement;
	char *text = code(w, s, REPAIR_FENCE, false, NULL, NULL);
	int bad =
		!text || (*text && source_insert_after(w->x->source, s, text, &w->edits, &w->err));
	free(text);
	return bad ? -1 : 0;
}

/* ---- all of it ---- */

static int make(struct work *w, const struct repair_fix *f)
{
	int bad = 0;
	switch (f->form) {
	case REPAIR_STORE: return after_store(w, &w->x->with.p[f->bug], f, f->acts, &w->edits);
	case REPAIR_RANGE: return after_call(w, f);
	case REPAIR_LOGGED:
		for (size_t i = 0; !bad && i < f->stores.n; i++)
			bad = before_store(w, &w->x->with.p[f->stores.p[i]]);
		return bad;
	case REPAIR_COPY:
		for (size_t i = 0; !bad && i < f->stores.n; i++)
			bad = in_copy(w, f, f->stores.p[i]);
		return bad;
	default: return fence_at(w, f);
	}
}

/* Copies that were begun are forgotten, and those that were there before are as they were. */
static void restore(struct work *w, size_t copies, const size_t *inside)
{
	while (w->copy.n > copies) {
		struct copy *c = &w->copy.p[--w->copy.n];
		source_edits_free(&c->inside);
		free(c->name);
	}
	for (size_t i = 0; i < copies; i++)
		w->copy.p[i].inside.edit.n = inside[i];
}

/* One fix more; one that cannot be made, or overlaps with others, leaves all as it was. */
static void try(struct work *w, size_t i)
{
	size_t n = w->edits.edit.n, copies = w->copy.n;
	size_t *inside = xcalloc(copies + 1, sizeof *inside);
	for (size_t k = 0; k < copies; k++)
		inside[k] = w->copy.p[k].inside.edit.n;
	w->err = (struct err){ 0 };
	if (make(w, &w->x->plan.fix.p[i])) {
		w->edits.edit.n = n;
		restore(w, copies, inside);
		w->x->out.p[i] = xstrdup(w->err.text);
	}
	free(inside);
}

/* A call that goes to the copy now passes the function by: what other fixes put there, the copy gets, too. */
static void share(const struct source_edits *e, size_t n, struct copy *c)
{
	for (size_t i = 0; i < n; i++)
		if (e->edit.p[i].file == c->fn.file && e->edit.p[i].at > c->fn.span.from &&
		    e->edit.p[i].at + e->edit.p[i].remove < c->fn.span.to)
			VEC_PUSH(&c->inside.edit, e->edit.p[i]);
}

static int finish(struct work *w, struct err *err)
{
	size_t n = w->edits.edit.n;
	for (size_t i = 0; i < w->copy.n; i++) {
		struct copy *c = &w->copy.p[i];
		share(&w->edits, n, c);
		if (source_edits_check(&c->inside, err) ||
		    source_insert_copy(w->x->source, &c->fn, c->name, &c->inside, &w->edits, err))
			return -1;
	}
	return source_edits_check(&w->edits, err);
}

static void work_free(struct work *w)
{
	for (size_t i = 0; i < w->copy.n; i++) {
		source_edits_free(&w->copy.p[i].inside);
		free(w->copy.p[i].name);
	}
	VEC_FREE(&w->copy);
	source_edits_free(&w->edits);
}

static void touch(struct fix *x, const struct source_edits *e)
{
	for (size_t i = 0; i < e->edit.n; i++) {
		size_t k = 0;
		while (k < x->touched.n && x->touched.p[k] != e->edit.p[i].file)
			k++;
		if (k == x->touched.n)
			VEC_PUSH(&x->touched, e->edit.p[i].file);
	}
}

static bool is_for(const struct fix *x, const struct repair_fix *f, size_t entry)
{
	for (size_t i = 0; i < f->bugs.n; i++)
		if (x->with.p[f->bugs.p[i]].entry == entry)
			return true;
	return false;
}

int fix_entry_edits(struct fix *x, size_t entry, struct source_edits *out, struct err *err)
{
	struct work w = { .x = x };
	for (size_t i = 0; i < x->plan.fix.n; i++)
		if (!x->out.p[i] && is_for(x, &x->plan.fix.p[i], entry))
			try(&w, i);
	for (size_t i = 0; i < x->removal.n; i++)
		if (!x->removal.p[i].out && x->removal.p[i].entry == entry)
			(void)fix_remove(x, &x->removal.p[i], &w.edits, err);
	int bad = finish(&w, err);
	*out = w.edits;
	w.edits = (struct source_edits){ 0 };
	work_free(&w);
	return bad;
}

/* What does not fit together: the last fix goes, until the rest does. */
int fix_make_edits(struct fix *x, struct err *err)
{
	size_t last = x->plan.fix.n;
	for (;;) {
		struct work w = { .x = x };
		for (size_t i = 0; i < x->plan.fix.n; i++)
			if (!x->out.p[i])
				try(&w, i);
		for (size_t i = 0; i < x->removal.n; i++)
			if (!x->removal.p[i].out && fix_remove(x, &x->removal.p[i], &w.edits, err))
				x->removal.p[i].out = true;
		if (!finish(&w, err)) {
			source_edits_free(&x->edits);
			x->edits = w.edits;
			touch(x, &x->edits);
			w.edits = (struct source_edits){ 0 };
			work_free(&w);
			return 0;
		}
		work_free(&w);
		while (last > 0 && x->out.p[last - 1])
			last--;
		if (!last)
			return -1;
		x->out.p[last - 1] =
			xasprintf("it does not go together with others: %s", err->text);
	}
}
