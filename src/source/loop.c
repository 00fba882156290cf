/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop around a store, and, where it goes through an array, the range that all rounds store to. */
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* for (i = first; i < last; i++), with expressions as nodes. */
struct counting {
	CXCursor i;
	uint32_t first, last, body;
	bool also; /* <=: the last, too */
};

static bool is_variable(const struct source_tree *t, uint32_t i, CXCursor v)
{
	i = source_node_peel(t, i);
	return NODE(t, i)->kind == CXCursor_DeclRefExpr &&
	       source_lib.equalCursors(source_lib.getCursorReferenced(NODE(t, i)->cursor), v);
}

static bool find_first(const struct source_tree *t, uint32_t init, struct counting *c)
{
	const struct source_node *n = NODE(t, init);
	enum source_form form;
	if (n->kind == CXCursor_DeclStmt && n->first && n->first == n->last) {
		const struct source_node *v = NODE(t, n->first);
		c->i = v->cursor;
		c->first = v->last;
		return v->kind == CXCursor_VarDecl && v->last;
	}
	uint32_t to = source_assigned(t, init, &form);
	if (!to || form != SOURCE_ASSIGN || NODE(t, to)->kind != CXCursor_DeclRefExpr)
		return false;
	c->i = source_lib.getCursorReferenced(NODE(t, to)->cursor);
	c->first = NODE(t, to)->next;
	return c->first != 0;
}

static bool find_last(const struct source_tree *t, uint32_t condition, struct counting *c)
{
	const struct source_node *n = NODE(t, condition);
	if (n->kind != CXCursor_BinaryOperator || !is_variable(t, n->first, c->i))
		return false;
	size_t at = source_skip_blank(t->file->text, NODE(t, n->first)->to, t->file->size);
	const char *sign = t->file->text + at;
	c->also = sign[0] == '<' && sign[1] == '=';
	c->last = n->last;
	return sign[0] == '<' && sign[1] != '<';
}

static bool is_step(const struct source_tree *t, uint32_t step, const struct counting *c)
{
	enum source_form form;
	uint32_t to = source_assigned(t, step, &form);
	if (!to || !is_variable(t, to, c->i))
		return false;
	const char *text = source_node_text(t, step);
	if (form == SOURCE_INCREMENT)
		return text && strstr(text, "++");
	const char *by = form == SOURCE_COMPOUND ? source_node_text(t, NODE(t, to)->next) : NULL;
	return by && strcmp(by, "1") == 0 && strstr(text, "+=");
}

static bool find_counting(const struct source_tree *t, uint32_t loop, struct counting *c)
{
	uint32_t child[5];
	unsigned n = 0;
	for (uint32_t i = NODE(t, loop)->first; i && n < 5; i = NODE(t, i)->next)
		child[n++] = i;
	if (NODE(t, loop)->kind != CXCursor_ForStmt || n != 4 ||
	    source_macro_at(t->unit, t->in, NODE(t, loop)->from, NODE(t, loop)->from + 1))
		return false;
	c->body = child[3];
	return find_first(t, child[0], c) && find_last(t, child[1], c) && is_step(t, child[2], c);
}

/* base[i], or base of it: the node of base[i]; 0: the lvalue has none. */
static uint32_t find_element(const struct source_tree *t, uint32_t lvalue, CXCursor v)
{
	for (uint32_t i = lvalue, next; i; i = next) {
		uint32_t in = source_uncast(t, i); /* *(T *)&base[i] is base[i] */
		bool cast = in != i && NODE(t, i)->parent != 0;
		next = cast ? in : NODE(t, i)->first;
		if (NODE(t, i)->kind == CXCursor_ArraySubscriptExpr &&
		    is_variable(t, NODE(t, i)->last, v))
			return i;
		/* Behind a pointer that was read it is another object. */
		if (NODE(t, i)->kind == CXCursor_MemberRefExpr && NODE(t, i)->first &&
		    source_lib.getCanonicalType(source_node_type(t, NODE(t, i)->first)).kind ==
			    CXType_Pointer)
			return 0;
	}
	return 0;
}

