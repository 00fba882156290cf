/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A probe that also tells what it had to repair prints more the first time after a crash. Where what it prints is
 * wrong only in that, it is asked once more, on what it has left:
 *
 *	first            again      should be
 *	repaired 1
 *	1=10             1=10       1=10           the first has a line more, which is no entry: a message
 *
 * What is forgiven are lines more that come once, and that look like none of those that should be there, with words
 * and numbers taken for each other. An entry that should not be there looks like the others; one that is
 * missing or changed is not a line more; damage that stays shows again.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "crash/shuffled.h"

static const char *next_line(const char *p)
{
	p += strcspn(p, "\n");
	return *p ? p + 1 : p;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-+._", c)) || (c & 0x80);
}

/* What a line looks like: "1=10" and "k=-3" are alike, "1 = 10" is not. */
static uint64_t look_of(const char *p)
{
	uint64_t hash = 1;
	for (bool word = false; *p && *p != '\n'; p++) {
		if (!in_word(*p) || !word)
			hash = hash_mix(hash, in_word(*p) ? 0 : (unsigned char)*p);
		word = in_word(*p);
	}
	return hash;
}

static void add_looks(struct hmap *looks, const char *text)
{
	for (; *text; text = next_line(text))
		hmap_put(looks, look_of(text), 1);
}

static bool same_line(const char *a, const char *b)
{
	size_t n = strcspn(a, "\n");
	return n == strcspn(b, "\n") && !memcmp(a, b, n);
}

/* Has it all lines that it should, in order, and others only of looks that are not known? NULL: it is not so;
 * otherwise the first of these. */
static const char *only_more(const char *was, const char *should, const struct hmap *looks)
{
	const char *more = NULL;
	for (; *was; was = next_line(was)) {
		if (*should && same_line(was, should)) {
			should = next_line(should);
			continue;
		}
		if (hmap_get(looks, look_of(was), NULL))
			return NULL;
		more = more ? more : was;
	}
	return *should ? NULL : more;
}

const char *crash_chatter_in(const char *was, const char *before, const char *after)
{
	struct hmap looks = { 0 };
	const char *more = NULL;
	add_looks(&looks, before);
	add_looks(&looks, after);
	if (*before || *after) /* else nobody knows what an entry looks like */
		more = only_more(was, after, &looks);
	if (!more && (*before || *after))
		more = only_more(was, before, &looks);
	hmap_free(&looks);
	return more;
}

static size_t lines_in(const char *text)
{
	size_t n = 0;
	for (; *text; text = next_line(text))
		n++;
	return n;
}

/* The first message, malloc'ed; entries may be in another order. NULL: there is none. */
static char *message_in(const char *was, const char *before, const char *after)
{
	size_t n = lines_in(was);
	if (n <= lines_in(before) && n <= lines_in(after))
		return NULL; /* not one line more */
	char *line = NULL, *w = NULL, *b = NULL, *a = NULL;
	const char *more = crash_chatter_in(was, before, after);
	if (!more) {
		w = crash_in_order(was);
		b = crash_in_order(before);
		a = crash_in_order(after);
		more = crash_chatter_in(w, b, a);
	}
	if (more)
		line = xasprintf("%.*s", (int)strcspn(more, "\n"), more);
	free(w);
	free(b);
	free(a);
	return line;
}

int crash_chatter(struct crash *c, const struct crash_state *s, size_t op, const char *was,
		  const char *before, const char *after, uint64_t *again, struct err *err)
{
	char *line = message_in(was, before, after);
	struct crash_verdict v;
	if (!line)
		return 0;
	c->again = true;
	int bad = crash_run_state(c, s, op, false, &v, NULL, err);
	c->again = false;
	bool fine = !bad && v.verdict == RUNNER_OK;
	if (fine)
		*again = v.said;
	if (fine && !c->chatter)
		c->chatter = xstrdup(line);
	free(line);
	return bad ? -1 : fine;
}
