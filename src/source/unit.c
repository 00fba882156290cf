/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Units, parsed when first asked about. A few of them stay: what was asked about longest ago goes first, so
 * that a large tree takes bounded memory. Answers hold no part of them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/internal.h"

#define UNITS_KEPT 24

static void free_unit(struct source_unit *u)
{
	source_lib.disposeTranslationUnit(u->tu);
	VEC_FREE(&u->included);
	VEC_FREE(&u->known);
	VEC_FREE(&u->function);
	VEC_FREE(&u->prototype);
	VEC_FREE(&u->macro);
	free(u);
}

void source_units_close(struct source *s)
{
	for (size_t i = 0; i < s->unit.n; i++)
		free_unit(s->unit.p[i]);
	VEC_FREE(&s->unit);
}

static void make_room(struct source *s)
{
	if (s->unit.n < UNITS_KEPT)
		return;
	size_t oldest = 0;
	for (size_t i = 1; i < s->unit.n; i++)
		if (s->unit.p[i]->used < s->unit.p[oldest]->used)
			oldest = i;
	free_unit(s->unit.p[oldest]);
	s->unit.p[oldest] = s->unit.p[--s->unit.n];
}

/* ---- what a unit has: functions and uses of macros ---- */

static bool range_of(CXCursor c, struct source_range *r)
{
	CXSourceRange extent = source_lib.getCursorExtent(c);
	CXFile end;
	*r = (struct source_range){ .cursor = c };
	source_lib.getFileLocation(source_lib.getRangeStart(extent), &r->file, NULL, NULL,
				   &r->from);
	source_lib.getFileLocation(source_lib.getRangeEnd(extent), &end, NULL, NULL, &r->to);
	return r->file && r->file == end;
}

static bool is_function(enum CXCursorKind k)
{
	return k == CXCursor_FunctionDecl || k == CXCursor_CXXMethod || k == CXCursor_Constructor ||
	       k == CXCursor_Destructor || k == CXCursor_ConversionFunction ||
	       k == CXCursor_FunctionTemplate;
}

static bool has_functions(enum CXCursorKind k)
{
	return k == CXCursor_Namespace || k == CXCursor_LinkageSpec || k == CXCursor_ClassDecl ||
	       k == CXCursor_StructDecl || k == CXCursor_UnionDecl || k == CXCursor_ClassTemplate ||
	       k == CXCursor_ClassTemplatePartialSpecialization || k == CXCursor_UnexposedDecl;
}

static enum CXChildVisitResult look(CXCursor c, CXCursor parent, CXClientData data)
{
	struct source_unit *u = data;
	enum CXCursorKind k = source_lib.getCursorKind(c);
	struct source_range r;
	(void)parent;
	if (k == CXCursor_InclusionDirective)
		VEC_PUSH(&u->included, source_lib.getIncludedFile(c));
	if (k == CXCursor_MacroDefinition || k == CXCursor_InclusionDirective ||
	    source_lib.Location_isInSystemHeader(source_lib.getCursorLocation(c)))
		return CXChildVisit_Continue;
	if (k == CXCursor_MacroExpansion) {
		if (range_of(c, &r))
			VEC_PUSH(&u->macro, r);
	} else if (is_function(k)) {
		bool definition = source_lib.isCursorDefinition(c);
		if (range_of(c, &r) && definition)
			VEC_PUSH(&u->function, r);
		else if (!definition && r.file)
			VEC_PUSH(&u->prototype, r);
	} else if (has_functions(k)) {
		return CXChildVisit_Recurse;
	}
	return CXChildVisit_Continue;
}

static int by_place(const void *a, const void *b)
{
	const struct source_range *x = a, *y = b;
	if (x->file != y->file)
		return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to > y->to ? -1 : x->to < y->to;
}

