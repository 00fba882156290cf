/* SPDX-License-Identifier: BSD-3-Clause */
/* The store behind a place: its address and size, in words of the program. */
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* ---- the struct that several members belong to ---- */

/* A member, in a method or before the body of a constructor. */
static bool is_own(const struct source_tree *t, uint32_t lvalue)
{
	const struct source_node *n = NODE(t, lvalue);
	return n->kind == CXCursor_MemberRef || (n->kind == CXCursor_MemberRefExpr && !n->first);
}

/* The expression whose member an lvalue is, with how many bytes that is; 0: it is no member. */
static uint32_t struct_of(const struct source_tree *t, uint32_t lvalue, bool *arrow)
{
	lvalue = source_node_inside(t, lvalue);
	const struct source_node *n = NODE(t, lvalue);
	if (n->kind != CXCursor_MemberRefExpr || !n->first)
		return 0;
	*arrow = source_node_canonical(t, n->first).kind == CXType_Pointer;
	return n->first;
}

/* The statement of a store. Members that a constructor initialises before its body are flushed where that begins. */
static int statement_of(const struct source_tree *t, uint32_t node, uint32_t *at,
			struct source_statement *st, struct err *err)
{
	if (NODE(t, node)->kind != CXCursor_MemberRef)
		return source_statement_of(t, node, at, st, err);
	const struct source_node *body = NODE(t, NODE(t, 1)->last);
	if (body->kind != CXCursor_CompoundStmt || body->elsewhere ||
	    t->file->text[body->from] != '{')
		return err_set(err, EXIT_PROGRAM, "the body of the constructor is not in the text");
	*at = node;
	*st = (struct source_statement){
		.file = t->file,
		.span = { body->from, body->from + 1 },
		.opens = true,
		.no_before = "the constructor initialises it before its body",
	};
	return 0;
}

/* All candidates are in one statement, and members of what is the same in the text. */
static bool same_struct(const struct source_tree *t, const source_candidates *all,
			const struct source_statement *in)
{
	const char *first = NULL;
	for (size_t i = 0; i < all->n; i++) {
		struct source_statement st;
		struct err ignored;
		uint32_t at;
		bool arrow;
		if (statement_of(t, all->p[i].node, &at, &st, &ignored) < 0 ||
		    st.span.from != in->span.from)
			return false;
		uint32_t base = all->p[i].writer ? 0 : struct_of(t, all->p[i].target, &arrow);
		const char *text = base ? source_node_text(t, base)
				   : !all->p[i].writer && is_own(t, all->p[i].target) ? "this"
										      : NULL;
		if (!text || (first && strcmp(first, text) != 0))
			return false;
		first = text;
	}
	return true;
}

/* What is so large, and so aligned, is in one cache line. */
static bool fits_line(CXType type)
{
	uint64_t bytes = source_type_size(type);
	long long align = source_lib.Type_getAlignOf(source_lib.getCanonicalType(type));
	return bytes && bytes <= SOURCE_LINE && align > 0 && bytes <= (uint64_t)align;
}

/* Address and size of the whole struct: of a bit-field, and of several members that a macro stores to. */
static int whole_struct(const struct source_tree *t, uint32_t lvalue, struct source_store *out,
			struct err *err)
{
	bool arrow;
	uint32_t base = struct_of(t, lvalue, &arrow);
	const char *text = base ? source_node_text(t, base) : NULL;
	if (!base && is_own(t, source_node_inside(t, lvalue)))
		text = "this", arrow = true;
	if (!text)
		return err_set(err, EXIT_PROGRAM, "the struct of %s cannot be named", out->lvalue);
	out->bitfield = true;
	CXType type = base ? source_node_canonical(t, base) : (CXType){ 0 };
	out->in_line = base && fits_line(arrow ? source_lib.getPointeeType(type) : type);
	out->address = source_keep(t->source, xasprintf(arrow ? "%s" : "&%s", text));
	out->size = source_keep(t->source, xasprintf(arrow ? "sizeof(*%s)" : "sizeof(%s)", text));
	return 0;
}

