/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs to begin with. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explore/input.h"

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

static int sort_seeds(struct explore_plan *p, const struct explore_inputs *o, struct err *err)
{
	for (size_t i = 0; i < o->seed.n; i++) {
		const char *text = o->seed.p[i], *equals = strchr(text, '=');
		struct explore_source *a =
			equals ? explore_source_named(p, text, (size_t)(equals - text)) : NULL;
		const char *file = a ? equals + 1 : text;
		if (!a && p->about.n != 1)
			return err_set(err, EXIT_USAGE,
				       "--seed %s: there are several sources; say which, as in "
				       "%s=FILE",
				       text, p->about.n ? p->about.p[0].name : "stdin");
		if (!a)
			a = &p->about.p[0];
		VEC_PUSH(&a->seed, file);
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
	struct symbolic_input in = symbolic_input_copy(&p->seed.p[0]);
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

int explore_seeds(struct explore_plan *p, const struct explore_inputs *o, struct err *err)
{
	size_t rounds = 1;
	if (explore_ranges(p, o, err) || sort_seeds(p, o, err))
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
