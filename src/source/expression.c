/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code behind an expression that is a part of a statement. In the condition of an if or switch the expression becomes a statement of
 * its own before it, where nothing else there has effects. Everywhere else, in the header of a loop and where it need not be
 * executed, code follows it by commas, and a variable keeps its value:
 *
 *	while (!cas(&p->x, …))	──▶	bool result;
 *					while (!(result = cas(&p->x, …), flush(&p->x, 8), result))
 */
#include <ctype.h>
#include <string.h>

#include "source/internal.h"

bool source_can_declare(const char *type)
{
	return !strpbrk(type, "([{<&") && !strstr(type, "unnamed") && !strstr(type, "anonymous");
}

static char sign_behind(const struct source_tree *t, uint32_t i)
{
	size_t at = source_skip_blank(t->file->text, NODE(t, i)->to, t->file->size);
	return t->file->text[at];
}

/* The first or last part of a for loop's header, whose value nobody asks for. */
static bool is_step(const struct source_tree *t, uint32_t i)
{
	const struct source_node *n = NODE(t, i), *loop = NODE(t, n->parent);
	if (loop->kind != CXCursor_ForStmt)
		return false;
	size_t open = source_skip_blank(t->file->text, loop->from + 3, t->file->size);
	return sign_behind(t, i) == ')' ||
	       source_skip_blank(t->file->text, open + 1, t->file->size) == n->from;
}

/* Nobody asks for the value: it is such a part, or what stands at a comma there. */
static bool is_dropped(const struct source_tree *t, uint32_t i, uint32_t statement)
{
	while (i != statement) {
		const struct source_node *p = NODE(t, NODE(t, i)->parent);
		bool comma = p->kind == CXCursor_BinaryOperator && sign_behind(t, p->first) == ',';
		if (comma && i == p->first)
			return true;
		if (!comma && p->kind != CXCursor_ParenExpr)
			return is_step(t, i);
		i = NODE(t, i)->parent;
	}
	return true;
}

/* The condition that has the expression has no other effects, and uses its value only. */
static bool is_alone(const struct source_tree *t, uint32_t i, uint32_t statement)
{
	uint32_t condition = i;
	enum source_form form;
	while (NODE(t, condition)->parent != statement)
		condition = NODE(t, condition)->parent;
	for (uint32_t n = condition; n; n = source_node_next(t, n, condition))
		if (!source_node_under(t, n, i) && !source_node_under(t, i, n) &&
		    source_has_effects(t, n))
			return false;
	for (uint32_t n = NODE(t, i)->parent; n != statement; n = NODE(t, n)->parent)
		if (NODE(t, n)->kind == CXCursor_CallExpr || source_assigned(t, n, &form))
			return false;
	return true;
}

/* With the parentheses around it, which nobody would write around a name. */
static struct source_span in_parentheses(const struct source_tree *t, uint32_t i,
					 uint32_t statement)
{
	while (NODE(t, i)->parent != statement &&
	       NODE(t, NODE(t, i)->parent)->kind == CXCursor_ParenExpr)
		i = NODE(t, i)->parent;
	return (struct source_span){ NODE(t, i)->from, NODE(t, i)->to };
}

void source_follow(const struct source_tree *t, uint32_t i, uint32_t statement,
		   struct source_statement *st)
{
	CXType type = source_node_type(t, i);
	const char *text = source_type_text(t->source, type);
	bool conditional = source_is_conditional(t, i, statement);
	bool none = type.kind == CXType_Void,
	     dropped = st->where != SOURCE_IN_VALUE && is_dropped(t, i, statement);
	bool part = st->where == SOURCE_IN_CONDITION || st->where == SOURCE_IN_HEADER ||
		    st->where == SOURCE_IN_VALUE || conditional;
	if (!part || st->where == SOURCE_IN_MACRO || source_node_hidden(t, i) ||
	    source_macro_at(t->unit, t->in, NODE(t, i)->from, NODE(t, i)->to))
		return; /* who knows how often a macro names its argument */
	if (!none && !dropped && (st->no_declare || !source_can_declare(text)))
		return;
	st->result = (struct source_span){ NODE(t, i)->from, NODE(t, i)->to };
	st->result_type = none || dropped ? NULL : text;
	st->no_after = NULL;
	if (st->where == SOURCE_IN_CONDITION && !conditional && !none && !st->no_before &&
	    !st->label && !st->jumps && is_alone(t, i, statement)) {
		st->result = in_parentheses(t, i, statement);
		return;
	}
	st->where = SOURCE_IN_EXPRESSION;
	st->no_before = "it is a part of a statement that may not be executed, or more than once";
	st->bare = dropped || NODE(t, NODE(t, i)->parent)->kind == CXCursor_ParenExpr;
	enum CXCursorKind k = NODE(t, statement)->kind;
	enum source_form form;
	st->unused = conditional && !source_assigned(t, statement, &form) &&
		     (k == CXCursor_BinaryOperator || k == CXCursor_ConditionalOperator ||
		      k == CXCursor_ParenExpr);
}