/* ---- address and size ---- */

static bool is_bitfield(const struct source_tree *t, uint32_t lvalue)
{
	lvalue = source_node_inside(t, lvalue);
	return NODE(t, lvalue)->kind == CXCursor_MemberRefExpr &&
	       source_lib.Cursor_isBitField(
		       source_lib.getCursorReferenced(NODE(t, lvalue)->cursor));
}

const char *source_cast_for(CXType type)
{
	type = source_lib.getCanonicalType(type);
	return source_lib.isVolatileQualifiedType(type) || source_lib.isConstQualifiedType(type)
		       ? "(void *)"
		       : "";
}

const char *source_sized(const struct source_tree *t, const char *format, const char *text)
{
	struct buf b = { 0 };
	const char *at = strstr(format, "%s");
	buf_add(&b, format, (size_t)(at - format));
	buf_puts(&b, text);
	buf_puts(&b, at + 2);
	buf_add(&b, "", 1);
	return source_keep(t->source, b.p);
}

/* A variable for a pointer: declared with its value before the statement; before a part of one, it gets its value there. */
static void keep_pointer(const struct source_tree *t, const char *type, const char *name,
			 const char *value, struct source_store *out)
{
	const char *gap = type[strlen(type) - 1] == '*' ? "" : " ";
	struct source *s = t->source;
	if (out->statement.where != SOURCE_IN_EXPRESSION) {
		out->capture = source_keep(s, xasprintf("%s%s%s = %s;", type, gap, name, value));
		return;
	}
	out->capture = source_keep(s, xasprintf("%s%s%s;", type, gap, name));
	out->statement.first = source_keep(s, xasprintf("%s = %s, ", name, value));
}

/* q++ of *q++, &p->a[i++] of p->a[i++]. */
static const char *pointer_to(const struct source_tree *t, uint32_t lvalue, const char *text)
{
	uint32_t in = source_node_inside(t, lvalue);
	const char *pointer =
		source_node_is_dereference(t, in) ? source_node_text(t, NODE(t, in)->first) : NULL;
	return pointer ? pointer : source_sized(t, "&%s", text);
}

/* A declaration before the statement, for an expression that has no other value than once. */
static int capture(const struct source_tree *t, const struct source_candidate *c, bool rewrite,
		   struct source_store *out, struct err *err)
{
	struct source *s = t->source;
	const struct source_node *n = NODE(t, c->target);
	const char *text = out->lvalue;
	CXType type = source_node_type(t, c->target);
	const char *name = source_new_name(s, t->file, "stored_at", n->from);
	const char *type_text = source_type_text(s, type);
	bool part = out->statement.where == SOURCE_IN_EXPRESSION;
	if (part ? out->statement.no_declare : out->statement.no_before)
		return err_set(err, EXIT_PROGRAM, "%s has side effects, and %s", text,
			       part ? out->statement.no_declare : out->statement.no_before);
	if (rewrite && (source_node_hidden(t, c->target) || !source_can_declare(type_text)))
		return err_set(err, EXIT_PROGRAM, "%s has side effects, and its type has no name",
			       text);
	if (!rewrite) {
		keep_pointer(t, "void *", name,
			     source_sized(t,
					  c->writer                ? "%s"
					  : *source_cast_for(type) ? "(void *)%s"
								   : "%s",
					  out->address),
			     out);
		out->address = name;
		return 0;
	}
	out->replaced = (struct source_span){ n->from, n->to };
	if (c->writer) {
		keep_pointer(t, type_text, name, text, out);
		out->replacement = name;
	} else {
		keep_pointer(t, source_keep(s, xasprintf("%s *", type_text)), name,
			     pointer_to(t, c->target, text), out);
		out->replacement = source_keep(
			s, xasprintf(c->form == SOURCE_INCREMENT ? "(*%s)" : "*%s", name));
	}
	out->address =
		source_keep(s, xasprintf("%s%s", c->writer ? "" : source_cast_for(type), name));
	out->size = source_keep(s, xasprintf("sizeof(*%s)", name));
	return 0;
}

