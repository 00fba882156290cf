/* SPDX-License-Identifier: BSD-3-Clause */
/* A function: its parts, and whether a copy under another name is the same function. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

static CXType canonical_result(const struct source_tree *t)
{
	return source_lib.getCursorResultType(NODE(t, 1)->cursor);
}

static bool is_pointer(CXType type)
{
	enum CXTypeKind k = source_lib.getCanonicalType(type).kind;
	return k == CXType_Pointer || k == CXType_LValueReference || k == CXType_ConstantArray ||
	       k == CXType_IncompleteArray;
}

static bool has_word(const struct source_file *f, struct source_span in, const char *word)
{
	size_t n = strlen(word);
	for (size_t at = in.from; at + n <= in.to; at++)
		if (strncmp(f->text + at, word, n) == 0 &&
		    !isalnum((unsigned char)f->text[at + n]) && f->text[at + n] != '_' &&
		    (at == 0 ||
		     (!isalnum((unsigned char)f->text[at - 1]) && f->text[at - 1] != '_')))
			return true;
	return false;
}

/* ---- may it be copied? ---- */

static const char *kind_reason(const struct source_tree *t)
{
	CXCursor c = NODE(t, 1)->cursor;
	switch (NODE(t, 1)->kind) {
	case CXCursor_FunctionDecl: return NULL;
	case CXCursor_CXXMethod:
		return source_lib.CXXMethod_isVirtual(c) ? "it is virtual" : "it is a method";
	case CXCursor_FunctionTemplate: return "it is a template";
	default: return "it is a constructor, destructor or conversion";
	}
}

static const char *text_reason(const struct source_function *fn)
{
	static const char *const named[] = { "__func__", "__FUNCTION__", "__PRETTY_FUNCTION__" };
	static const char *const once[] = { "constructor", "destructor", "alias", "ifunc",
					    "section",     "__asm__",    "asm" };
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (has_word(fn->file, fn->body, named[i]))
			return "it uses its own name (__func__)";
	for (size_t i = 0; i < sizeof once / sizeof *once; i++)
		if (has_word(fn->file, fn->head, once[i]))
			return "an attribute ties it to its name";
	return strcmp(fn->name, "main") == 0 ? "it is main" : NULL;
}

/* The function itself, other than as what is called. */
static bool names_itself(const struct source_tree *t, uint32_t i)
{
	if (NODE(t, i)->kind != CXCursor_DeclRefExpr)
		return false;
	CXCursor d = source_lib.getCursorReferenced(NODE(t, i)->cursor);
	if (!source_lib.equalCursors(source_lib.getCanonicalCursor(d),
				     source_lib.getCanonicalCursor(NODE(t, 1)->cursor)))
		return false;
	for (uint32_t p = NODE(t, i)->parent, c = i; p; c = p, p = NODE(t, p)->parent)
		if (NODE(t, p)->kind == CXCursor_CallExpr)
			return NODE(t, p)->first != c;
		else if (NODE(t, p)->kind != CXCursor_UnexposedExpr &&
			 NODE(t, p)->kind != CXCursor_ParenExpr)
			return true;
	return true;
}

static const char *node_reason(const struct source_tree *t)
{
	for (uint32_t i = 1; i < t->node.n; i++) {
		const struct source_node *n = NODE(t, i);
		if (n->kind == CXCursor_VarDecl &&
		    source_lib.Cursor_getStorageClass(n->cursor) == CX_SC_Static)
			return source_keep(t->source, xasprintf("it has a static variable, %s",
								source_node_name(t, i)));
		if (n->kind == CXCursor_AddrLabelExpr || n->kind == CXCursor_IndirectGotoStmt)
			return "it takes the address of a label";
		if (names_itself(t, i))
			return "it takes its own address, and may be called through it";
	}
	return NULL;
}

static const char *copy_reason(const struct source_tree *t, const struct source_function *fn)
{
	const struct source_node *n = NODE(t, 1);
	if (fn->file->refused)
		return fn->file->refused;
	if (source_macro_at(t->unit, t->in, n->from, n->to) || n->elsewhere ||
	    strncmp(t->file->text + fn->name_at.from, fn->name, strlen(fn->name)) != 0)
		return "a macro defines it";
	const char *why = kind_reason(t);
	why = why ? why : text_reason(fn);
	return why ? why : node_reason(t);
}

/* ---- its parts ---- */

static void find_parameters(const struct source_tree *t, struct source_function *fn)
{
	VEC(struct source_parameter) all = { 0 };
	for (uint32_t i = NODE(t, 1)->first; i; i = NODE(t, i)->next) {
		if (NODE(t, i)->kind != CXCursor_ParmDecl)
			continue;
		CXType type = source_node_type(t, i);
		VEC_PUSH(&all, ((struct source_parameter){ source_node_name(t, i),
							   source_type_text(t->source, type),
							   is_pointer(type) }));
	}
	fn->parameters = all.n;
	fn->parameter = all.n ? (void *)source_keep(t->source, (char *)all.p) : NULL;
}

