/* SPDX-License-Identifier: BSD-3-Clause */
/* The text between tokens: white space, comments, indentation; and names that a file does not use. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* Behind the comment that begins at `at`; at: there is none. */
static size_t skip_comment(const char *text, size_t at, size_t end)
{
	if (at + 1 >= end || text[at] != '/')
		return at;
	if (text[at + 1] == '/') {
		while (at < end && text[at] != '\n')
			at++;
		return at;
	}
	if (text[at + 1] != '*')
		return at;
	for (at += 2; at < end; at++)
		if (text[at - 1] == '*' && text[at] == '/')
			return at + 1;
	return end;
}

size_t source_skip_blank(const char *text, size_t at, size_t end)
{
	for (;;) {
		while (at < end && isspace((unsigned char)text[at]))
			at++;
		if (at + 1 < end && text[at] == '\\' &&
		    (text[at + 1] == '\n' || text[at + 1] == '\r'))
			at++;
		else {
			size_t next = skip_comment(text, at, end);
			if (next == at)
				return at;
			at = next;
		}
	}
}

size_t source_line_end(const struct source_file *f, size_t at)
{
	while (at < f->size && f->text[at] != '\n')
		at++;
	return at > 0 && at < f->size && f->text[at - 1] == '\r' ? at - 1 : at;
}

struct source_span source_indent(const struct source_file *f, size_t at)
{
	size_t from = source_line_start(f, source_line_of(f, at)), to = from;
	while (to < f->size && (f->text[to] == ' ' || f->text[to] == '\t'))
		to++;
	return (struct source_span){ from, to };
}

/* A tab, or as many spaces as the least indented line begins with. */
const char *source_indent_unit(const struct source_file *f)
{
	static const char spaces[] = "        ";
	size_t least = 8, tabs = 0, spaced = 0;
	for (size_t at = 0; at < f->size;
	     at = source_line_end(f, at), at += f->text[at] == '\r', at++) {
		size_t n = 0;
		if (f->text[at] == '\t')
			tabs++;
		while (at + n < f->size && f->text[at + n] == ' ')
			n++;
		if (n >= 2 && at + n < f->size && !strchr("\r\n*", f->text[at + n])) {
			spaced++;
			if (n < least)
				least = n;
		}
	}
	return tabs >= spaced ? "\t" : spaces + 8 - least;
}

static bool is_word(int c)
{
	return isalnum(c) || c == '_';
}

/* The function that has the offset, as a range of its file; from == to: none has. */
static struct source_span function_at(const struct source_unit *u, const struct source_file *f,
				      size_t at)
{
	struct source_span best = { 0 };
	CXFile in = u ? source_lib.getFile(u->tu, f->path) : NULL;
	for (size_t i = 0; u && i < u->function.n; i++) {
		const struct source_range *r = &u->function.p[i];
		if (r->file == in && r->from <= at && at < r->to &&
		    (best.to == 0 || r->from < best.from))
			best = (struct source_span){ r->from, r->to };
	}
	return best;
}

/* In the function, or outside of all. */
static bool uses_word(const struct source_unit *u, const struct source_file *f,
		      struct source_span function, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = f->text; (p = strstr(p, word)); p += n) {
		size_t at = (size_t)(p - f->text);
		bool whole = (at == 0 || !is_word((unsigned char)p[-1])) &&
			     !is_word((unsigned char)p[n]);
		bool inside = function.from <= at && at < function.to;
		if (whole && (inside || function_at(u, f, at).to == 0))
			return true;
	}
	return false;
}

const char *source_new_name(struct source *s, const struct source_file *f, const char *stem,
			    size_t at)
{
	uint64_t file = hash_bytes(f->path, strlen(f->path)), val;
	uint64_t asked = hash_mix(hash_mix(file, at), hash_bytes(stem, strlen(stem)));
	struct source_unit *u = NULL;
	struct err none;
	if (source_unit_of(s, f, &u, &none) < 0)
		u = NULL;
	struct source_span in = function_at(u, f, at);
	uint64_t scope = hash_mix(file, in.from);
	if (hmap_get(&s->name_of, asked, &val))
		return (const char *)(uintptr_t)val;
	for (unsigned i = 1;; i++) {
		char *name = i == 1 ? xstrdup(stem) : xasprintf("%s%u", stem, i);
		uint64_t key = hash_mix(scope, hash_bytes(name, strlen(name)));
		if (!hmap_get(&s->name_used, key, &val) && !uses_word(u, f, in, name)) {
			hmap_put(&s->name_used, key, 1);
			hmap_put(&s->name_of, asked, (uintptr_t)name);
			return source_keep(s, name);
		}
		free(name);
	}
}