uint32_t source_uncast(const struct source_tree *t, uint32_t i)
{
	for (;;) {
		uint32_t in = source_node_peel(t, i), init = source_macro_local(t, in);
		enum CXCursorKind k = NODE(t, in)->kind;
		if (init)
			in = init;
		else if ((k == CXCursor_CStyleCastExpr || k == CXCursor_CXXReinterpretCastExpr) &&
			 source_node_canonical(t, source_node_peel(t, NODE(t, in)->last)).kind ==
				 CXType_Pointer)
			in = NODE(t, in)->last;
		if (in == i)
			return i;
		i = in;
	}
}

/*
 * Address and size of what a pointer leads to: of &p->x, "&p->x" and "sizeof(p->x)"; of p, "p" and "sizeof(*p)". With casts
 * left out where what is below has the same size.
 */
bool source_through_pointer(const struct source_tree *t, uint32_t pointer, uint64_t bytes,
			    struct source_store *out)
{
	uint32_t in = source_uncast(t, pointer);
	const struct source_node *n = NODE(t, in);
	CXType type = source_node_canonical(t, in);
	bool of =
		n->kind == CXCursor_UnaryOperator && n->first && source_node_is_lvalue(t, n->first);
	if (type.kind != CXType_Pointer)
		return false;
	CXType to = source_lib.getPointeeType(type);
	const char *text = source_node_text(t, in);
	const char *object = of ? source_node_text(t, n->first) : NULL;
	if (!text || (of && !object))
		return false;
	bool tight = n->kind != CXCursor_BinaryOperator && n->kind != CXCursor_ConditionalOperator;
	out->address = source_sized(t,
				    !*source_cast_for(to) ? "%s"
				    : tight               ? "(void *)%s"
							  : "(void *)(%s)",
				    text);
	if (source_type_size(to) != bytes)
		out->size = source_keep(t->source, xasprintf("%llu", (unsigned long long)bytes));
	else if (of)
		out->size = source_sized(t, "sizeof(%s)", object);
	else
		out->size = source_sized(t, tight ? "sizeof(*%s)" : "sizeof(*(%s))", text);
	return true;
}

static int lvalue_extent(const struct source_tree *t, const struct source_candidate *c,
			 struct source_store *out, struct err *err)
{
	uint32_t in = source_node_inside(t, c->target);
	if (is_bitfield(t, c->target))
		return whole_struct(t, c->target, out, err);
	if (c->bytes && source_node_is_dereference(t, in) &&
	    source_through_pointer(t, NODE(t, in)->first, c->bytes, out))
		return 0;
	out->address = source_sized(
		t, *source_cast_for(source_node_type(t, c->target)) ? "(void *)&%s" : "&%s",
		out->lvalue);
	out->size = source_sized(t, "sizeof(%s)", out->lvalue);
	return 0;
}

/* Through &p->a, and *(T *)&p->a, to p->a. */
static void find_owner(const struct source_tree *t, const struct source_candidate *c,
		       struct source_store *out)
{
	uint32_t in = source_node_inside(t, c->target), pointer = 0;
	if (out->bitfield)
		return;
	if (c->writer && c->writer->extent != SOURCE_EXTENT_TYPE) {
		source_array_owner(t, c->target, &out->owner);
		return;
	}
	if (c->writer)
		pointer = source_uncast(t, c->target);
	else if (source_node_is_dereference(t, in))
		pointer = source_uncast(t, NODE(t, in)->first);
	const struct source_node *n = NODE(t, pointer);
	if (pointer &&
	    (n->kind != CXCursor_UnaryOperator || !n->first || !source_node_is_lvalue(t, n->first)))
		return;
	source_owner_of(t, pointer ? n->first : in, &out->owner);
}

static const char *why_not_again(enum source_again again)
{
	return again == SOURCE_CHANGED ? "the statement changes what it depends on, or may" : NULL;
}

