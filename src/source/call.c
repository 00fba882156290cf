/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls: what is called, with which arguments, and what may be put behind. */
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* The name without scope and parameters: "insert" of "tree::node<int>::insert(int)". */
static const char *plain_name(struct source *s, const char *name)
{
	size_t n = strcspn(name, "(");
	const char *from = name;
	int depth = 0;
	for (size_t i = 0; i < n; i++) {
		depth += name[i] == '<';
		depth -= name[i] == '>';
		if (depth == 0 && name[i] == ':' && i + 1 < n && name[i + 1] == ':')
			from = name + i + 2;
	}
	size_t len = strcspn(from, "(<");
	if (strncmp(from, "operator", 8) == 0)
		len = n - (size_t)(from - name);
	return source_keep_n(s, from, len);
}

const char *source_qualified_name(struct source *s, CXCursor d)
{
	const char *name = source_string(s, source_lib.getCursorSpelling(d));
	enum CXCursorKind k = source_lib.getCursorKind(d);
	if (k == CXCursor_CXXMethod && !source_lib.CXXMethod_isStatic(d))
		return NULL;
	for (;;) {
		d = source_lib.getCursorSemanticParent(d);
		k = source_lib.getCursorKind(d);
		const char *in = source_string(s, source_lib.getCursorSpelling(d));
		if (k == CXCursor_LinkageSpec || (k == CXCursor_Namespace && !*in))
			continue;
		if (k == CXCursor_TranslationUnit)
			return name;
		if (k != CXCursor_Namespace && k != CXCursor_ClassDecl && k != CXCursor_StructDecl)
			return NULL;
		name = source_keep(s, xasprintf("%s::%s", in, name));
	}
}

/* A variable of the file, or a member of one, that has a pointer to the function: who sees it can call it as well. */
static const char *global_text(const struct source_tree *t, uint32_t i, const char **name)
{
	uint32_t in = i;
	while (NODE(t, in)->kind == CXCursor_MemberRefExpr && NODE(t, in)->first)
		in = source_node_peel(t, NODE(t, in)->first);
	CXCursor d = source_lib.getCursorReferenced(NODE(t, in)->cursor);
	if (NODE(t, in)->kind != CXCursor_DeclRefExpr ||
	    source_lib.getCursorKind(d) != CXCursor_VarDecl ||
	    source_lib.getCursorKind(source_lib.getCursorSemanticParent(d)) !=
		    CXCursor_TranslationUnit)
		return NULL;
	*name = source_string(t->source, source_lib.getCursorSpelling(d));
	return source_node_text(t, i);
}

/* What is called: a function by its name, or what only the run decides. */
static void find_callee(const struct source_tree *t, uint32_t i, struct source_call *c)
{
	uint32_t in = source_node_peel(t, NODE(t, i)->first);
	const struct source_node *n = NODE(t, in);
	CXCursor d = source_lib.getCursorReferenced(NODE(t, i)->cursor);
	enum CXCursorKind k = source_lib.getCursorKind(d);
	bool named = n->kind == CXCursor_DeclRefExpr || n->kind == CXCursor_MemberRefExpr;
	bool function = k == CXCursor_FunctionDecl || k == CXCursor_CXXMethod ||
			k == CXCursor_FunctionTemplate;
	c->indirect = !function || (k == CXCursor_CXXMethod && source_lib.CXXMethod_isVirtual(d));
	if (!function) {
		c->pointer = global_text(t, in, &c->variable);
		return;
	}
	c->callee = source_node_name(t, i);
	c->written = c->qualified = source_qualified_name(t->source, d);
	if (named && !source_node_hidden(t, in)) {
		size_t len = strlen(c->callee);
		if (n->to - n->from >= len &&
		    strncmp(t->file->text + n->to - len, c->callee, len) == 0)
			c->name = (struct source_span){ n->to - len, n->to };
		if (c->qualified && n->kind == CXCursor_DeclRefExpr)
			c->written = source_node_text(t, in);
	}
	CXCursor defined = source_lib.getCursorDefinition(d);
	CXFile file = NULL;
	if (!source_lib.Cursor_isNull(defined))
		source_lib.getFileLocation(source_lib.getCursorLocation(defined), &file, NULL, NULL,
					   NULL);
	if (file)
		c->defined = source_string(t->source, source_lib.getFileName(file));
}

struct nth {
	CXType type;
	size_t left;
};

static enum CXChildVisitResult count_parameter(CXCursor c, CXCursor parent, CXClientData data)
{
	struct nth *nth = data;
	(void)parent;
	if (source_lib.getCursorKind(c) != CXCursor_ParmDecl)
		return CXChildVisit_Continue;
	nth->type = source_lib.getCursorType(c);
	return nth->left-- ? CXChildVisit_Continue : CXChildVisit_Break;
}

static void find_parameter(const struct source_tree *t, uint32_t call, size_t n,
			   struct source_argument *a)
{
	CXCursor d = source_lib.getCursorReferenced(NODE(t, call)->cursor);
	struct nth nth = { .left = n };
	a->parameter = "";
	if (source_lib.Cursor_isNull(d) || !source_lib.visitChildren(d, count_parameter, &nth))
		return;
	a->parameter = source_type_text(t->source, nth.type);
	CXType type = source_lib.getCanonicalType(nth.type), to;
	if (type.kind != CXType_Pointer)
		return;
	to = source_lib.getCanonicalType(source_lib.getPointeeType(type));
	a->to_bytes = to.kind == CXType_Void || source_type_size(to) == 1;
}

