/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The struct that a store is to a part of: *p of p->a, p->b[3] of p->b[3].c. What is known of it by its type tells
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

static void fill(const struct source_tree *t, uint32_t base, bool arrow, CXType type,
		 uint64_t offset, struct source_owner *out)
{
	long long align = source_lib.Type_getAlignOf(type);
	const char *text = source_node_text(t, base);
	if (!text || !source_type_size(type) || source_lib.isVolatileQualifiedType(type))
		return;
	const char *size = !arrow                ? "sizeof(%s)"
			   : strpbrk(text, " (") ? "sizeof(*(%s))"
						 : "sizeof(*%s)";
	*out = (struct source_owner){
		.address = source_sized(t, arrow ? "%s" : "&%s", text),
		.size = source_sized(t, size, text),
		.bytes = source_type_size(type),
		.align = align > 0 ? (uint64_t)align : 1,
		.offset = offset,
	};
}

/* The outermost struct of up to a line, else the innermost; the one behind the pointer, if its type says which line of it the part is in. */
void source_owner_of(const struct source_tree *t, uint32_t lvalue, struct source_owner *out)
{
	uint64_t offset = 0;
	bool known = true;
	*out = (struct source_owner){ 0 };
	for (uint32_t i = source_node_inside(t, lvalue);; i = source_node_inside(t, i)) {
		const struct source_node *n = NODE(t, i);
		CXType base = n->first ? source_node_canonical(t, source_node_peel(t, n->first))
				       : (CXType){ 0 };
		if (n->kind == CXCursor_ArraySubscriptExpr && base.kind != CXType_Pointer) {
			known = false;
			i = source_node_peel(t, n->first);
			continue;
		}
		if (n->kind != CXCursor_MemberRefExpr || !n->first)
			return;
		CXType in = source_node_canonical(t, n->first);
		bool arrow = in.kind == CXType_Pointer;
		in = arrow ? source_lib.getCanonicalType(source_lib.getPointeeType(in)) : in;
		known = known && add_offset(n, in, &offset);
		if (!out->address || source_type_size(in) <= SOURCE_LINE ||
		    (arrow && known && source_lib.Type_getAlignOf(in) >= SOURCE_LINE))
			fill(t, n->first, arrow, in, known ? offset : UINT64_MAX, out);
		if (arrow)
			return;
		i = n->first;
	}
}

/* The struct of an array that a call writes to by its name, and that ends where its type says. */
void source_array_owner(const struct source_tree *t, uint32_t target, struct source_owner *out)
{
	uint32_t in = source_node_peel(t, target);
	CXType type = source_node_canonical(t, in);
	if (NODE(t, in)->kind != CXCursor_MemberRefExpr || type.kind != CXType_ConstantArray ||
	    source_lib.getArraySize(type) < 2)
		return;
	source_owner_of(t, in, out);
	out->offset = out->align >= SOURCE_LINE && out->bytes <= SOURCE_LINE ? 0 : UINT64_MAX;
}