/* Of two objects of one type, both are flushed: nothing tells which of them it is. */
static int name_both(const struct source_tree *t, const struct source_candidate *c,
		     enum source_again again, uint32_t statement, struct source_store *out,
		     struct err *err)
{
	const char *text = source_node_text(t, source_node_inside(t, c->also));
	if (!text || again != SOURCE_AGAIN || out->statement.where == SOURCE_IN_EXPRESSION ||
	    source_again(t, c->also, statement, c->node) != SOURCE_AGAIN)
		return err_set(err, EXIT_PROGRAM,
			       "what is stored to beside %s cannot be named again", out->lvalue);
	CXType type = source_node_type(t, c->also);
	out->also = source_sized(t, *source_cast_for(type) ? "(void *)&%s" : "&%s", text);
	return 0;
}

static int describe(const struct source_tree *t, const struct source_candidate *c,
		    uint32_t statement, struct source_store *out, struct err *err)
{
	enum source_again again = source_again(t, c->target, statement, c->node);
	int rc = c->writer ? source_writer_extent(t, c, statement, out, err)
			   : lvalue_extent(t, c, out, err);
	if (rc < 0)
		return -1;
	if (again == SOURCE_CHANGED)
		return err_set(err, EXIT_PROGRAM, "%s cannot be named again: %s", out->lvalue,
			       why_not_again(again));
	if (again == SOURCE_ONCE && out->bitfield)
		return err_set(err, EXIT_PROGRAM, "%s has side effects, and is a bit-field",
			       out->lvalue);
	if (c->also)
		return name_both(t, c, again, statement, out, err);
	if (again == SOURCE_AGAIN) {
		find_owner(t, c, out);
		return 0;
	}
	const char *size = out->size;
	rc = capture(t, c, again == SOURCE_ONCE, out, err);
	if (c->writer && c->writer->extent != SOURCE_EXTENT_TYPE)
		out->size = c->writer->extent == SOURCE_EXTENT_STRING
				    ? source_keep(t->source, xasprintf("__builtin_strlen(%s) + 1",
								       out->address))
				    : size;
	return rc;
}

static int fill(const struct source_tree *t, const struct source_candidate *c, uint64_t bytes,
		struct source_store *out, struct err *err)
{
	uint32_t statement;
	*out = (struct source_store){ .form = c->form, .bytes = c->bytes };
	if (statement_of(t, c->node, &statement, &out->statement, err) < 0)
		return -1;
	const struct source_node *n = NODE(t, c->node);
	uint32_t in = source_node_inside(t, c->target);
	bool outer = c->writer || (source_node_hidden(t, in) && !source_node_hidden(t, c->target));
	out->lvalue = source_node_text(t, outer ? c->target : in);
	if (out->lvalue && n->kind == CXCursor_MemberRef) /* a parameter may have its name */
		out->lvalue = source_sized(t, "this->%s", out->lvalue);
	if (!out->lvalue) {
		const struct source_range *m = source_macro_at(t->unit, t->in, n->from, n->to);
		const char *name =
			m ? source_string(t->source, source_lib.getCursorSpelling(m->cursor)) : "";
		return err_set(err, EXIT_PROGRAM, "macro %s hides what is stored to", name);
	}
	CXType type = source_node_type(t, c->writer ? source_node_peel(t, c->target) : c->target);
	if (c->writer && source_lib.getCanonicalType(type).kind == CXType_Pointer)
		type = source_lib.getPointeeType(source_lib.getCanonicalType(type));
	out->in_line = (c->bytes && c->bytes <= 8) || (!c->writer && fits_line(type));
	out->type = source_type_text(t->source, type);
	out->calls = c->writer ? c->writer->name : NULL;
	out->merged = !c->writer && c->bytes && bytes > c->bytes;
	source_follow(t, c->node, statement, &out->statement);
	enum source_where where = out->statement.where;
	/* What comes right behind the store, not behind all of the statement, depends on the store alone. */
	if (where == SOURCE_IN_EXPRESSION ||
	    (where == SOURCE_IN_CONDITION && !out->statement.no_after))
		statement = c->node;
	else if (source_is_conditional(t, c->node, statement))
		return err_set(err, EXIT_PROGRAM,
			       "%s is stored to in a part of a statement that may not be executed",
			       out->lvalue);
	return describe(t, c, statement, out, err);
}

