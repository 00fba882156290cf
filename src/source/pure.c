/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions whose call may be repeated, by what their bodies do: accessors such as at(tree, offset) that programs have for
 * what lies in PM. One changes nothing but its own variables, and calls only such ones. What it returns depends on
 * its arguments, or, if it reads memory, on that too.
 */
#include <string.h>

#include "source/internal.h"

#define DEPTH 6 /* of calls that are looked into */

static bool is_own(const struct source_tree *t, uint32_t lvalue)
{
	uint32_t i = source_node_inside(t, lvalue);
	while (NODE(t, i)->kind == CXCursor_MemberRefExpr && NODE(t, i)->first &&
	       source_lib.getCanonicalType(source_node_type(t, NODE(t, i)->first)).kind !=
		       CXType_Pointer)
		i = source_node_inside(t, NODE(t, i)->first);
	if (NODE(t, i)->kind != CXCursor_DeclRefExpr)
		return false;
	CXCursor v = source_lib.getCursorReferenced(NODE(t, i)->cursor);
	if (source_lib.getCursorType(v).kind == CXType_LValueReference)
		return false;
	enum CXCursorKind in = source_lib.getCursorKind(source_lib.getCursorSemanticParent(v));
	return in != CXCursor_TranslationUnit && in != CXCursor_Namespace;
}

static bool reads(const struct source_tree *t, uint32_t i)
{
	switch (NODE(t, i)->kind) {
	case CXCursor_MemberRefExpr:
	case CXCursor_ArraySubscriptExpr: break;
	case CXCursor_UnaryOperator:
		if (!source_node_is_dereference(t, i))
			return false;
		break;
	default: return false;
	}
	/* Below a conversion it is read; what only an address is taken of is not. */
	uint32_t p = NODE(t, i)->parent;
	enum CXTypeKind k = source_lib.getCanonicalType(source_node_type(t, i)).kind;
	return NODE(t, p)->kind == CXCursor_UnexposedExpr && k != CXType_ConstantArray &&
	       k != CXType_IncompleteArray && !is_own(t, i);
}

static enum source_purity body_purity(const struct source_tree *t, unsigned depth)
{
	enum source_purity all = SOURCE_PURE;
	for (uint32_t i = 1; i < t->node.n && all != SOURCE_IMPURE; i++) {
		const struct source_node *n = NODE(t, i);
		enum source_purity own = SOURCE_PURE;
		enum source_form form;
		uint32_t to = source_assigned(t, i, &form);
		if (n->kind == CXCursor_CallExpr)
			own = source_purity(t, i, depth);
		else if ((to && !is_own(t, to)) || n->kind == CXCursor_GCCAsmStmt ||
			 n->kind == CXCursor_CXXNewExpr || n->kind == CXCursor_CXXDeleteExpr ||
			 n->kind == CXCursor_CXXThrowExpr || n->kind == CXCursor_LambdaExpr ||
			 n->kind == CXCursor_InitListExpr ||
			 (n->kind == CXCursor_UnexposedExpr && n->first && n->first != n->last) ||
			 (n->kind == CXCursor_VarDecl &&
			  source_lib.Cursor_getStorageClass(n->cursor) == CX_SC_Static))
			own = SOURCE_IMPURE;
		else if (reads(t, i))
			own = SOURCE_READS;
		all = own > all ? own : all;
	}
	return all;
}

static enum source_purity look(const struct source_tree *t, CXCursor defined, unsigned depth)
{
	struct source_range r = { .cursor = defined };
	const struct source_file *f;
	struct err ignored;
	struct source_tree callee;
	CXSourceRange extent = source_lib.getCursorExtent(defined);
	source_lib.getFileLocation(source_lib.getRangeStart(extent), &r.file, NULL, NULL, &r.from);
	if (!r.file ||
	    source_file_at(t->source, source_string(t->source, source_lib.getFileName(r.file)), &f,
			   &ignored) < 0)
		return SOURCE_IMPURE;
	source_tree_of(t->source, f, t->unit, &r, &callee);
	enum source_purity p = body_purity(&callee, depth + 1);
	source_tree_free(&callee);
	return p;
}

enum source_purity source_purity(const struct source_tree *t, uint32_t call, unsigned depth)
{
	struct source_unit *u = (struct source_unit *)t->unit;
	CXCursor d = source_lib.getCursorReferenced(NODE(t, call)->cursor);
	if (source_is_pure(source_node_name(t, call)))
		return SOURCE_READS;
	if (depth > DEPTH || source_lib.getCursorKind(d) != CXCursor_FunctionDecl)
		return SOURCE_IMPURE;
	CXCursor defined = source_lib.getCursorDefinition(d);
	if (source_lib.Cursor_isNull(defined))
		return SOURCE_IMPURE;
	for (size_t i = 0; i < u->known.n; i++)
		if (source_lib.equalCursors(u->known.p[i].function, defined))
			return u->known.p[i].purity;
	/* While it is looked at it counts as one that changes things: one that calls itself stays so. */
	size_t at = u->known.n;
	VEC_PUSH(&u->known, ((struct source_known){ defined, SOURCE_IMPURE }));
	enum source_purity p = look(t, defined, depth);
	u->known.p[at].purity = p;
	return p;
}
