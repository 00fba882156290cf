/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs to begin with: seeds, packets' templates, and what each byte may be. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/explore.h"

#define PART 8       /* bytes that "$1" stands for */
#define CHANGES 8    /* places in a pool that are shown */
#define SHOWN 96     /* bytes of a source that are shown to people */
#define ORDINARY 'a' /* what the symbolic parts of a packet begin with */

uint8_t *explore_read(const char *path, uint64_t off, size_t max, size_t *n, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buf b = { 0 };
	char part[65536];
	ssize_t got = 0;
	if (fd < 0) {
		err_errno(err, EXIT_USAGE, "cannot read %s", path);
		return NULL;
	}
	while (b.n < max) {
		size_t want = max - b.n < sizeof part ? max - b.n : sizeof part;
		got = off ? pread(fd, part, want, (off_t)(off + b.n)) : read(fd, part, want);
		if (got <= 0)
			break;
		buf_add(&b, part, (size_t)got);
		if (b.n > SYM_MAX_INPUT)
			break;
	}
	if (got < 0)
		err_errno(err, EXIT_USAGE, "cannot read %s", path);
	close(fd);
	*n = b.n;
	buf_add(&b, "", 1);
	if (got >= 0)
		return (uint8_t *)b.p;
	buf_free(&b);
	return NULL;
}

/* ---- packets ---- */

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

int explore_packets(struct explore_plan *p, const struct explore_opts *o, struct buf *bytes,
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
		for (uint64_t i = 0; i < o->sym_socket && i <= SYM_MAX_INPUT; i++) {
			buf_add(bytes, "", 1);
			buf_add(fixed, "", 1);
		}
		VEC_PUSH(&p->packet, (uint32_t)bytes->n);
	}
	return 0;
}

/* ---- ranges ---- */

static struct explore_source *named(struct explore_plan *p, const char *name, size_t n)
{
	for (size_t i = 0; i < p->about.n; i++) {
		struct explore_source *a = &p->about.p[i];
		if ((strlen(a->name) == n && !memcmp(a->name, name, n)) ||
		    (strlen(a->given) == n && !memcmp(a->given, name, n)))
			return a;
	}
	return NULL;
}

/* A byte's value: 65, 0x41 or the character itself. */
static const char *byte_value(const char *s, uint8_t *out)
{
	char *end;
	if (*s < '0' || *s > '9') {
		*out = (uint8_t)*s;
		return *s ? s + 1 : NULL;
	}
	unsigned long v = strtoul(s, &end, 0);
	*out = (uint8_t)v;
	return v > 255 ? NULL : end;
}

static int one_range(struct explore_plan *p, const char *text, struct err *err)
{
	const char *colon = strchr(text, ':'), *from = text;
	struct explore_source *only = colon ? named(p, text, (size_t)(colon - text)) : NULL;
	uint8_t lo, hi;
	if (only)
		from = colon + 1;
	const char *end = byte_value(from, &lo);
	if (!end || *end != '-' || !(end = byte_value(end + 1, &hi)) || *end)
		return err_set(err, EXIT_USAGE,
			       "--range takes [SOURCE:]A-B with A and B from 0 to 255 or "
			       "characters, not '%s'",
			       text);
	if (lo > hi)
		return err_set(err, EXIT_USAGE, "--range %s: no byte is in it", text);
	for (size_t i = 0; i < p->about.n; i++) {
		struct explore_source *a = &p->about.p[i];
		if (only ? a != only : a->pm)
			continue;
		if (hi < a->lo || lo > a->hi)
			return err_set(err, EXIT_USAGE,
				       "--range %s: no byte of %s is in it and in the other "
				       "ranges too",
				       text, a->name);
		a->lo = lo > a->lo ? lo : a->lo;
		a->hi = hi < a->hi ? hi : a->hi;
	}
	return 0;
}

static int ranges(struct explore_plan *p, const struct explore_opts *o, struct err *err)
{
	for (size_t i = 0; o->printable && i < p->about.n; i++)
		if (!p->about.p[i].pm) {
			p->about.p[i].lo = ' ';
			p->about.p[i].hi = '~';
		}
	for (size_t i = 0; i < o->range.n; i++)
		if (one_range(p, o->range.p[i], err))
			return -1;
	for (size_t i = 0; i < p->source.n; i++) {
		memset(p->lo + p->source.p[i].first, p->about.p[i].lo, p->source.p[i].len);
		memset(p->hi + p->source.p[i].first, p->about.p[i].hi, p->source.p[i].len);
	}
	return 0;
}

/* ---- seeds ---- */

