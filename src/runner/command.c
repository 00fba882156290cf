/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command is run without a shell where a shell would only split it into words: that saves
 * a process, and signals are seen as they are.
 */
#include "runner/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef VEC(char *) words;

char *runner_command_find(const char *name, struct err *err)
{
	char *path = find_program(name);
	if (!path)
		err_set(err, EXIT_PROGRAM,
			!strchr(name, '/')   ? "%s: not found on PATH"
			: access(name, F_OK) ? "%s: not found"
					     : "%s: cannot be executed",
			name);
	err->plain = !path;
	return path;
}

/* Words that mean something to the shell though there is no such program, or a different one. */
static bool is_builtin(const char *word)
{
	static const char *const list[] = {
		".",       ":",        "!",     "alias", "bg",    "break",  "case",     "cd",
		"command", "continue", "eval",  "exec",  "exit",  "export", "fg",       "for",
		"getopts", "hash",     "if",    "jobs",  "local", "read",   "readonly", "return",
		"set",     "shift",    "times", "trap",  "type",  "ulimit", "umask",    "unalias",
		"unset",   "until",    "wait",  "while",
	};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

/* The length of "{pool}", "{pool3}", "{dir}" or "{ops}" at s, else 0; *index: of the file, or one of these. */
enum { DIR_INDEX = -1, OPS_INDEX = -2 };
static size_t placeholder(const char *s, long *index)
{
	bool dir = !strncmp(s, "{dir}", 5);
	if (dir || !strncmp(s, "{ops}", 5)) {
		*index = dir ? DIR_INDEX : OPS_INDEX;
		return 5;
	}
	if (strncmp(s, "{pool", 5))
		return 0;
	const char *end = s + 5;
	*index = 0;
	while (isdigit((unsigned char)*end) && *index < 100000)
		*index = *index * 10 + *end++ - '0';
	return *end == '}' ? (size_t)(end + 1 - s) : 0;
}

static bool has(const char *text, bool ops)
{
	long index;
	for (; *text; text++)
		if (placeholder(text, &index) && (index == OPS_INDEX) == ops)
			return true;
	return false;
}

bool runner_command_has_pool(const char *text)
{
	return has(text, false);
}

bool runner_has_ops(const char *text)
{
	return has(text, true);
}

/* Appends the word at *s; false: only a shell understands it. */
static bool one_word(const char **s, words *out)
{
	struct buf b = { 0 };
	const char *p = *s;
	char quote = '\0';
	long ignored;
	bool ok = !strchr("~#", *p);
	for (; ok && *p && (quote || !strchr(" \t", *p)); p++) {
		size_t len = placeholder(p, &ignored);
		if (len) {
			buf_add(&b, p, len);
			p += len - 1;
		} else if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? '\0' : *p;
		} else if (quote != '\'' && strchr(quote ? "$`\\" : "$`\\|&;<>()*?[{}\n", *p)) {
			ok = false;
		} else {
			buf_add(&b, p, 1);
		}
	}
	ok = ok && !quote;
	if (ok) {
		buf_add(&b, "", 1);
		VEC_PUSH(out, b.p);
	} else {
		buf_free(&b);
	}
	*s = p;
	return ok;
}

static bool split(const char *text, words *out)
{
	for (;;) {
		text += strspn(text, " \t");
		if (!*text)
			break;
		if (!one_word(&text, out))
			return false;
	}
	return out->n && !strchr(out->p[0], '=') && !is_builtin(out->p[0]);
}

static void free_words(words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->p[i]);
	VEC_FREE(w);
}

/* The program that is run first; of what only a shell understands, the first word may tell. NULL:
 * nothing can be said. */
static char *first_word(const struct command *c)
{
	if (c->word)
		return xstrdup(c->word[0]);
	const char *s = c->text + strspn(c->text, " \t\n");
	size_t len = strcspn(s, " \t\n");
	char *first = xasprintf("%.*s", (int)len, s);
	if (!strpbrk(first, "$`\\|&;<>()*?[]{}=\"'~#") && !is_builtin(first))
		return first;
	free(first);
	return NULL;
}

/* Can its program be run? */
static int check(const struct command *c, struct err *err)
{
	char *first = first_word(c), *path = first ? runner_command_find(first, err) : NULL;
	bool bad = first && !path;
	free(first);
	free(path);
	return bad ? -1 : 0;
}

char *runner_command_refused(const char *text, const struct sandbox_view *view)
{
	struct command c;
	struct err err;
	char *first = runner_command_parse(&c, text, &err) ? NULL : first_word(&c);
	char *path = first ? runner_command_find(first, &err) : NULL;
	char *why = path ? sandbox_view_refuses(view, path) : NULL;
	free(first);
	free(path);
	runner_command_free(&c);
	return why;
}

int runner_command_parse(struct command *c, const char *text, struct err *err)
{
	*c = (struct command){ .text = xstrdup(text) };
	if (!text[strspn(text, " \t\n")])
		return err_set(err, EXIT_USAGE, "the command is empty");
	words w = { 0 };
	if (split(text, &w)) {
		c->nword = w.n;
		VEC_PUSH(&w, NULL);
		c->word = w.p;
	} else {
		free_words(&w);
	}
	return check(c, err);
}

void runner_command_free(struct command *c)
{
	for (size_t i = 0; i < c->nword; i++)
		free(c->word[i]);
	free(c->word);
	free(c->text);
	*c = (struct command){ 0 };
}

/* A placeholder of a file that is not there stays as it is, and says so in the output. */
static char *substitute(const char *text, const struct names *names, bool quote)
{
	struct buf b = { 0 };
	while (*text) {
		long index;
		size_t len = placeholder(text, &index);
		const char *s = !len                       ? NULL
				: index == DIR_INDEX       ? names->dir
				: index == OPS_INDEX       ? names->ops
				: (size_t)index < names->n ? names->path[index]
							   : NULL;
		if (!s)
			buf_add(&b, text, len ? len : 1);
		else if (quote)
			shell_quote(&b, s, strlen(s));
		else
			buf_puts(&b, s);
		text += len ? len : 1;
	}
	buf_add(&b, "", 1);
	return b.p;
}

char **runner_command_argv(const struct command *c, const struct names *names)
{
	words w = { 0 };
	for (size_t i = 0; i < c->nword; i++)
		VEC_PUSH(&w, substitute(c->word[i], names, false));
	if (!c->word) {
		VEC_PUSH(&w, xstrdup(SHELL));
		VEC_PUSH(&w, xstrdup("-c"));
		VEC_PUSH(&w, substitute(c->text, names, true));
	}
	VEC_PUSH(&w, NULL);
	return w.p;
}

void runner_command_argv_free(char **argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}
