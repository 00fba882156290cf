/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts as the file would write them: what its lines begin with, and calls with a blank before the parenthesis, as GNU's style has them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Words that many put a blank behind, whatever they do with calls. */
static bool is_keyword(const char *word, size_t n)
{
	static const char *const words[] = { "if",     "for",   "while",   "switch", "return",
					     "sizeof", "catch", "alignof", "defined" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (n == strlen(words[i]) && !strncmp(word, words[i], n))
			return true;
	return false;
}

/* Behind what is no code: a directive, a comment, a string. */
static const char *skip(const char *p, const char *begin)
{
	const char *to = NULL;
	if (*p == '#' && (p == begin || p[-1] == '\n'))
		to = strchr(p, '\n');
	else if (!strncmp(p, "//", 2))
		to = strchr(p, '\n');
	else if (!strncmp(p, "/*", 2))
		to = strstr(p + 2, "*/");
	else if (*p == '"')
		for (to = p + 1; *to && *to != '"' && *to != '\n';)
			to += *to == '\\' && to[1] ? 2 : 1;
	else
		return p;
	return to && *to ? to + 1 : p + strlen(p);
}

static bool is_spaced(const struct source_file *f)
{
	size_t with = 0, without = 0;
	for (const char *p = f->text, *next; *p; p = next) {
		next = skip(p, f->text);
		if (next != p)
			continue;
		size_t n = 0;
		while (is_word(p[n]))
			n++;
		next = p + (n ? n : 1);
		if (!n || isdigit((unsigned char)*p) || is_keyword(p, n))
			continue;
		without += p[n] == '(';
		with += p[n] == ' ' && p[n + 1] == '(';
	}
	return with > 2 && with > 4 * without;
}

/* A tab, or as many blanks as the line with the fewest has, in files whose lines mostly begin with blanks. */
const char *fix_indent(const struct source_file *f)
{
	static const char blanks[] = "        ";
	size_t tabs = 0, lines = 0, least = sizeof blanks - 1;
	for (const char *p = f->text; p && *p; p = strchr(p, '\n'), p += p != NULL) {
		size_t n = strspn(p, " ");
		tabs += *p == '\t';
		if (n < 2 || p[n] == '*' || p[n] == '\n')
			continue;
		lines++;
		least = n < least ? n : least;
	}
	return tabs >= lines ? "\t" : blanks + sizeof blanks - 1 - least;
}

char *fix_spaced(const struct source_file *f, char *text)
{
	struct buf b = { 0 };
	if (!strchr(text, '(') || !is_spaced(f))
		return text;
	for (const char *p = text; *p; p++) {
		if (*p == '(' && p > text && is_word(p[-1]))
			buf_add(&b, " ", 1);
		buf_add(&b, p, 1);
	}
	buf_add(&b, "", 1);
	free(text);
	return b.p;
}
