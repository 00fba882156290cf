/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The type of a C expression, and where in which struct it lies, as far as that is simple:
 * names, members, subscripts, * and &, casts, sums, calls of functions that DWARF knows.
 *
 *	sum:      unary { ("+" | "-") unary }
 *	unary:    ("*" | "&" | "++" | "--" | "(" type ")") unary | postfix
 *	postfix:  primary { "." name | "->" name | "[" … "]" | "++" | "--" }
 *	primary:  name | name "(" … ")" | literal | "(" sum ")"
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "srcloc/internal.h"

struct parser {
	const struct scope *scope;
	const struct token *t;
	size_t at, end;
	int depth;
};

#define MAX_DEPTH 64

bool srcloc_token_is(const struct token *t, const char *sign)
{
	return t->kind != TOKEN_END && strlen(sign) == t->text.n &&
	       !memcmp(t->text.p, sign, t->text.n);
}

static bool next_is(const struct parser *p, const char *sign)
{
	return p->at < p->end && srcloc_token_is(&p->t[p->at], sign);
}

static bool accept(struct parser *p, const char *sign)
{
	bool is = next_is(p, sign);
	p->at += is;
	return is;
}

/* From an opening sign to behind the one that closes it. */
static bool skip_group(struct parser *p)
{
	int open = 0;
	for (; p->at < p->end; p->at++) {
		if (next_is(p, "(") || next_is(p, "[") || next_is(p, "{"))
			open++;
		if ((next_is(p, ")") || next_is(p, "]") || next_is(p, "}")) && --open == 0) {
			p->at++;
			return true;
		}
	}
	return false;
}

/* ---- steps from one value to the next ---- */

static void begin_at(struct value *v, Dwarf_Die type)
{
	Dwarf_Die peeled = srcloc_die_peel(type);
	v->type = type;
	v->base = !v->stars && srcloc_die_is_struct(&peeled) ? type : (Dwarf_Die){ 0 };
	v->offset = v->elements = 0;
	v->path[0] = '\0';
}

static void add_path(struct value *v, const char *before, struct word name, const char *behind)
{
	size_t n = strlen(v->path);
	snprintf(v->path + n, sizeof v->path - n, "%s%.*s%s", before, (int)name.n, name.p, behind);
}

/*
 * An element of an array that is a value itself, not a pointer; of one with several dimensions,
 * a step towards it. index NULL: nobody knows which.
 */
static void element(struct value *v, Dwarf_Die *array, const struct word *index)
{
	uint64_t n[TYPE_DIMENSIONS], count = srcloc_die_count(array);
	unsigned dims = srcloc_die_dimensions(array, n);
	Dwarf_Die type, peeled;
	srcloc_die_of(array, &type);
	peeled = srcloc_die_peel(type);
	uint64_t stride = srcloc_die_size(&type);
	for (unsigned i = v->subscripts + 1; i < dims; i++)
		stride *= n[i];
	if (index)
		v->offset += strtoull(index->p, NULL, 0) * stride;
	else
		v->elements = count ? count : 1;
	add_path(v, "[", index ? *index : (struct word){ "", 0 }, "]");
	if (++v->subscripts < dims)
		return;
	v->subscripts = 0;
	v->type = type;
	if (v->elements && srcloc_die_is_struct(&peeled) && dwarf_diename(&type))
		begin_at(v, type);
}

static bool follow(struct value *v, const struct word *index)
{
	Dwarf_Die peeled = srcloc_die_peel(v->type), to;
	int tag = peeled.addr ? dwarf_tag(&peeled) : 0;
	if (v->address) { /* of what the value describes already */
		v->address = false;
		return true;
	}
	if (v->stars) {
		v->stars--;
		begin_at(v, v->type);
	} else if (tag == DW_TAG_array_type) {
		element(v, &peeled, index);
		return true;
	} else if (tag == DW_TAG_pointer_type) {
		srcloc_die_of(&peeled, &to);
		begin_at(v, to);
	} else {
		return false;
	}
	v->memory = true;
	return true;
}

bool srcloc_expr_pointee(struct value *v)
{
	Dwarf_Die peeled = srcloc_die_peel(v->type);

	/* an array is what it points to, as a whole */
	if (!v->address && !v->stars && peeled.addr && dwarf_tag(&peeled) == DW_TAG_array_type)
		return true;
	return follow(v, NULL);
}

static bool is_pointer(const struct value *v)
{
	Dwarf_Die peeled = srcloc_die_peel(v->type);
	int tag = peeled.addr ? dwarf_tag(&peeled) : 0;
	return v->address || v->stars || tag == DW_TAG_pointer_type || tag == DW_TAG_array_type;
}

static bool member(struct value *v, struct word name)
{
	Dwarf_Die peeled = srcloc_die_peel(v->type), type;
	if (v->stars || v->address || !srcloc_die_member(&peeled, name, &type, &v->offset))
		return false;
	v->type = type;
	add_path(v, v->path[0] ? "." : "", name, "");
	return true;
}

/* ---- primaries ---- */

static bool sum(struct parser *, struct value *);

static bool name_value(struct parser *p, struct word name, struct value *v)
{
	static const struct word this = { "this", 4 };
	Dwarf_Die type, peeled;
	if (srcloc_scope_variable(p->scope, name, &type)) {
		peeled = srcloc_die_peel(type);
		bool reference = peeled.addr && dwarf_tag(&peeled) == DW_TAG_reference_type;
		if (reference)
			srcloc_die_of(&peeled, &type);
		begin_at(v, type);
		v->memory = reference;
		return true;
	}
	if (!srcloc_scope_variable(p->scope, this, &type))
		return false;
	begin_at(v, type);
	return follow(v, NULL) && member(v, name);
}

