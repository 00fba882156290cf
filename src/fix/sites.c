/* SPDX-License-Identifier: BSD-3-Clause */
/* A call path in the source: the statement that stores, and the calls that lead there. */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

#define OBJECT 256u /* bytes that are worth flushing where some of them are written */

static struct source_place place_of(const struct srcloc_frame *f)
{
	return (struct source_place){ f->file, f->line, f->column };
}

/* The store at this frame, if the source has one there. */
static bool find_store(struct fix *x, struct fix_bug *w, const struct srcloc_frame *f,
		       struct repair_site *site)
{
	struct source_place at = place_of(f);
	struct err err = { 0 };
	if (!f->file || !f->line) {
		site->no_edit = fix_keep(x, xasprintf("%s has no source here",
						      f->function ? f->function : "the code"));
		return false;
	}
	if (source_store_at(x->source, &at, w->bytes, &w->store, &err)) {
		const struct source_file *file;
		struct err none;
		bool refused = !source_file_at(x->source, f->file, &file, &none) && file->refused;
		site->no_edit = refused ? file->refused : fix_keep(x, xstrdup(err.text));
		return false;
	}
	const struct source_statement *s = &w->store.statement;
	site->no_edit = s->file->refused ? s->file->refused : s->no_after;
	return true;
}

/* A function that takes where to, what from and how much writes just that. A report does not have what a function takes, only that
 * it stores or flushes for others; then its declaration says it. */
static bool writes_range(struct fix *x, struct fix_bug *w, size_t site)
{
	const struct srcloc_frame *callee = w->frame[site - 1];
	const struct source_call *c = &w->call[site];
	bool copies = callee->takes & SRCLOC_TAKES_COPY ||
		      (!callee->takes && callee->helper && c->arguments == 3 &&
		       strchr(c->argument[0].parameter, '*') &&
		       !strstr(c->argument[0].parameter, "const ") &&
		       strstr(c->argument[1].parameter, "const ") &&
		       strchr(c->argument[1].parameter, '*'));
	if (!copies || c->arguments != 3 || !c->argument[0].again || !c->argument[0].pointer ||
	    !c->argument[2].again || c->argument[2].pointer || c->conditional)
		return false;
	w->range[site].evidence = fix_counts_bytes(x, w, site);
	return w->range[site].evidence != NULL;
}

/* The parameter whose object the function stores to, and nothing else gives it another value; SIZE_MAX: none. */
static size_t stored_through(struct fix *x, const struct fix_bug *w,
			     const struct srcloc_frame *callee)
{
	struct source_place at = place_of(callee);
	const char *owner = w->store.owner.address;
	struct source_function fn;
	struct err none;
	if (w->stores == SIZE_MAX || !owner || source_function_at(x->source, &at, NULL, &fn, &none))
		return SIZE_MAX;
	for (size_t i = 0; i < fn.parameters; i++)
		if (fn.parameter[i].pointer && !strcmp(fn.parameter[i].name, owner) &&
		    !fix_is_changed(fn.file->text + fn.body.from, fn.file->text + fn.body.to,
				    owner))
			return i;
	return SIZE_MAX;
}

/* What the call writes, if its arguments say so: a range, or an object of a few lines of which the function fills in parts. */
static struct fix_range range_of(struct fix *x, struct fix_bug *w, size_t site)
{
	const struct source_call *c = &w->call[site];
	size_t k = SIZE_MAX;
	if (writes_range(x, w, site))
		return (struct fix_range){ c->argument[0].text, c->argument[2].text, 0,
					   w->range[site].evidence };
	if (site == 1 && !c->conditional)
		k = stored_through(x, w, w->frame[0]);
	if (k >= c->arguments || !c->argument[k].again || !c->argument[k].points_to ||
	    c->argument[k].points_to > OBJECT)
		return (struct fix_range){ 0 };
	const char *text = c->argument[k].text;
	bool plain = !strpbrk(text, " (+-*?") || (*text == '&' && !strpbrk(text, " (+*?"));
	const char *size = fix_keep(x, xasprintf(*text == '&' ? "sizeof(%s)"
						 : plain      ? "sizeof(*%s)"
							      : "sizeof(*(%s))",
						 text + (*text == '&')));
	return (struct fix_range){ text, size, c->argument[k].points_to, NULL };
}

static const char *no_copy(struct fix *x, const struct srcloc_frame *callee)
{
	struct source_place at = place_of(callee);
	struct source_function fn;
	struct err err = { 0 };
	if (source_function_at(x->source, &at, NULL, &fn, &err))
		return fix_keep(x, xstrdup(err.text));
	return fn.no_copy ? fn.no_copy : fn.file->refused;
}

