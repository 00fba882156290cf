/* SPDX-License-Identifier: BSD-3-Clause */
/* Suppressions and the baseline: findings that people know about. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "finding/internal.h"

enum { KIND, FUNCTION, FILE_GLOB, WORDS };

struct entry {
	unsigned line;
	bool used;
	char *text;        /* as it stands in the file */
	char *word[WORDS]; /* globs; NULL: any */
	char *id;          /* or this identity */
};

struct finding_suppressions {
	char *path;
	VEC(struct entry) entry;
};

/* The next word of *p, which moves on; NULL at the end or a comment. Quotes keep blanks. */
static char *next_word(const char **p, bool *open_quote)
{
	struct buf word = { 0 };
	bool quoted;
	*p += strspn(*p, " \t\r");
	if (!**p || **p == '#')
		return NULL;
	quoted = **p == '"';
	*p += quoted;
	while (**p && (quoted ? **p != '"' : !isspace((unsigned char)**p)))
		buf_add(&word, (*p)++, 1);
	*open_quote |= quoted && !**p;
	*p += quoted && **p;
	buf_add(&word, "", 1);
	return word.p;
}

static const char *parse_entry(struct entry *e, const char *line)
{
	char *word[WORDS + 1] = { 0 };
	bool open_quote = false;
	const char *wrong = NULL;
	int n = 0;
	while (n <= WORDS && (word[n] = next_word(&line, &open_quote)))
		n++;
	if (open_quote)
		wrong = "a quote is not closed";
	else if (n > WORDS)
		wrong = "too many words; put a name with blanks in double quotes";
	else if (n == 1)
		wrong = "a kind needs a function after it ('*' for any)";
	else if (!strcmp(word[0], "id") &&
		 (n != 2 || strlen(word[1]) != 16 || strspn(word[1], "0123456789abcdef") != 16))
		wrong = "an id has 16 hex digits";
	for (int i = 0; i <= WORDS && wrong; i++)
		free(word[i]);
	if (wrong)
		return wrong;
	if (!strcmp(word[0], "id")) {
		free(word[0]);
		e->id = word[1];
	} else {
		memcpy(e->word, word, sizeof e->word);
	}
	return NULL;
}

static int parse_file(struct finding_suppressions *s, FILE *f, struct err *err)
{
	char *line = NULL;
	size_t cap = 0;
	unsigned number = 0;
	int status = 0;
	while (!status && getline(&line, &cap, f) >= 0) {
		struct entry e = { .line = ++number };
		line[strcspn(line, "\r\n")] = '\0';
		const char *text = line + strspn(line, " \t");
		if (!*text || *text == '#')
			continue;
		const char *wrong = parse_entry(&e, text);
		if (wrong) {
			status = err_set(err, EXIT_USAGE, "%s:%u: %s: %.200s", s->path, number,
					 wrong, text);
			break;
		}
		e.text = xstrdup(text);
		VEC_PUSH(&s->entry, e);
	}
	free(line);
	if (!status && ferror(f))
		status = err_errno(err, EXIT_USAGE, "cannot read %s", s->path);
	return status;
}

struct finding_suppressions *finding_suppressions_load(const char *path, struct err *err)
{
	FILE *f = fopen(path, "re");
	if (!f) {
		err_errno(err, EXIT_USAGE, "cannot open the suppressions %s", path);
		return NULL;
	}
	struct finding_suppressions *s = xcalloc(1, sizeof *s);
	s->path = xstrdup(path);
	int status = parse_file(s, f, err);
	fclose(f);
	if (status) {
		finding_suppressions_free(s);
		return NULL;
	}
	return s;
}

void finding_suppressions_free(struct finding_suppressions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->entry.n; i++) {
		for (int k = 0; k < WORDS; k++)
			free(s->entry.p[i].word[k]);
		free(s->entry.p[i].id);
		free(s->entry.p[i].text);
	}
	VEC_FREE(&s->entry);
	free(s->path);
	free(s);
}

/* "src/list.c" and "list.c" match "/home/me/src/list.c". */
static bool match_file(const char *glob, const char *file)
{
	for (; file; file = strchr(file, '/')) {
		if (!fnmatch(glob, file, 0))
			return true;
		file += strspn(file, "/");
		if (!fnmatch(glob, file, 0))
			return true;
	}
	return false;
}

static bool match(const struct entry *e, const struct finding *f, const struct srcloc_frame *at,
		  const char *function)
{
	if (e->id)
		return !strcmp(e->id, f->id);
	if (fnmatch(e->word[KIND], f->kind->name, 0))
		return false;
	if (fnmatch(e->word[FUNCTION], function, 0) &&
	    !(at && at->function && !strcmp(e->word[FUNCTION], at->function)))
		return false;
	return !e->word[FILE_GLOB] || (at && at->file && match_file(e->word[FILE_GLOB], at->file));
}

void finding_suppressions_apply(struct finding_suppressions *s, struct finding_set *set)
{
	for (size_t i = 0; i < set->v.n; i++) {
		struct finding *f = set->v.p[i];
		const struct srcloc_frame *at = finding_main_frame(&f->place);
		char *function = at ? finding_function(at) : xstrdup("?");
		for (size_t k = 0; k < s->entry.n; k++) {
			if (!match(&s->entry.p[k], f, at, function))
				continue;
			f->suppressed = true;
			s->entry.p[k].used = true;
		}
		free(function);
	}
}

void finding_suppressions_stale(const struct finding_suppressions *s,
				void (*say)(void *, const char *path, unsigned line,
					    const char *entry),
				void *arg)
{
	for (size_t i = 0; i < s->entry.n; i++)
		if (!s->entry.p[i].used)
			say(arg, s->path, s->entry.p[i].line, s->entry.p[i].text);
}

void finding_suppressions_write(const struct finding_set *set, FILE *out)
{
	fputs("# Suppressions of holdfast. An entry is \"id ID\" or \"KIND FUNCTION [FILE]\" (globs).\n",
	      out);
	for (size_t i = 0; i < set->v.n; i++) {
		const struct finding *f = set->v.p[i];
		const struct srcloc_frame *at = finding_main_frame(&f->place);
		if (f->suppressed)
			continue;
		fprintf(out, "\n# %s: %s\n", f->kind->name, f->kind->title);
		if (at) {
			char *function = finding_function(at);
			fprintf(out, "# in %s", function);
			if (at->file)
				fprintf(out, ", %s:%u", at->file, at->line);
			else if (at->module)
				fprintf(out, ", %s", at->module);
			fputc('\n', out);
			free(function);
		}
		fprintf(out, "id %s\n", f->id);
	}
}

void finding_baseline_apply(struct finding_set *set, const char *const *ids, size_t n)
{
	struct hmap known = { 0 };
	uint64_t any;
	for (size_t i = 0; i < n; i++)
		hmap_put(&known, hash_bytes(ids[i], strlen(ids[i])), 1);
	for (size_t i = 0; i < set->v.n; i++) {
		struct finding *f = set->v.p[i];
		f->suppressed |= hmap_get(&known, hash_bytes(f->id, strlen(f->id)), &any);
	}
	hmap_free(&known);
}
