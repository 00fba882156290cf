/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A unified diff from edits. What changed is known, so nothing is searched for: each edit touches some lines; those of
 * touching edits are a change; what is the same at its beginning and end is taken off; and changes that are near
 * each other share a hunk.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "source/edits.h"

#define CONTEXT 3

/* Lines [from, to) of the old text become these bytes. */
struct change {
	size_t from, to; /* numbers of lines, from 0 */
	struct buf text;
};
typedef VEC(struct change) changes;

struct lines {
	const struct source_file *file;
	VEC(size_t) at; /* where lines begin, and the end */
};

static size_t line_of(const struct lines *l, size_t offset)
{
	size_t n = BISECT(i, l->at.n, l->at.p[i] <= offset);
	return n ? n - 1 : 0;
}

static void split(const struct source_file *f, struct lines *l)
{
	*l = (struct lines){ .file = f };
	for (size_t at = 0; at < f->size;) {
		VEC_PUSH(&l->at, at);
		const char *end = memchr(f->text + at, '\n', f->size - at);
		at = end ? (size_t)(end - f->text) + 1 : f->size;
	}
	VEC_PUSH(&l->at, f->size);
}

/* Takes off the lines at its beginning and end that stay as they are. */
static void trim(const struct lines *l, struct change *c)
{
	size_t n;
	while (c->from < c->to) {
		n = l->at.p[c->from + 1] - l->at.p[c->from];
		if (c->text.n < n || memcmp(c->text.p, l->file->text + l->at.p[c->from], n) != 0 ||
		    l->file->text[l->at.p[c->from] + n - 1] != '\n')
			break;
		memmove(c->text.p, c->text.p + n, c->text.n - n);
		c->text.n -= n;
		c->from++;
	}
	while (c->from < c->to) {
		n = l->at.p[c->to] - l->at.p[c->to - 1];
		const char *tail = c->text.p + c->text.n - n;
		if (c->text.n < n || memcmp(tail, l->file->text + l->at.p[c->to - 1], n) != 0 ||
		    (c->text.n > n && tail[-1] != '\n'))
			break;
		c->text.n -= n;
		c->to--;
	}
}

/* Where the line is in the text; NULL: nowhere. */
static const char *find_line(const char *line, size_t n, const char *text, const char *end)
{
	for (const char *p = text; n && (size_t)(end - p) >= n; p++) {
		if (!memcmp(p, line, n) && line[n - 1] == '\n')
			return p;
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			break;
	}
	return NULL;
}

/* A change becomes several where lines between them stay as they are. */
static void part(const struct lines *l, const struct change *c, changes *out)
{
	const char *text = c->text.p, *end = text + c->text.n;
	size_t from = c->from;
	for (size_t i = c->from; i < c->to; i++) {
		size_t n = l->at.p[i + 1] - l->at.p[i];
		const char *same = find_line(l->file->text + l->at.p[i], n, text, end);
		if (!same)
			continue;
		struct change before = { .from = from, .to = i };
		buf_add(&before.text, text, (size_t)(same - text));
		VEC_PUSH(out, before);
		text = same + n;
		from = i + 1;
	}
	struct change rest = { .from = from, .to = c->to };
	buf_add(&rest.text, text, (size_t)(end - text));
	VEC_PUSH(out, rest);
}

/* Lines that edits touch. */
static void find_touched(const struct source_edits *e, const struct lines *l, changes *out)
{
	size_t last = l->at.n - 1; /* how many lines there are */
	for (size_t i = 0; i < e->edit.n; i++) {
		const struct source_edit *d = &e->edit.p[i];
		if (d->file != l->file)
			continue;
		size_t from = line_of(l, d->at), to = line_of(l, d->at + d->remove) + 1;
		to = to > last ? last : to;
		from = from > to ? to : from;
		if (from == last && last && l->file->text[l->file->size - 1] != '\n')
			from--; /* behind a last line that has no end, which gets longer */
		if (out->n && from < out->p[out->n - 1].to) {
			struct change *c = &out->p[out->n - 1];
			c->to = to > c->to ? to : c->to;
		} else {
			VEC_PUSH(out, ((struct change){ .from = from, .to = to }));
		}
	}
}

