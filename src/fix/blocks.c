/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements that are executed together: between two of the same block, in one list of statements, nothing leaves it.
 * And what the trace has between them says whether a flush of the first may come as late as after the second: no
 * fence that would have to wait for it; where the fence is missing as well, no store to another line either.
 */
#include <ctype.h>
#include <string.h>

#include "fix/internal.h"

/* What leaves a list of statements, or leads into it; directives of the preprocessor do both. */
static bool leaves(const char *p, size_t n)
{
	static const char *const words[] = { "goto",    "break", "return", "continue",
					     "default", "case",  "throw",  "co_return" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (n == strlen(words[i]) && !strncmp(p, words[i], n))
			return true;
	return false;
}

/* Between the two, braces are in pairs and nothing leaves. */
static bool flows(const char *from, const char *to)
{
	int depth = 0;
	for (const char *p = from; p < to; p++) {
		size_t n = 0;
		while (p + n < to && (isalnum((unsigned char)p[n]) || p[n] == '_'))
			n++;
		if (leaves(p, n) || *p == '#' || (*p == ':' && p[-1] != '?' && p[1] != ':'))
			return false;
		depth += *p == '{';
		depth -= *p == '}';
		if (depth < 0)
			return false;
		p += n > 1 ? n - 1 : 0;
	}
	return depth == 0;
}

static bool together(const struct fix_bug *a, const struct fix_bug *b)
{
	const struct source_statement *s = &a->store.statement, *t = &b->store.statement;
	if (a->stores == SIZE_MAX || b->stores == SIZE_MAX || s->file != t->file)
		return false;
	if (s->where == SOURCE_IN_EXPRESSION || t->where == SOURCE_IN_EXPRESSION)
		return s->where == t->where && s->result.from == t->result.from;
	if (s->span.from == t->span.from)
		return true;
	if (s->where != SOURCE_IN_BLOCK || t->where != SOURCE_IN_BLOCK || s->body || t->body)
		return false;
	const struct source_statement *first = s->span.from < t->span.from ? s : t;
	const struct source_statement *last = first == s ? t : s;
	return first->span.to <= last->span.from &&
	       flows(s->file->text + first->span.to, s->file->text + last->span.from);
}

/* Without a trace nobody knows what comes between them. */
void fix_find_blocks(struct fix *x)
{
	for (size_t i = 0; x->o.dir && i < x->bug.n; i++) {
		uint64_t block = i + 1;
		for (size_t k = 0; k < i && block == i + 1; k++)
			if (together(&x->with.p[k], &x->with.p[i]))
				block = x->with.p[k].block;
		x->with.p[i].block = block;
		x->bug.p[i].site[0].block =
			hash_mix(block, x->bug.p[i].lacks & REPAIR_FENCE ? x->with.p[i].run
									 : x->with.p[i].fences) |
			1;
	}
}