static bool reads_memory(const struct source_tree *t, uint32_t top)
{
	for (uint32_t i = top; i; i = source_node_next(t, i, top)) {
		enum CXCursorKind k = NODE(t, i)->kind;
		if (k == CXCursor_MemberRefExpr || k == CXCursor_ArraySubscriptExpr ||
		    (k == CXCursor_UnaryOperator && source_node_is_dereference(t, i)))
			return true;
	}
	return false;
}

/* Is the variable assigned, declared or given away in the loop? */
static bool changes_in(const struct source_tree *t, CXCursor v, uint32_t loop)
{
	for (uint32_t i = loop; i; i = source_node_next(t, i, loop)) {
		enum source_form form;
		uint32_t to = source_assigned(t, i, &form);
		const struct source_node *n = NODE(t, i);
		if ((to && is_variable(t, to, v)) ||
		    (n->kind == CXCursor_VarDecl && source_lib.equalCursors(n->cursor, v)) ||
		    (n->kind == CXCursor_UnaryOperator && n->first &&
		     NODE(t, n->first)->kind == CXCursor_DeclRefExpr &&
		     is_variable(t, n->first, v)))
			return true;
	}
	return false;
}

/* The member is stored to in the loop, or a function is called that may do so. */
static bool member_changes(const struct source_tree *t, CXCursor field, uint32_t loop)
{
	for (uint32_t i = loop; i; i = source_node_next(t, i, loop)) {
		enum source_form form;
		uint32_t to = source_assigned(t, i, &form);
		to = to ? source_node_inside(t, to) : 0;
		if (to && NODE(t, to)->kind == CXCursor_MemberRefExpr &&
		    source_lib.equalCursors(source_lib.getCursorReferenced(NODE(t, to)->cursor),
					    field))
			return true;
		const char *name =
			NODE(t, i)->kind == CXCursor_CallExpr ? source_node_name(t, i) : NULL;
		if (name && !source_is_pure(name) && !source_writer(name, strlen(name)) &&
		    source_purity(t, i, 0) == SOURCE_IMPURE)
			return true;
	}
	return false;
}

/* The expression means the same after the loop as in every round. */
static bool is_constant(const struct source_tree *t, uint32_t top, uint32_t loop)
{
	if (source_has_effects(t, top))
		return false;
	for (uint32_t i = top; i; i = source_node_next(t, i, top)) {
		CXCursor d = source_lib.getCursorReferenced(NODE(t, i)->cursor);
		if (NODE(t, i)->kind == CXCursor_DeclRefExpr && changes_in(t, d, loop))
			return false;
		/* Of an array that is a part of a struct, only the address is read. */
		enum CXTypeKind k = source_node_canonical(t, i).kind;
		bool array = k == CXType_ConstantArray || k == CXType_IncompleteArray;
		if (NODE(t, i)->kind == CXCursor_MemberRefExpr && !array &&
		    member_changes(t, d, loop))
			return false;
		if (NODE(t, i)->kind == CXCursor_ArraySubscriptExpr && i != top &&
		    reads_memory(t, NODE(t, i)->last))
			return false;
	}
	return true;
}

static const char *leaves_early(const struct source_tree *t, uint32_t loop)
{
	for (uint32_t i = loop; i; i = source_node_next(t, i, loop))
		switch (NODE(t, i)->kind) {
		case CXCursor_BreakStmt: return "the loop has a break";
		case CXCursor_ContinueStmt: return "the loop has a continue";
		case CXCursor_ReturnStmt: return "the loop has a return";
		case CXCursor_GotoStmt: return "the loop has a goto";
		case CXCursor_CXXThrowExpr: return "the loop has a throw";
		default: break;
		}
	return NULL;
}