static int sort_seeds(struct explore_plan *p, const struct explore_opts *o, struct err *err)
{
	for (size_t i = 0; i < o->seed.n; i++) {
		const char *text = o->seed.p[i], *equals = strchr(text, '=');
		struct explore_source *a = equals ? named(p, text, (size_t)(equals - text)) : NULL;
		const char *file = a ? equals + 1 : text;
		if (!a && p->about.n != 1)
			return err_set(err, EXIT_USAGE,
				       "--seed %s: there are several sources; say which, as in "
				       "%s=FILE",
				       text, p->about.n ? p->about.p[0].name : "stdin");
		if (!a)
			a = &p->about.p[0];
		a->seed.p = xrealloc(a->seed.p, (a->seed.n + 1) * sizeof *a->seed.p);
		a->seed.p[a->seed.n++] = file;
	}
	return 0;
}

/* The bytes of a source in an input. */
static void put(const struct explore_plan *p, size_t i, struct symbolic_input *in,
		const uint8_t *bytes, size_t n)
{
	const struct sym_source *s = &p->source.p[i];
	const struct explore_source *a = &p->about.p[i];
	if (n)
		memcpy(in->byte + s->first, bytes, n);
	memset(in->byte + s->first + n, a->lo, s->len - n);
	/* A text may end anywhere, if zero is allowed: all of its bytes are there. */
	in->now[i] = (uint32_t)(a->text && a->lo == 0 ? s->len : n);
	if (a->pm || s->kind == SYM_SRC_SOCKET)
		in->now[i] = s->len;
}

/* A seed for packets is all of them, one behind the other, and as they are where they are fixed. */
static bool fits_packets(const struct explore_plan *p, const struct sym_source *s,
			 const struct explore_source *a, const uint8_t *bytes, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (p->fixed[s->first + k] && bytes[k] != a->base[k])
			return false;
	return n == s->len;
}

static int put_seed(const struct explore_plan *p, size_t i, size_t round, struct symbolic_input *in,
		    struct err *err)
{
	const struct sym_source *s = &p->source.p[i];
	const struct explore_source *a = &p->about.p[i];
	if (!a->seed.n) {
		bool none = !a->base; /* nothing is known: all bytes, with the lowest value */
		put(p, i, in, a->base, none ? 0 : a->nbase);
		in->now[i] = none ? s->len : in->now[i];
		return 0;
	}
	const char *file = a->seed.p[round < a->seed.n ? round : a->seed.n - 1];
	size_t n;
	uint8_t *bytes = explore_read(file, 0, SIZE_MAX, &n, err);
	if (!bytes)
		return -1;
	if (n > s->len) {
		free(bytes);
		return err_set(err, EXIT_USAGE,
			       "the seed %s has %zu%s bytes, but %s only %u symbolic ones", file, n,
			       n > SYM_MAX_INPUT ? " or more" : "", a->name, s->len);
	}
	if (s->kind == SYM_SRC_SOCKET && !fits_packets(p, s, a, bytes, n)) {
		free(bytes);
		return err_set(err, EXIT_USAGE,
			       "the seed %s is not like the packets, which have %u bytes", file,
			       s->len);
	}
	put(p, i, in, bytes, n);
	free(bytes);
	return 0;
}

static struct symbolic_input blank(const struct explore_plan *p)
{
	struct symbolic_input in = { .byte = xcalloc(p->n + 1, 1), .n = p->n };
	return in;
}

/* Bytes that are outside of their range keep their value: nobody asked to lose them. */
static void fix_strangers(struct explore_plan *p, const struct symbolic_input *in)
{
	for (size_t i = 0; i < p->source.n; i++)
		for (uint32_t k = 0; k < in->now[i]; k++) {
			size_t at = p->source.p[i].first + k;
			if (in->byte[at] < p->lo[at] || in->byte[at] > p->hi[at])
				p->fixed[at] = 1;
		}
}

/* Sources of no given length may be empty; texts that cannot grow by themselves may be long. */
static void add_later(struct explore_plan *p)
{
	struct symbolic_input in = explore_copy(&p->seed.p[0]);
	bool any = false;
	for (size_t i = 0; i < p->source.n; i++) {
		const struct sym_source *s = &p->source.p[i];
		const struct explore_source *a = &p->about.p[i];
		if (!a->base && !a->seed.n && in.now[i]) {
			in.now[i] = 0;
			any = true;
		} else if (a->text && a->lo && in.now[i] < s->len) {
			in.now[i] = s->len;
			any = true;
		}
	}
	if (any)
		VEC_PUSH(&p->later, in);
	else
		symbolic_input_free(&in);
}

