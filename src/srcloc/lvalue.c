/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a statement assigns to, from its text.
 *
 * Each operator that assigns has its lvalue before it (or, ++p->n, behind it): going backwards
 * from the operator, over members, subscripts and calls, gives its beginning. The first that
 * lies in memory behind a pointer is taken; loops assign to local variables on the way. Where
 * there is none, a function that is called does it, to where its first argument points, if
 * that names a member or the function's name is that of one that writes.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "srcloc/internal.h"

typedef VEC(struct token) token_vec;

struct text {
	const struct scope *scope;
	token_vec t;
};

/* ---- tokens ---- */

static size_t sign_length(const char *p)
{
	static const char *const signs[] = { "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=",
					     ">=",  "==",  "!=", "&&", "||", "+=", "-=", "*=",
					     "/=",  "%=",  "&=", "|=", "^=", "::" };
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (!strncmp(p, signs[i], strlen(signs[i])))
			return strlen(signs[i]);
	return 1;
}

static size_t quoted_length(const char *p)
{
	size_t n = 1;
	while (p[n] && p[n] != *p)
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return n + (p[n] != '\0');
}

static size_t comment_length(const char *p)
{
	const char *end;
	if (p[1] == '/')
		return strcspn(p, "\n");
	end = strstr(p + 2, "*/");
	return end ? (size_t)(end + 2 - p) : strlen(p);
}

static void cut(const char *p, token_vec *out)
{
	while (*p) {
		struct token t = { TOKEN_SIGN, { p, 1 } };
		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		if (*p == '/' && (p[1] == '/' || p[1] == '*')) {
			p += comment_length(p);
			continue;
		}
		if (*p == '"' || *p == '\'') {
			t.kind = TOKEN_LITERAL;
			t.text.n = quoted_length(p);
		} else if (isalnum((unsigned char)*p) || *p == '_') {
			t.kind = isdigit((unsigned char)*p) ? TOKEN_LITERAL : TOKEN_NAME;
			while (isalnum((unsigned char)p[t.text.n]) || p[t.text.n] == '_')
				t.text.n++;
		} else {
			t.text.n = sign_length(p);
		}
		p += t.text.n;
		VEC_PUSH(out, t);
	}
}

static bool is_one_of(const struct token *t, const char *const *words)
{
	for (; *words; words++)
		if (srcloc_token_is(t, *words))
			return true;
	return false;
}

static bool is_keyword(const struct token *t)
{
	static const char *const words[] = { "if",   "else", "while",  "for",    "do", "return",
					     "case", "goto", "switch", "sizeof", NULL };
	return is_one_of(t, words);
}

static bool is_assignment(const struct token *t)
{
	static const char *const signs[] = { "=",  "+=", "-=", "*=",  "/=",  "%=",
					     "&=", "|=", "^=", "<<=", ">>=", NULL };
	return t->kind == TOKEN_SIGN && is_one_of(t, signs);
}

static bool is_step(const struct token *t)
{
	return srcloc_token_is(t, "++") || srcloc_token_is(t, "--");
}

/* ---- backwards to the beginning of an lvalue ---- */

#define NOWHERE SIZE_MAX

/* The sign that the closing one at i belongs to. */
static size_t opening(const struct text *x, size_t i)
{
	int open = 0;
	for (;; i--) {
		const struct token *t = &x->t.p[i];
		if (srcloc_token_is(t, ")") || srcloc_token_is(t, "]"))
			open++;
		if ((srcloc_token_is(t, "(") || srcloc_token_is(t, "[")) && --open == 0)
			return i;
		if (!i)
			return NOWHERE;
	}
}

static bool is_name(const struct text *x, size_t i)
{
	return x->t.p[i].kind == TOKEN_NAME && !is_keyword(&x->t.p[i]);
}

/* Does something end here that could be multiplied or called, so that a * behind it is no unary? */
static bool is_operand(const struct text *x, size_t i)
{
	const struct token *t = &x->t.p[i];
	if (srcloc_token_is(t, ")")) {
		size_t open = opening(x, i);
		return open == NOWHERE || open == 0 || !is_keyword(&x->t.p[open - 1]);
	}
	return srcloc_token_is(t, "]") || t->kind == TOKEN_LITERAL || is_name(x, i);
}

