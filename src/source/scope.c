/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be named at a place: functions that are declared, and variables that may be passed to one. */
#include <string.h>

#include "source/internal.h"

/* ---- functions ---- */

struct search {
	struct source *source;
	const char *name, *last; /* with its scopes, without */
	CXFile in;               /* and what is declared there behind `before` does not count */
	size_t before;
	CXCursor found;
	bool any;
};

/* In the file that has the place it stands behind it. */
static bool is_behind(const struct search *s, CXCursor c)
{
	CXFile file = NULL;
	unsigned at = 0;
	source_lib.getFileLocation(source_lib.getCursorLocation(c), &file, NULL, NULL, &at);
	return file && file == s->in && at > s->before;
}

static enum CXChildVisitResult find_function(CXCursor c, CXCursor parent, CXClientData data)
{
	struct search *s = data;
	enum CXCursorKind k = source_lib.getCursorKind(c);
	(void)parent;
	if (s->any) /* a macro, behind which libclang goes on with declarations */
		return CXChildVisit_Break;
	if (k != CXCursor_CXXMethod && is_behind(s, c)) /* a method may come later in its class */
		return CXChildVisit_Continue;
	if (k == CXCursor_LinkageSpec || k == CXCursor_UnexposedDecl || k == CXCursor_Namespace ||
	    k == CXCursor_ClassDecl || k == CXCursor_StructDecl)
		return CXChildVisit_Recurse;
	if (k != CXCursor_FunctionDecl && k != CXCursor_CXXMethod &&
	    k != CXCursor_MacroDefinition && k != CXCursor_VarDecl)
		return CXChildVisit_Continue;
	CXString name = source_lib.getCursorSpelling(c);
	const char *text = source_lib.getCString(name);
	s->any = text && !strcmp(text, s->last);
	source_lib.disposeString(name);
	if (s->any && k != CXCursor_MacroDefinition) {
		const char *full = source_qualified_name(s->source, c);
		s->any = full && !strcmp(full, s->name);
	}
	if (!s->any)
		return CXChildVisit_Continue;
	s->found = c;
	return CXChildVisit_Break;
}

static int declared(struct source *s, const struct source_file *f, size_t before, const char *name,
		    struct source_unit **u, CXCursor *found, struct err *err)
{
	const char *last = strrchr(name, ':');
	struct search search = {
		.source = s, .name = name, .last = last ? last + 1 : name, .before = before
	};
	if (source_unit_of(s, f, u, err) < 0)
		return -1;
	search.in = source_lib.getFile((*u)->tu, f->path);
	source_lib.visitChildren(source_lib.getTranslationUnitCursor((*u)->tu), find_function,
				 &search);
	if (!search.any)
		return err_set(err, EXIT_PROGRAM, "%s is not declared in %s", name, f->name);
	*found = search.found;
	return 0;
}

int source_declared(struct source *s, const struct source_file *f, size_t before, const char *name,
		    struct err *err)
{
	struct source_unit *u;
	CXCursor ignored;
	uint64_t known, key = hash_mix(hash_bytes(f->path, strlen(f->path)),
				       hash_mix(before, hash_bytes(name, strlen(name))));
	if (!hmap_get(&s->declared, key, &known)) {
		known = !declared(s, f, before, name, &u, &ignored, err);
		hmap_put(&s->declared, key, known);
	}
	return known ? 0 : err_set(err, EXIT_PROGRAM, "%s is not declared in %s", name, f->name);
}

/* ---- variables ---- */

struct scope {
	struct source *source;
	CXType type;
	CXFile file; /* that has the place */
	size_t at;
	const char *text; /* the first that fits; further ones are counted */
	size_t n;
};

static bool fits(const struct scope *s, CXType type)
{
	return source_lib.equalTypes(source_lib.getCanonicalType(type), s->type);
}

static void offer(struct scope *s, const char *text)
{
	s->text = s->n++ ? s->text : text;
}

static enum CXChildVisitResult first_parameter(CXCursor c, CXCursor parent, CXClientData data)
{
	struct scope *s = data;
	(void)parent;
	if (source_lib.getCursorKind(c) != CXCursor_ParmDecl)
		return CXChildVisit_Continue;
	s->type = source_lib.getCanonicalType(source_lib.getCursorType(c));
	return CXChildVisit_Break;
}

