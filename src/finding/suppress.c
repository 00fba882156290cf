/* SPDX-License-Identifier: BSD-3-Clause */
/* Suppressions and the baseline: findings that people know about. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finding/internal.h"

struct entry {
	unsigned line;
	bool used;
	char *text; /* as it stands in the file */
	char *id;   /* this identity; or globs, of which NULL is any: */
	char *kind, *function, *file, *module;
	VEC(char *) caller; /* … from the function outwards; ANY_FRAMES: as many as there are */
};
#define ANY_FRAMES "..."

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

struct words {
	VEC(char *) v;
	size_t at;
};

/* The next word, which is the caller's now; NULL: there is none. */
static char *take(struct words *w)
{
	char *word = w->at < w->v.n ? w->v.p[w->at] : NULL;
	if (word)
		w->v.p[w->at++] = NULL;
	return word;
}

static bool skip(struct words *w, const char *word)
{
	if (w->at >= w->v.n || strcmp(w->v.p[w->at], word))
		return false;
	free(take(w));
	return true;
}

/* KIND FUNCTION [FILE] [in MODULE] [< CALLER]… */
static const char *parse_globs(struct entry *e, struct words *w)
{
	e->kind = take(w);
	if (w->v.n == 1)
		return "a kind needs a function after it ('*' for any)";
	e->function = take(w);
	if (w->at < w->v.n && strcmp(w->v.p[w->at], "in") && strcmp(w->v.p[w->at], "<"))
		e->file = take(w);
	if (skip(w, "in") && !(e->module = take(w)))
		return "a module is missing after 'in'";
	while (skip(w, "<")) {
		char *caller = take(w);
		if (!caller)
			return "a caller is missing after '<'";
		VEC_PUSH(&e->caller, caller);
	}
	return w->at < w->v.n ? "too many words; put a name with blanks in double quotes" : NULL;
}

static const char *parse_id(struct entry *e, struct words *w)
{
	free(take(w));
	e->id = take(w);
	if (w->v.n != 2 || strlen(e->id) != 16 || strspn(e->id, "0123456789abcdef") != 16)
		return "an id has 16 hex digits";
	return NULL;
}

static const char *parse_entry(struct entry *e, const char *line)
{
	struct words w = { 0 };
	bool open_quote = false;
	const char *wrong = NULL;
	for (char *word; (word = next_word(&line, &open_quote));)
		VEC_PUSH(&w.v, word);
	if (open_quote)
		wrong = "a quote is not closed";
	else
		wrong = strcmp(w.v.p[0], "id") ? parse_globs(e, &w) : parse_id(e, &w);
	for (size_t i = 0; i < w.v.n; i++)
		free(w.v.p[i]);
	VEC_FREE(&w.v);
	return wrong;
}