/* Uses in the arguments of others are left out. */
static void sort_macros(struct source_unit *u)
{
	size_t n = 0;
	if (u->macro.n)
		qsort(u->macro.p, u->macro.n, sizeof *u->macro.p, by_place);
	for (size_t i = 0; i < u->macro.n; i++) {
		struct source_range *r = &u->macro.p[i], *last = n ? &u->macro.p[n - 1] : NULL;
		if (!last || last->file != r->file || r->from >= last->to)
			u->macro.p[n++] = *r;
	}
	u->macro.n = n;
}

const struct source_range *source_macro_at(const struct source_unit *u, CXFile file, size_t from,
					   size_t to)
{
	size_t n = BISECT(i, u->macro.n,
			  (uintptr_t)u->macro.p[i].file < (uintptr_t)file ||
				  (u->macro.p[i].file == file && u->macro.p[i].from <= from));
	if (n == 0)
		return NULL;
	const struct source_range *r = &u->macro.p[n - 1];
	return r->file == file && r->from <= from && to <= r->to && from < r->to ? r : NULL;
}

/* ---- errors ---- */

static void note_error(struct source *s, CXDiagnostic d)
{
	CXFile file;
	unsigned line;
	struct err ignored;
	const struct source_file *f;
	source_lib.getFileLocation(source_lib.getDiagnosticLocation(d), &file, &line, NULL, NULL);
	if (!file)
		return;
	const char *name = source_string(s, source_lib.getFileName(file));
	const char *text = source_string(s, source_lib.getDiagnosticSpelling(d));
	if (source_file_at(s, name, &f, &ignored) == 0 && !f->broken)
		((struct source_file *)f)->broken =
			source_keep(s, xasprintf("%s:%u: %s", f->name, line, text));
}

static void note_errors(struct source *s, struct source_unit *u)
{
	bool any = false;
	unsigned n = source_lib.getNumDiagnostics(u->tu);
	for (unsigned i = 0; i < n; i++) {
		CXDiagnostic d = source_lib.getDiagnostic(u->tu, i);
		if (source_lib.getDiagnosticSeverity(d) >= CXDiagnostic_Error) {
			any = true;
			note_error(s, d);
		}
		source_lib.disposeDiagnostic(d);
	}
	s->parsed++;
	s->broken += any;
}

/* ---- parsing ---- */

static bool ends_in(const char *path, const char *const *ends)
{
	const char *dot = strrchr(path, '.');
	for (; dot && *ends; ends++)
		if (strcmp(dot, *ends) == 0)
			return true;
	return false;
}

static const char *const c_ends[] = { ".c", ".i", NULL };
static const char *const cxx_ends[] = { ".cc", ".cpp", ".cxx", ".C", ".c++", ".ii", NULL };
static const char *const header_ends[] = {
	".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".tcc", NULL
};

static int parse_with(struct source *s, const char *path, struct source_flags *f, bool machine,
		      CXTranslationUnit *tu)
{
	VEC(const char *) arg = { 0 };
	VEC_PUSH(&arg, source_keep(s, xasprintf("-working-directory=%s", f->folder)));
	VEC_PUSH(&arg, "-w");
	VEC_PUSH(&arg, "-ferror-limit=0");
	for (size_t i = 0; i < f->arg.n; i++)
		if (machine || strncmp(f->arg.p[i], "-m", 2) != 0)
			VEC_PUSH(&arg, f->arg.p[i]);
	for (size_t i = 0; i < s->define.n; i++)
		if (strcmp(s->define.p[i].unit, path) == 0)
			VEC_PUSH(&arg, source_keep(s, xasprintf("-D%s", s->define.p[i].name)));
	enum CXErrorCode e = source_lib.parseTranslationUnit2(
		s->index, path, arg.p, (int)arg.n, NULL, 0,
		CXTranslationUnit_DetailedPreprocessingRecord | CXTranslationUnit_KeepGoing, tu);
	VEC_FREE(&arg);
	return e == CXError_Success ? 0 : -1;
}

