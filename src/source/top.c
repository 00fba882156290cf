/* SPDX-License-Identifier: BSD-3-Clause */
/* The beginning of a file's declarations: where a helper or a prototype goes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* The word behind the # of a directive; NULL: the line is none. */
static const char *directive(const struct source_file *f, size_t at)
{
	const char *p = f->text + at;
	p += strspn(p, " \t");
	if (*p != '#')
		return NULL;
	p++;
	return p + strspn(p, " \t");
}

static bool is(const char *word, const char *name)
{
	size_t n = strlen(name);
	return strncmp(word, name, n) == 0 && !isalnum((unsigned char)word[n]);
}

static size_t next_line(const struct source_file *f, size_t at)
{
	const char *end = memchr(f->text + at, '\n', f->size - at);
	/* A directive may go on in the next line. */
	while (end && end > f->text && (end[-1] == '\\' || (end[-1] == '\r' && end[-2] == '\\')))
		end = memchr(end + 1, '\n', f->size - (size_t)(end + 1 - f->text));
	return end ? (size_t)(end - f->text) + 1 : f->size;
}

/* #ifndef X, #define X: all of a header is inside. */
static bool is_guard(const struct source_file *f, size_t at)
{
	const char *word = directive(f, at), *next;
	size_t line = source_skip_blank(f->text, next_line(f, at), f->size);
	if (!word || !is(word, "ifndef") || line >= f->size || !(next = directive(f, line)) ||
	    !is(next, "define"))
		return false;
	word += 6 + strspn(word + 6, " \t");
	next += 6 + strspn(next + 6, " \t");
	return strncmp(word, next, strcspn(word, " \t\r\n")) == 0;
}

/* Behind the last #include before the first declaration; else before that one. */
static size_t top_of(const struct source_file *f)
{
	size_t at = source_skip_blank(f->text, 0, f->size), top = SIZE_MAX, first = at;
	int depth = 0, base = 0;
	bool included = false;
	for (; at < f->size; at = source_skip_blank(f->text, at, f->size)) {
		const char *word = directive(f, at);
		if (!word)
			break;
		size_t line = at;
		at = next_line(f, at);
		if (is(word, "include"))
			included = true;
		if (is(word, "if") || is(word, "ifdef") || is(word, "ifndef")) {
			if (depth == 0 && top == SIZE_MAX && is_guard(f, line)) {
				base = 1;
				first = next_line(f, source_skip_blank(f->text, at, f->size));
			}
			depth++;
		} else if (is(word, "endif")) {
			depth--;
		}
		if (included && depth == base)
			top = at;
	}
	return top == SIZE_MAX ? first : top;
}

int source_insert_top(struct source *s, const struct source_file *f, const char *code,
		      struct source_edits *e, struct err *err)
{
	size_t at = top_of(f);
	struct buf b = { 0 };
	const char *eol = f->crlf ? "\r\n" : "\n";
	bool joined = at > 0 && f->text[at - 1] != '\n'; /* the file has no last newline */
	buf_printf(&b, "%s%s", joined ? eol : "", at ? eol : "");
	for (const char *p = code; *p;) {
		size_t n = strcspn(p, "\n");
		buf_add(&b, p, n);
		buf_puts(&b, eol);
		p += n + (p[n] == '\n');
	}
	if (at < f->size && f->text[at] != '\n' && f->text[at] != '\r')
		buf_puts(&b, eol);
	buf_add(&b, "", 1);
	int rc = source_replace(s, f, at, 0, b.p, e, err);
	buf_free(&b);
	return rc;
}
