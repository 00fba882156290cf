/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May an expression be evaluated once more? The code that is inserted names what was stored to again: that must
 * have no side effects, and mean the same after the statement as in it.
 */
#include <string.h>

#include "source/internal.h"

/* The variable that an expression names, or a member of; false: it names none. */
static bool variable_of(const struct source_tree *t, uint32_t i, CXCursor *v)
{
	i = source_node_peel(t, i);
	while (NODE(t, i)->kind == CXCursor_MemberRefExpr && NODE(t, i)->first &&
	       source_node_canonical(t, NODE(t, i)->first).kind != CXType_Pointer)
		i = source_node_peel(t, NODE(t, i)->first);
	if (NODE(t, i)->kind != CXCursor_DeclRefExpr)
		return false;
	*v = source_lib.getCursorReferenced(NODE(t, i)->cursor);
	return true;
}

/* The variable is declared below the node: in a statement expression, say. */
static bool declared_in(const struct source_tree *t, CXCursor v, uint32_t top)
{
	for (uint32_t i = top; i; i = source_node_next(t, i, top))
		if (NODE(t, i)->kind == CXCursor_VarDecl &&
		    source_lib.equalCursors(NODE(t, i)->cursor, v))
			return true;
	return false;
}

/* A call of a built-in for atomics is no call to libclang: it has no name, only its text. */
static bool is_atomic(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i);
	return n->kind == CXCursor_UnexposedExpr && n->first && n->first != n->last &&
	       NODE(t, n->first)->kind != CXCursor_TypeRef; /* which offsetof has */
}

static bool effect_at(const struct source_tree *t, uint32_t i, uint32_t top)
{
	enum source_form form;
	CXCursor v;
	switch (NODE(t, i)->kind) {
	case CXCursor_CallExpr: return source_purity(t, i, 0) == SOURCE_IMPURE;
	case CXCursor_CXXNewExpr:
	case CXCursor_CXXDeleteExpr:
	case CXCursor_CXXThrowExpr:
	case CXCursor_LambdaExpr:
	case CXCursor_GCCAsmStmt: return true;
	case CXCursor_UnexposedExpr: return is_atomic(t, i);
	case CXCursor_DeclRefExpr: {
		uint32_t init = source_macro_local(t, i);
		return init && source_has_effects(t, init);
	}
	default: break;
	}
	uint32_t to = source_assigned(t, i, &form);
	return to && !(variable_of(t, to, &v) && declared_in(t, v, top));
}

bool source_has_effects(const struct source_tree *t, uint32_t top)
{
	for (uint32_t i = top; i; i = source_node_next(t, i, top))
		if (effect_at(t, i, top))
			return true;
	return false;
}

/* Does the expression name the variable? */
static bool names(const struct source_tree *t, uint32_t top, CXCursor v)
{
	for (uint32_t i = top; i; i = source_node_next(t, i, top))
		if (NODE(t, i)->kind == CXCursor_DeclRefExpr &&
		    source_lib.equalCursors(source_lib.getCursorReferenced(NODE(t, i)->cursor), v))
			return true;
	return false;
}

/*
 * Does another part of the statement change a variable that the expression names? What has the whole store as its
 * value, as the first = of tail = tail->next = n, does it later: then before the statement is right.
 */
static enum source_again changed_variables(const struct source_tree *t, uint32_t e,
					   uint32_t statement, uint32_t store)
{
	enum source_again again = SOURCE_AGAIN;
	for (uint32_t i = statement; i; i = source_node_next(t, i, statement)) {
		enum source_form form;
		CXCursor v;
		uint32_t to = source_assigned(t, i, &form);
		if (!to || i == store || source_node_under(t, i, e) || !variable_of(t, to, &v) ||
		    !names(t, e, v))
			continue;
		if (form != SOURCE_ASSIGN || !source_node_under(t, store, i) ||
		    source_node_under(t, store, to))
			return SOURCE_CHANGED;
		again = SOURCE_BEFORE;
	}
	return again;
}

/* The member that an lvalue ends in. */
static bool member_of(const struct source_tree *t, uint32_t i, CXCursor *field)
{
	i = source_node_peel(t, i);
	while (NODE(t, i)->kind == CXCursor_ArraySubscriptExpr) {
		i = source_node_peel(t, NODE(t, i)->first);
		if (source_lib.getCanonicalType(source_node_type(t, i)).kind == CXType_Pointer)
			return false; /* an element of what the member points to */
	}
	if (NODE(t, i)->kind != CXCursor_MemberRefExpr)
		return false;
	*field = source_lib.getCursorReferenced(NODE(t, i)->cursor);
	return true;
}

