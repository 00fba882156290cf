/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The struct that a pointer leads to and that a store is to a part of: p of p->a.b[3]. What is known of it by its type tells
 * whether two of its parts are always in one cache line.
 */
#include <string.h>

#include "source/internal.h"

/* Where a member is in the struct that `base` is, or points to; false: that struct inherits it, or nobody knows. */
static bool add_offset(const struct source_node *member, CXType in, uint64_t *offset)
{
	CXCursor field = source_lib.getCursorReferenced(member->cursor);
	CXCursor of = source_lib.getCursorSemanticParent(field);
	long long bits = source_lib.Cursor_getOffsetOfField(field);
	if (bits < 0 || !source_lib.equalCursors(of, source_lib.getTypeDeclaration(in)))
		return false;
	*offset += (uint64_t)bits / 8;
	return true;
}

static void fill(const struct source_tree *t, CXType type, const char *text, uint64_t offset,
		 struct source_owner *out)
{
	long long align = source_lib.Type_getAlignOf(type);
	if (!text || !source_type_size(type) || source_lib.isVolatileQualifiedType(type))
		return;
	*out = (struct source_owner){
		.address = text,
		.size = source_keep(
			t->source,
			xasprintf(strpbrk(text, " (") ? "sizeof(*(%s))" : "sizeof(*%s)", text)),
		.bytes = source_type_size(type),
		.align = align > 0 ? (uint64_t)align : 1,
		.offset = offset,
	};
}

void source_owner_of(const struct source_tree *t, uint32_t lvalue, struct source_owner *out)
{
	uint64_t offset = 0;
	bool known = true;
	*out = (struct source_owner){ 0 };
	for (uint32_t i = source_node_inside(t, lvalue);; i = source_node_inside(t, i)) {
		const struct source_node *n = NODE(t, i);
		CXType base = source_node_canonical(t, source_node_peel(t, n->first));
		if (n->kind == CXCursor_ArraySubscriptExpr && base.kind != CXType_Pointer) {
			known = false;
			i = source_node_peel(t, n->first);
			continue;
		}
		if (n->kind != CXCursor_MemberRefExpr || !n->first)
			return;
		bool arrow = source_node_canonical(t, n->first).kind == CXType_Pointer;
		CXType in = source_node_canonical(t, n->first);
		in = arrow ? source_lib.getCanonicalType(source_lib.getPointeeType(in)) : in;
		known = known && add_offset(n, in, &offset);
		if (arrow) {
			fill(t, in, source_node_text(t, n->first), known ? offset : UINT64_MAX,
			     out);
			return;
		}
		i = n->first;
	}
}
