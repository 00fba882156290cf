/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of one function, in an array: questions go up and down in them, which libclang's visitors do
 * not. libclang does not name operators; which ones write follows from what it shows as casts: an
 * lvalue that is read is below an implicit conversion, one that is written is not.
 */
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

struct building {
	struct source_tree *tree;
	uint32_t parent;
};

static enum CXChildVisitResult add(CXCursor c, CXCursor parent, CXClientData data);

static void add_node(struct source_tree *t, CXCursor c, uint32_t parent)
{
	struct source_node n = { .cursor = c,
				 .kind = source_lib.getCursorKind(c),
				 .parent = parent };
	CXSourceRange extent = source_lib.getCursorExtent(c);
	CXFile from, to;
	source_lib.getFileLocation(source_lib.getRangeStart(extent), &from, NULL, NULL, &n.from);
	source_lib.getFileLocation(source_lib.getRangeEnd(extent), &to, NULL, NULL, &n.to);
	n.elsewhere = from != t->in || to != t->in || n.to < n.from || n.to > t->file->size;
	uint32_t at = (uint32_t)t->node.n;
	VEC_PUSH(&t->node, n);
	if (parent) {
		struct source_node *p = NODE(t, parent);
		if (p->last)
			NODE(t, p->last)->next = at;
		else
			p->first = at;
		p->last = at;
	}
	struct building b = { t, at };
	source_lib.visitChildren(c, add, &b);
}

static enum CXChildVisitResult add(CXCursor c, CXCursor parent, CXClientData data)
{
	struct building *b = data;
	(void)parent;
	add_node(b->tree, c, b->parent);
	return CXChildVisit_Continue;
}

void source_tree_of(struct source *s, const struct source_file *f, const struct source_unit *u,
		    const struct source_range *r, struct source_tree *t)
{
	*t = (struct source_tree){ .source = s, .file = f, .unit = u, .in = r->file };
	VEC_PUSH(&t->node, (struct source_node){ 0 });
	add_node(t, r->cursor, 0);
}

int source_tree_at(struct source *s, const struct source_file *f, size_t offset,
		   struct source_tree *t, struct err *err)
{
	struct source_unit *u;
	const struct source_range *best = NULL;
	if (source_unit_at(s, f, offset, &u, err) < 0)
		return -1;
	CXFile in = source_lib.getFile(u->tu, f->path);
	for (size_t i = 0; i < u->function.n; i++) {
		const struct source_range *r = &u->function.p[i];
		if (r->file == in && r->from <= offset && offset < r->to &&
		    (!best || r->to - r->from < best->to - best->from))
			best = r;
	}
	if (!best)
		return err_set(err, EXIT_PROGRAM, "no function is at %s:%u%s%s", f->name,
			       source_line_of(f, offset), f->broken ? "; " : "",
			       f->broken ? f->broken : "");
	source_tree_of(s, f, u, best, t);
	return 0;
}

int source_open_place(struct source *s, const struct source_place *p, struct source_tree *t,
		      size_t *offset, struct err *err)
{
	const struct source_file *f;
	if (source_file_at(s, p->file, &f, err) < 0 || source_offset(f, p, offset, err) < 0)
		return -1;
	size_t inside = p->column ? *offset : source_skip_blank(f->text, *offset, f->size);
	return source_tree_at(s, f, inside, t, err);
}

void source_tree_free(struct source_tree *t)
{
	VEC_FREE(&t->node);
}

uint32_t source_node_child(const struct source_tree *t, uint32_t i, unsigned nth)
{
	for (i = NODE(t, i)->first; i && nth; nth--)
		i = NODE(t, i)->next;
	return i;
}

bool source_node_under(const struct source_tree *t, uint32_t i, uint32_t ancestor)
{
	while (i && i != ancestor)
		i = NODE(t, i)->parent;
	return i == ancestor;
}

uint32_t source_node_next(const struct source_tree *t, uint32_t i, uint32_t top)
{
	if (NODE(t, i)->first)
		return NODE(t, i)->first;
	while (i != top && !NODE(t, i)->next)
		i = NODE(t, i)->parent;
	return i == top ? 0 : NODE(t, i)->next;
}

