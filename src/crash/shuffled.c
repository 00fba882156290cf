/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same entries in another order.
 *
 * A hash table that is rebuilt, or an index that recovery makes anew, lists its entries in another order than before, and nobody was
 * promised one. What is printed is made comparable: lines are sorted, and in lines of words that all look alike, the words:
 *
 *	count: 4                  22 3 40 5
 *	22 3 5 40          ~      count: 4            a list of numbers; "count:" and "4" are not alike
 *
 * If it then is what it should be, that is no finding, because a crash that damages a list, a queue or an array leaves entries
 * out, or has some twice. The order is a promise, though, if it is all that an operation changes, a sort, say, in a program that
 * otherwise keeps it: where other operations add or remove an entry and the rest changes places too, it is none.
 * And it is one in answers, which come in the order of the questions: what --continue prints.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "crash/shuffled.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "k1=20" and "k30=4" are alike: letters, digits, '=', digits. */
static uint64_t look_of(const char *word)
{
	uint64_t hash = 1;
	for (int last = 0; *word; word++) {
		int kind = isdigit((unsigned char)*word)                          ? '0'
			   : isalpha((unsigned char)*word) || (*word & 0x80) != 0 ? 'a'
										  : *word;
		if (kind != last || (kind != '0' && kind != 'a'))
			hash = hash_mix(hash, (unsigned char)kind);
		last = kind;
	}
	return hash;
}

#define BETWEEN " \t,;"

/* Puts words in order if there are several, all of which look alike. */
static bool sort_words(char *line)
{
	if (!line[strcspn(line, BETWEEN)])
		return false; /* one word: most lines of long outputs */
	VEC(char *) word = { 0 };
	char *copy = xstrdup(line), *rest = copy, *to = line;
	bool alike = true;
	for (char *w; (w = strsep(&rest, BETWEEN));)
		if (*w) {
			VEC_PUSH(&word, w);
			alike = alike && look_of(w) == look_of(word.p[0]);
		}
	alike = alike && word.n > 1;
	if (alike) {
		qsort(word.p, word.n, sizeof *word.p, by_text);
		for (size_t i = 0; i < word.n; i++) {
			size_t n = strlen(word.p[i]);
			if (i)
				*to++ = ' ';
			memcpy(to, word.p[i], n);
			to += n;
		}
		*to = '\0';
	}
	VEC_FREE(&word);
	free(copy);
	return alike;
}

static char *copy_of(const char *text, size_t n)
{
	char *copy = xmalloc(n + 1);
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

char *crash_in_order(const char *text)
{
	const char *then = strstr(text, RUNNER_THEN);
	size_t n = then ? (size_t)(then - text) : strlen(text);
	VEC(char *) line = { 0 };
	struct buf out = { 0 };
	char *copy = copy_of(text, n), *rest = copy;
	for (char *l; (l = strsep(&rest, "\n"));) {
		(void)sort_words(l);
		if (*l ||
		    rest) /* an empty line is an entry, too; what is behind the last one is none */
			VEC_PUSH(&line, l);
	}
	if (line.n)
		qsort(line.p, line.n, sizeof *line.p, by_text);
	for (size_t i = 0; i < line.n; i++) {
		buf_puts(&out, line.p[i]);
		buf_puts(&out, "\n");
	}
	buf_puts(&out, then ? then : "");
	buf_add(&out, "", 1);
	VEC_FREE(&line);
	free(copy);
	return out.p;
}

/* So many bytes of whole lines have both in common at their begin, in front of what --continue prints. */
static size_t same_begin(const char *a, const char *b)
{
	const char *then = strstr(a, RUNNER_THEN);
	size_t most = then ? (size_t)(then - a) : SIZE_MAX, same = 0;
	for (size_t i = 0; i < most && a[i] && a[i] == b[i]; i++)
		if (a[i] == '\n')
			same = i + 1;
	return same;
}

bool crash_same_but_order(const char *a, const char *b)
{
	size_t skip = same_begin(a, b); /* of megabytes, all but a few lines */
	char *x = crash_in_order(a + skip), *y = crash_in_order(b + skip);
	bool same = !strcmp(x, y);
	free(x);
	free(y);
	return same;
}

bool crash_shuffled(const char *was, const char *before, const char *after, bool answers)
{
	if (answers && !strstr(was, RUNNER_THEN))
		return false;
	return crash_same_but_order(was, before) || crash_same_but_order(was, after);
}

/* ---- does a program keep the order? ---- */

struct entries {
	VEC(uint64_t) v;
	struct hmap at;
};

static void add_entry(struct entries *e, const char *p, size_t n)
{
	uint64_t hash = hash_seeded(p, n, 0);
	VEC_PUSH(&e->v, hash);
	hmap_put(&e->at, hash, 1);
}

/* Lines, and the words of those whose words are alike. */
static void take_entries(struct entries *e, const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		char *line, *sorted;
		n = strcspn(text, "\n");
		line = copy_of(text, n);
		sorted = xstrdup(line);
		if (!sort_words(sorted))
			add_entry(e, text, n);
		else
			for (char *rest = line, *w; (w = strsep(&rest, BETWEEN));)
				if (*w)
					add_entry(e, w, strlen(w));
		free(sorted);
		free(line);
	}
}

bool crash_reorders(const char *before, const char *after)
{
	struct entries a = { 0 }, b = { 0 };
	bool differ = false;
	size_t k = 0;
	take_entries(&a, before);
	take_entries(&b, after);
	for (size_t i = 0; i < a.v.n && !differ; i++) {
		if (!hmap_get(&b.at, a.v.p[i], NULL))
			continue;
		while (k < b.v.n && !hmap_get(&a.at, b.v.p[k], NULL))
			k++;
		differ = k < b.v.n && a.v.p[i] != b.v.p[k++];
	}
	VEC_FREE(&a.v);
	VEC_FREE(&b.v);
	hmap_free(&a.at);
	hmap_free(&b.at);
	return differ && !crash_same_but_order(before, after);
}
