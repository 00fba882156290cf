/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names as rustc has them in symbols with its mangling "v0":
 *
 *   _RNvMs2_CsfG4Gsch05sY_4shopNtB5_5Shelf3put    stands for    shop::Shelf::put
 *
 * What depends on how a crate was built (its number, s...) goes, as do generic arguments: instances of a function have one name, as
 * with the legacy mangling. A symbol may be anything: how deep and how far it leads is bounded, and what is not understood keeps
 * its name.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "srcloc/internal.h"

#define DEEPEST 64u
#define MOST_STEPS 4096u

struct v0 {
	const char *begin, *p; /* what back references count from; what comes next */
	char *out;
	size_t n, room;
	unsigned depth, steps, muted;
	bool bad;
};

static void path(struct v0 *);
static void type(struct v0 *);

static void put_n(struct v0 *v, const char *text, size_t n)
{
	if (v->muted || v->bad)
		return;
	v->bad = v->n + n >= v->room;
	if (v->bad)
		return;
	memcpy(v->out + v->n, text, n);
	v->n += n;
}

static void put(struct v0 *v, const char *text)
{
	put_n(v, text, strlen(text));
}

static void put_number(struct v0 *v, uint64_t number)
{
	char text[24];
	put_n(v, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, number));
}

/* ---- words ---- */

/* At the end of the name it stays there. */
static char next(struct v0 *v)
{
	if (!*v->p)
		v->bad = true;
	return v->bad ? '\0' : *v->p++;
}

static bool accept(struct v0 *v, char c)
{
	bool is = !v->bad && *v->p == c;
	v->p += is;
	return is;
}

static unsigned digit62(char c)
{
	return isdigit((unsigned char)c) ? (unsigned)(c - '0')
	       : c >= 'a' && c <= 'z'    ? 10 + (unsigned)(c - 'a')
	       : c >= 'A' && c <= 'Z'    ? 36 + (unsigned)(c - 'A')
					 : 62;
}

static uint64_t number62(struct v0 *v)
{
	uint64_t number = 0;
	if (accept(v, '_'))
		return 0;
	while (!v->bad && !accept(v, '_')) {
		unsigned digit = digit62(next(v));
		v->bad |= digit > 61;
		number = number * 62 + digit;
	}
	return number + 1;
}

static uint64_t optional62(struct v0 *v, char tag)
{
	return accept(v, tag) ? number62(v) + 1 : 0;
}

/* Without its number. */
static void identifier(struct v0 *v)
{
	size_t n = 0;
	accept(v, 'u'); /* Punycode: as it is */
	if (!isdigit((unsigned char)*v->p))
		v->bad = true;
	if (!accept(v, '0'))
		while (!v->bad && isdigit((unsigned char)*v->p) && n < v->room)
			n = n * 10 + (size_t)(next(v) - '0');
	accept(v, '_');
	if (strnlen(v->p, n) < n)
		v->bad = true;
	put_n(v, v->p, v->bad ? 0 : n);
	v->p += v->bad ? 0 : n;
}

/* ---- what may lead to more ---- */

typedef void rule(struct v0 *);

static void apply(struct v0 *v, rule *f)
{
	v->bad |= ++v->depth > DEEPEST || ++v->steps > MOST_STEPS;
	if (!v->bad)
		f(v);
	v->depth--;
}

static void skip(struct v0 *v, rule *f)
{
	v->muted++;
	apply(v, f);
	v->muted--;
}

/* Behind 'B': the same as at an earlier place. */
static void again(struct v0 *v, rule *f)
{
	const char *here = v->p - 1;
	uint64_t at = number62(v);
	const char *back = v->p;
	v->bad |= at >= (uint64_t)(here - v->begin);
	if (v->bad)
		return;
	v->p = v->begin + at;
	apply(v, f);
	v->p = back;
}

/* To the 'E' of a list. */
static void list(struct v0 *v, rule *f)
{
	for (bool first = true; !v->bad && !accept(v, 'E'); first = false) {
		put(v, first ? "" : ", ");
		apply(v, f);
	}
}

static void constant(struct v0 *v)
{
	uint64_t value = 0;
	if (accept(v, 'p'))
		return put(v, "_");
	if (accept(v, 'B'))
		return again(v, constant);
	v->bad |= !islower((unsigned char)next(v)); /* of what type */
	put(v, accept(v, 'n') ? "-" : "");
	while (!v->bad && !accept(v, '_')) {
		char c = next(v);
		v->bad |= !isxdigit((unsigned char)c);
		value = value * 16 + digit62(c);
	}
	put_number(v, value);
}