uint32_t source_node_inside(const struct source_tree *t, uint32_t i)
{
	while (NODE(t, i)->kind == CXCursor_ParenExpr && NODE(t, i)->first)
		i = NODE(t, i)->first;
	return i;
}

/* An implicit conversion: it has the text of its only child. */
static bool is_implicit(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i);
	return n->kind == CXCursor_UnexposedExpr && n->first && n->first == n->last &&
	       NODE(t, n->first)->from == n->from && NODE(t, n->first)->to == n->to;
}

uint32_t source_node_peel(const struct source_tree *t, uint32_t i)
{
	for (;;) {
		uint32_t in = source_node_inside(t, i);
		if (is_implicit(t, in))
			in = NODE(t, in)->first;
		if (in == i)
			return i;
		i = in;
	}
}

CXType source_node_type(const struct source_tree *t, uint32_t i)
{
	return source_lib.getCursorType(NODE(t, i)->cursor);
}

CXType source_node_canonical(const struct source_tree *t, uint32_t i)
{
	return source_lib.getCanonicalType(source_node_type(t, i));
}

uint64_t source_type_size(CXType type)
{
	long long n = source_lib.Type_getSizeOf(type);
	return n > 0 ? (uint64_t)n : 0;
}

const char *source_node_name(const struct source_tree *t, uint32_t i)
{
	return source_string(t->source, source_lib.getCursorSpelling(NODE(t, i)->cursor));
}

static bool same_type(CXType a, CXType b)
{
	return source_lib.equalTypes(source_lib.getCanonicalType(a),
				     source_lib.getCanonicalType(b));
}

bool source_node_is_dereference(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i);
	if (n->kind != CXCursor_UnaryOperator || !n->first)
		return false;
	if (!n->elsewhere && !source_node_hidden(t, i))
		return t->file->text[n->from] == '*';
	CXType from = source_lib.getCanonicalType(source_node_type(t, n->first));
	return from.kind == CXType_Pointer &&
	       same_type(source_lib.getPointeeType(from), source_node_type(t, i));
}

bool source_node_is_lvalue(const struct source_tree *t, uint32_t i)
{
	i = source_node_inside(t, i);
	switch (NODE(t, i)->kind) {
	case CXCursor_DeclRefExpr: {
		CXCursor d = source_lib.getCursorReferenced(NODE(t, i)->cursor);
		enum CXCursorKind k = source_lib.getCursorKind(d);
		return k == CXCursor_VarDecl || k == CXCursor_ParmDecl || k == CXCursor_FieldDecl;
	}
	case CXCursor_MemberRefExpr:
	case CXCursor_ArraySubscriptExpr: return true;
	case CXCursor_UnaryOperator: return source_node_is_dereference(t, i);
	case CXCursor_CallExpr: {
		CXCursor f = source_lib.getCursorReferenced(NODE(t, i)->cursor);
		return source_lib.getCursorResultType(f).kind == CXType_LValueReference;
	}
	default: return false;
	}
}

/* The sign between two operands, as far as it can be seen: ',' is the one that looks like an assignment. */
static bool is_comma(const struct source_tree *t, uint32_t left, uint32_t right)
{
	const struct source_node *l = NODE(t, left), *r = NODE(t, right);
	if (l->elsewhere || r->elsewhere || r->from < l->to)
		return false;
	size_t at = source_skip_blank(t->file->text, l->to, r->from);
	return at < r->from && t->file->text[at] == ',';
}

uint32_t source_assigned(const struct source_tree *t, uint32_t i, enum source_form *form)
{
	const struct source_node *n = NODE(t, i);
	uint32_t first = n->first;
	if (!first)
		return 0;
	if (n->kind == CXCursor_CompoundAssignOperator) {
		*form = SOURCE_COMPOUND;
		return first;
	}
	if (!source_node_is_lvalue(t, first))
		return 0;
	if (n->kind == CXCursor_BinaryOperator) {
		*form = SOURCE_ASSIGN;
		uint32_t right = NODE(t, first)->next;
		return right && !is_comma(t, first, right) ? first : 0;
	}
	if (n->kind == CXCursor_UnaryOperator) {
		*form = SOURCE_INCREMENT;
		return same_type(source_node_type(t, i), source_node_type(t, first)) ? first : 0;
	}
	return 0;
}