/* Is the group that ends here a cast: names and stars, the last being a star? */
static bool is_cast(const struct text *x, size_t close, size_t open)
{
	if (close < open + 3 || !srcloc_token_is(&x->t.p[close - 1], "*"))
		return false;
	for (size_t i = open + 1; i < close; i++)
		if (!is_name(x, i) && !srcloc_token_is(&x->t.p[i], "*"))
			return false;
	return true;
}

/* The beginning of the postfix expression whose last token is at i. */
static size_t postfix_begin(const struct text *x, size_t i)
{
	for (;;) {
		const struct token *t = &x->t.p[i];
		size_t begin = i;
		if (srcloc_token_is(t, "]") || is_step(t)) {
			begin = srcloc_token_is(t, "]") ? opening(x, i) : i;
			if (begin == NOWHERE || !begin)
				return NOWHERE;
			i = begin - 1;
			continue;
		}
		if (srcloc_token_is(t, ")")) {
			begin = opening(x, i);
			if (begin == NOWHERE)
				return NOWHERE;
			if (begin && is_name(x, begin - 1))
				begin--;
		} else if (!is_name(x, i)) {
			return NOWHERE;
		}
		if (begin < 2 || (!srcloc_token_is(&x->t.p[begin - 1], ".") &&
				  !srcloc_token_is(&x->t.p[begin - 1], "->")))
			return begin;
		i = begin - 2;
	}
}

/* With the stars and casts in front of it. */
static size_t lvalue_begin(const struct text *x, size_t last)
{
	size_t begin = postfix_begin(x, last);
	while (begin != NOWHERE && begin > 0) {
		const struct token *t = &x->t.p[begin - 1];
		size_t open = srcloc_token_is(t, ")") ? opening(x, begin - 1) : NOWHERE;
		if (open != NOWHERE && is_cast(x, begin - 1, open))
			begin = open;
		else if (srcloc_token_is(t, "*") && (begin == 1 || !is_operand(x, begin - 2)))
			begin--;
		else
			break;
	}
	return begin;
}

/* ---- which it is ---- */

struct found {
	struct value v;
	size_t begin, end; /* tokens */
};

static bool take(const struct text *x, size_t begin, size_t end, struct found *f)
{
	size_t at = begin;
	if (begin == NOWHERE || !srcloc_expr_value(x->scope, x->t.p, &at, end, &f->v) ||
	    f->v.address || !f->v.memory)
		return false;
	f->begin = begin;
	f->end = at;
	return true;
}

static bool by_operator(const struct text *x, struct found *f)
{
	for (size_t i = 0; i < x->t.n; i++) {
		const struct token *t = &x->t.p[i];
		if (i && is_assignment(t)) {
			if (take(x, lvalue_begin(x, i - 1), i, f))
				return true;
		} else if (i && is_step(t) && is_operand(x, i - 1)) { /* *p++ changes p */
			if (take(x, postfix_begin(x, i - 1), i, f))
				return true;
		} else if (is_step(t) && i + 1 < x->t.n && take(x, i + 1, x->t.n, f)) {
			return true;
		}
	}
	return false;
}

/* The tokens of an argument: from `at` to the comma or the end of the call. */
static size_t argument_end(const struct text *x, size_t at)
{
	int open = 0;
	for (; at < x->t.n; at++) {
		const struct token *t = &x->t.p[at];
		if (open == 0 && (srcloc_token_is(t, ",") || srcloc_token_is(t, ")")))
			return at;
		open += srcloc_token_is(t, "(") || srcloc_token_is(t, "[") ||
			srcloc_token_is(t, "{");
		open -= srcloc_token_is(t, ")") || srcloc_token_is(t, "]") ||
			srcloc_token_is(t, "}");
	}
	return at;
}

/* PMDK: TX_SET(oid, member, value), TX_SET_DIRECT(pointer, member, value). */
static bool by_tx_set(const struct text *x, size_t at, bool direct, struct found *f)
{
	static const char d_rw[] = "D_RW", arrow[] = "->";
	size_t end = argument_end(x, at), end2 = end < x->t.n ? argument_end(x, end + 1) : end;
	struct text y = { x->scope, { 0 } };
	struct token open = { TOKEN_SIGN, { "(", 1 } }, close = { TOKEN_SIGN, { ")", 1 } };
	if (!direct)
		VEC_PUSH(&y.t, ((struct token){ TOKEN_NAME, { d_rw, 4 } }));
	VEC_PUSH(&y.t, open);
	for (size_t i = at; i < end; i++)
		VEC_PUSH(&y.t, x->t.p[i]);
	VEC_PUSH(&y.t, close);
	VEC_PUSH(&y.t, ((struct token){ TOKEN_SIGN, { arrow, 2 } }));
	for (size_t i = end + 1; i < end2; i++)
		VEC_PUSH(&y.t, x->t.p[i]);
	bool ok = take(&y, 0, y.t.n, f);
	f->begin = at;
	f->end = end2;
	VEC_FREE(&y.t);
	return ok;
}