static void find_call(struct fix *x, struct fix_bug *w, size_t i, struct repair_site *site)
{
	const struct srcloc_frame *f = w->frame[i], *callee = w->frame[i - 1];
	struct source_place at = place_of(f);
	struct source_call *c = &w->call[i];
	struct err err = { 0 };
	char *name = callee->function ? finding_function(callee) : NULL;
	if (!f->file || !f->line || source_call_at(x->source, &at, name, c, &err)) {
		site->no_edit = fix_keep(x, xasprintf("the call is not found: %s",
						      *err.text ? err.text : "no source"));
		site->indirect = true;
		free(name);
		return;
	}
	free(name);
	site->indirect = c->indirect;
	site->no_edit =
		c->statement.file->refused ? c->statement.file->refused : c->statement.no_after;
	for (size_t k = 0; k < c->arguments; k++)
		site->pointers |= c->argument[k].pointer;
	w->range[i] = range_of(x, w, i);
	site->range = w->range[i].address != NULL;
	site->no_copy = c->name.from == c->name.to ? "it is called by a macro" : no_copy(x, callee);
}

/* The innermost frames that store in somebody else's name, as memcpy does, are not sites of ours. */
static size_t first_site(struct fix *x, struct fix_bug *w, const struct finding_place *p,
			 struct repair_site *site)
{
	unsigned best =
		0; /* the reason is of the program's own source: 1; of a statement that stores: 2 */
	for (size_t i = 0; i < p->n; i++) {
		struct repair_site here = { 0 };
		if (find_store(x, w, &p->frame[i], &here)) {
			*site = here;
			w->stores = 0;
			return i;
		}
		bool ours = p->frame[i].file && !finding_is_library(&p->frame[i]);
		unsigned good = ours ? 1u + !!strncmp(here.no_edit, "no statement", 12) : 0;
		if (i == 0 || good > best)
			*site = here;
		best = good > best ? good : best;
		if (!p->frame[i].inlined && !finding_is_library(&p->frame[i]) &&
		    !p->frame[i].helper)
			break;
	}
	return 0;
}

/* No store of the program's own source: say which call of it leads there. */
static void name_carrier(struct fix *x, const struct finding_place *p, struct repair_site *site)
{
	const struct srcloc_frame *m = finding_main_frame(p);
	char where[512];
	if (!m || !m->file || m == &p->frame[0])
		return;
	site->no_edit = fix_keep(x, xasprintf("%s; what follows the call in %s could carry it",
					      site->no_edit, srcloc_text(m, where, sizeof where)));
}

/* The compiler has made two functions of one: the outer part does not call it in the source. */
static bool is_split(struct fix *x, const struct srcloc_frame *inner,
		     const struct srcloc_frame *outer)
{
	struct source_place at = place_of(outer);
	struct source_call c;
	struct err none;
	if (!inner->function || !outer->function || !outer->file || !outer->line)
		return false;
	char *a = finding_function(inner), *b = finding_function(outer);
	bool split = !strcmp(a, b) && source_call_at(x->source, &at, a, &c, &none);
	free(a);
	free(b);
	return split;
}

void fix_find_sites(struct fix *x, size_t bug, const struct finding_place *p)
{
	struct repair_bug *b = &x->bug.p[bug];
	struct fix_bug *w = &x->with.p[bug];
	struct repair_site first = { .no_edit = "nobody knows where it was" };
	size_t from = first_site(x, w, p, &first), n = p->n > from ? p->n - from : 1;
	if (w->stores == SIZE_MAX && p->n)
		name_carrier(x, p, &first);
	b->site = fix_keep(x, xcalloc(n, sizeof *b->site));
	w->frame = fix_keep(x, xcalloc(n, sizeof *w->frame));
	w->call = fix_keep(x, xcalloc(n, sizeof *w->call));
	w->range = fix_keep(x, xcalloc(n, sizeof *w->range));
	b->site[0] = first;
	for (size_t i = from; i < p->n; i++)
		if (!w->frames || !is_split(x, w->frame[w->frames - 1], &p->frame[i]))
			w->frame[w->frames++] = &p->frame[i];
	b->n = w->frames ? w->frames : 1;
	for (size_t i = 0; i < w->frames; i++) {
		const struct srcloc_frame *f = w->frame[i];
		if (i)
			find_call(x, w, i, &b->site[i]);
		b->site[i].at = (struct repair_place){ f->file, f->function, f->line, f->column };
		if (b->site[i].indirect) {
			b->n = i + 1;
			break;
		}
	}
	if (b->n > 1 && w->store.capture && !b->site[0].no_edit && !b->site[1].no_edit &&
	    w->range[1].address && !w->range[1].bytes)
		b->site[0].no_edit = "where it stores moves on, and the call says the whole range";
}