/* PMDK's D_RW(oid): a pointer to what the typed object id says in its member _type. */
static bool typed_oid(struct parser *p, struct value *v)
{
	static const struct word type = { "_type", 5 };
	p->at++;
	if (!sum(p, v) || !accept(p, ")") || !member(v, type))
		return false;
	begin_at(v, v->type);
	v->memory = false;
	return true;
}

static bool call_value(struct parser *p, const struct token *name, struct value *v)
{
	Dwarf_Die type;
	if (srcloc_token_is(name, "D_RW") || srcloc_token_is(name, "D_RO"))
		return typed_oid(p, v);
	if (!skip_group(p) || !srcloc_scope_function(p->scope, name->text, &type))
		return false;
	begin_at(v, type);
	return true;
}

static bool primary(struct parser *p, struct value *v)
{
	if (p->at >= p->end)
		return false;
	const struct token *t = &p->t[p->at];
	if (t->kind == TOKEN_NAME) {
		p->at++;
		return next_is(p, "(") ? call_value(p, t, v) : name_value(p, t->text, v);
	}
	if (t->kind == TOKEN_LITERAL) {
		p->at++;
		return true;
	}
	return accept(p, "(") && sum(p, v) && accept(p, ")");
}

/* "[3]" or "[anything]" */
static bool subscript(struct parser *p, struct value *v)
{
	const struct token *first = &p->t[p->at + 1];
	bool literal = p->at + 2 < p->end && first->kind == TOKEN_LITERAL &&
		       first->text.p[0] >= '0' && first->text.p[0] <= '9' &&
		       srcloc_token_is(first + 1, "]");
	return skip_group(p) && follow(v, literal ? &first->text : NULL);
}

static bool postfix(struct parser *p, struct value *v)
{
	if (!primary(p, v))
		return false;
	while (p->at < p->end) {
		bool arrow = next_is(p, "->");
		if (arrow || next_is(p, ".")) {
			if (p->at + 1 >= p->end || p->t[p->at + 1].kind != TOKEN_NAME ||
			    (arrow && !follow(v, NULL)) || !member(v, p->t[p->at + 1].text))
				return false;
			p->at += 2;
		} else if (next_is(p, "[")) {
			if (!subscript(p, v))
				return false;
		} else if (!accept(p, "++") && !accept(p, "--")) {
			break;
		}
	}
	return true;
}

/* ---- casts ---- */

static bool is_qualifier(const struct token *t)
{
	return srcloc_token_is(t, "const") || srcloc_token_is(t, "volatile") ||
	       srcloc_token_is(t, "_Atomic");
}

/* "(struct node *)", "(uint64_t **)": true, and at behind it. Types of several words but one: no. */
static bool cast(struct parser *p, Dwarf_Die *type, unsigned *stars)
{
	size_t begin = p->at;
	if (!accept(p, "("))
		return false;
	while (p->at < p->end && is_qualifier(&p->t[p->at]))
		p->at++;
	bool tagged = accept(p, "struct") || accept(p, "union") || accept(p, "enum");
	struct word name = p->at < p->end ? p->t[p->at].text : (struct word){ "", 0 };
	bool named = p->at < p->end && p->t[p->at].kind == TOKEN_NAME;
	while (p->at < p->end && p->t[p->at].kind == TOKEN_NAME) /* "long long" */
		p->at++;
	for (*stars = 0; accept(p, "*"); ++*stars)
		while (p->at < p->end && is_qualifier(&p->t[p->at]))
			p->at++;
	*type = (Dwarf_Die){ 0 };
	Dwarf_Die found;
	bool known = named && srcloc_scope_type(p->scope, name, tagged, &found);
	if (known)
		*type = found;
	if (!tagged && srcloc_scope_variable(p->scope, name, &found))
		named = false; /* C has struct log, and log */
	if (named && accept(p, ")") && (known || *stars) && p->at < p->end)
		return true;
	p->at = begin;
	return false;
}

static bool unary(struct parser *p, struct value *v)
{
	Dwarf_Die type, peeled;
	unsigned stars;
	if (++p->depth > MAX_DEPTH)
		return false;
	if (accept(p, "++") || accept(p, "--"))
		return unary(p, v);
	if (accept(p, "*"))
		return unary(p, v) && follow(v, NULL);
	if (accept(p, "&")) {
		bool ok = unary(p, v) && !v->address;
		v->address = true;
		return ok;
	}
	if (!cast(p, &type, &stars))
		return postfix(p, v);
	if (!unary(p, v))
		*v = (struct value){ 0 };
	peeled = srcloc_die_peel(type);
	if (v->address && !srcloc_die_is_struct(&peeled))
		return true; /* (void *)&p->x is about p->x all the same */
	v->address = false;
	v->stars = stars;
	begin_at(v, type);
	return type.addr != NULL;
}

/* A pointer, or an array, plus something: some element. */
static bool sum(struct parser *p, struct value *v)
{
	Dwarf_Die peeled;
	if (!unary(p, v))
		return false;
	while (accept(p, "+") || accept(p, "-")) {
		struct value other = { 0 };
		if (!unary(p, &other))
			return false;
		if (!is_pointer(v) && is_pointer(&other))
			*v = other;
		peeled = srcloc_die_peel(v->type);
		if (!v->address && !v->stars && peeled.addr &&
		    dwarf_tag(&peeled) == DW_TAG_array_type) {
			element(v, &peeled, NULL);
			v->address = true;
		}
	}
	return true;
}

bool srcloc_expr_value(const struct scope *scope, const struct token *t, size_t *at, size_t end,
		       struct value *v)
{
	struct parser p = { scope, t, *at, end, 0 };
	*v = (struct value){ 0 };
	bool ok = sum(&p, v);
	*at = p.at;
	return ok;
}
