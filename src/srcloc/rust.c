/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names as rustc has them in symbols with its legacy mangling: those of C++, and in them what a symbol may not hold.
 *
 *   <a::b as c>::d::h0123456789abcdef   is mangled as   _$LT$a..b$u20$as$u20$c$GT$::d::h0123456789abcdef
 *
 * The hash at the end depends on how the crate was built (-C metadata), so it goes; it also is how such names are told.
 */
#include <stdlib.h>
#include <string.h>

#include "srcloc/internal.h"

#define HASH 19 /* "::h0123456789abcdef" */

static const struct {
	const char *from;
	char to;
} escapes[] = {
	{ "$SP$", '@' }, { "$BP$", '*' }, { "$RF$", '&' }, { "$LT$", '<' },
	{ "$GT$", '>' }, { "$LP$", '(' }, { "$RP$", ')' }, { "$C$", ',' },
};

static size_t known_escape(const char *p, char *to)
{
	for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
		if (!strncmp(p, escapes[i].from, strlen(escapes[i].from))) {
			*to = escapes[i].to;
			return strlen(escapes[i].from);
		}
	return 0;
}

/* "$u7b$": a character by its number; only those of ASCII are put back. Returns its length, 0: it is none. */
static size_t numbered_escape(const char *p, char *to)
{
	char *end;
	if (strncmp(p, "$u", 2) != 0)
		return 0;
	unsigned long number = strtoul(p + 2, &end, 16);
	if (end == p + 2 || *end != '$' || number < ' ' || number > '~')
		return 0;
	*to = (char)number;
	return (size_t)(end + 1 - p);
}

static size_t escape(const char *p, char *to)
{
	size_t n = known_escape(p, to);
	return n ? n : numbered_escape(p, to);
}

void srcloc_rust_name(char *name)
{
	size_t n = strlen(name);
	char *hash = name + n - HASH, *out = name;
	if (n <= HASH || strncmp(hash, "::h", 3) != 0 ||
	    strspn(hash + 3, "0123456789abcdef") != HASH - 3)
		return;
	for (const char *p = name; p < hash;) {
		bool begins = p == name || p[-1] == ':';
		size_t length;
		if (begins && p[0] == '_' && p[1] == '$')
			p++;
		if ((length = escape(p, out))) {
			out++;
			p += length;
		} else if (p[0] == '.' && p[1] == '.') {
			*out++ = ':';
			*out++ = ':';
			p += 2;
		} else {
			*out++ = *p++;
		}
	}
	*out = '\0';
}
