/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identity of a finding: what stays the same when other code is edited.
 *
 *   kind             "missing-flush"
 *   function         that of the main frame, without what the compiler or a template
 *                    adds to a name (f.part.0, f<int>). Callers do
 *                    not matter: all call paths are one finding. Nor does the file, so that it can be
 *                    renamed; where two files have such a function, set.c tells them apart.
 *   statement        the main frame's source line without comments and with white space made
 *                    one blank, and its number among equal lines of the same function
 *
 * For a crash, also (but not where it only proves a misuse, which stays what it was):
 *
 *   partners         the same of each store that survives and each that is lost, as a set: how
 *                    many lines or rounds of a loop it took does not matter
 *   cause            the text that the finding brings: how recovery fails
 *
 * Where there is no source, the module stands for the statement, and places in one function
 * are told apart by the order of their lines or addresses (set.c): code added elsewhere moves
 * them without changing that.
 *
 * Known limits: a statement that stands in two lines is known by the line that the debug
 * information names; renaming the function makes a new finding.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "finding/internal.h"

/* Skips "<…>" from p on; p itself if it is not closed. */
static const char *skip_template(const char *p)
{
	int depth = 0;
	for (const char *q = p; *q; q++) {
		if (*q == '<')
			depth++;
		else if (*q == '>' && q[-1] != '-' && --depth == 0)
			return q + 1;
	}
	return p;
}

static bool after_operator(const char *name, const char *p)
{
	while (p > name && (p[-1] == '<' || p[-1] == ' '))
		p--;
	return p - name >= 8 && !memcmp(p - 8, "operator", 8);
}

char *finding_function(const struct srcloc_frame *f)
{
	const char *name = f->function ? f->function : "?";
	struct buf out = { 0 };
	if (*name == '<') /* "<signal 11>" */
		return xstrdup(name);
	for (const char *p = name; *p;) {
		const char *next = *p == '<' && !after_operator(name, p) ? skip_template(p) : p;
		if (next != p) {
			p = next;
			continue;
		}
		if (!strncmp(p, " [clone ", 8) ||
		    (*p == '.' && p > name && p[1] != '.' && p[-1] != '.'))
			break;
		buf_add(&out, p++, 1);
	}
	buf_add(&out, "", 1);
	return out.p;
}

/*
 * A source line without comments, with runs of white space made one blank. White space that
 * only lays out (beside an operator or a bracket) is dropped: "a = b" and "a=b" are the same.
 */
static void normalise(const char *line, struct buf *out)
{
	char quote = 0;
	bool blank = false;
	if (!strncmp(line + strspn(line, " \t"), "*/", 2))
		line = strstr(line, "*/") + 2;
	for (const char *p = line; *p; p++) {
		if (!quote && p[0] == '/' && p[1] == '/')
			break;
		if (!quote && p[0] == '/' && p[1] == '*') {
			const char *end = strstr(p + 2, "*/");
			if (!end)
				break;
			p = end + 1;
			blank = true;
			continue;
		}
		if (!quote && isspace((unsigned char)*p)) {
			blank = true;
			continue;
		}
		char last = out->n ? out->p[out->n - 1] : ' ';
		bool words = (isalnum((unsigned char)last) || last == '_') &&
			     (isalnum((unsigned char)*p) || *p == '_');
		if (blank && words)
			buf_add(out, " ", 1);
		blank = false;
		buf_add(out, p, 1);
		if (quote && *p == '\\' && p[1])
			buf_add(out, ++p, 1);
		else if (quote ? *p == quote : *p == '"' || *p == '\'')
			quote = quote ? 0 : *p;
	}
}

/* How many equal lines stand above, back to the end of the function before: "}" in column 1. */
static unsigned ordinal(const char *file, uint32_t line, const struct buf *statement)
{
	struct buf other = { 0 };
	unsigned n = 0;
	while (--line > 0) {
		const char *text = finding_source_line(file, line);
		if (!text || *text == '}')
			break;
		other.n = 0;
		normalise(text, &other);
		n += other.n == statement->n && !memcmp(other.p, statement->p, other.n);
	}
	buf_free(&other);
	return n;
}

/* Function and statement; false if that cannot be read, and the module stands for it. */
static bool add_place(const struct finding_place *place, struct buf *out)
{
	const struct srcloc_frame *main_frame = finding_main_frame(place);
	struct buf statement = { 0 };
	const char *line = NULL;
	if (main_frame && main_frame->file)
		line = finding_source_line(main_frame->file, main_frame->line);
	if (main_frame) {
		char *name = finding_function(main_frame);
		buf_printf(out, "\n%s", name);
		free(name);
	}
	if (line)
		normalise(line, &statement);
	bool known = statement.n > 0;
	if (known) {
		buf_puts(out, "\n=");
		buf_add(out, statement.p, statement.n);
		buf_printf(out, "\n%u", ordinal(main_frame->file, main_frame->line, &statement));
	} else if (main_frame && main_frame->module) {
		buf_printf(out, "\n@%s", finding_basename(main_frame->module));
	}
	buf_free(&statement);
	return known;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The stores that survive and those that are lost, each statement once, in no order. */
static void add_partners(const struct finding *f, struct buf *out)
{
	VEC(uint64_t) hashes = { 0 };
	struct buf one = { 0 };
	for (size_t i = 0; i < f->related.n; i++) {
		const struct finding_related *r = &f->related.p[i];
		if (strcmp(r->role, "persisted") && strcmp(r->role, "lost"))
			continue;
		one.n = 0;
		buf_puts(&one, r->role);
		add_place(&r->place, &one);
		VEC_PUSH(&hashes, hash_bytes(one.p, one.n));
	}
	if (hashes.n)
		qsort(hashes.p, hashes.n, sizeof *hashes.p, by_value);
	for (size_t i = 0; i < hashes.n; i++)
		if (!i || hashes.p[i] != hashes.p[i - 1])
			buf_printf(out, "\n&%016llx", (unsigned long long)hashes.p[i]);
	VEC_FREE(&hashes);
	buf_free(&one);
}

uint64_t finding_shape(const struct finding *f, bool *by_position)
{
	struct buf what = { 0 };
	buf_puts(&what, f->kind->name);
	*by_position = !add_place(&f->place, &what);
	if (!f->place.n && f->message && !f->cause) /* about the run, not about a place */
		buf_printf(&what, "\n%s", f->message);
	if (f->crash && !f->verdict)
		add_partners(f, &what);
	if (f->cause)
		buf_printf(&what, "\n!%s", f->cause);
	uint64_t shape = hash_bytes(what.p, what.n);
	buf_free(&what);
	return shape;
}
