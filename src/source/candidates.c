/* SPDX-License-Identifier: BSD-3-Clause */
/* All that a line may store to memory, and which of it the column and the size of a store leave. */
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* A pointer or reference leads there: it need not be a variable of this process' own. */
static bool is_memory(const struct source_tree *t, uint32_t i)
{
	for (;;) {
		i = source_node_inside(t, i);
		const struct source_node *n = NODE(t, i);
		switch (n->kind) {
		case CXCursor_UnaryOperator: return true;
		case CXCursor_MemberRefExpr:
			if (!n->first || source_node_canonical(t, n->first).kind == CXType_Pointer)
				return true; /* this->, or -> */
			break;
		case CXCursor_ArraySubscriptExpr:
			if (source_node_canonical(t, source_node_peel(t, n->first)).kind ==
			    CXType_Pointer)
				return true;
			break;
		case CXCursor_DeclRefExpr: {
			CXType type =
				source_lib.getCursorType(source_lib.getCursorReferenced(n->cursor));
			return type.kind == CXType_LValueReference;
		}
		case CXCursor_CallExpr: return true; /* it returns a reference */
		case CXCursor_UnexposedExpr: break;
		default: return false;
		}
		if (!n->first)
			return false;
		i = n->first;
	}
}

static bool is_std_atomic(const struct source_tree *t, uint32_t i)
{
	const char *name = source_type_text(t->source, source_node_canonical(t, i));
	return strncmp(name, "std::atomic<", 12) == 0 ||
	       strncmp(name, "std::__atomic_base<", 19) == 0;
}

/* A member or operator of std::atomic, or = of a struct: calls to libclang, stores to people. */
static uint32_t object_of(const struct source_tree *t, uint32_t call, enum source_form *form)
{
	uint32_t first = NODE(t, call)->first;
	const char *name = source_node_name(t, call);
	if (!first)
		return 0;
	uint32_t object =
		NODE(t, first)->kind == CXCursor_MemberRefExpr ? NODE(t, first)->first : first;
	if (object && is_std_atomic(t, object) && strcmp(name, "load") != 0 &&
	    strncmp(name, "operator ", 9) != 0) {
		*form = SOURCE_ATOMIC;
		return object;
	}
	if (strcmp(name, "operator=") == 0 &&
	    source_node_canonical(t, first).kind == CXType_Record) {
		*form = SOURCE_ASSIGN;
		return first;
	}
	return 0;
}

/* "std::fill" of what the C++ library has; else the name alone. */
static const char *name_with_std(const struct source_tree *t, uint32_t call)
{
	const char *name = source_node_name(t, call), *in = "";
	CXCursor d = source_lib.getCursorReferenced(NODE(t, call)->cursor);
	if (!t->unit->cxx || source_lib.Cursor_isNull(d))
		return name;
	for (d = source_lib.getCursorSemanticParent(d);
	     source_lib.getCursorKind(d) == CXCursor_Namespace;
	     d = source_lib.getCursorSemanticParent(d))
		in = source_string(t->source, source_lib.getCursorSpelling(d));
	return strcmp(in, "std") == 0 ? source_sized(t, "std::%s", name) : name;
}

static bool as_writer(const struct source_tree *t, uint32_t i, struct source_candidate *c)
{
	const struct source_node *n = NODE(t, i);
	const char *name;
	unsigned shift = 1; /* the callee comes first */
	if (n->kind == CXCursor_CallExpr) {
		name = name_with_std(t, i);
	} else if (n->kind == CXCursor_UnexposedExpr && n->first && n->first != n->last) {
		const char *text = t->file->text + n->from;
		size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789");
		name = source_keep_n(t->source, text, len);
		shift = 0; /* a built-in for atomics has no callee */
	} else {
		return false;
	}
	const struct source_writer *w = source_writer(name, strlen(name));
	uint32_t target = w ? source_node_child(t, i, w->destination + shift) : 0;
	if (!target)
		return false;
	*c = (struct source_candidate){ i, target, w->form, w, 0, 0 };
	CXType to = source_node_canonical(t, source_node_peel(t, target));
	bool elements = w->extent == SOURCE_EXTENT_BETWEEN || w->extent == SOURCE_EXTENT_COUNT;
	if (elements && to.kind != CXType_Pointer && to.kind != CXType_ConstantArray)
		return false;
	if (w->extent == SOURCE_EXTENT_FIXED)
		c->bytes = w->arg;
	else if (w->extent == SOURCE_EXTENT_TYPE && to.kind == CXType_Pointer)
		c->bytes = source_type_size(source_lib.getPointeeType(to));
	return true;
}

