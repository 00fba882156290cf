/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of functions as people want to read them. */
#include <ctype.h>
#include <string.h>

#include "srcloc/srcloc.h"

#define LONG_NAME 48u     /* shorter ones are left alone */
#define LONG_ARGUMENT 16u /* … and shorter lists in brackets */

/* The bracket that closes the one at p; p itself: none does. */
static const char *closing(const char *p, const char *end)
{
	char open = *p, close = open == '<' ? '>' : ')';
	int depth = 0;
	for (const char *q = p; q < end; q++) {
		if (*q == open)
			depth++;
		else if (*q == close && q[-1] != '-' && --depth == 0)
			return q;
	}
	return p;
}

static bool follows_operator(const char *name, const char *p)
{
	while (p > name && (p[-1] == '<' || p[-1] == '(' || p[-1] == ' '))
		p--;
	return p - name >= 8 && !memcmp(p - 8, "operator", 8);
}

const char *srcloc_short_name(const char *name, char *buf, size_t size)
{
	const char *end = name + strlen(name);
	size_t n = 0;
	if ((size_t)(end - name) < LONG_NAME)
		return name;
	for (const char *p = name; p < end && n + 8 < size; p++) {
		const char *to = (*p == '<' || *p == '(') && p > name && !follows_operator(name, p)
					 ? closing(p, end)
					 : p;
		buf[n++] = *p;
		if (to - p <= (ptrdiff_t)LONG_ARGUMENT)
			continue;
		memcpy(buf + n, "…", strlen("…"));
		n += strlen("…");
		buf[n++] = *to;
		p = to;
	}
	buf[n] = '\0';
	return buf;
}

/* Where the function's own name begins: behind the last "::" that is in no brackets. */
static const char *own_name(const char *name)
{
	const char *own = name;
	for (const char *p = name; *p; p++) {
		if (!strncmp(own, "operator", 8) && !isalnum((unsigned char)own[8]) &&
		    own[8] != '_')
			break; /* its brackets may be its name */
		if ((*p == '<' || *p == '(') && p > name)
			p = closing(p, p + strlen(p));
		else if (p[0] == ':' && p[1] == ':')
			own = p + 2;
	}
	return own;
}

static size_t columns_of(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

const char *srcloc_fit_name(const char *function, size_t columns, char *buf, size_t size)
{
	const char *name = srcloc_short_name(function, buf, size), *own = own_name(name);
	const char *mark = "…::";
	if (columns_of(name) <= columns || own == name || (size_t)(own - name) <= strlen(mark))
		return name;
	size_t n = strlen(own);
	if (strlen(mark) + n + 1 > size)
		return name;
	memmove(buf + strlen(mark), own, n + 1); /* it may be there already */
	memcpy(buf, mark, strlen(mark));
	return buf;
}