static bool number(const struct source_tree *t, uint32_t i, long long *value)
{
	i = source_node_peel(t, i);
	CXEvalResult e = source_lib.Cursor_Evaluate(NODE(t, i)->cursor);
	bool good = e && source_lib.EvalResult_getKind(e) == CXEval_Int;
	if (good)
		*value = source_lib.EvalResult_getAsLongLong(e);
	if (e)
		source_lib.EvalResult_dispose(e);
	return good;
}

/* In parentheses, unless it is a name or a number or the like. */
static const char *operand(const struct source_tree *t, uint32_t i)
{
	const char *text = source_node_text(t, i);
	enum CXCursorKind k = NODE(t, source_node_peel(t, i))->kind;
	if (!text || k == CXCursor_DeclRefExpr || k == CXCursor_MemberRefExpr ||
	    k == CXCursor_IntegerLiteral || k == CXCursor_ParenExpr || k == CXCursor_CallExpr)
		return text;
	return source_keep(t->source, xasprintf("(%s)", text));
}

static void put_range(const struct source_tree *t, const struct counting *c, uint32_t element,
		      struct source_loop *out)
{
	struct source *s = t->source;
	const char *base = source_node_text(t, NODE(t, element)->first);
	const char *first = operand(t, c->first), *last = operand(t, c->last);
	long long from = 0, to = 0;
	bool zero = number(t, c->first, &from) && from == 0;
	if (!base || !first || !last) {
		out->why = "a macro hides its range";
		return;
	}
	if (!(number(t, c->first, &from) && number(t, c->last, &to) && to >= from + !c->also))
		out->guard =
			source_keep(s, xasprintf("%s %s %s", last, c->also ? ">=" : ">", first));
	char *count = zero      ? xasprintf(c->also ? "(%s + 1)" : "%s", last)
		      : c->also ? xasprintf("(%s - %s + 1)", last, first)
				: xasprintf("(%s - %s)", last, first);
	out->bytes = source_keep(s, xasprintf("%s * sizeof(%s[0])", count, base));
	const char *cast = source_cast_for(source_node_type(t, element));
	out->base = source_keep(s, zero ? xasprintf("%s%s", cast, base)
					: xasprintf("%s&%s[%s]", cast, base, first));
	free(count);
}

/* base[i] of &base[i]; 0: the argument is something else. */
static uint32_t pointed_to(const struct source_tree *t, uint32_t argument)
{
	uint32_t in = argument ? source_uncast(t, argument) : 0;
	const struct source_node *n = NODE(t, in);
	uint32_t to = in && n->kind == CXCursor_UnaryOperator && n->first &&
				      source_node_is_lvalue(t, n->first)
			      ? source_node_inside(t, n->first)
			      : 0;
	return to && NODE(t, to)->kind == CXCursor_ArraySubscriptExpr ? to : 0;
}

/* What is assigned; or the element that memset or the like fills, if it is all of it. */
static uint32_t stored_to(const struct source_tree *t, uint32_t store)
{
	enum source_form form;
	uint32_t lvalue = source_assigned(t, store, &form);
	if (lvalue || NODE(t, store)->kind != CXCursor_CallExpr)
		return lvalue;
	uint32_t to = pointed_to(t, source_node_child(t, store, 1)),
		 size = source_node_child(t, store, 3);
	long long bytes = 0;
	return to && size && number(t, size, &bytes) && bytes > 0 &&
			       (uint64_t)bytes == source_type_size(source_node_type(t, to))
		       ? to
		       : 0;
}