static struct source_candidate assignment(const struct source_tree *t, uint32_t node, uint32_t to,
					  enum source_form form)
{
	uint64_t bytes = source_type_size(source_node_type(t, to));
	return (struct source_candidate){ node, to, form, NULL, bytes, 0 };
}

/* std::swap(p->a, p->b) assigns to both. */
static bool as_assigner(const struct source_tree *t, uint32_t i, struct source_candidate *c)
{
	unsigned many = NODE(t, i)->kind == CXCursor_CallExpr && t->unit->cxx
				? source_assigns(name_with_std(t, i))
				: 0;
	uint32_t target[2] = { 0 };
	size_t n = 0;
	for (unsigned k = 1; k <= many && n < 2; k++) {
		uint32_t a = source_node_child(t, i, k);
		if (a && source_node_is_lvalue(t, a) && is_memory(t, a))
			target[n++] = a;
	}
	if (!n)
		return false;
	*c = assignment(t, i, target[0], SOURCE_ASSIGN);
	c->also = target[1];
	return true;
}

static bool as_candidate(const struct source_tree *t, uint32_t i, struct source_candidate *c)
{
	enum source_form form;
	uint32_t to = source_assigned(t, i, &form);
	if (NODE(t, i)->kind == CXCursor_MemberRef && NODE(t, i)->parent == 1) {
		*c = assignment(t, i, i, SOURCE_ASSIGN);
		return true; /* a constructor initialises it */
	}
	if (!to && NODE(t, i)->kind == CXCursor_CallExpr)
		to = object_of(t, i, &form);
	if (to) {
		*c = assignment(t, i, to, form);
		return is_memory(t, to);
	}
	return as_writer(t, i, c) || as_assigner(t, i, c);
}

void source_candidates_in(const struct source_tree *t, uint32_t line, source_candidates *all)
{
	size_t from = source_line_start(t->file, line), to = source_line_start(t->file, line + 1);
	for (uint32_t i = 1; i < t->node.n; i++) {
		struct source_candidate c;
		const struct source_node *n = NODE(t, i);
		if (!n->elsewhere && n->from < to && n->to > from && as_candidate(t, i, &c))
			VEC_PUSH(all, c);
	}
}

/* ---- choosing ---- */

static void keep_only(source_candidates *all,
		      bool (*good)(const struct source_tree *, struct source_candidate *, size_t),
		      const struct source_tree *t, size_t arg)
{
	size_t n = 0;
	for (size_t i = 0; i < all->n; i++)
		n += good(t, &all->p[i], arg);
	if (n == 0)
		return;
	n = 0;
	for (size_t i = 0; i < all->n; i++)
		if (good(t, &all->p[i], arg))
			all->p[n++] = all->p[i];
	all->n = n;
}

static bool has_offset(const struct source_tree *t, struct source_candidate *c, size_t offset)
{
	return NODE(t, c->node)->from <= offset && offset < NODE(t, c->node)->to;
}

static bool has_length(const struct source_tree *t, struct source_candidate *c, size_t length)
{
	return NODE(t, c->node)->to - NODE(t, c->node)->from == length;
}

static bool has_size(const struct source_tree *t, struct source_candidate *c, size_t bytes)
{
	(void)t;
	return c->bytes == bytes;
}

static bool begins_in(const struct source_tree *t, struct source_candidate *c, size_t line)
{
	return source_line_of(t->file, NODE(t, c->node)->from) == line;
}

/* The innermost of those that have the column; without one, of those that begin in the line; then by size. */
static void choose(const struct source_tree *t, const struct source_place *p, size_t offset,
		   uint64_t bytes, source_candidates *all)
{
	keep_only(all, begins_in, t, p->line);
	if (p->column && all->n > 1) {
		size_t before = all->n;
		keep_only(all, has_offset, t, offset);
		size_t least = SIZE_MAX;
		for (size_t i = 0; i < all->n; i++) {
			size_t n = NODE(t, all->p[i].node)->to - NODE(t, all->p[i].node)->from;
			least = n < least ? n : least;
		}
		if (all->n < before || has_offset(t, &all->p[0], offset))
			keep_only(all, has_length, t, least);
	}
	if (bytes && all->n > 1)
		keep_only(all, has_size, t, bytes);
}

void source_candidates_at(const struct source_tree *t, const struct source_place *p, size_t offset,
			  uint64_t bytes, source_candidates *all)
{
	source_candidates_in(t, p->line, all);
	choose(t, p, offset, bytes, all);
}
