/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of TOML that project.h names, read line by line; an array goes on until its bracket closes.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "project/project.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct parser {
	const char *path;
	const char *at; /* what is read next */
	unsigned line;
	struct project *out;
	struct err *err;
};

static int wrong(const struct parser *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int wrong(const struct parser *p, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(p->err, EXIT_USAGE, "%s:%u: %s", p->path, p->line, text);
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t\r");
	if (*p->at == '#')
		p->at += strcspn(p->at, "\n");
}

/* Nothing may follow on the line but a comment. */
static int end_of_line(struct parser *p)
{
	skip_blanks(p);
	size_t n = strcspn(p->at, "\r\n");
	if (n)
		return wrong(p, "'%.*s' was not expected here", n < 20 ? (int)n : 20, p->at);
	return 0;
}

/* Blanks, comments and line ends, inside an array. */
static void skip_lines(struct parser *p)
{
	for (skip_blanks(p); *p->at == '\n'; skip_blanks(p)) {
		p->at++;
		p->line++;
	}
}

/* ---- strings ---- */

static void add_utf8(struct buf *b, unsigned long c)
{
	char out[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xff) | c);
	buf_add(b, out, n);
}

/* \uXXXX or \UXXXXXXXX: `n` digits. */
static int unicode(struct parser *p, struct buf *b, size_t n)
{
	char digits[9] = "";
	memcpy(digits, p->at, strnlen(p->at, n));
	unsigned long c = strtoul(digits, NULL, 16);
	if (strspn(digits, "0123456789abcdefABCDEF") != n || !c || c > 0x10ffff ||
	    (c & ~0x7fful) == 0xd800)
		return wrong(p, "\\u needs 4 and \\U 8 hex digits of a character");
	p->at += n;
	add_utf8(b, c);
	return 0;
}

static int escape(struct parser *p, struct buf *b)
{
	static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
	char c = *p->at;
	const char *known = c ? strchr(from, c) : NULL;
	if (c)
		p->at++;
	if (known)
		return buf_add(b, &to[known - from], 1), 0;
	if (c == 'u' || c == 'U')
		return unicode(p, b, c == 'u' ? 4 : 8);
	return wrong(p,
		     "unknown escape in a string; a backslash is \\\\, or put the string in '…'");
}

/* NULL: it is wrong, and was said to be so. */
static char *string(struct parser *p)
{
	struct buf b = { 0 };
	char quote = *p->at++;
	int bad = 0;
	if (p->at[0] == quote && p->at[1] == quote)
		bad = wrong(p, "strings of several lines are not supported");
	while (!bad && *p->at != quote) {
		if (!*p->at || *p->at == '\n')
			bad = wrong(p, "a string does not end on its line");
		else if (*p->at == '\\' && quote == '"')
			p->at++, bad = escape(p, &b);
		else
			buf_add(&b, p->at++, 1);
	}
	if (bad)
		return buf_free(&b), NULL;
	p->at++;
	buf_add(&b, "", 1);
	return b.p;
}

/* ---- values ---- */

static int array(struct parser *p, struct project_value *v)
{
	v->type = PROJECT_ARRAY;
	for (p->at++;;) {
		skip_lines(p);
		if (*p->at == ']')
			break;
		if (!*p->at)
			return wrong(p, "an array does not end: ']' is missing");
		if (*p->at != '"' && *p->at != '\'')
			return wrong(p, "an array holds strings, in quotes");
		char *text = string(p);
		if (!text)
			return -1;
		VEC_PUSH(&v->text, text);
		skip_lines(p);
		if (*p->at == ',')
			p->at++;
		else if (*p->at && *p->at != ']')
			return wrong(p, "a comma is missing in an array");
	}
	p->at++;
	return 0;
}

static int word(struct parser *p, struct project_value *v)
{
	size_t n = strcspn(p->at, " \t\r\n#,]");
	char *text = xmalloc(n + 1);
	memcpy(text, p->at, n);
	text[n] = '\0';
	v->truth = !strcmp(text, "true");
	if (v->truth || !strcmp(text, "false"))
		v->type = PROJECT_BOOL;
	else if (n && strspn(text, "0123456789") == n && (n == 1 || *text != '0'))
		v->type = PROJECT_NUMBER;
	else {
		wrong(p,
		      n ? "'%s' is no value: a string stands in quotes; others are whole numbers, true and "
			  "false, and arrays of strings"
			: "a value is missing%s",
		      text);
		free(text);
		return -1;
	}
	p->at += n;
	VEC_PUSH(&v->text, text);
	return 0;
}