/* ---- statements as expressions ---- */

struct search {
	const char *name;
	size_t len;
	CXCursor found;
	bool any;
};

static enum CXChildVisitResult find_macro(CXCursor c, CXCursor parent, CXClientData data)
{
	struct search *s = data;
	(void)parent;
	if (source_lib.getCursorKind(c) != CXCursor_MacroDefinition)
		return CXChildVisit_Continue;
	CXString name = source_lib.getCursorSpelling(c);
	const char *text = source_lib.getCString(name);
	bool same = text && strlen(text) == s->len && !strncmp(text, s->name, s->len);
	source_lib.disposeString(name);
	if (same) { /* the last definition is the one that counts */
		s->any = true;
		s->found = c;
	}
	return CXChildVisit_Continue;
}

/* A statement of the compiler's that ends with the semicolon of whoever uses the macro. */
static bool is_asm(const char *p)
{
	size_t n = strspn(p, "_asm");
	return (n == 3 && !strncmp(p, "asm", 3)) || (n == 5 && !strncmp(p, "__asm", 5)) ||
	       (n == 7 && !strncmp(p, "__asm__", 7));
}

/* A macro that stands for statements, do { … } while (0), is no expression. */
static bool is_statements(struct source *s, const struct source_file *f, const char *name,
			  size_t len)
{
	struct search search = { .name = name, .len = len };
	struct source_unit *u;
	struct err none;
	const struct source_file *in;
	CXFile file = NULL;
	unsigned from, to;
	if (source_unit_of(s, f, &u, &none) < 0)
		return false;
	source_lib.visitChildren(source_lib.getTranslationUnitCursor(u->tu), find_macro, &search);
	if (!search.any)
		return false;
	CXSourceRange extent = source_lib.getCursorExtent(search.found);
	source_lib.getFileLocation(source_lib.getRangeStart(extent), &file, NULL, NULL, &from);
	source_lib.getFileLocation(source_lib.getRangeEnd(extent), NULL, NULL, NULL, &to);
	if (!file ||
	    source_find_file(s, source_string(s, source_lib.getFileName(file)), &in, &none) < 0 ||
	    to > in->size)
		return true;
	for (size_t at = from; at < to; at++)
		if (in->text[at] == ';' || in->text[at] == '{' || is_asm(in->text + at))
			return true;
	return false;
}

const char *source_as_expression(struct source *s, const struct source_file *f, const char *code,
				 struct err *err)
{
	struct buf b = { 0 };
	for (const char *p = code; *p;) {
		size_t n = strcspn(p, "\n"), word = 0, len = n;
		while (isalnum((unsigned char)p[word]) || p[word] == '_')
			word++;
		while (len > 0 && (p[len - 1] == ';' || p[len - 1] == ' '))
			len--;
		if (!word || p[word + strspn(p + word, " ")] != '(' ||
		    is_statements(s, f, p, word)) {
			buf_free(&b);
			err_set(err, EXIT_PROGRAM,
				"it is a part of a statement, and %.*s is no expression", (int)word,
				p);
			return NULL;
		}
		buf_puts(&b, ", ");
		buf_add(&b, p, len);
		p += n + (p[n] == '\n');
	}
	buf_add(&b, "", 1);
	return source_keep(s, b.p);
}
