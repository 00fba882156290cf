/* SPDX-License-Identifier: BSD-3-Clause */
/* --packet: what a client sends, from a template with symbolic parts. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "explore/input.h"

#define PART 8       /* bytes that "$1" stands for */
#define ORDINARY 'a' /* what the symbolic parts of a packet begin with */

static int hex(char c)
{
	return c >= '0' && c <= '9'         ? c - '0'
	       : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10
					    : -1;
}

/* What a backslash begins; NULL: it makes no sense. */
static const char *escape(const char *p, char *out)
{
	static const char from[] = "rnt0\\$", to[] = "\r\n\t\0\\$";
	const char *at = *p ? strchr(from, *p) : NULL;
	if (at) {
		*out = to[at - from];
		return p + 1;
	}
	if (*p != 'x' || hex(p[1]) < 0 || hex(p[2]) < 0)
		return NULL;
	*out = (char)(hex(p[1]) << 4 | hex(p[2]));
	return p + 3;
}

/* "$1" or "$1:16": as many bytes that may change. */
static const char *part(const char *p, struct buf *bytes, struct buf *fixed, const char *all,
			struct err *err)
{
	unsigned long n = PART;
	char *end = (char *)p + 2;
	if (p[1] < '1' || p[1] > '9') {
		err_set(err, EXIT_USAGE,
			"--packet '%s': after $ comes a digit from 1 to 9 (\\$ "
			"is a dollar sign)",
			all);
		return NULL;
	}
	if (p[2] == ':' && isdigit((unsigned char)p[3]))
		n = strtoul(p + 3, &end, 10);
	if (!n || n > SYM_MAX_INPUT) {
		err_set(err, EXIT_USAGE, "--packet '%s': a part of %lu bytes makes no sense", all,
			n);
		return NULL;
	}
	for (unsigned long i = 0; i < n; i++) {
		char c = ORDINARY;
		buf_add(bytes, &c, 1);
		buf_add(fixed, "", 1);
	}
	return end;
}

static int packet(const char *text, struct buf *bytes, struct buf *fixed, struct err *err)
{
	for (const char *p = text; *p;) {
		char c = *p;
		if (*p == '$') {
			if (!(p = part(p, bytes, fixed, text, err)))
				return -1;
			continue;
		}
		p++;
		if (c == '\\' && !(p = escape(p, &c)))
			return err_set(err, EXIT_USAGE,
				       "--packet '%s': \\r, \\n, \\t, \\0, \\xHH, \\\\ and \\$ are "
				       "known after a backslash",
				       text);
		buf_add(bytes, &c, 1);
		buf_add(fixed, "\1", 1);
	}
	return 0;
}

int explore_packets(struct explore_plan *p, const struct explore_inputs *o, struct buf *bytes,
		    struct buf *fixed, struct err *err)
{
	for (size_t i = 0; i < o->packet.n; i++) {
		size_t before = bytes->n;
		if (packet(o->packet.p[i], bytes, fixed, err))
			return -1;
		if (bytes->n == before)
			return err_set(err, EXIT_USAGE, "--packet: an empty one makes no sense");
		VEC_PUSH(&p->packet, (uint32_t)(bytes->n - before));
	}
	if (o->packet.n && (!fixed->n || !memchr(fixed->p, 0, fixed->n)))
		return err_set(err, EXIT_USAGE,
			       "the packets have no symbolic part: write $1 where one should be");
	if (!o->packet.n) {
		for (uint64_t i = 0; i < o->socket_len && i <= SYM_MAX_INPUT; i++) {
			buf_add(bytes, "", 1);
			buf_add(fixed, "", 1);
		}
		VEC_PUSH(&p->packet, (uint32_t)bytes->n);
	}
	return 0;
}