static struct source_unit *parse(struct source *s, const char *path)
{
	struct source_flags f;
	CXTranslationUnit tu = NULL;
	int here = open(".", O_RDONLY | O_DIRECTORY |
				     O_CLOEXEC); /* libclang goes to the unit's folder */
	source_flags_for(s, path, &f);
	/* gcc's -m options are not all clang's. */
	bool bad =
		parse_with(s, path, &f, true, &tu) < 0 && parse_with(s, path, &f, false, &tu) < 0;
	source_flags_free(&f);
	if (here >= 0) {
		if (fchdir(here) < 0)
			bad = true;
		close(here);
	}
	if (bad)
		return NULL;
	make_room(s);
	struct source_unit *u = xcalloc(1, sizeof *u);
	u->path = source_keep(s, xstrdup(path));
	u->tu = tu;
	u->cxx = ends_in(path, cxx_ends) || ends_in(path, header_ends + 1);
	source_lib.visitChildren(source_lib.getTranslationUnitCursor(tu), look, u);
	sort_macros(u);
	note_errors(s, u);
	VEC_PUSH(&s->unit, u);
	return u;
}

/* libclang finds every file that exists; what was read is among the inclusions. */
static bool includes(const struct source_unit *u, const struct source_file *f)
{
	CXFile file = source_lib.getFile(u->tu, f->path);
	for (size_t i = 0; file && i < u->included.n; i++)
		if (u->included.p[i] == file)
			return true;
	return false;
}

static struct source_unit *parsed_with(struct source *s, const struct source_file *f)
{
	for (size_t i = 0; i < s->unit.n; i++)
		if (strcmp(s->unit.p[i]->path, f->path) == 0)
			return s->unit.p[i];
	for (size_t i = 0; i < s->unit.n; i++)
		if (includes(s->unit.p[i], f))
			return s->unit.p[i];
	return NULL;
}

/* A header: of the units that are known of, the first that includes it. */
static struct source_unit *including(struct source *s, const struct source_file *f)
{
	struct err ignored;
	const char *first = source_built_including(s, f->path);
	struct source_unit *user = first ? parse(s, first) : NULL;
	if (user && includes(user, f))
		return user;
	source_commands_list(s);
	for (size_t i = 0; i < s->sources.n; i++) {
		const struct source_file *known;
		if (source_find_file(s, s->sources.p[i], &known, &ignored) < 0)
			continue;
		struct source_unit *u = parsed_with(s, known);
		if (!u && !(u = parse(s, known->path)))
			continue;
		if (includes(u, f))
			return u;
	}
	return parse(s, f->path); /* it may stand on its own */
}

int source_unit_of(struct source *s, const struct source_file *f, struct source_unit **out,
		   struct err *err)
{
	bool header = ends_in(f->path, header_ends);
	if (!header && !ends_in(f->path, c_ends) && !ends_in(f->path, cxx_ends))
		return err_set(err, EXIT_PROGRAM, "%s is neither C nor C++", f->name);
	struct source_unit *u = parsed_with(s, f);
	if (!u)
		u = header ? including(s, f) : parse(s, f->path);
	if (!u)
		return err_set(err, EXIT_PROGRAM, "%s cannot be parsed", f->name);
	u->used = ++s->clock;
	*out = u;
	return 0;
}

static void forget(struct source *s, const struct source_unit *u)
{
	for (size_t i = 0; i < s->unit.n; i++)
		if (s->unit.p[i] == u) {
			free_unit(s->unit.p[i]);
			s->unit.p[i] = s->unit.p[--s->unit.n];
			return;
		}
}

int source_unit_at(struct source *s, const struct source_file *f, size_t offset,
		   struct source_unit **out, struct err *err)
{
	int rc;
	while ((rc = source_unit_of(s, f, out, err)) == 0 && source_enable(s, *out, f, offset)) {
		const char *path = (*out)->path;
		forget(s, *out);
		if (strcmp(path, f->path) != 0 && !parse(s, path))
			return err_set(err, EXIT_PROGRAM, "%s cannot be parsed", f->name);
	}
	return rc;
}
