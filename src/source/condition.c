/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Macros that the command line defined: debug information does not have them, but it has lines that were compiled. A
 * line that the parser skipped says that the condition around it was true; where that is one macro, it is
 * defined, and the unit is parsed again.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* The range that was skipped around the offset; `from` is at its directive. */
static bool skipped_at(const struct source_unit *u, CXFile file, size_t offset,
		       struct source_span *out)
{
	CXSourceRangeList *all = source_lib.getSkippedRanges(u->tu, file);
	bool found = false;
	for (unsigned i = 0; all && i < all->count && !found; i++) {
		unsigned from, to;
		source_lib.getFileLocation(source_lib.getRangeStart(all->ranges[i]), NULL, NULL,
					   NULL, &from);
		source_lib.getFileLocation(source_lib.getRangeEnd(all->ranges[i]), NULL, NULL, NULL,
					   &to);
		found = from <= offset && offset < to;
		*out = (struct source_span){ from, to };
	}
	if (all)
		source_lib.disposeSourceRangeList(all);
	return found;
}

static size_t line_before(const struct source_file *f, size_t at)
{
	uint32_t line = source_line_of(f, at);
	return line > 1 ? source_line_start(f, line - 1) : SIZE_MAX;
}

/* The directive of a line: the word behind its #; NULL: it is none. */
static const char *word_of(const struct source_file *f, size_t line)
{
	const char *p = f->text + line;
	p += strspn(p, " \t");
	return *p == '#' ? p + 1 + strspn(p + 1, " \t") : NULL;
}

static const char *behind(const char *word, const char *name)
{
	size_t n = strlen(name);
	return word && strncmp(word, name, n) == 0 && !isalnum((unsigned char)word[n])
		       ? word + n + strspn(word + n, " \t")
		       : NULL;
}

/* The #if, #ifdef or #ifndef that an #else belongs to. */
static const char *beginning(const struct source_file *f, size_t at)
{
	int depth = 0;
	while ((at = line_before(f, at)) != SIZE_MAX) {
		const char *word = word_of(f, at);
		if (behind(word, "endif"))
			depth++;
		else if (behind(word, "if") || behind(word, "ifdef") || behind(word, "ifndef"))
			if (depth-- == 0)
				return word;
	}
	return NULL;
}

/* The directive of the chain that the line belongs to: the parser skips several parts of one with #elif as one. */
static size_t governing(const struct source_file *f, size_t offset, size_t first)
{
	int depth = 0;
	size_t last = first;
	for (uint32_t line = source_line_of(f, first) + 1; source_line_start(f, line) < offset;
	     line++) {
		const char *word = word_of(f, source_line_start(f, line));
		depth += behind(word, "if") || behind(word, "ifdef") || behind(word, "ifndef");
		depth -= behind(word, "endif") != NULL;
		if (!depth && (behind(word, "elif") || behind(word, "else")))
			last = source_line_start(f, line);
	}
	return last;
}

/* A macro that alone makes the condition true: X, defined X, defined(X). */
static const char *macro_in(struct source *s, const char *condition)
{
	const char *p = condition, *name;
	bool paren = false;
	if ((name = behind(p, "defined"))) {
		paren = *name == '(';
		p = name + paren;
		p += strspn(p, " \t");
	}
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	const char *end = p + n + strspn(p + n, " \t");
	end += paren && *end == ')';
	end += strspn(end, " \t\r");
	bool alone = *end == '\n' || strncmp(end, "/*", 2) == 0 || strncmp(end, "//", 2) == 0 ||
		     strncmp(end, "||", 2) == 0; /* one of several is enough */
	return n && !isdigit((unsigned char)*p) && alone ? source_keep_n(s, p, n) : NULL;
}

/* The macro without which the range was skipped; NULL: it is not that simple. */
static const char *missing_macro(struct source *s, const struct source_file *f, size_t directive)
{
	const char *word = word_of(f, source_line_start(f, source_line_of(f, directive)));
	const char *rest;
	if ((rest = behind(word, "ifdef")) || (rest = behind(word, "if")) ||
	    (rest = behind(word, "elif")))
		return macro_in(s, rest);
	if (behind(word, "else")) {
		rest = behind(beginning(f, directive), "ifndef");
		return rest ? macro_in(s, rest) : NULL;
	}
	return NULL;
}

bool source_enable(struct source *s, const struct source_unit *u, const struct source_file *f,
		   size_t offset)
{
	struct source_span range;
	CXFile file = source_lib.getFile(u->tu, f->path);
	if (!skipped_at(u, file, offset, &range))
		return false;
	const char *name = missing_macro(
		s, f, governing(f, offset, source_line_start(f, source_line_of(f, range.from))));
	if (!name)
		return false;
	for (size_t i = 0; i < s->define.n; i++)
		if (strcmp(s->define.p[i].unit, u->path) == 0 &&
		    strcmp(s->define.p[i].name, name) == 0)
			return false; /* it did not help */
	VEC_PUSH(&s->define, ((struct source_define){ u->path, name }));
	return true;
}
