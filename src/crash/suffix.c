/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations that follow a crash: lines of the file that the program was given, for {ops}.
 *
 *	header      line 1    line 2    line 3    line 4    line 5        operation k is line k
 *	══════      ───────── ──●────── ═════════════════════════════
 *	                        crash   {ops}: the header, and what follows the operation in flight
 *
 * Bytes are passed on as they are: the program knows how its file is to be read. Which lines are operations
 * is decided by counting: the first of a few ways that gives as many as the run has. If none does, what is run
 * may be an operation too early or too late, which is the same for all images that are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

struct crash_suffix {
	struct buf text;
	size_t header;    /* its bytes */
	VEC(size_t) line; /* where each operation begins */
	uint64_t most;    /* operations in {ops} */
	uint64_t hash;
	VEC(size_t) before; /* lines that are run first, and then forgotten */
};

#define AGAIN 0x616761696eu /* in keys: not the first run on its image */

static bool is_blank(const char *line, size_t n)
{
	return strspn(line, " \t\r\n") >= n;
}

static bool no_blank(const char *line, size_t n)
{
	return !is_blank(line, n);
}

static bool no_comment(const char *line, size_t n)
{
	return *line != '#' && !is_blank(line, n);
}

static bool any(const char *line, size_t n)
{
	(void)line;
	return n > 0;
}

/* Which lines are operations; the first is the default. */
static bool (*const ways[])(const char *line, size_t n) = { no_blank, no_comment, any };

/* The first byte behind the line. */
static size_t line_end(const struct buf *b, size_t at)
{
	const char *end = memchr(b->p + at, '\n', b->n - at);
	return end ? (size_t)(end - b->p) + 1 : b->n;
}

static void find_lines(struct crash_suffix *s, bool (*is)(const char *, size_t))
{
	s->line.n = 0;
	for (size_t at = s->header, end; at < s->text.n; at = end) {
		end = line_end(&s->text, at);
		if (is(s->text.p + at, end - at))
			VEC_PUSH(&s->line, at);
	}
}

static int read_text(const char *path, struct buf *out, struct err *err)
{
	char part[65536];
	FILE *f = fopen(path, "re");
	if (!f)
		return err_errno(err, EXIT_USAGE, "--ops-file: cannot open %s", path);
	for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
		buf_add(out, part, n);
	int bad = ferror(f) ? err_errno(err, EXIT_USAGE, "--ops-file: cannot read %s", path) : 0;
	fclose(f);
	if (!bad && memchr(out->n ? out->p : "", '\0', out->n))
		bad = err_set(err, EXIT_USAGE,
			      "--ops-file: %s is not a text file: it has zero bytes", path);
	buf_add(out, "", 1); /* for strspn */
	out->n--;
	return bad;
}

struct crash_suffix *crash_suffix_new(const struct crash_opts *o, size_t operations,
				      struct err *err)
{
	struct crash_suffix *s = xcalloc(1, sizeof *s);
	s->most = o->suffix;
	if (read_text(o->ops_file, &s->text, err))
		return crash_suffix_free(s), NULL;
	s->hash = hash_bytes(s->text.p, s->text.n);
	for (uint64_t i = 0; i < o->ops_skip; i++)
		s->header = line_end(&s->text, s->header);
	find_lines(s, ways[0]);
	for (size_t i = 1; i < sizeof ways / sizeof *ways && s->line.n != operations; i++)
		find_lines(s, ways[i]);
	if (s->line.n != operations)
		find_lines(s, ways[0]);
	if (!s->line.n) {
		err_set(err, EXIT_USAGE, "--ops-file: there is no operation in %s%s", o->ops_file,
			o->ops_skip ? " behind the lines that --ops-skip leaves out" : "");
		return crash_suffix_free(s), NULL;
	}
	if (s->line.n != operations)
		msg_warn("%s has %zu lines, but the run has %zu operations: which line is which "
			 "operation is not sure; --ops-skip N leaves out a header",
			 o->ops_file, s->line.n, operations);
	return s;
}

void crash_suffix_free(struct crash_suffix *s)
{
	if (!s)
		return;
	VEC_FREE(&s->line);
	VEC_FREE(&s->before);
	buf_free(&s->text);
	free(s);
}

char *crash_suffix_line(const struct crash_suffix *s, size_t i)
{
	if (!s || i >= s->line.n)
		return NULL;
	size_t at = s->line.p[i], end = line_end(&s->text, at);
	while (end > at && strchr("\r\n", s->text.p[end - 1]))
		end--;
	return xasprintf("%.*s", (int)(end - at), s->text.p + at);
}

void crash_suffix_before(struct crash *c, const size_t *line, size_t n)
{
	c->suffix->before.n = 0;
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(&c->suffix->before, line[i]);
}

/* These lines, with the header; nothing for none, or the header alone for a run that is the second. */
static int put_before(struct crash *c, unsigned cell, struct err *err)
{
	const struct crash_suffix *s = c->suffix;
	struct buf b = { 0 };
	for (size_t i = 0; i < s->before.n; i++) {
		size_t k = s->before.p[i], at = k < s->line.n ? s->line.p[k] : s->text.n;
		if (!i)
			buf_add(&b, s->text.p, s->header);
		buf_add(&b, s->text.p + at, line_end(&s->text, at) - at);
		if (b.n && b.p[b.n - 1] != '\n')
			buf_puts(&b, "\n");
	}
	if (c->again && !b.n)
		buf_add(&b, s->text.p, s->header);
	int bad = runner_before(c->runner, cell, b.p, b.n, err);
	buf_free(&b);
	return bad;
}

int crash_suffix_put(struct crash *c, unsigned cell, size_t from, struct err *err)
{
	const struct crash_suffix *s = c->suffix;
	struct buf b = { 0 };
	if (!s)
		return 0;
	size_t n = s->line.n, first = from < n ? s->line.p[from] : s->text.n;
	bool all = from >= n || s->most >= n - from;
	size_t end = all ? s->text.n : s->line.p[from + s->most];
	buf_add(&b, s->text.p, s->header);
	buf_add(&b, s->text.p + first, end - first);
	int bad = runner_ops(c->runner, cell, b.p, b.n, err) || put_before(c, cell, err);
	buf_free(&b);
	return bad ? -1 : 0;
}

uint64_t crash_suffix_key(const struct crash *c, uint64_t hash, size_t from)
{
	const struct crash_suffix *s = c->suffix;
	hash = c->again ? hash_mix(hash, AGAIN) : hash;
	if (!s)
		return hash;
	hash = hash_mix(hash_mix(hash, s->hash), from + 1);
	for (size_t i = 0; i < s->before.n; i++)
		hash = hash_mix(hash, s->before.p[i] + 1);
	return hash;
}