static void free_entry(struct entry *e)
{
	for (size_t i = 0; i < e->caller.n; i++)
		free(e->caller.p[i]);
	VEC_FREE(&e->caller);
	free(e->kind);
	free(e->function);
	free(e->file);
	free(e->module);
	free(e->id);
	free(e->text);
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
			free_entry(&e);
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
	for (size_t i = 0; i < s->entry.n; i++)
		free_entry(&s->entry.p[i]);
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

static bool match_function(const char *glob, const struct srcloc_frame *at)
{
	char *function = at ? finding_function(at) : xstrdup("?");
	bool same =
		!fnmatch(glob, function, 0) || (at && at->function && !strcmp(glob, at->function));
	free(function);
	return same;
}

/* The frames begin with these callers; further ones do not matter. */
static bool match_callers(char *const *glob, size_t n, const struct srcloc_frame *at, size_t frames)
{
	if (!n)
		return true;
	if (!strcmp(*glob, ANY_FRAMES)) {
		for (size_t i = 0; i <= frames; i++)
			if (match_callers(glob + 1, n - 1, at + i, frames - i))
				return true;
		return false;
	}
	return frames && match_function(*glob, at) &&
	       match_callers(glob + 1, n - 1, at + 1, frames - 1);
}

static bool match_place(const struct entry *e, const struct finding_place *place)
{
	const struct srcloc_frame *at = finding_main_frame(place);
	if (!match_function(e->function, at))
		return false;
	if (e->file && !(at && at->file && match_file(e->file, at->file)))
		return false;
	if (e->module && !(at && at->module && match_file(e->module, at->module)))
		return false;
	size_t outer = at ? place->n - (size_t)(at - place->frame) - 1 : 0;
	return match_callers(e->caller.p, e->caller.n, at ? at + 1 : NULL, outer);
}

/* All ways to get there must match: one that nobody has looked at is to be seen. */
static bool match(const struct entry *e, const struct finding *f)
{
	if (e->id)
		return !strcmp(e->id, f->id);
	if (fnmatch(e->kind, f->kind->name, 0) || !match_place(e, &f->place))
		return false;
	for (size_t i = 0; i < f->paths.n; i++)
		if (!match_place(e, &f->paths.p[i].place))
			return false;
	return true;
}

void finding_suppressions_apply(struct finding_suppressions *s, struct finding_set *set)
{
	for (size_t i = 0; i < set->v.n; i++)
		for (size_t k = 0; k < s->entry.n; k++) {
			if (!match(&s->entry.p[k], set->v.p[i]))
				continue;
			set->v.p[i]->suppressed = true;
			s->entry.p[k].used = true;
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

/* A word of an entry, in quotes if it needs any; what globs take for their own is escaped. */
static void write_word(FILE *out, const char *word)
{
	bool quotes = word[strcspn(word, " \t#")] || !*word;
	fputs(quotes ? "\"" : "", out);
	for (; *word; word++)
		fprintf(out, "%s%c", strchr("*?[\\", *word) ? "\\" : "", *word);
	fputs(quotes ? "\"" : "", out);
}

/* Files of this folder are written without it: other people have theirs elsewhere. */
static const char *below(const char *folder, const char *path)
{
	size_t n = folder ? strlen(folder) : 0;
	return n > 1 && !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : path;
}

/* The call path as a comment, and an entry for all of this kind that come along it. */
static void write_stack(const struct finding *f, const struct srcloc_frame *at, const char *folder,
			FILE *out)
{
	const struct srcloc_frame *end = f->place.frame + f->place.n;
	for (const struct srcloc_frame *c = at; c < end; c++) {
		char *function = finding_function(c);
		fprintf(out, "# %s %s", c == at ? "in" : "   called by", function);
		if (c->file)
			fprintf(out, ", %s:%u", below(folder, c->file), c->line);
		else if (c->module)
			fprintf(out, ", %s", below(folder, c->module));
		fputc('\n', out);
		free(function);
	}
	fprintf(out, "# or, on this path, wherever it is in the function:\n# %s", f->kind->name);
	for (const struct srcloc_frame *c = at; c < end; c++) {
		char *function = finding_function(c);
		fputs(c == at ? " " : " < ", out);
		write_word(out, function);
		free(function);
	}
	fputc('\n', out);
}

void finding_suppressions_write(const struct finding_set *set, FILE *out)
{
	char *folder = getcwd(NULL, 0);
	fputs("# Suppressions of holdfast. An entry is \"id ID\" or\n"
	      "# \"KIND FUNCTION [FILE] [in MODULE] [< CALLER]…\" (globs; a CALLER ... is any number of frames).\n",
	      out);
	for (size_t i = 0; i < set->v.n; i++) {
		const struct finding *f = set->v.p[i];
		const struct srcloc_frame *at = finding_main_frame(&f->place);
		if (f->suppressed)
			continue;
		fprintf(out, "\n# %s: %s\n", f->kind->name, f->kind->title);
		if (at)
			write_stack(f, at, folder, out);
		fprintf(out, "id %s\n", f->id);
	}
	free(folder);
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