static void generic(struct v0 *v)
{
	if (accept(v, 'L'))
		number62(v);
	else if (accept(v, 'K'))
		constant(v);
	else
		type(v);
}

/* ---- types ---- */

static const char *basic(char c)
{
	static const char *const names[26] = {
		"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
		"usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!",
	};
	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void function(struct v0 *v)
{
	optional62(v, 'G');
	accept(v, 'U');
	if (accept(v, 'K') && !accept(v, 'C'))
		skip(v, identifier);
	put(v, "fn(");
	list(v, type);
	put(v, ")");
	if (accept(v, 'u'))
		return;
	put(v, " -> ");
	apply(v, type);
}

static void bound(struct v0 *v)
{
	path(v);
	while (accept(v, 'p')) {
		skip(v, identifier);
		skip(v, type);
	}
}

static void compound(struct v0 *v, char c)
{
	static const char *const before[] = {
		['R'] = "&",    ['Q'] = "&mut ", ['P'] = "*const ", ['O'] = "*mut ",
		['D'] = "dyn ", ['T'] = "(",     ['A'] = "[",       ['S'] = "["
	};
	put(v, before[(unsigned char)c]);
	if (c == 'R' || c == 'Q')
		optional62(v, 'L');
	if (c == 'D')
		optional62(v, 'G');
	if (c == 'T' || c == 'D')
		list(v, c == 'T' ? type : bound);
	else
		apply(v, type);
	if (c == 'A') {
		put(v, "; ");
		apply(v, constant);
	}
	put(v, c == 'T' ? ")" : c == 'A' || c == 'S' ? "]" : "");
	if (c == 'D' && accept(v, 'L'))
		number62(v);
}

static void type(struct v0 *v)
{
	const char *name = basic(*v->p);
	char c = *v->p;
	if (name) {
		v->p++;
		put(v, name);
	} else if (accept(v, 'B')) {
		again(v, type);
	} else if (accept(v, 'F')) {
		apply(v, function);
	} else if (c && strchr("RQPODTAS", c)) {
		v->p++;
		compound(v, c);
	} else {
		apply(v, path);
	}
}

/* ---- paths ---- */

/* The type that an implementation is of; where it has a name, that is enough. */
static void owner(struct v0 *v)
{
	bool bare = *v->p && strchr("CMXYNIB", *v->p);
	put(v, bare ? "" : "<");
	apply(v, type);
	put(v, bare ? "" : ">");
}

static void as_trait(struct v0 *v)
{
	put(v, "<");
	apply(v, type);
	put(v, " as ");
	apply(v, path);
	put(v, ">");
}

/* Behind 'N': something in something else. */
static void nested(struct v0 *v)
{
	char space = next(v);
	apply(v, path);
	uint64_t number = optional62(v, 's');
	put(v, "::");
	if (islower((unsigned char)space))
		return identifier(v);
	put(v, space == 'C' ? "{closure" : space == 'S' ? "{shim" : "{");
	put_n(v, &space, space != 'C' && space != 'S');
	put(v, *v->p == '0' ? "" : ":");
	identifier(v);
	put(v, "#");
	put_number(v, number);
	put(v, "}");
}

static void path(struct v0 *v)
{
	switch (next(v)) {
	case 'C':
		optional62(v, 's');
		identifier(v);
		break;
	case 'M':
		optional62(v, 's');
		skip(v, path);
		owner(v);
		break;
	case 'X':
		optional62(v, 's');
		skip(v, path);
		as_trait(v);
		break;
	case 'Y': as_trait(v); break;
	case 'N': nested(v); break;
	case 'I':
		apply(v, path);
		v->muted++;
		list(v, generic);
		v->muted--;
		break;
	case 'B': again(v, path); break;
	default: v->bad = true;
	}
}

bool srcloc_rust_v0(const char *name, char *out, size_t room)
{
	if (strncmp(name, "_R", 2) != 0)
		return false;
	struct v0 v = { .begin = name + 2, .p = name + 2, .out = out, .room = room };
	path(&v);
	if (v.bad || !v.n)
		return false;
	out[v.n] = '\0';
	return true;
}
