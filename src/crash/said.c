/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was said, as text: some of it is kept, and the first line in which two differ is found.
 *
 * A verdict has a hash of what was said, which is enough to tell right from wrong. How it is wrong takes the
 * text itself. What is no longer kept is run again.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "crash/leader.h"

#define SLOTS 1024u
#define KEPT (64u << 20) /* bytes */
#define SHOWN 4096       /* bytes of what was printed */
#define NEAR_LINES 5u    /* … that are shown before the one that differs, if there is more */

struct crash_texts {
	struct slot {
		uint64_t said;
		char *text;
		size_t n;
	} slot[SLOTS];
	size_t kept, hand;
};

static void drop(struct crash_texts *t, struct slot *s)
{
	t->kept -= s->n;
	free(s->text);
	*s = (struct slot){ 0 };
}

void crash_said_keep(struct crash *c, uint64_t said, const char *text, size_t n)
{
	if (!c->texts)
		c->texts = xcalloc(1, sizeof *c->texts);
	struct crash_texts *t = c->texts;
	struct slot *s = &t->slot[said / 2 % SLOTS]; /* they are odd */
	if (s->said == said || n > KEPT / 4)
		return;
	drop(t, s);
	for (; t->kept + n > KEPT; t->hand = (t->hand + 1) % SLOTS)
		drop(t, &t->slot[t->hand]);
	*s = (struct slot){ said, xmalloc(n + 1), n };
	memcpy(s->text, text, n);
	s->text[n] = '\0';
	t->kept += n;
}

void crash_said_free(struct crash_texts *t)
{
	for (size_t i = 0; t && i < SLOTS; i++)
		free(t->slot[i].text);
	free(t);
}

char *crash_said(struct crash *c, const struct crash_state *s, size_t ended, uint64_t said,
		 struct err *err)
{
	const struct slot *slot = c->texts ? &c->texts->slot[said / 2 % SLOTS] : NULL;
	struct crash_verdict v;
	char *text = NULL;
	if (slot && slot->said == said)
		return xstrdup(slot->text);
	if (crash_run_state(c, s, ended, true, &v, &text, err))
		return NULL;
	return text ? text : xstrdup("");
}

/* ---- lines ---- */

static const char *find_line(const char *text, size_t n)
{
	for (; n && *text; n--) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text;
}

/* Line `n` of a text, or NULL. */
static char *line_of(const char *text, size_t n)
{
	text = find_line(text, n);
	return *text ? xasprintf("'%.*s'", (int)strcspn(text, "\n"), text) : NULL;
}

/* Up to which line two texts are the same. */
static size_t same_lines(const char *a, const char *b)
{
	size_t n = 0;
	for (; *a && *a == *b; a++, b++)
		n += *a == '\n';
	return n;
}

static const char *or_nothing(const char *line)
{
	return line ? line : "no such line";
}

void crash_said_differ(const char *was, const char *before, const char *after,
		       struct crash_verdict *v)
{
	size_t n = same_lines(was, before), m = same_lines(was, after);
	bool later = m >= n; /* it has more in common with what should be */
	n = later ? m : n;   /* the first line that is in neither */
	bool there = *find_line(was, n), wanted = *find_line(later ? after : before, n);
	v->line = (uint32_t)n + 1;
	v->how = !there ? CRASH_MISSING : !wanted ? CRASH_EXTRA : CRASH_CHANGED;
}

static void take_lines(struct hmap *set, const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		hmap_put(set, hash_seeded(text, n, 0), 1);
	}
}

bool crash_said_drops(const char *was, const char *before, const char *after)
{
	struct hmap now = { 0 }, later = { 0 };
	bool drops = false;
	take_lines(&now, was);
	take_lines(&later, after);
	for (size_t n; *before && !drops; before += n + (before[n] == '\n')) {
		n = strcspn(before, "\n");
		uint64_t line = hash_seeded(before, n, 0);
		drops = hmap_get(&later, line, NULL) && !hmap_get(&now, line, NULL);
	}
	hmap_free(&now);
	hmap_free(&later);
	return drops;
}

bool crash_said_between(const char *was, const char *before, const char *after)
{
	struct hmap known = { 0 };
	bool all = true;
	take_lines(&known, before);
	take_lines(&known, after);
	for (const char *p = was; *p && all; p += strcspn(p, "\n"), p += *p == '\n')
		all = hmap_get(&known, hash_seeded(p, strcspn(p, "\n"), 0), NULL);
	hmap_free(&known);
	return all && !crash_said_drops(was, before, after);
}