static int value(struct parser *p, struct project_value *v)
{
	if (*p->at == '[')
		return array(p, v);
	if (*p->at == '{')
		return wrong(p,
			     "tables in a line ({…}) are not supported; use a header, [run.NAME]");
	if (*p->at != '"' && *p->at != '\'')
		return word(p, v);
	char *text = string(p);
	if (!text)
		return -1;
	v->type = PROJECT_STRING;
	VEC_PUSH(&v->text, text);
	return 0;
}

/* ---- lines ---- */

static bool is_bare(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* A key, bare or in quotes; NULL: it is wrong, and was said to be so. */
static char *name(struct parser *p)
{
	struct buf b = { 0 };
	skip_blanks(p);
	if (*p->at == '"' || *p->at == '\'')
		return string(p);
	while (is_bare(*p->at))
		buf_add(&b, p->at++, 1);
	if (!b.n) {
		size_t n = strcspn(p->at, " \t\r\n=.]");
		wrong(p,
		      n ? "'%.*s' is no name: one with other characters than A-Z, a-z, 0-9, _ and - stands in quotes"
			: "a name is missing%.*s",
		      (int)n, p->at);
		return NULL;
	}
	buf_add(&b, "", 1);
	return b.p;
}

static int header(struct parser *p)
{
	struct buf full = { 0 };
	struct project_table t = { .line = p->line };
	p->at++;
	if (*p->at == '[')
		return wrong(p, "arrays of tables ([[…]]) are not supported");
	for (bool more = true; more;) {
		char *part = name(p);
		if (!part)
			return buf_free(&full), -1;
		buf_printf(&full, "%s%s", full.n ? "." : "", part);
		free(part);
		skip_blanks(p);
		more = *p->at == '.';
		p->at += more;
	}
	t.name = full.p;
	int bad = *p->at == ']' ? 0 : wrong(p, "']' is missing after a table's name");
	const struct project_table *old = bad ? NULL : project_table(p->out, t.name);
	if (old)
		bad = wrong(p, "[%s] is there already, in line %u", t.name, old->line);
	if (bad)
		return free(t.name), -1;
	p->at++;
	VEC_PUSH(&p->out->table, t);
	return end_of_line(p);
}

static int assignment(struct parser *p)
{
	struct project_table *t = &p->out->table.p[p->out->table.n - 1];
	struct project_key k = { .line = p->line };
	if (!(k.name = name(p)))
		return -1;
	const struct project_key *old = project_key(t, k.name);
	unsigned before = old ? old->line : 0; /* the table may move now */
	VEC_PUSH(&t->key, k);
	struct project_key *key = &t->key.p[t->key.n - 1];
	skip_blanks(p);
	if (*p->at == '.')
		return wrong(p, "keys with dots are not supported; use a header, [run.NAME]");
	if (*p->at != '=')
		return wrong(p, "'=' is missing after '%s'", k.name);
	if (before)
		return wrong(p, "'%s' is there already, in line %u", k.name, before);
	p->at++;
	skip_blanks(p);
	return value(p, &key->value) ? -1 : end_of_line(p);
}

int project_parse(const char *path, const char *text, struct project *out, struct err *err)
{
	struct parser p = { path, text, 1, out, err };
	if (!strncmp(text, BYTE_ORDER_MARK, 3)) /* of editors on Windows */
		p.at += 3;
	int bad = 0;
	*out = (struct project){ .path = xstrdup(path) };
	VEC_PUSH(&out->table, ((struct project_table){ .name = xstrdup("") }));
	while (!bad && *p.at) {
		skip_blanks(&p);
		if (*p.at == '[')
			bad = header(&p);
		else if (*p.at && *p.at != '\n')
			bad = assignment(&p);
		if (!bad && *p.at == '\n') {
			p.at++;
			p.line++;
		}
	}
	if (bad)
		project_free(out);
	return bad;
}
