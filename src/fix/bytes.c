/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function takes where to, what from and how much: how much in bytes, or in elements? Debug information does not say, and a flush of as many
 * bytes as there are words would be too short. So the range of a call is only used where a row of the table says that it counts bytes, and the
 * report names the row's evidence. Where none does, the flush is at the store, or in a copy of the function. What the rows say is still tried by the
 * proof: with a flush that is too short the finding remains.
 */
#include <ctype.h>
#include <stdlib.h>
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

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Behind the next place of the number in the function; NULL: no more. */
static const char *next_number(const struct counted *c, const char *after)
{
	const char *begin = c->fn.file->text + c->fn.body.from;
	const char *end = c->fn.file->text + c->fn.body.to;
	size_t n = strlen(c->number);
	for (const char *p = after ? after : begin; n && p + n < end; p++)
		if (!strncmp(p, c->number, n) && !in_word(p[-1]) && !in_word(p[n]))
			return p + n;
	return NULL;
}

static const char *skip(const char *p)
{
	return p + strspn(p, " \t");
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

/* The text has the number of an expression that counts something else: of several bytes each. */
static bool is_multiplied(const struct counted *c, const char *behind)
{
	const char *before = behind - strlen(c->number) - 1;
	while (before > c->fn.file->text && strchr(" \t(", *before))
		before--;
	return *before == '*' || *skip(behind) == '*' || !strncmp(skip(behind), "<<", 2);
}

static bool byte_by_byte(const struct counted *c)
{
	const struct source_store *s = &c->w->store;
	bool plain = c->seen && c->site == 1 && c->w->stores != SIZE_MAX && s->bytes == 1 &&
		     s->form != SOURCE_COPY && s->form != SOURCE_STREAM;
	for (const char *p = NULL; plain && (p = next_number(c, p));)
		plain = !is_multiplied(c, p);
	return plain;
}

static bool is_size(const struct counted *c)
{
	const char *text = c->call->argument[2].text;
	return !strncmp(text, "sizeof", 6) && !strchr(text, '/') && !strstr(text, ">>") &&
	       strspn(text + 6, " (");
}

/* A constant of so many bytes, or the size of a type. */
static bool says(const char *text, uint64_t bytes)
{
	char *end;
	text = skip(text);
	return !strncmp(text, "sizeof", 6) ||
	       (strtoull(text, &end, 0) == bytes && end > text && !in_word(*end));
}

/* for (i = 0; i < number; i += bytes) */
static bool is_stepped(const char *behind, uint64_t bytes)
{
	const char *step = *skip(behind) == ';' ? skip(behind) + 1 : "";
	step += strcspn(step, "+;{");
	return !strncmp(step, "+=", 2) && says(step + 2, bytes);
}

/* A larger piece: what one of its stores writes. Any other number could be one of words that are stored in groups. */
static bool is_piece(const char *behind, uint64_t bytes)
{
	const char *p = skip(behind);
	return ((!strncmp(p, "-=", 2) && says(p + 2, bytes)) ||
		(*p && strchr("/%", *p) && says(p + 1, bytes)) ||
		(*p == '&' && p[1] != '&' && says(p + 1, bytes - 1)) ||
		(!strncmp(p, ">>", 2) && says(p + 2, (uint64_t)__builtin_ctzll(bytes)))) ||
	       is_stepped(behind, bytes);
}

static bool is_cut(const struct counted *c)
{
	uint64_t bytes = c->w->store.bytes;
	bool found = false;
	if (!c->seen || c->site != 1 || c->w->stores == SIZE_MAX || bytes < 2 ||
	    !c->call->argument[0].to_bytes)
		return false;
	for (const char *p = NULL; !found && (p = next_number(c, p));)
		found = is_piece(p, bytes);
	return found;
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
	{ is_cut,
	  "the function takes a pointer to bytes, and cuts it into pieces of as many as it stores at once" },
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