int explore_plan_seeds(struct explore_plan *p, const struct explore_opts *o, struct err *err)
{
	size_t rounds = 1;
	if (ranges(p, o, err) || sort_seeds(p, o, err))
		return -1;
	for (size_t i = 0; i < p->about.n; i++)
		rounds = p->about.p[i].seed.n > rounds ? p->about.p[i].seed.n : rounds;
	for (size_t round = 0; round < rounds; round++) {
		struct symbolic_input in = blank(p);
		VEC_PUSH(&p->seed, in);
		for (size_t i = 0; i < p->source.n; i++)
			if (put_seed(p, i, round, &p->seed.p[round], err))
				return -1;
		fix_strangers(p, &p->seed.p[round]);
	}
	for (size_t i = 0; i < p->source.n; i++)
		p->source.p[i].now = p->seed.p[0].now[i];
	add_later(p);
	return 0;
}

/* ---- inputs ---- */

struct symbolic_input explore_copy(const struct symbolic_input *in)
{
	struct symbolic_input copy = *in;
	copy.byte = xmalloc(in->n + 1);
	memcpy(copy.byte, in->byte, in->n);
	return copy;
}

uint32_t explore_length(const struct explore_plan *p, size_t i, const struct symbolic_input *in)
{
	const uint8_t *at = in->byte + p->source.p[i].first;
	const uint8_t *end = p->about.p[i].text ? memchr(at, 0, in->now[i]) : NULL;
	return end ? (uint32_t)(end - at) : in->now[i];
}

uint64_t explore_rank(const struct explore_plan *p, const struct symbolic_input *in)
{
	uint64_t length = 0, high = 0;
	for (size_t i = 0; i < p->source.n; i++) {
		uint32_t n = explore_length(p, i, in), first = p->source.p[i].first;
		length += n;
		for (uint32_t k = 0; k < n; k++)
			high += !p->fixed[first + k] && in->byte[first + k] != p->lo[first + k];
	}
	return length << 32 | high;
}

static void show(struct buf *b, const uint8_t *bytes, size_t n)
{
	buf_puts(b, "\"");
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		uint8_t c = bytes[i];
		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c >= ' ' && c < 127)
			buf_printf(b, "%c", c);
		else if (c == '\n' || c == '\r' || c == '\t')
			buf_printf(b, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
		else
			buf_printf(b, "\\x%02x", c);
	}
	buf_puts(b, n > SHOWN ? "\"…" : "\"");
}

/* Only what is not as in the pool: "at 68 "\xff\xff", at 96 "\x01"". */
static void show_changes(struct buf *b, const struct explore_plan *p, size_t i,
			 const struct symbolic_input *in)
{
	const struct sym_source *s = &p->source.p[i];
	const uint8_t *now = in->byte + s->first, *was = p->about.p[i].base;
	unsigned shown = 0;
	for (uint32_t k = 0; k < in->now[i]; k++) {
		uint32_t from = k, n = 0;
		if (now[k] == was[k])
			continue;
		while (k < in->now[i] && now[k] != was[k])
			k++, n++;
		if (++shown > CHANGES) {
			buf_puts(b, ", …");
			return;
		}
		buf_printf(b, "%s at %llu ", shown > 1 ? "," : "",
			   (unsigned long long)(s->off + from));
		show(b, now + from, n);
	}
	buf_puts(b, shown ? "" : " nothing");
}

static void show_packets(struct buf *b, const struct explore_plan *p, size_t i,
			 const struct symbolic_input *in)
{
	const uint8_t *at = in->byte + p->source.p[i].first;
	for (size_t k = 0; k < p->packet.n; at += p->packet.p[k++]) {
		buf_printf(b, "%spacket %zu: ", k ? "\n" : "", k + 1);
		show(b, at, p->packet.p[k]);
	}
}

char *explore_text(const struct explore_plan *p, const struct symbolic_input *in)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < p->source.n; i++) {
		uint32_t n = explore_length(p, i, in);
		if (p->about.p[i].pm) {
			buf_printf(&b, "%s%s: changed", i ? "\n" : "", p->about.p[i].name);
			show_changes(&b, p, i, in);
			continue;
		}
		if (p->source.p[i].kind == SYM_SRC_SOCKET) {
			buf_puts(&b, i ? "\n" : "");
			show_packets(&b, p, i, in);
			continue;
		}
		buf_printf(&b, "%s%s: %u byte%s", i ? "\n" : "", p->about.p[i].name, n,
			   n == 1 ? "" : "s");
		if (p->source.p[i].off)
			buf_printf(&b, " at %llu", (unsigned long long)p->source.p[i].off);
		buf_puts(&b, ", ");
		show(&b, in->byte + p->source.p[i].first, n);
	}
	buf_add(&b, "", 1);
	return b.p;
}
