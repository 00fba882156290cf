/* SPDX-License-Identifier: BSD-3-Clause */
/* The statement around a node, and what an insertion beside it takes. */
#include <ctype.h>
#include <string.h>

#include "source/internal.h"

bool source_is_loop(enum CXCursorKind k)
{
	return k == CXCursor_ForStmt || k == CXCursor_WhileStmt || k == CXCursor_DoStmt ||
	       k == CXCursor_CXXForRangeStmt;
}

static bool is_label(enum CXCursorKind k)
{
	return k == CXCursor_CaseStmt || k == CXCursor_DefaultStmt || k == CXCursor_LabelStmt;
}

static bool has_word(const char *text, size_t from, size_t to, const char *word)
{
	size_t n = strlen(word);
	for (size_t at = from; (at = source_skip_blank(text, at, to)) + n <= to; at++)
		if (strncmp(text + at, word, n) == 0 && !isalnum((unsigned char)text[at + n]) &&
		    text[at + n] != '_')
			return true;
	return false;
}

/* Is the child the body, or one of the two, of its parent, and not part of its header? */
static bool is_body(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i), *p = NODE(t, n->parent), *last = NODE(t, p->last);
	switch (p->kind) {
	case CXCursor_DoStmt: return i == p->first;
	case CXCursor_IfStmt:
		if (i == p->last)
			return true;
		/* The one before the last is a body if an else follows it. */
		return n->next == p->last && i != p->first && last->from >= n->to &&
		       has_word(t->file->text, n->to, last->from, "else");
	case CXCursor_ForStmt:
	case CXCursor_WhileStmt:
	case CXCursor_CXXForRangeStmt:
	case CXCursor_SwitchStmt:
	case CXCursor_CXXTryStmt:
	case CXCursor_CXXCatchStmt: return i == p->last;
	default: return false;
	}
}

/* A whole statement: in a block, behind a label, or a body. */
bool source_is_statement(const struct source_tree *t, uint32_t i)
{
	uint32_t parent = NODE(t, i)->parent;
	if (!parent)
		return false;
	enum CXCursorKind k = NODE(t, parent)->kind;
	if (k == CXCursor_CompoundStmt)
		return true;
	if (is_label(k))
		return i == NODE(t, parent)->last;
	return is_body(t, i);
}

bool source_is_conditional(const struct source_tree *t, uint32_t i, uint32_t top)
{
	for (; i != top; i = NODE(t, i)->parent) {
		const struct source_node *p = NODE(t, NODE(t, i)->parent);
		switch (p->kind) {
		case CXCursor_ConditionalOperator:
			if (i != p->first)
				return true;
			break;
		case CXCursor_IfStmt:
		case CXCursor_SwitchStmt:
		case CXCursor_ForStmt:
		case CXCursor_WhileStmt:
		case CXCursor_CXXForRangeStmt:
			if (is_body(t, i))
				return true;
			break;
		case CXCursor_LambdaExpr: return true;
		case CXCursor_BinaryOperator: {
			const struct source_node *l = NODE(t, p->first), *r = NODE(t, p->last);
			size_t at = source_skip_blank(t->file->text, l->to, t->file->size);
			bool seen = r->from >= l->to && at < r->from;
			if (i == p->last && (!seen || strncmp(t->file->text + at, "&&", 2) == 0 ||
					     strncmp(t->file->text + at, "||", 2) == 0)) {
				enum source_form form;
				if (!source_assigned(t, NODE(t, i)->parent, &form))
					return true;
			}
			break;
		}
		default: break;
		}
	}
	return false;
}

/* Up to the statement; out of the use of a macro, where that is all of one. */
static uint32_t climb(const struct source_tree *t, uint32_t i)
{
	for (; i && NODE(t, i)->parent; i = NODE(t, i)->parent) {
		const struct source_node *n = NODE(t, i), *p = NODE(t, n->parent);
		if (!source_is_statement(t, i) || n->kind == CXCursor_CompoundStmt)
			continue;
		const struct source_range *m = source_macro_at(t->unit, t->in, n->from, n->to);
		bool inside = m && m->from <= p->from && p->to <= m->to;
		bool argument = m && n->from > m->from && n->to < m->to;
		if (!inside && !argument)
			return i;
	}
	return 0;
}

