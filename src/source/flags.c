/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a unit was compiled: what compile_commands.json says, else what its debug information says, else nothing.
 * Only what decides what the text means is kept, for gcc's options are not all clang's.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/internal.h"

#define COMMANDS "compile_commands.json"

/* libclang takes a folder with a file of the usual name; another name gets a link in a folder of its own. */
static int open_given(struct source *s, const char *file, struct err *err)
{
	char *real = realpath(file, NULL), *folder = NULL;
	if (!real)
		return err_errno(err, EXIT_USAGE, "%s", file);
	char *slash = strrchr(real, '/');
	if (strcmp(slash + 1, COMMANDS) != 0) {
		const char *tmp = getenv("TMPDIR");
		folder = s->commands_folder =
			xasprintf("%s/holdfast-commands-XXXXXX", tmp ? tmp : "/tmp");
		char *link = mkdtemp(folder) ? xasprintf("%s/" COMMANDS, folder) : NULL;
		int bad = !link || symlink(real, link) < 0;
		free(link);
		if (bad) {
			free(real);
			return err_errno(err, EXIT_PROGRAM, "%s", folder);
		}
	} else {
		*slash = 0;
	}
	CXCompilationDatabase_Error e = CXCompilationDatabase_NoError;
	s->commands = source_lib.CompilationDatabase_fromDirectory(folder ? folder : real, &e);
	free(real);
	if (e != CXCompilationDatabase_NoError || !s->commands)
		return err_set(err, EXIT_USAGE, "%s is no compilation database", file);
	return 0;
}

int source_commands_open(struct source *s, struct err *err)
{
	static const char *const places[] = { "",     "/build",  "/builddir",
					      "/out", "/_build", "/.build" };
	if (s->options.compile_commands)
		return open_given(s, s->options.compile_commands, err);
	for (size_t i = 0; i < sizeof places / sizeof *places && !s->commands; i++) {
		char *file = xasprintf("%s%s/" COMMANDS, s->root, places[i]);
		struct err ignored; /* found, not given: one that cannot be read is left alone */
		if (access(file, R_OK) == 0)
			open_given(s, file, &ignored);
		free(file);
	}
	return 0;
}

void source_commands_close(struct source *s)
{
	if (s->commands)
		source_lib.CompilationDatabase_dispose(s->commands);
	if (s->commands_folder) {
		char *link = xasprintf("%s/" COMMANDS, s->commands_folder);
		unlink(link);
		rmdir(s->commands_folder);
		free(link);
		free(s->commands_folder);
	}
}

/* Options that are kept, by how they begin; with a word that may be the next argument. */
static const struct {
	const char *text;
	bool word;
} kept[] = {
	{ "-include", true },
	{ "-imacros", true },
	{ "-isystem", true },
	{ "-iquote", true },
	{ "-idirafter", true },
	{ "-I", true },
	{ "-D", true },
	{ "-U", true },
	{ "-std=", false },
	{ "-ansi", false },
	{ "-x", true },
	{ "-m", false },
	{ "-pthread", false },
	{ "-fopenmp", false },
	{ "-funsigned-char", false },
	{ "-fsigned-char", false },
	{ "-fshort-enums", false },
	{ "-fno-rtti", false },
	{ "-nostdinc", false },
};

/* Adds argument i of the list, if it is one to keep, and what belongs to it; returns how many it was. */
size_t source_flags_keep(struct source *s, struct source_flags *f, const char *const *arg, size_t n)
{
	for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
		size_t len = strlen(kept[k].text);
		if (strncmp(arg[0], kept[k].text, len) != 0)
			continue;
		VEC_PUSH(&f->arg, source_keep(s, xstrdup(arg[0])));
		if (!kept[k].word || arg[0][len] || n < 2)
			return 1;
		VEC_PUSH(&f->arg, source_keep(s, xstrdup(arg[1])));
		return 2;
	}
	return 1;
}

static bool from_commands(struct source *s, const char *path, struct source_flags *f)
{
	if (!s->commands)
		return false;
	CXCompileCommands all =
		source_lib.CompilationDatabase_getCompileCommands(s->commands, path);
	bool found = all && source_lib.CompileCommands_getSize(all) > 0;
	if (found) {
		CXCompileCommand c = source_lib.CompileCommands_getCommand(all, 0);
		VEC(const char *) arg = { 0 };
		unsigned n = source_lib.CompileCommand_getNumArgs(c);
		for (unsigned i = 1; i < n; i++)
			VEC_PUSH(&arg, source_string(s, source_lib.CompileCommand_getArg(c, i)));
		for (size_t i = 0; i < arg.n;)
			i += source_flags_keep(s, f, arg.p + i, arg.n - i);
		f->folder = source_string(s, source_lib.CompileCommand_getDirectory(c));
		VEC_FREE(&arg);
	}
	if (all)
		source_lib.CompileCommands_dispose(all);
	return found;
}

void source_flags_for(struct source *s, const char *path, struct source_flags *f)
{
	*f = (struct source_flags){ .folder = s->root };
	if (!from_commands(s, path, f))
		source_flags_built(s, path, f);
}

void source_flags_free(struct source_flags *f)
{
	VEC_FREE(&f->arg);
}

static void list_commands(struct source *s)
{
	CXCompileCommands all = source_lib.CompilationDatabase_getAllCompileCommands(s->commands);
	unsigned n = all ? source_lib.CompileCommands_getSize(all) : 0;
	for (unsigned i = 0; i < n; i++) {
		CXCompileCommand c = source_lib.CompileCommands_getCommand(all, i);
		const char *name = source_string(s, source_lib.CompileCommand_getFilename(c));
		const char *in = source_string(s, source_lib.CompileCommand_getDirectory(c));
		char *path = *name == '/' ? xstrdup(name) : xasprintf("%s/%s", in, name);
		VEC_PUSH(&s->sources, source_keep(s, path));
	}
	if (all)
		source_lib.CompileCommands_dispose(all);
}

void source_commands_list(struct source *s)
{
	if (s->sources_known)
		return;
	s->sources_known = true;
	if (s->commands)
		list_commands(s);
	source_built_list(s);
}
