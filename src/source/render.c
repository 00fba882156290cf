/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of an expression: as it is in the file, or, where a macro's definition has it, made from its nodes,
 * if all of its names mean the same where the macro is used.
 */
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* The use of a macro that the node is in, and is not all of. */
static const struct source_range *use_of(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i);
	const struct source_range *m = source_macro_at(t->unit, t->in, n->from, n->to);
	if (!m)
		return NULL;
	const struct source_node *p = n->parent ? NODE(t, n->parent) : NULL;
	bool whole = n->from == m->from && n->to == m->to;
	return whole && p && (p->from < m->from || p->to > m->to) ? NULL : m;
}

bool source_node_hidden(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i);
	const struct source_range *m = use_of(t, i);
	/* What an argument has lies strictly inside, before the closing parenthesis. */
	return n->elsewhere || (m && (n->from == m->from || n->to == m->to));
}

static bool render(const struct source_tree *t, uint32_t i, struct buf *b);

/* Declared outside of the macro's use. */
static bool is_visible(const struct source_tree *t, uint32_t i)
{
	CXCursor d = source_lib.getCursorReferenced(NODE(t, i)->cursor);
	const struct source_range *m = use_of(t, i);
	CXFile file;
	unsigned at;
	source_lib.getFileLocation(source_lib.getCursorLocation(d), &file, NULL, NULL, &at);
	return !m || file != t->in || at < m->from || at >= m->to;
}

/* It binds as tightly as a name: the parentheses that macros have around it are not needed. */
static bool is_primary(enum CXCursorKind k)
{
	return k == CXCursor_DeclRefExpr || k == CXCursor_MemberRefExpr ||
	       k == CXCursor_ArraySubscriptExpr || k == CXCursor_IntegerLiteral;
}

static bool render_in(const struct source_tree *t, const char *before, uint32_t child,
		      const char *after, struct buf *b)
{
	buf_puts(b, before);
	bool good = child && render(t, child, b);
	buf_puts(b, after);
	return good;
}

/* Only declared there, never assigned to or pointed to. */
static bool is_plain(const struct source_tree *t, CXCursor v)
{
	for (uint32_t i = 1; i < t->node.n; i++) {
		enum source_form form;
		uint32_t to = source_assigned(t, i, &form);
		to = to ? source_node_inside(t, to) : 0;
		if (to && NODE(t, to)->kind == CXCursor_DeclRefExpr &&
		    source_lib.equalCursors(source_lib.getCursorReferenced(NODE(t, to)->cursor), v))
			return false;
	}
	return true;
}

uint32_t source_macro_local(const struct source_tree *t, uint32_t i)
{
	if (NODE(t, i)->kind != CXCursor_DeclRefExpr || is_visible(t, i))
		return 0;
	CXCursor v = source_lib.getCursorReferenced(NODE(t, i)->cursor);
	for (uint32_t d = 1; d < i; d++)
		if (NODE(t, d)->kind == CXCursor_VarDecl &&
		    source_lib.equalCursors(NODE(t, d)->cursor, v))
			return is_plain(t, v) ? NODE(t, d)->last : 0;
	return 0;
}

/* A name; of a macro's own variable, the value that it is declared with. */
static bool render_name(const struct source_tree *t, uint32_t i, struct buf *b)
{
	if (is_visible(t, i)) {
		buf_puts(b, source_node_name(t, i));
		return true;
	}
	uint32_t init = source_macro_local(t, i);
	bool bare = init && is_primary(NODE(t, source_node_peel(t, init))->kind);
	return init && render_in(t, bare ? "" : "(", init, bare ? "" : ")", b);
}

static bool render_member(const struct source_tree *t, uint32_t i, struct buf *b)
{
	uint32_t base = NODE(t, i)->first;
	if (base) {
		CXType type = source_lib.getCanonicalType(source_node_type(t, base));
		if (!render(t, base, b))
			return false;
		buf_puts(b, type.kind == CXType_Pointer ? "->" : ".");
	}
	buf_puts(b, source_node_name(t, i));
	return true;
}

static bool render_subscript(const struct source_tree *t, uint32_t i, struct buf *b)
{
	uint32_t base = source_node_child(t, i, 0), index = source_node_child(t, i, 1);
	if (!base || !index || !render(t, base, b))
		return false;
	buf_puts(b, "[");
	bool good = render(t, index, b);
	buf_puts(b, "]");
	return good;
}

static bool render_number(const struct source_tree *t, uint32_t i, struct buf *b)
{
	CXEvalResult e = source_lib.Cursor_Evaluate(NODE(t, i)->cursor);
	bool good = e && source_lib.EvalResult_getKind(e) == CXEval_Int;
	if (good)
		buf_printf(b, "%lld", source_lib.EvalResult_getAsLongLong(e));
	if (e)
		source_lib.EvalResult_dispose(e);
	return good;
}

static bool render_hidden(const struct source_tree *t, uint32_t i, struct buf *b)
{
	const struct source_node *n = NODE(t, i);
	switch (n->kind) {
	case CXCursor_ParenExpr:
		if (is_primary(NODE(t, source_node_peel(t, i))->kind))
			return render_in(t, "", n->first, "", b);
		return render_in(t, "(", n->first, ")", b);
	case CXCursor_UnexposedExpr:
		return n->first == n->last && render_in(t, "", n->first, "", b);
	case CXCursor_DeclRefExpr: return render_name(t, i, b);
	case CXCursor_MemberRefExpr: return render_member(t, i, b);
	case CXCursor_ArraySubscriptExpr: return render_subscript(t, i, b);
	case CXCursor_IntegerLiteral: return render_number(t, i, b);
	case CXCursor_CXXThisExpr: buf_puts(b, "this"); return true;
	case CXCursor_UnaryOperator:
		if (source_node_is_dereference(t, i))
			return render_in(t, "*", n->first, "", b);
		return source_lib.getCanonicalType(source_node_type(t, i)).kind == CXType_Pointer &&
		       source_node_is_lvalue(t, n->first) && render_in(t, "&", n->first, "", b);
	case CXCursor_CStyleCastExpr:
		buf_printf(b, "(%s)", source_type_text(t->source, source_node_type(t, i)));
		return render_in(t, "", n->last, "", b);
	default: return false;
	}
}

static bool render(const struct source_tree *t, uint32_t i, struct buf *b)
{
	const struct source_node *n = NODE(t, i);
	if (source_node_hidden(t, i))
		return render_hidden(t, i, b);
	buf_add(b, t->file->text + n->from, n->to - n->from);
	return true;
}

/* On one line: comments and line breaks become a blank. */
static char *flatten(const char *text, size_t n)
{
	struct buf b = { 0 };
	for (size_t at = 0; at < n;) {
		size_t next = source_skip_blank(text, at, n);
		if (next == at) {
			buf_add(&b, text + at++, 1);
			continue;
		}
		if (next < n)
			buf_puts(&b, " ");
		at = next;
	}
	buf_add(&b, "", 1);
	return b.p;
}

const char *source_node_text(const struct source_tree *t, uint32_t i)
{
	struct buf b = { 0 };
	const char *text = NULL;
	if (render(t, i, &b))
		text = source_keep(t->source, flatten(b.p, b.n));
	buf_free(&b);
	return text;
}