/* With its semicolon. */
static size_t end_of(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i);
	size_t at = source_skip_blank(t->file->text, n->to, t->file->size);
	if (n->to > 0 && t->file->text[n->to - 1] == ';')
		return n->to;
	return at < t->file->size && t->file->text[at] == ';' && n->kind != CXCursor_CompoundStmt
		       ? at + 1
		       : n->to;
}

/* A macro of several statements as a body: only the first is in it, and braces would take in all. */
static bool macro_of_several(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i), *p = NODE(t, n->parent);
	const struct source_range *m = source_macro_at(t->unit, t->in, n->from, n->to);
	if (!m)
		return false;
	for (uint32_t next = p->next; next; next = NODE(t, next)->next)
		if (NODE(t, next)->from < m->to)
			return true;
	return false;
}

/* What comes before the body: the last sign or word of the header. */
static void find_head(const struct source_tree *t, uint32_t i, struct source_statement *st)
{
	const struct source_node *n = NODE(t, i), *p = NODE(t, n->parent);
	size_t at = p->from, end;
	for (uint32_t c = p->first; c && c != i; c = NODE(t, c)->next)
		if (NODE(t, c)->to > at && NODE(t, c)->to <= n->from)
			at = NODE(t, c)->to;
	for (end = at; (at = source_skip_blank(t->file->text, at, n->from)) < n->from;)
		end = ++at;
	st->head = (struct source_span){ end, end };
	st->owner = (struct source_span){ p->from, p->to };
}

static const char *header_reason(enum CXCursorKind k)
{
	return k == CXCursor_ForStmt           ? "it is in the header of a for loop"
	       : k == CXCursor_WhileStmt       ? "it is in the condition of a while loop"
	       : k == CXCursor_DoStmt          ? "it is in the condition of a do loop"
	       : k == CXCursor_CXXForRangeStmt ? "it is in the header of a for loop"
	       : k == CXCursor_IfStmt          ? "it is in the condition of an if"
	       : k == CXCursor_SwitchStmt      ? "it is in the condition of a switch"
					       : NULL;
}

/* The value of a statement expression is that of its last statement. */
static bool is_value(const struct source_tree *t, uint32_t i)
{
	uint32_t block = NODE(t, i)->parent;
	return NODE(t, block)->kind == CXCursor_CompoundStmt && NODE(t, block)->last == i &&
	       NODE(t, NODE(t, block)->parent)->kind == CXCursor_StmtExpr;
}

static void result_of(const struct source_tree *t, uint32_t i, struct source_statement *st)
{
	const struct source_node *n = NODE(t, i);
	st->where = SOURCE_IN_RETURN;
	if (!n->first) {
		st->no_after = "it is a return";
		return;
	}
	CXType type = source_lib.getCursorResultType(NODE(t, 1)->cursor);
	st->result = (struct source_span){ NODE(t, n->first)->from, NODE(t, n->first)->to };
	st->result_type = source_type_text(t->source, type);
	if (type.kind == CXType_Void || type.kind == CXType_Invalid ||
	    !source_can_declare(st->result_type))
		st->no_after = "it is a return, whose type cannot be given to a variable";
}

/* A case or label later in its block. */
static bool may_cross(const struct source_tree *t, uint32_t i)
{
	for (i = NODE(t, i)->next; i; i = NODE(t, i)->next)
		if (is_label(NODE(t, i)->kind))
			return true;
	return false;
}