void source_describe_argument(const struct source_tree *t, uint32_t i, struct source_argument *a)
{
	uint32_t in = source_node_peel(t, i);
	CXType type = source_node_canonical(t, in);
	CXEvalResult value = NULL;
	a->type = source_type_text(t->source, source_node_type(t, in));
	a->pointer = type.kind == CXType_Pointer || type.kind == CXType_ConstantArray ||
		     type.kind == CXType_IncompleteArray || type.kind == CXType_LValueReference;
	if (type.kind == CXType_Pointer)
		a->points_to = source_type_size(source_lib.getPointeeType(type));
	if (type.kind >= CXType_FirstBuiltin && type.kind <= CXType_LastBuiltin)
		value = source_lib.Cursor_Evaluate(NODE(t, i)->cursor);
	if (value && source_lib.EvalResult_getKind(value) == CXEval_Int)
		a->value = (uint64_t)source_lib.EvalResult_getAsLongLong(value);
	if (value)
		source_lib.EvalResult_dispose(value);
}

static void find_arguments(const struct source_tree *t, uint32_t i, uint32_t statement,
			   struct source_call *c)
{
	VEC(struct source_argument) all = { 0 };
	uint32_t a = c->callee && strncmp(c->callee, "operator", 8) == 0
			     ? 0
			     : NODE(t, NODE(t, i)->first)->next;
	for (; a; a = NODE(t, a)->next) {
		struct source_argument arg = { .span = { NODE(t, a)->from, NODE(t, a)->to } };
		arg.text = source_node_text(t, a);
		arg.again = arg.text && source_again(t, a, statement, i) == SOURCE_AGAIN;
		arg.text = arg.text ? arg.text : "";
		source_describe_argument(t, a, &arg);
		find_parameter(t, i, all.n, &arg);
		VEC_PUSH(&all, arg);
	}
	c->arguments = all.n;
	c->argument = all.n ? (void *)source_keep(t->source, (char *)all.p) : NULL;
}

int source_call_of(const struct source_tree *t, uint32_t i, struct source_call *c, struct err *err)
{
	uint32_t statement;
	*c = (struct source_call){ .span = { NODE(t, i)->from, NODE(t, i)->to },
				   .name = { SIZE_MAX, SIZE_MAX } };
	if (!NODE(t, i)->first)
		return err_set(err, EXIT_PROGRAM, "it is no call of a function");
	if (source_statement_of(t, i, &statement, &c->statement, err) < 0)
		return -1;
	c->line = source_line_of(t->file, NODE(t, i)->from);
	c->conditional = source_is_conditional(t, i, statement);
	find_callee(t, i, c);
	find_arguments(t, i, statement, c);
	source_follow(t, i, statement, &c->statement);
	if (c->conditional && c->statement.where != SOURCE_IN_EXPRESSION && !c->statement.no_after)
		c->statement.no_after = "it is in a part of a statement that may not be executed";
	return 0;
}

/* Of the calls in the line: that begins at the column, else the innermost that has it. */
static uint32_t choose(const struct source_tree *t, const struct source_place *p, size_t offset,
		       const char *callee, struct err *err)
{
	size_t from = source_line_start(t->file, p->line),
	       to = source_line_start(t->file, p->line + 1);
	uint32_t best = 0;
	unsigned many = 0;
	bool sure = false;
	for (uint32_t i = 1; i < t->node.n; i++) {
		const struct source_node *n = NODE(t, i);
		if (n->kind != CXCursor_CallExpr || n->elsewhere || n->from >= to || n->to <= from)
			continue;
		const char *name = source_node_name(t, i);
		/* Through a pointer it has no name, or that of the pointer. */
		CXCursor d = source_lib.getCursorReferenced(n->cursor);
		bool function = source_lib.getCursorKind(d) == CXCursor_FunctionDecl;
		if (callee && function && strcmp(name, callee) != 0)
			continue;
		bool has = p->column && n->from <= offset && offset < n->to;
		if (has) { /* later ones that have it are further inside */
			best = i;
			sure = true;
		} else if (!sure) {
			best = best ? best : i;
			many++;
		}
	}
	if (!best)
		err_set(err, EXIT_PROGRAM, "no call of %s is at %s:%u",
			callee ? callee : "a function", t->file->name, p->line);
	else if (!sure && many > 1)
		best = 0,
		err_set(err, EXIT_PROGRAM, "%s:%u has %u calls, and nothing tells which one it is",
			t->file->name, p->line, many);
	return best;
}

int source_call_at(struct source *s, const struct source_place *p, const char *callee,
		   struct source_call *out, struct err *err)
{
	struct source_tree t;
	size_t offset;
	if (source_open_place(s, p, &t, &offset, err) < 0)
		return -1;
	uint32_t i = choose(&t, p, offset, callee ? plain_name(s, callee) : NULL, err);
	int rc = i ? source_call_of(&t, i, out, err) : -1;
	source_tree_free(&t);
	return rc;
}
