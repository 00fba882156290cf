/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flushes and fences that do nothing. One goes where that is sure on every path: the statement right before it, with
 * nothing between them, does the same already. What was in vain in this run may be needed in another, so of all others it
 * is said why they stay.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

/* What a call does, by the functions that were seen to flush and fence. */
static unsigned acts_of(const struct fix *x, const struct source_call *c)
{
	unsigned acts = 0;
	for (size_t i = 0; c->callee && i < x->means.n; i++)
		if (!strcmp(x->means.p[i].name, c->callee))
			acts |= x->means.p[i].acts;
	return acts;
}

/* The call that is the whole statement at a place. */
static bool call_at(struct fix *x, const struct source_place *at, struct source_call *c)
{
	struct err err;
	if (source_call_at(x->source, at, NULL, c, &err) || c->indirect || c->conditional)
		return false;
	return c->statement.where == SOURCE_IN_BLOCK && !c->statement.body &&
	       c->span.from == c->statement.span.from;
}

/* The end of what stands before an offset, blanks and comments left out; SIZE_MAX: a directive is between. */
static size_t before(const char *text, size_t at)
{
	for (;;) {
		while (at && isspace((unsigned char)text[at - 1]))
			at--;
		if (at < 2 || text[at - 1] != '/' || text[at - 2] != '*')
			return at;
		for (at -= 2; at >= 2 && (text[at - 2] != '/' || text[at - 1] != '*');)
			at--;
		at = at >= 2 ? at - 2 : 0;
	}
}

static bool same_arguments(const struct source_call *a, const struct source_call *b)
{
	size_t n = a->arguments;
	if (n < 1 || b->arguments < n)
		return n == 0;
	for (size_t i = 0; i < n; i++)
		if (!a->argument[i].again || strcmp(a->argument[i].text, b->argument[i].text))
			return false;
	return true;
}

/* Why the call is needed, as far as can be told; NULL: it is not. */
static const char *needed(struct fix *x, const struct source_call *c)
{
	const struct source_file *f = c->statement.file;
	unsigned acts = acts_of(x, c);
	struct source_call earlier;
	if (!acts)
		return "it is no call of a function that only flushes or fences";
	size_t end = before(f->text, c->statement.span.from);
	if (!end || f->text[end - 1] != ';')
		return "no statement comes right before it: on another path it may be needed";
	struct source_place at = source_place_of(f, end - 1);
	at.column = 0;
	if (!call_at(x, &at, &earlier) || earlier.statement.span.to != end ||
	    (acts_of(x, &earlier) & acts) != acts)
		return "the statement before it does not do the same: on another path it may be needed";
	if (acts & REPAIR_FLUSH && !same_arguments(c, &earlier))
		return "the statement before it flushes something else";
	return NULL;
}

/* With its line, if nothing else stands there. */
static struct source_span whole_line(const struct source_statement *s)
{
	const char *text = s->file->text;
	struct source_span out = s->span;
	size_t from = out.from, to = out.to;
	while (from && (text[from - 1] == ' ' || text[from - 1] == '\t'))
		from--;
	while (text[to] == ' ' || text[to] == '\t' || text[to] == '\r')
		to++;
	if ((!from || text[from - 1] == '\n') && text[to] == '\n')
		out = (struct source_span){ from, to + 1 };
	return out;
}

static bool in_vain(const struct finding *f)
{
	return f->kind == finding_kind_info(FINDING_REDUNDANT_FLUSH) ||
	       f->kind == finding_kind_info(FINDING_REDUNDANT_FENCE);
}

void fix_find_removals(struct fix *x)
{
	for (size_t i = 0; x->o.performance && i < x->entry.n; i++) {
		const struct finding *f = x->entry.p[i].f;
		const struct srcloc_frame *m = finding_main_frame(&f->place);
		if (!in_vain(f) || f->suppressed || !m || !m->file)
			continue;
		struct source_place at = { m->file, m->line, m->column };
		struct fix_removal r = { .entry = i };
		const char *why = call_at(x, &at, &r.call) ? needed(x, &r.call)
							   : "it is no statement of its own";
		if (!why)
			why = r.call.statement.file->refused;
		x->entry.p[i].state = why ? FIX_NONE : FIX_PLANNED;
		fix_tell(x, i, why ? "not removed: %s" : "removed: %s",
			 why ? why : "the statement right before it does the same");
		if (!why)
			VEC_PUSH(&x->removal, r);
	}
}

int fix_remove(struct fix *x, const struct fix_removal *r, struct source_edits *to, struct err *err)
{
	struct source_span s = whole_line(&r->call.statement);
	return source_replace(x->source, r->call.statement.file, s.from, s.to - s.from, "", to,
			      err);
}
