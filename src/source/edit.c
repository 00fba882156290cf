/* SPDX-License-Identifier: BSD-3-Clause */
/* Edits: their order, whether they overlap, and the file that they make. */
#include <stdlib.h>
#include <string.h>

#include "source/edits.h"

static int by_place(const void *a, const void *b)
{
	const struct source_edit *x = a, *y = b;
	int c = strcmp(x->file->path, y->file->path);
	if (c)
		return c;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return 0;
}

static bool same(const struct source_edit *a, const struct source_edit *b)
{
	return by_place(a, b) == 0 && a->remove == b->remove && strcmp(a->text, b->text) == 0;
}

/* Stable, as qsort is not: what was inserted first at a place stands first. */
static void sort(struct source_edit *p, size_t n)
{
	if (n < 2)
		return;
	size_t half = n / 2, i = 0, j = half, k = 0;
	sort(p, half);
	sort(p + half, n - half);
	struct source_edit *out = xmalloc(n * sizeof *out);
	while (i < half || j < n)
		out[k++] = j == n || (i < half && by_place(&p[i], &p[j]) <= 0) ? p[i++] : p[j++];
	memcpy(p, out, n * sizeof *out);
	free(out);
}

int source_edits_check(struct source_edits *e, struct err *err)
{
	size_t n = 0;
	sort(e->edit.p, e->edit.n);
	for (size_t i = 0; i < e->edit.n; i++) {
		bool known = false;
		for (size_t j = n;
		     j > 0 && !known && by_place(&e->edit.p[j - 1], &e->edit.p[i]) == 0; j--)
			known = same(&e->edit.p[j - 1], &e->edit.p[i]);
		if (!known)
			e->edit.p[n++] = e->edit.p[i];
	}
	e->edit.n = n;
	for (size_t i = 1; i < n; i++) {
		const struct source_edit *a = &e->edit.p[i - 1], *b = &e->edit.p[i];
		if (a->file == b->file && a->remove && a->at + a->remove > b->at)
			return err_set(err, EXIT_PROGRAM, "two changes of %s overlap in line %u",
				       a->file->name, source_place_of(a->file, b->at).line);
	}
	return 0;
}

void source_edits_text(const struct source_edits *e, const struct source_file *f, size_t from,
		       size_t to, struct buf *out)
{
	size_t at = from;
	for (size_t i = 0; i < e->edit.n; i++) {
		const struct source_edit *d = &e->edit.p[i];
		if (d->file != f || d->at < from || d->at > to)
			continue;
		if (d->at > at)
			buf_add(out, f->text + at, d->at - at);
		buf_puts(out, d->text);
		at = d->at > at ? d->at : at;
		at = d->at + d->remove > at ? d->at + d->remove : at;
	}
	if (at < to)
		buf_add(out, f->text + at, to - at);
}

char *source_edits_apply(const struct source_edits *e, const struct source_file *f, size_t *size)
{
	struct buf b = { 0 };
	source_edits_text(e, f, 0, f->size, &b);
	*size = b.n;
	buf_add(&b, "", 1);
	return b.p;
}

/* The offset of a place in a text; SIZE_MAX: it is shorter. */
static size_t offset_in(const char *text, const struct source_place *p)
{
	const char *at = text;
	for (uint32_t line = 1; line < p->line; line++, at++)
		if (!(at = strchr(at, '\n')))
			return SIZE_MAX;
	size_t n = strcspn(at, "\n"), column = p->column ? p->column - 1 : 0;
	return column <= n ? (size_t)(at - text) + column : SIZE_MAX;
}

int source_edits_origin(const struct source_edits *e, const struct source_file *f,
			const struct source_place *edited, struct source_place *out)
{
	size_t size, at = 0,
		     made = 0; /* as far as they are gone through: the file, and the edited one */
	char *text = source_edits_apply(e, f, &size);
	size_t want = offset_in(text, edited);
	bool inserted = false;
	free(text);
	if (want == SIZE_MAX)
		return -1;
	for (size_t i = 0; i < e->edit.n && !inserted; i++) {
		const struct source_edit *d = &e->edit.p[i];
		if (d->file != f)
			continue;
		if (want < made + (d->at - at))
			break;
		made += d->at - at;
		inserted = want < made + strlen(d->text);
		made += strlen(d->text);
		at = d->at + (inserted ? 0 : d->remove);
	}
	*out = source_place_of(f, inserted ? at : at + (want - made));
	out->column = inserted || !edited->column ? 0 : out->column;
	return 0;
}

void source_edits_free(struct source_edits *e)
{
	VEC_FREE(&e->edit);
}