/* A value that was read from memory, below a conversion: p->next in p->next->next. */
static bool is_read(const struct source_tree *t, uint32_t i)
{
	uint32_t p = NODE(t, i)->parent;
	enum CXCursorKind k = NODE(t, i)->kind;
	enum CXTypeKind type = source_lib.getCanonicalType(source_node_type(t, i)).kind;
	return p && NODE(t, p)->kind == CXCursor_UnexposedExpr &&
	       (k == CXCursor_MemberRefExpr || k == CXCursor_ArraySubscriptExpr ||
		source_node_is_dereference(t, i)) &&
	       type != CXType_ConstantArray && type != CXType_IncompleteArray;
}

/* A struct of that type may have the member that is read: it is not too small for the struct that has it. */
static bool may_hold(CXType type, const struct source_tree *t, uint32_t i)
{
	CXCursor field;
	if (!member_of(t, i, &field))
		return true;
	CXType in = source_lib.getCursorType(source_lib.getCursorSemanticParent(field));
	return source_lib.Type_getSizeOf(in) <= source_lib.Type_getSizeOf(type);
}

/*
 * Can the store itself change what the expression reads? It can where it reads the member that is stored to, of
 * what may be the same struct (n->next->next = NULL, with n->next == n), where both are of one type and no
 * member tells them apart, and where a struct is copied.
 */
static bool may_alias(const struct source_tree *t, uint32_t lvalue)
{
	CXCursor stored = { 0 }, read;
	bool member = member_of(t, lvalue, &stored);
	CXType type = source_lib.getCanonicalType(source_node_type(t, lvalue));
	for (uint32_t i = lvalue; i; i = source_node_next(t, i, lvalue)) {
		if (i == source_node_inside(t, lvalue) || !is_read(t, i))
			continue;
		if (type.kind == CXType_Record) {
			if (may_hold(type, t, i))
				return true;
		} else if (member && member_of(t, i, &read)) {
			if (source_lib.equalCursors(stored, read))
				return true;
		} else if (source_lib.equalTypes(
				   type, source_lib.getCanonicalType(source_node_type(t, i)))) {
			return true;
		}
	}
	return false;
}

/* What the expression calls reads memory, of which the store may be a part. */
static bool calls_that_read(const struct source_tree *t, uint32_t top)
{
	for (uint32_t i = top; i; i = source_node_next(t, i, top))
		if (NODE(t, i)->kind == CXCursor_CallExpr &&
		    source_purity(t, i, 0) != SOURCE_PURE &&
		    !source_is_pure(source_node_name(t, i)))
			return true;
	return false;
}

/* It changes a variable of the function that the expression does not name: from, in *to++ = *from++. */
static bool changes_another(const struct source_tree *t, uint32_t i, uint32_t e)
{
	enum source_form form;
	uint32_t to = source_assigned(t, i, &form), in = to ? source_node_inside(t, to) : 0;
	if (!in || NODE(t, in)->kind != CXCursor_DeclRefExpr)
		return false;
	CXCursor v = source_lib.getCursorReferenced(NODE(t, in)->cursor);
	enum CXCursorKind k = source_lib.getCursorKind(v);
	bool own = k == CXCursor_ParmDecl ||
		   (k == CXCursor_VarDecl &&
		    source_lib.getCursorKind(source_lib.getCursorSemanticParent(v)) ==
			    CXCursor_FunctionDecl &&
		    source_lib.Cursor_getStorageClass(v) != CX_SC_Static);
	return own && source_lib.getCursorType(v).kind != CXType_LValueReference && !names(t, e, v);
}

/* Another part of the statement than the expression has side effects, before the store or in an order that nobody knows. */
static bool rest_has_effects(const struct source_tree *t, uint32_t e, uint32_t statement,
			     uint32_t store)
{
	for (uint32_t i = statement; i; i = source_node_next(t, i, statement))
		if (!source_node_under(t, i, e) && !source_node_under(t, store, i) &&
		    effect_at(t, i, statement) && !changes_another(t, i, e))
			return true;
	return false;
}

/* The expression depends on more than variables. */
static bool reads_any(const struct source_tree *t, uint32_t e)
{
	for (uint32_t i = e; i; i = source_node_next(t, i, e))
		if (is_read(t, i) || NODE(t, i)->kind == CXCursor_CallExpr)
			return true;
	return false;
}

enum source_again source_again(const struct source_tree *t, uint32_t e, uint32_t statement,
			       uint32_t store)
{
	enum source_form form;
	enum source_again again = changed_variables(t, e, statement, store);
	bool once = again != SOURCE_CHANGED && source_has_effects(t, e);
	if (again == SOURCE_CHANGED || (once && again == SOURCE_BEFORE))
		return SOURCE_CHANGED;
	if (!once && source_assigned(t, store, &form) == e &&
	    (may_alias(t, e) || calls_that_read(t, e)))
		again = SOURCE_BEFORE;
	/* To evaluate it before the others would be another order than the compiler's. */
	if ((once || (again == SOURCE_BEFORE && reads_any(t, e))) &&
	    rest_has_effects(t, e, statement, store))
		return SOURCE_CHANGED;
	return once ? SOURCE_ONCE : again;
}