static void find_changes(const struct source_edits *e, const struct lines *l, changes *out)
{
	changes touched = { 0 };
	find_touched(e, l, &touched);
	for (size_t i = 0; i < touched.n; i++) {
		struct change *c = &touched.p[i];
		size_t end = l->at.p[c->to];
		/* An insertion at the very end of a change belongs to the next line, unless it is the file's end. */
		struct source_edits own = { 0 };
		for (size_t k = 0; k < e->edit.n; k++) {
			const struct source_edit *d = &e->edit.p[k];
			if (d->file == l->file && d->at >= l->at.p[c->from] &&
			    (d->at < end || end == l->file->size))
				VEC_PUSH(&own.edit, *d);
		}
		source_edits_text(&own, l->file, l->at.p[c->from], end, &c->text);
		source_edits_free(&own);
		trim(l, c);
		part(l, c, out);
		buf_free(&c->text);
	}
	VEC_FREE(&touched);
}

/* A name as git and patch read it: quoted if it has odd characters, ended by a tab if it has a blank. */
static void put_name(struct buf *b, const char *mark, const char *side, const char *name)
{
	bool odd = strpbrk(name, "\"\\\n\r\t") != NULL;
	buf_printf(b, "%s %s%s/", mark, odd ? "\"" : "", side);
	for (const char *p = name; *p; p++)
		if (odd && strchr("\"\\", *p))
			buf_printf(b, "\\%c", *p);
		else if (odd && !isprint((unsigned char)*p))
			buf_printf(b, "\\%03o", (unsigned char)*p);
		else
			buf_add(b, p, 1);
	buf_puts(b, odd ? "\"\n" : strchr(name, ' ') ? "\t\n" : "\n");
}

static size_t count_lines(const struct buf *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		n += b->p[i] == '\n';
	return n + (b->n && b->p[b->n - 1] != '\n');
}

static void put_lines(struct buf *out, char mark, const char *text, size_t n)
{
	for (size_t at = 0; at < n;) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t len = end ? (size_t)(end - text) + 1 - at : n - at;
		buf_add(out, &mark, 1);
		buf_add(out, text + at, len);
		at += len;
		if (!end)
			buf_puts(out, "\n\\ No newline at end of file\n");
	}
}

static void put_old(struct buf *out, const struct lines *l, char mark, size_t from, size_t to)
{
	put_lines(out, mark, l->file->text + l->at.p[from], l->at.p[to] - l->at.p[from]);
}

static void put_range(struct buf *out, char mark, size_t from, size_t n)
{
	buf_printf(out, "%c%zu", mark, n ? from + 1 : from);
	if (n != 1)
		buf_printf(out, ",%zu", n);
}

/* Changes [a, b) in one hunk; *shift is by how many lines the new text is longer so far. */
static void put_hunk(struct buf *out, const struct lines *l, const struct change *a,
		     const struct change *b, long *shift)
{
	size_t last = l->at.n - 1, from = a->from > CONTEXT ? a->from - CONTEXT : 0;
	size_t to = b[-1].to + CONTEXT > last ? last : b[-1].to + CONTEXT;
	long more = 0;
	for (const struct change *c = a; c < b; c++)
		more += (long)count_lines(&c->text) - (long)(c->to - c->from);
	buf_puts(out, "@@ ");
	put_range(out, '-', from, to - from);
	buf_puts(out, " ");
	put_range(out, '+', (size_t)((long)from + *shift), (size_t)((long)(to - from) + more));
	buf_puts(out, " @@\n");
	for (const struct change *c = a; c < b; c++) {
		put_old(out, l, ' ', from, c->from);
		put_old(out, l, '-', c->from, c->to);
		put_lines(out, '+', c->text.p, c->text.n);
		from = c->to;
	}
	put_old(out, l, ' ', from, to);
	*shift += more;
}

static void diff_file(const struct source_edits *e, const struct source_file *f, struct buf *out)
{
	struct lines l;
	changes c = { 0 };
	long shift = 0;
	size_t n = 0;
	split(f, &l);
	find_changes(e, &l, &c);
	for (size_t i = 0; i < c.n; i++) /* without what changes nothing */
		if (c.p[i].from < c.p[i].to || c.p[i].text.n)
			c.p[n++] = c.p[i];
		else
			buf_free(&c.p[i].text);
	if (n) {
		put_name(out, "---", "a", f->name);
		put_name(out, "+++", "b", f->name);
	}
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && c.p[j].from - c.p[j - 1].to <= 2 * CONTEXT; j++)
			;
		put_hunk(out, &l, c.p + i, c.p + j, &shift);
	}
	for (size_t i = 0; i < n; i++)
		buf_free(&c.p[i].text);
	VEC_FREE(&c);
	VEC_FREE(&l.at);
}

void source_edits_diff(const struct source_edits *e, struct buf *out)
{
	for (size_t i = 0; i < e->edit.n; i++)
		if (i == 0 || e->edit.p[i].file != e->edit.p[i - 1].file)
			diff_file(e, e->edit.p[i].file, out);
}