static void find_range(const struct source_tree *t, uint32_t loop, uint32_t store, uint32_t lvalue,
		       struct source_loop *out)
{
	struct counting c;
	uint32_t statement;
	struct source_statement st;
	struct err ignored;
	if (!find_counting(t, loop, &c)) {
		out->why = "it does not count up by one";
		return;
	}
	uint32_t element = lvalue ? find_element(t, lvalue, c.i) : 0;
	if ((out->why = leaves_early(t, c.body)))
		return;
	if (!element)
		out->why = "what it stores to is no array that it goes through";
	else if (source_statement_of(t, store, &statement, &st, &ignored) < 0 ||
		 source_is_conditional(t, store, c.body))
		out->why = "not every round stores";
	else if (changes_in(t, c.i, c.body) || !is_constant(t, c.first, loop) ||
		 !is_constant(t, c.last, loop) || !is_constant(t, NODE(t, element)->first, loop))
		out->why = "its range may change while it runs";
	else
		put_range(t, &c, element, out);
}

/* The body is the statement of the store, and nothing else. */
static bool is_all_of(const struct source_tree *t, uint32_t store, uint32_t body)
{
	uint32_t at;
	struct source_statement st;
	struct err ignored;
	if (source_statement_of(t, store, &at, &st, &ignored) < 0)
		return false;
	const struct source_node *b = NODE(t, body);
	return at == body || (b->kind == CXCursor_CompoundStmt && b->first == b->last &&
			      b->first == at && st.where == SOURCE_IN_BLOCK);
}

/* The loop around a node, and the range of which it stores to this part in each round. */
static int describe(const struct source_tree *t, uint32_t node, uint32_t lvalue,
		    struct source_loop *out, struct err *err)
{
	uint32_t loop = node, at;
	while (loop && !(source_is_loop(NODE(t, loop)->kind) && source_is_statement(t, loop) &&
			 !source_macro_at(t->unit, t->in, NODE(t, loop)->from, NODE(t, loop)->to)))
		loop = NODE(t, loop)->parent; /* the do … while (0) of a macro is none */
	if (!loop)
		return err_set(err, EXIT_PROGRAM, "it is in no loop");
	if (source_statement_of(t, loop, &at, &out->statement, err))
		return -1;
	uint32_t body =
		NODE(t, loop)->kind == CXCursor_DoStmt ? NODE(t, loop)->first : NODE(t, loop)->last;
	out->body = (struct source_span){ NODE(t, body)->from, NODE(t, body)->to };
	out->alone = is_all_of(t, node, body);
	find_range(t, loop, node, lvalue, out);
	return 0;
}

int source_loop_around(struct source *s, const struct source_place *p,
		       const struct source_store *store, struct source_loop *out, struct err *err)
{
	struct source_tree t;
	struct source_store again;
	uint32_t node = 0;
	const struct source_file *f = store->statement.file;
	size_t offset;
	*out = (struct source_loop){ 0 };
	if (source_offset(f, p, &offset, err) < 0 ||
	    source_tree_at(s, f, store->statement.span.from, &t, err) < 0)
		return -1;
	source_store_in(&t, p, offset, store->bytes, &again, &node, err);
	int rc = describe(&t, node, stored_to(&t, node), out, err);
	source_tree_free(&t);
	return rc;
}

int source_loop_around_call(struct source *s, const struct source_call *c, const char *argument,
			    struct source_loop *out, struct err *err)
{
	struct source_tree t;
	uint32_t node = 0, to = 0;
	*out = (struct source_loop){ 0 };
	if (source_tree_at(s, c->statement.file, c->span.from, &t, err) < 0)
		return -1;
	for (uint32_t i = 1; i < t.node.n; i++)
		if (NODE(&t, i)->kind == CXCursor_CallExpr && !NODE(&t, i)->elsewhere &&
		    NODE(&t, i)->from == c->span.from && NODE(&t, i)->to == c->span.to)
			node = i;
	for (uint32_t a = node ? NODE(&t, node)->first : 0; a && !to; a = NODE(&t, a)->next) {
		const char *text = source_node_text(&t, a);
		to = text && !strcmp(text, argument) ? pointed_to(&t, a) : 0;
	}
	int rc = node ? describe(&t, node, to, out, err)
		      : err_set(err, EXIT_PROGRAM, "the call is not found");
	source_tree_free(&t);
	return rc;
}