static bool starts_with(const struct token *t, const char *s)
{
	return t->text.n >= strlen(s) && !strncmp(t->text.p, s, strlen(s));
}

/* Does the function's name say that it writes to where a pointer points? */
static bool is_writer(const struct token *t)
{
	static const char *const parts[] = { "mem",   "cpy", "copy", "set", "store",
					     "write", "str", "zero", "xchg" };
	char name[128];
	snprintf(name, sizeof name, "%.*s", (int)t->text.n, t->text.p);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strcasestr(name, parts[i]))
			return true;
	return false;
}

/* &a->b and a->array are what the call is about; a pointer may be just the object's. */
static bool by_argument(const struct text *x, const struct token *function, size_t at,
			struct found *f)
{
	f->begin = at;
	f->end = argument_end(x, at);
	if (f->end > x->t.n || !srcloc_expr_value(x->scope, x->t.p, &at, f->end, &f->v) ||
	    at != f->end)
		return false;
	Dwarf_Die before = f->v.type;
	bool plain = !f->v.address;
	if (!srcloc_expr_pointee(&f->v) || !f->v.memory)
		return false;
	return !plain || f->v.type.addr == before.addr || is_writer(function);
}

static bool by_call(const struct text *x, struct found *f)
{
	for (size_t i = 0; i + 2 < x->t.n; i++) {
		size_t at = i + 2;
		const struct token *t = &x->t.p[i];
		if (!is_name(x, i) || !srcloc_token_is(&x->t.p[i + 1], "("))
			continue;
		if (srcloc_token_is(t, "TX_SET") || srcloc_token_is(t, "TX_SET_DIRECT")) {
			if (by_tx_set(x, at, srcloc_token_is(t, "TX_SET_DIRECT"), f))
				return true;
			continue;
		}
		if (starts_with(t, "pmemobj_mem")) /* the first is the pool */
			at = argument_end(x, at) + 1;
		if (by_argument(x, t, at, f))
			return true;
	}
	return false;
}

/* The text of the tokens, without the blanks around it. */
static const char *source_text(const struct text *x, const struct found *f)
{
	const struct word *first = &x->t.p[f->begin].text, *last = &x->t.p[f->end - 1].text;
	size_t n = (size_t)(last->p + last->n - first->p);
	char *copy = xasprintf("%.*s", (int)n, first->p);
	const char *kept = srcloc_pool_add(&x->scope->obj->store->pool, copy);
	free(copy);
	return kept;
}

static void describe(const struct text *x, struct found *f, struct srcloc_lvalue *out)
{
	struct object *obj = x->scope->obj;
	struct value *v = &f->v;
	bool based = v->base.addr != NULL;
	*out = (struct srcloc_lvalue){
		.type = based ? srcloc_die_name(obj, v->base, 0) : NULL,
		.member = based ? srcloc_pool_add(&obj->store->pool, v->path) : source_text(x, f),
		.member_type = srcloc_die_name(obj, v->type, v->stars),
		.offset = v->offset,
		.size = v->stars        ? 8
			: v->subscripts ? 0
					: srcloc_die_size(&v->type),
		.elements = v->elements,
		.encoding = v->stars ? SRCLOC_POINTER : srcloc_die_encoding(v->type),
		.in = based ? srcloc_cached_type(obj, v->base) : NULL,
	};
}

bool srcloc_object_lvalue(struct object *obj, uint64_t addr, size_t level, const char *statement,
			  struct srcloc_lvalue *out)
{
	struct scope scope;
	struct text x = { &scope, { 0 } };
	struct found f;
	if (!srcloc_debuginfo_scope(obj, addr, level, &scope))
		return false;
	cut(statement, &x.t);
	bool ok = by_operator(&x, &f) || by_call(&x, &f);
	if (ok)
		describe(&x, &f, out);
	VEC_FREE(&x.t);
	return ok;
}
