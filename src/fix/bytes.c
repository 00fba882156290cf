/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function takes where to, what from and how much: how much in bytes, or in elements? Debug information does not say, and a flush of as many
 * bytes as there are words would be too short. So the range of a call is only used where a row of the table says that it counts bytes, and the
 * report names the row's evidence. Where none does, the flush is at the store, or in a copy of the function. What the rows say is still tried by the
 * proof: with a flush that is too short the finding remains.
 */
#include <ctype.h>
#include <string.h>

#include "fix/internal.h"

/* One call of a function that copies, and the function. */
struct counted {
	struct fix *x;
	const struct fix_bug *w;
	size_t site; /* of the call */
	const struct source_call *call;
	bool seen; /* the function has a source: */
	struct source_function fn;
	const char *number; /* what it calls the number */
};

/* The word stands there, and one of these signs follows. */
static bool is_followed(const struct source_function *fn, const char *word, const char *const *sign)
{
	const char *end = fn->file->text + fn->body.to;
	size_t n = strlen(word);
	for (const char *p = fn->file->text + fn->body.from; n && p + n < end; p++) {
		if (strncmp(p, word, n) != 0 || isalnum((unsigned char)p[-1]) || p[-1] == '_' ||
		    isalnum((unsigned char)p[n]) || p[n] == '_')
			continue;
		const char *next = p + n + strspn(p + n, " \t");
		for (size_t i = 0; sign[i]; i++)
			if (!strncmp(next, sign[i], strlen(sign[i])))
				return true;
	}
	return false;
}

static bool has(const struct counted *c, const char *sign)
{
	return memmem(c->fn.file->text + c->fn.body.from, c->fn.body.to - c->fn.body.from, sign,
		      strlen(sign)) != NULL;
}

static bool is_kept(const struct counted *c)
{
	return *c->number && !fix_is_changed(c->fn.file->text + c->fn.body.from,
					     c->fn.file->text + c->fn.body.to, c->number);
}

/* To one of the functions that the table of writers has, or to another one that counts bytes. */
static bool passed_on(const struct counted *c)
{
	const struct source_store *s = &c->w->store;
	if (!c->seen || !is_kept(c))
		return false;
	if (c->site > 1) {
		const struct source_call *inner = &c->w->call[c->site - 1];
		return inner->arguments == 3 && !strcmp(inner->argument[2].text, c->number) &&
		       fix_counts_bytes(c->x, c->w, c->site - 1);
	}
	return c->w->stores != SIZE_MAX && s->size && !strcmp(s->size, c->number) &&
	       (s->form == SOURCE_COPY || s->form == SOURCE_STREAM);
}

static bool byte_by_byte(const struct counted *c)
{
	static const char *const larger[] = { "*", "<<", NULL };
	const struct source_store *s = &c->w->store;
	return c->seen && c->site == 1 && c->w->stores != SIZE_MAX && s->bytes == 1 &&
	       s->form != SOURCE_COPY && s->form != SOURCE_STREAM &&
	       !is_followed(&c->fn, c->number, larger);
}

static bool is_size(const struct counted *c)
{
	const char *text = c->call->argument[2].text;
	return !strncmp(text, "sizeof", 6) && !strchr(text, '/') && !strstr(text, ">>") &&
	       strspn(text + 6, " (");
}

static bool is_cut(const struct counted *c)
{
	static const char *const signs[] = { "-=", "/", ">>", "&", "%", NULL };
	static const char *const last[] = { ";", NULL }; /* of for (i = 0; i < n; i += 8) */
	return c->seen && c->site == 1 && c->call->argument[0].to_bytes &&
	       (is_followed(&c->fn, c->number, signs) ||
		(is_followed(&c->fn, c->number, last) && has(c, "+=")));
}

static bool is_unseen(const struct counted *c)
{
	return !c->seen && c->call->argument[0].to_bytes;
}

static const struct {
	bool (*holds)(const struct counted *);
	const char *evidence;
} rows[] = {
	{ passed_on, "the function passes it on, as it is, to one that takes bytes" },
	{ byte_by_byte, "the function stores single bytes" },
	{ is_size, "the call passes a sizeof" },
	{ is_cut, "the function cuts it into larger pieces, and takes a pointer to bytes" },
	{ is_unseen, "the function, whose source is not there, takes a pointer to bytes" },
};

const char *fix_counts_bytes(struct fix *x, const struct fix_bug *w, size_t site)
{
	const struct srcloc_frame *f = w->frame[site - 1];
	struct source_place at = { f->file, f->line, f->column };
	struct counted c = { .x = x, .w = w, .site = site, .call = &w->call[site], .number = "" };
	struct err none;
	c.seen = at.file && !source_function_at(x->source, &at, NULL, &c.fn, &none) &&
		 c.fn.parameters == 3;
	if (c.seen)
		c.number = c.fn.parameter[2].name;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].holds(&c))
			return rows[i].evidence;
	return NULL;
}