/* Where the statement stands: what is put beside it has to be legal there. */
static void place(const struct source_tree *t, uint32_t node, uint32_t i,
		  struct source_statement *st)
{
	const struct source_node *n = NODE(t, i), *p = NODE(t, n->parent);
	st->where = SOURCE_IN_BLOCK;
	st->label = is_label(p->kind);
	st->declares = n->kind == CXCursor_DeclStmt;
	st->jumps = t->unit->cxx && may_cross(t, i);
	st->body = is_body(t, i);
	if (st->body) {
		st->where = SOURCE_IN_BODY;
		find_head(t, i, st);
		if (macro_of_several(t, i))
			st->no_before = st->no_after =
				"it is the first of several statements of a macro";
	} else if (st->label && is_body(t, n->parent)) {
		st->no_before = st->no_after = "it is behind a label that is a whole body";
	}
	if (n->kind == CXCursor_ReturnStmt) {
		result_of(t, i, st);
	} else if (is_value(t, i)) {
		st->where = SOURCE_IN_VALUE;
		st->no_after = "it is the value of a statement expression";
	}
	st->no_declare = st->no_before;
	/* In the header of a compound statement, or all of it. */
	for (uint32_t c = node; c != i; c = NODE(t, c)->parent) {
		if (NODE(t, c)->parent != i || is_body(t, c))
			continue;
		const char *why = header_reason(n->kind);
		if (!why)
			continue;
		bool loop = source_is_loop(n->kind);
		st->where = loop ? SOURCE_IN_HEADER : SOURCE_IN_CONDITION;
		st->no_after = why;
		if (loop)
			st->no_before = why;
	}
}

int source_statement_of(const struct source_tree *t, uint32_t node, uint32_t *at,
			struct source_statement *st, struct err *err)
{
	uint32_t i = climb(t, node);
	*st = (struct source_statement){ .file = t->file };
	if (!i || NODE(t, i)->elsewhere)
		return err_set(err, EXIT_PROGRAM, "it is in no statement of a function");
	*at = i;
	st->span = (struct source_span){ NODE(t, i)->from, end_of(t, i) };
	const struct source_range *m =
		source_macro_at(t->unit, t->in, st->span.from, NODE(t, i)->to);
	if (m && (m->from < st->span.from || m->to > NODE(t, i)->to)) {
		st->where = SOURCE_IN_MACRO;
		st->no_before = st->no_after = "it is inside the use of a macro";
		return 0;
	}
	place(t, node, i, st);
	return 0;
}

/* ---- the question ---- */

/* The innermost node that has the offset. */
static uint32_t innermost(const struct source_tree *t, size_t offset)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < t->node.n; i++) {
		const struct source_node *n = NODE(t, i);
		if (!n->elsewhere && n->from <= offset && offset < n->to &&
		    (!best || n->to - n->from < NODE(t, best)->to - NODE(t, best)->from))
			best = i; /* of all that a macro is made of, which lie at its use, the outermost */
	}
	return best;
}

int source_statement_at(struct source *s, const struct source_place *p, struct source_statement *st,
			struct err *err)
{
	struct source_tree t;
	size_t offset;
	uint32_t at;
	if (source_open_place(s, p, &t, &offset, err) < 0)
		return -1;
	if (!p->column)
		offset = source_skip_blank(t.file->text, offset, t.file->size);
	uint32_t i = innermost(&t, offset);
	int rc = i ? source_statement_of(&t, i, &at, st, err)
		   : err_set(err, EXIT_PROGRAM, "no statement is at %s:%u", t.file->name, p->line);
	source_tree_free(&t);
	return rc;
}

/* The whole statement that begins there; 0: none does. */
static uint32_t beginning_at(const struct source_tree *t, size_t offset)
{
	uint32_t i = innermost(t, offset);
	return i ? climb(t, i) : 0;
}

int source_statement_beside(struct source *s, const struct source_statement *inner,
			    const struct source_statement *outer, struct source_statement *out,
			    struct err *err)
{
	struct source_tree t;
	uint32_t at;
	if (inner->file != outer->file || source_tree_at(s, inner->file, inner->span.from, &t, err))
		return -1;
	uint32_t i = beginning_at(&t, inner->span.from), o = beginning_at(&t, outer->span.from);
	uint32_t list = o ? NODE(&t, o)->parent : 0;
	while (i && list && NODE(&t, i)->parent != list)
		i = NODE(&t, i)->kind == CXCursor_LambdaExpr ? 0 : NODE(&t, i)->parent;
	int rc = i && list && NODE(&t, list)->kind == CXCursor_CompoundStmt
			 ? source_statement_of(&t, i, &at, out, err)
			 : -1;
	source_tree_free(&t);
	return rc || out->where != SOURCE_IN_BLOCK || out->no_after ? -1 : 0;
}
