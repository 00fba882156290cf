/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements that are executed together: between two of the same block, in one list of statements, nothing leaves it.
 * And what the trace has between them says whether a flush of the first may come as late as after the second: no
 * fence that would have to wait for it; where the fence is missing as well, no store to another line either.
 */
#include <ctype.h>
#include <string.h>

#include "fix/internal.h"

#define SYNCED_WHOLE                                                                               \
	256u /* bytes of a struct that is given to msync as a whole: pages are what that costs */

/* What leaves a list of statements, or leads into it. */
static bool leaves(const char *p, size_t n)
{
	static const char *const words[] = { "goto",    "break", "return", "continue",
					     "default", "case",  "throw",  "co_return" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (n == strlen(words[i]) && !strncmp(p, words[i], n))
			return true;
	return false;
}

/* Whether a directive of the preprocessor opens (1) or closes (-1) a part that may be left out. */
static int opens(const char *directive)
{
	const char *word = directive + 1 + strspn(directive + 1, " \t");
	return !strncmp(word, "if", 2) ? 1 : !strncmp(word, "endif", 5) ? -1 : 0;
}

/* Between the two, braces and directives are in pairs and nothing leaves, whatever is left out. */
static bool flows(const char *from, const char *to)
{
	int depth = 0, parts = 0;
	for (const char *p = from; p < to; p++) {
		size_t n = 0;
		while (p + n < to && (isalnum((unsigned char)p[n]) || p[n] == '_'))
			n++;
		parts += *p == '#' ? opens(p) : 0;
		if (leaves(p, n) || parts < 0 || (*p == ':' && p[-1] != '?' && p[1] != ':'))
			return false;
		depth += *p == '{';
		depth -= *p == '}';
		if (depth < 0)
			return false;
		p += n > 1 ? n - 1 : 0;
	}
	return depth == 0 && parts == 0;
}

/* Where a name of the text is given a value, or its address is taken. */
static bool is_changed(const char *from, const char *to, const char *name, size_t n)
{
	for (const char *p = from; p + n <= to; p++) {
		bool whole = !strncmp(p, name, n) && !isalnum((unsigned char)p[n]) && p[n] != '_' &&
			     !isalnum((unsigned char)p[-1]) && p[-1] != '_';
		if (!whole || p[-1] == '.' || p[-1] == '>')
			continue;
		const char *q = p + n + strspn(p + n, " \t\n");
		if ((*q == '=' && q[1] != '=') ||
		    (strchr("+-*/|&^%<>", *q) && (q[1] == '=' || q[1] == *q)))
			return true;
		if (p[-1] == '&' || !strncmp(p - 2, "++", 2) || !strncmp(p - 2, "--", 2))
			return true;
	}
	return false;
}

bool fix_is_changed(const char *from, const char *to, const char *expression)
{
	for (const char *p = expression; *p;) {
		size_t n = 0;
		while (isalnum((unsigned char)p[n]) || p[n] == '_')
			n++;
		if (n && is_changed(from, to, p, n))
			return true;
		p += n ? n : 1;
	}
	return false;
}

/*
 * Parts of one small struct, one of them stored to in a loop or an if of the list: the flush of all of it, behind that statement, serves
 * both. What names the struct is the same there.
 */
static bool lifts(const struct fix *x, const struct fix_bug *outer, struct fix_bug *inner)
{
	const struct source_owner *o = &inner->store.owner, *p = &outer->store.owner;
	const struct source_statement *s = &outer->store.statement, *in = &inner->store.statement;
	struct source_statement whole;
	struct err none;
	if (!fix_flushes_whole(x, inner) || !fix_flushes_whole(x, outer) ||
	    strcmp(o->address, p->address) != 0 || s->where != SOURCE_IN_BLOCK || s->body ||
	    (in->where != SOURCE_IN_BLOCK && in->where != SOURCE_IN_BODY &&
	     in->where != SOURCE_IN_HEADER && in->where != SOURCE_IN_CONDITION))
		return false;
	if (source_statement_beside(x->source, in, s, &whole, &none) ||
	    whole.span.from == s->span.from)
		return false;
	bool last = whole.span.from > s->span.from; /* else what follows the other one does */
	const char *from = s->file->text + (last ? s->span.to : whole.span.from);
	const char *to = s->file->text + (last ? whole.span.to : s->span.from);
	if (!flows(from, to) || fix_is_changed(from, to, o->address))
		return false;
	if (last)
		inner->lifted = whole;
	inner->lift |= last;
	return true;
}

static bool together(const struct fix *x, struct fix_bug *a, struct fix_bug *b)
{
	const struct source_statement *s = &a->store.statement, *t = &b->store.statement;
	if (a->stores == SIZE_MAX || b->stores == SIZE_MAX || s->file != t->file)
		return false;
	if (s->where == SOURCE_IN_EXPRESSION || t->where == SOURCE_IN_EXPRESSION)
		return s->where == t->where && s->result.from == t->result.from;
	if (s->span.from == t->span.from)
		return true;
	if (lifts(x, a, b) || lifts(x, b, a))
		return true;
	if (s->where != SOURCE_IN_BLOCK || t->where != SOURCE_IN_BLOCK || s->body || t->body)
		return false;
	const struct source_statement *first = s->span.from < t->span.from ? s : t;
	const struct source_statement *last = first == s ? t : s;
	const char *from = s->file->text + first->span.to, *to = s->file->text + last->span.from;
	return from <= to && flows(from, to) && !fix_is_changed(from, to, a->store.lvalue) &&
	       !fix_is_changed(from, to, b->store.lvalue);
}

/*
 * What one flush for several stores relies on. That they are in one line is not enough: it is so in this run, and where the object lies
 * otherwise in another, it may not be. By the source they are in one line if both are parts of one struct that is aligned to
 * lines; a struct that is no larger than a line is flushed as a whole; otherwise only a store to the same is served by the same flush.
 */
static uint64_t sharing_of(const struct fix *x, const struct fix_bug *w)
{
	const struct source_owner *o = &w->store.owner;
	const char *what = w->store.lvalue ? w->store.lvalue : "";
	uint64_t how = UINT64_MAX;
	if (w->store.also)
		how = hash_bytes(w->store.also, strlen(w->store.also));
	else if (o->address && o->align >= TRACE_LINE && o->offset != UINT64_MAX)
		what = o->address, how = o->offset / TRACE_LINE;
	else if (fix_flushes_whole(x, w))
		what = o->address, how = UINT64_MAX - 1;
	return hash_mix(hash_bytes(what, strlen(what)), how);
}

bool fix_flushes_whole(const struct fix *x, const struct fix_bug *w)
{
	const struct source_owner *o = &w->store.owner;
	return o->address && o->bytes <= (fix_syncs(x) ? SYNCED_WHOLE : TRACE_LINE) &&
	       (o->align < TRACE_LINE || o->offset == UINT64_MAX);
}

static bool is_within(const struct fix_at *at, const struct source_loop *loop, const char *file)
{
	const struct source_file *f = loop->statement.file;
	return !strcmp(at->file, file) && at->line >= source_place_of(f, loop->body.from).line &&
	       at->line <= source_place_of(f, loop->body.to).line;
}

bool fix_is_quiet(const struct fix *x, const struct fix_bug *b, const struct source_loop *loop)
{
	const char *file = b->frame[0]->file;
	if (!x->o.dir)
		return false;
	for (size_t i = 0; i < x->persists.n; i++)
		if (is_within(&x->persists.p[i], loop, file))
			return false;
	for (size_t i = 0; b->needs && i < b->needs->n; i++) {
		const struct srcloc_frame *f = &b->needs->frame[i];
		if (f->file && is_within(&(struct fix_at){ f->file, f->line }, loop, file))
			return false;
	}
	return true;
}

/* Without a trace nobody knows what comes between them. */
void fix_find_blocks(struct fix *x)
{
	for (size_t i = 0; x->o.dir && i < x->bug.n; i++) {
		uint64_t block = i + 1;
		for (size_t k = 0; k < i && block == i + 1; k++)
			if (together(x, &x->with.p[k], &x->with.p[i]))
				block = x->with.p[k].block;
		x->with.p[i].block = block;
		uint64_t when =
			x->bug.p[i].lacks & REPAIR_FENCE ? x->with.p[i].run : x->with.p[i].fences;
		x->bug.p[i].site[0].block =
			hash_mix(hash_mix(block, when), sharing_of(x, &x->with.p[i])) | 1;
	}
}