/* All candidates store to the same in the text. */
static bool same_lvalue(const struct source_tree *t, const source_candidates *all)
{
	const char *first = source_node_text(t, all->p[0].target);
	for (size_t i = 0; first && i < all->n; i++) {
		const char *text = source_node_text(t, all->p[i].target);
		if (all->p[i].writer || !text || strcmp(first, text) != 0)
			return false;
	}
	return first;
}

/*
 * Several stores in the header of a loop, to one thing that the loop does not change: what comes behind the loop follows
 * whichever it is.
 */
static bool behind_loop(const struct source_tree *t, const source_candidates *all,
			struct source_store *out)
{
	struct source_statement st;
	struct err ignored;
	uint32_t at;
	if (source_statement_of(t, all->p[0].node, &at, &st, &ignored) < 0 ||
	    !source_is_loop(NODE(t, at)->kind) || out->capture ||
	    source_again(t, all->p[0].target, at, all->p[0].node) != SOURCE_AGAIN ||
	    source_statement_of(t, at, &at, &st, &ignored) < 0)
		return false;
	out->statement = st;
	return true;
}

/* Which of several in one statement it is nothing tells: what they have in common is what is flushed. */
static int several(const struct source_tree *t, const struct source_place *p,
		   const source_candidates *all, struct source_store *out, struct err *err)
{
	bool part = out->statement.where == SOURCE_IN_EXPRESSION ||
		    out->statement.where == SOURCE_IN_HEADER;
	if (!same_struct(t, all, &out->statement) || (part && !behind_loop(t, all, out)))
		return err_set(err, EXIT_PROGRAM,
			       "%s:%u has %zu stores, and nothing tells which one it is",
			       t->file->name, p->line, all->n);
	return same_lvalue(t, all) ? 0 : whole_struct(t, all->p[0].target, out, err);
}

/* p->a = 1; p->b = 2; in one line: debug information may name one for both. */
static bool is_beside(const struct source_tree *t, const struct source_place *p, uint32_t node,
		      const struct source_store *s)
{
	source_candidates all = { 0 };
	bool any = false;
	source_candidates_in(t, p->line, &all);
	for (size_t i = 0; s->owner.address && i < all.n; i++) {
		const struct source_candidate *c = &all.p[i];
		struct source_owner owner;
		if (c->writer || NODE(t, c->node)->parent != NODE(t, node)->parent ||
		    NODE(t, c->node)->to > NODE(t, node)->from)
			continue;
		source_owner_of(t, source_node_inside(t, c->target), &owner);
		any |= owner.address && !strcmp(owner.address, s->owner.address);
	}
	VEC_FREE(&all);
	return any;
}

int source_store_in(const struct source_tree *t, const struct source_place *p, size_t offset,
		    uint64_t bytes, struct source_store *out, uint32_t *node, struct err *err)
{
	source_candidates all = { 0 };
	int rc;
	source_candidates_at(t, p, offset, bytes, &all);
	if (all.n == 0)
		rc = err_set(err, EXIT_PROGRAM, "no statement at %s:%u stores to memory",
			     t->file->name, p->line);
	else if ((rc = fill(t, &all.p[0], bytes, out, err)) == 0 && all.n > 1)
		rc = several(t, p, &all, out, err);
	if (rc == 0 && all.n == 1)
		out->beside = is_beside(t, p, all.p[0].node, out);
	if (node && all.n)
		*node = all.p[0].node;
	VEC_FREE(&all);
	return rc;
}

int source_store_at(struct source *s, const struct source_place *p, uint64_t bytes,
		    struct source_store *out, struct err *err)
{
	struct source_tree t;
	size_t offset;
	if (source_open_place(s, p, &t, &offset, err) < 0)
		return -1;
	int rc = source_store_in(&t, p, offset, bytes, out, NULL, err);
	source_tree_free(&t);
	return rc;
}