static enum CXChildVisitResult global(CXCursor c, CXCursor parent, CXClientData data)
{
	struct scope *s = data;
	CXFile file;
	unsigned offset;
	(void)parent;
	if (source_lib.getCursorKind(c) != CXCursor_VarDecl ||
	    !fits(s, source_lib.getCursorType(c)) ||
	    !source_lib.equalCursors(c, source_lib.getCanonicalCursor(c)))
		return CXChildVisit_Continue;
	source_lib.getFileLocation(source_lib.getCursorLocation(c), &file, NULL, NULL, &offset);
	if (file != s->file || offset < s->at)
		offer(s, source_string(s->source, source_lib.getCursorSpelling(c)));
	return CXChildVisit_Continue;
}

/* A parameter; or a variable of a block around the place that has a value since before. */
static bool has_value(const struct source_tree *t, uint32_t i, size_t at)
{
	const struct source_node *n = NODE(t, i);
	if (n->kind == CXCursor_ParmDecl)
		return n->parent == 1;
	uint32_t block = n->parent ? NODE(t, n->parent)->parent : 0;
	return n->kind == CXCursor_VarDecl && n->to <= at && n->last &&
	       NODE(t, n->last)->kind != CXCursor_TypeRef && block && NODE(t, block)->from <= at &&
	       at < NODE(t, block)->to;
}

static void look_around(struct scope *s, const struct source_tree *t)
{
	for (uint32_t i = 1; i < t->node.n; i++)
		if (has_value(t, i, s->at) && *source_node_name(t, i) &&
		    fits(s, source_node_type(t, i)))
			offer(s, source_node_name(t, i));
}

/* One level down: what a parameter points to has it as a member, once. */
struct members {
	struct scope *scope;
	const char *of;
};

static enum CXChildVisitResult member(CXCursor c, CXCursor parent, CXClientData data)
{
	struct members *m = data;
	(void)parent;
	if (source_lib.getCursorKind(c) == CXCursor_FieldDecl &&
	    fits(m->scope, source_lib.getCursorType(c)))
		offer(m->scope,
		      source_keep(m->scope->source,
				  xasprintf("%s->%s", m->of,
					    source_string(m->scope->source,
							  source_lib.getCursorSpelling(c)))));
	return CXChildVisit_Continue;
}

static void look_into(struct scope *s, const struct source_tree *t)
{
	for (uint32_t i = NODE(t, 1)->first; i; i = NODE(t, i)->next) {
		struct members m = { s, source_node_name(t, i) };
		CXType type = source_node_canonical(t, i);
		if (NODE(t, i)->kind == CXCursor_ParmDecl && *m.of && type.kind == CXType_Pointer)
			source_lib.visitChildren(
				source_lib.getTypeDeclaration(source_lib.getPointeeType(type)),
				member, &m);
	}
}

int source_value_for(struct source *s, const struct source_statement *st, const char *function,
		     const char **text, struct err *err)
{
	struct scope scope = { .source = s, .at = st->span.from };
	struct source_unit *u;
	struct source_tree t = { 0 };
	CXCursor fn;
	if (declared(s, st->file, st->span.from, function, &u, &fn, err))
		return -1;
	source_lib.visitChildren(fn, first_parameter, &scope);
	scope.file = source_lib.getFile(u->tu, st->file->path);
	if (!scope.type.kind || source_tree_at(s, st->file, st->span.from, &t, err))
		return scope.type.kind ? -1 : err_set(err, EXIT_PROGRAM, "it takes nothing");
	look_around(&scope, &t);
	if (!scope.n)
		look_into(&scope, &t);
	if (!scope.n)
		source_lib.visitChildren(source_lib.getTranslationUnitCursor(u->tu), global,
					 &scope);
	source_tree_free(&t);
	if (scope.n != 1)
		return err_set(err, EXIT_PROGRAM, "%s variables here may be passed to %s",
			       scope.n ? "several" : "no", function);
	*text = scope.text;
	return 0;
}