static void find_exits(const struct source_tree *t, struct source_function *fn)
{
	VEC(struct source_statement) all = { 0 };
	struct err ignored;
	uint32_t at;
	for (uint32_t i = 1; i < t->node.n; i++) {
		struct source_statement st;
		if (NODE(t, i)->kind == CXCursor_LambdaExpr) {
			uint32_t next = source_node_next(t, i, 1);
			while (next && source_node_under(t, next, i))
				next = source_node_next(t, next, 1);
			if (!next)
				break;
			i = next - 1;
		} else if (NODE(t, i)->kind == CXCursor_ReturnStmt &&
			   source_statement_of(t, i, &at, &st, &ignored) == 0) {
			VEC_PUSH(&all, st);
		}
	}
	fn->exits = all.n;
	fn->exit = all.n ? (void *)source_keep(t->source, (char *)all.p) : NULL;
}

static void find_calls(const struct source_tree *t, struct source_function *fn)
{
	VEC(struct source_call) all = { 0 };
	struct err ignored;
	for (uint32_t i = 1; i < t->node.n; i++) {
		struct source_call c;
		if (NODE(t, i)->kind == CXCursor_CallExpr && !NODE(t, i)->elsewhere &&
		    source_call_of(t, i, &c, &ignored) == 0)
			VEC_PUSH(&all, c);
	}
	fn->calls = all.n;
	fn->call = all.n ? (void *)source_keep(t->source, (char *)all.p) : NULL;
}

static void find_prototypes(const struct source_tree *t, struct source_function *fn)
{
	VEC(struct source_prototype) all = { 0 };
	struct err ignored;
	CXCursor self = source_lib.getCanonicalCursor(NODE(t, 1)->cursor);
	for (size_t i = 0; i < t->unit->prototype.n; i++) {
		const struct source_range *r = &t->unit->prototype.p[i];
		struct source_prototype p = { .span = { r->from, r->to } };
		if (!source_lib.equalCursors(source_lib.getCanonicalCursor(r->cursor), self))
			continue;
		const char *name = source_string(t->source, source_lib.getFileName(r->file));
		if (source_file_at(t->source, name, &p.file, &ignored) < 0 || r->to > p.file->size)
			continue;
		size_t end = source_skip_blank(p.file->text, r->to, p.file->size);
		if (end < p.file->size && p.file->text[end] == ';')
			p.span.to = end + 1;
		VEC_PUSH(&all, p);
	}
	fn->prototypes = all.n;
	fn->prototype = all.n ? (void *)source_keep(t->source, (char *)all.p) : NULL;
}

static int describe(const struct source_tree *t, struct source_function *fn, struct err *err)
{
	const struct source_node *n = NODE(t, 1), *body = n->last ? NODE(t, n->last) : NULL;
	CXFile file;
	unsigned at;
	*fn = (struct source_function){ .file = t->file, .name = source_node_name(t, 1) };
	if (!body || body->kind != CXCursor_CompoundStmt)
		return err_set(err, EXIT_PROGRAM, "%s has no plain body", fn->name);
	source_lib.getFileLocation(source_lib.getCursorLocation(n->cursor), &file, NULL, NULL, &at);
	fn->span = (struct source_span){ n->from, n->to };
	fn->body = (struct source_span){ body->from, body->to };
	size_t end = body->from;
	while (end > n->from && isspace((unsigned char)t->file->text[end - 1]))
		end--;
	fn->head = (struct source_span){ n->from, end };
	fn->name_at = (struct source_span){ at, at + strlen(fn->name) };
	fn->result = source_type_text(t->source, canonical_result(t));
	fn->is_static = source_lib.Cursor_getStorageClass(n->cursor) == CX_SC_Static;
	fn->variadic = source_lib.isFunctionTypeVariadic(source_node_type(t, 1));
	uint32_t last = body->last;
	while (last && (NODE(t, last)->kind == CXCursor_LabelStmt ||
			NODE(t, last)->kind == CXCursor_CompoundStmt))
		last = NODE(t, last)->last;
	fn->falls = !last || NODE(t, last)->kind != CXCursor_ReturnStmt;
	find_parameters(t, fn);
	find_exits(t, fn);
	find_calls(t, fn);
	find_prototypes(t, fn);
	fn->no_copy = copy_reason(t, fn);
	return 0;
}

/* ---- the questions ---- */

static int function_named(struct source *s, const struct source_file *f, const char *name,
			  struct source_tree *t, struct err *err)
{
	struct source_unit *u;
	if (source_unit_of(s, f, &u, err) < 0)
		return -1;
	CXFile in = source_lib.getFile(u->tu, f->path);
	for (size_t i = 0; i < u->function.n; i++) {
		const struct source_range *r = &u->function.p[i];
		if (r->file != in ||
		    strcmp(source_string(s, source_lib.getCursorSpelling(r->cursor)), name) != 0)
			continue;
		source_tree_of(s, f, u, r, t);
		return 0;
	}
	return err_set(err, EXIT_PROGRAM, "%s defines no function %s", f->name, name);
}

int source_function_at(struct source *s, const struct source_place *p, const char *name,
		       struct source_function *out, struct err *err)
{
	const struct source_file *f;
	struct source_tree t;
	size_t offset;
	if (source_file_at(s, p->file, &f, err) < 0)
		return -1;
	if (p->line == 0) {
		if (function_named(s, f, name, &t, err) < 0)
			return -1;
	} else {
		if (source_offset(f, p, &offset, err) < 0)
			return -1;
		if (!p->column)
			offset = source_skip_blank(f->text, offset, f->size);
		if (source_tree_at(s, f, offset, &t, err) < 0)
			return -1;
	}
	int rc = describe(&t, out, err);
	source_tree_free(&t);
	return rc;
}