/* ---- in words ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All lines, sorted; malloc'ed, with the text that they are in. */
static char **sorted(const char *text, size_t *n)
{
	VEC(char *) line = { 0 };
	char *copy = xstrdup(text), *rest = copy;
	VEC_PUSH(&line, copy);
	for (char *l; (l = strsep(&rest, "\n"));)
		VEC_PUSH(&line, l);
	qsort(line.p + 1, line.n - 1, sizeof *line.p, by_text);
	*n = line.n;
	return line.p;
}

/* Have both the same lines, in whatever order? */
static bool same_but_order(const char *a, const char *b)
{
	size_t n, m;
	char **x = sorted(a, &n), **y = sorted(b, &m);
	bool same = n == m;
	for (size_t i = 1; same && i < n; i++)
		same = !strcmp(x[i], y[i]);
	free(x[0]);
	free(y[0]);
	free(x);
	free(y);
	return same;
}

int crash_said_unsteady(const char *where, const char *a, const char *b, struct err *err)
{
	size_t n = same_lines(a ? a : "", b ? b : "");
	char *x = line_of(a ? a : "", n), *y = line_of(b ? b : "", n);
	err_set(err, EXIT_PROGRAM,
		"what is printed on the image of %s is not the same each time: line %zu is %s, then %s; %s",
		where, n + 1, or_nothing(x), or_nothing(y),
		same_but_order(a ? a : "", b ? b : "")
			? "these are the same lines in another order: sort them ('… | sort')"
			: "--ignore REGEX leaves out what may differ");
	free(x);
	free(y);
	return -1;
}

/* What was printed, near line n if it is much; *cut: it is not all. */
static char *excerpt(const char *text, size_t n, bool *cut)
{
	struct buf b = { 0 };
	*cut = strlen(text) > SHOWN;
	const char *p = *cut && n > NEAR_LINES ? find_line(text, n - NEAR_LINES) : text;
	const char *then = strstr(p, RUNNER_THEN);
	size_t first = then ? (size_t)(then - p) : SHOWN;
	buf_printf(&b, "%.*s", (int)(first < SHOWN ? first : SHOWN), p);
	if (then && first < SHOWN)
		buf_printf(&b, "(with the operations that follow:)\n%.*s", SHOWN,
			   then + strlen(RUNNER_THEN));
	buf_add(&b, "", 1);
	return b.p;
}

/* The line behind which the last of the commands begins, if line n is in what it printed; else 0. */
static size_t part_of(const char *text, size_t n)
{
	const char *then = strstr(text, RUNNER_THEN);
	size_t at = 1;
	for (const char *p = text; then && p < then; p++)
		at += *p == '\n';
	return then && n >= at ? at : 0;
}

/* The line up to which it is as one of the two, and the one in which it is as the other, if these are two lines; else NULL. */
static char *both_ways(const char *was, const char *before, const char *after)
{
	size_t n = same_lines(was, before), m = same_lines(was, after);
	bool happened = n < m; /* first it looks as if */
	size_t first = happened ? n : m, then = happened ? m : n;
	char *a = line_of(was, first), *b = line_of(was, then);
	char *other = line_of(happened ? before : after, then);
	bool mixed = first != then && a && !strcmp(or_nothing(b), or_nothing(other));
	char *text = NULL;
	if (mixed && !part_of(was, then))
		text = xasprintf(
			"line %zu is %s, as if the operation had%s happened, and line %zu is %s, as if it had%s",
			first + 1, a, happened ? "" : " not", then + 1, or_nothing(b),
			happened ? " not" : "");
	free(a);
	free(b);
	free(other);
	return text;
}

/* The first line that is wrong, and what it should be. */
static char *wrong_line(const char *was, const char *before, const char *after, size_t n,
			bool flying)
{
	char *text = flying ? both_ways(was, before, after) : NULL;
	if (text)
		return text;
	size_t part = part_of(was, n);
	char *w = line_of(was, n), *a = line_of(before, n), *b = line_of(after, n);
	bool both = flying && strcmp(or_nothing(a), or_nothing(b)) != 0;
	text = xasprintf("line %zu%s is %s; it should be %s%s%s%s", n + 1 - part,
			 part ? " of what --continue prints" : "", or_nothing(w), or_nothing(b),
			 both ? " if the operation happened, or " : "", both ? or_nothing(a) : "",
			 both ? " if it did not" : "");
	free(w);
	free(a);
	free(b);
	return text;
}

char *crash_said_compare(const char *was, const char *before, const char *after, bool flying)
{
	struct crash_verdict v;
	bool cut;
	crash_said_differ(was, before, after, &v);
	char *line = wrong_line(was, before, after, v.line - 1, flying);
	char *all = excerpt(was, v.line - 1, &cut);
	char *text = xasprintf("%s\n%s that was printed:\n%s", line, cut ? "some" : "all", all);
	free(line);
	free(all);
	return text;
}
