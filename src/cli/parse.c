/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, from the tables in cli.h: -o DIR, -oDIR, --output DIR, --output=DIR, --. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"

int cli_usage(const struct cli_verb *verb, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	msg_error("%s", text);
	fprintf(stderr, "usage: holdfast %s %s\n", verb->name, verb->usage);
	fprintf(stderr, "More in 'holdfast help %s'.\n", verb->name);
	return EXIT_USAGE;
}

/* The i-th name of an option. */
static const char *next_name(const void *arg, size_t i)
{
	const struct cli_option *o;
	struct cli_walk walk = { 0 };
	do
		o = cli_next_option(arg, &walk);
	while (o && i--);
	return o ? o->name : NULL;
}

bool cli_find_option(const struct cli_verb *verb, const char *name, size_t len,
		     struct cli_option *out)
{
	struct cli_walk walk = { 0 };
	for (const struct cli_option *o; (o = cli_next_option(verb, &walk));)
		if (strlen(o->name) == len && !memcmp(o->name, name, len)) {
			*out = *o;
			return true;
		}
	return false;
}

static const struct cli_option *find_letter(const struct cli_verb *verb, char letter)
{
	for (const struct cli_option *o = verb->options; o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

/* A whole decimal number, or *end tells where it stops being one. */
static bool number(const char *s, const char **end, uint64_t *val)
{
	char *stop;
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*val = strtoull(s, &stop, 10);
	*end = stop;
	return errno == 0;
}

static bool range(const char *s, struct cli_range *r)
{
	*r = (struct cli_range){ .given = true, .from = 0, .to = UINT64_MAX };
	bool from = number(s, &s, &r->from);
	if (from && !*s) {
		r->to = r->from;
		return true;
	}
	if (strncmp(s, "..", 2) != 0)
		return false;
	s += 2;
	bool to = number(s, &s, &r->to);
	return (from || to) && !*s && r->from <= r->to;
}

static void list_add(struct cli_list *l, const char *value)
{
	l->p = xrealloc(l->p, (l->n + 1) * sizeof *l->p);
	l->p[l->n++] = value;
}

static int set_choice(const struct cli_verb *verb, const struct cli_option *o, const char **field,
		      const char *value)
{
	if (names_known(o->choices->at, value, o->choices->joined ? "+" : "")) {
		*field = value;
		return CLI_GO;
	}
	char *words = cli_choice_words(o->choices, '|');
	cli_usage(verb, "--%s takes %s, not '%s'", o->name, words, value);
	free(words);
	return EXIT_USAGE;
}

/* Stores the argument; says what is wrong with it. */
static int set(const struct cli_verb *verb, const struct cli_option *o, void *opts,
	       const char *value)
{
	void *field = (char *)opts + o->offset;
	switch (o->type) {
	case CLI_FLAG: *(bool *)field = true; return CLI_GO;
	case CLI_TEXT:
	case CLI_FILE: *(const char **)field = value; return CLI_GO;
	case CLI_LIST:
	case CLI_WORDS: list_add(field, value); return CLI_GO;
	case CLI_CHOICE: return set_choice(verb, o, field, value);
	case CLI_FILES: break; /* taken apart by cli_next_option */
	case CLI_NUMBER:
		if (!number(value, &value, field) || *value)
			return cli_usage(verb, "--%s takes a number", o->name);
		return CLI_GO;
	case CLI_RANGE:
		if (!range(value, field))
			return cli_usage(verb, "--%s takes %s, not '%s'", o->name, o->arg, value);
		return CLI_GO;
	}
	return EXIT_INTERNAL;
}

struct cursor {
	const struct cli_verb *verb;
	void *opts;
	char **at; /* the next word */
};

/* As many words as the option's argument has. */
static int take_words(struct cursor *c, const struct cli_option *o, const char *attached)
{
	struct cli_list *list = (struct cli_list *)((char *)c->opts + o->offset);
	size_t n = 1;
	for (const char *p = o->arg; *p; p++)
		n += *p == ' ';
	if (attached)
		return cli_usage(c->verb, "--%s needs %s, separated by blanks", o->name, o->arg);
	list->n = 0;
	for (; n; n--) {
		if (!*c->at)
			return cli_usage(c->verb, "--%s needs %s", o->name, o->arg);
		list_add(list, *c->at++);
	}
	return CLI_GO;
}

static int missing(const struct cli_verb *verb, const struct cli_option *o)
{
	char *words = o->choices ? cli_choice_words(o->choices, '|') : NULL;
	int status = cli_usage(verb, "--%s needs %s", o->name, words ? words : o->arg);
	free(words);
	return status;
}

/* An option whose argument, if it takes one, is `attached` or else the next word. */
static int take(struct cursor *c, const struct cli_option *o, const char *attached)
{
	struct cli_range scratch;
	if (o->type == CLI_WORDS)
		return take_words(c, o, attached);
	if (o->type == CLI_FLAG && attached)
		return cli_usage(c->verb, "--%s takes no argument", o->name);
	if (o->type == CLI_RANGE && !attached && !(*c->at && range(*c->at, &scratch)))
		attached = "0..";
	if (o->type != CLI_FLAG && !attached) {
		if (!*c->at)
			return missing(c->verb, o);
		attached = *c->at++;
	}
	return set(c->verb, o, c->opts, attached);
}

static int take_long(struct cursor *c, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	if (!strcmp(word, "help")) {
		cli_help_verb(stdout, c->verb);
		return EXIT_NOTHING;
	}
	struct cli_option o;
	if (cli_find_option(c->verb, word, len, &o))
		return take(c, &o, equals ? equals + 1 : NULL);
	const char *near = cli_nearest(word, next_name, c->verb);
	if (near)
		return cli_usage(c->verb, "unknown option --%s; did you mean --%s?", word, near);
	return cli_usage(c->verb, "unknown option --%s", word);
}

/* One or more letters: -q, -qo DIR, -oDIR. */
static int take_letters(struct cursor *c, const char *word)
{
	while (*word) {
		char letter = *word++;
		if (letter == 'h') {
			cli_help_verb(stdout, c->verb);
			return EXIT_NOTHING;
		}
		const struct cli_option *o = find_letter(c->verb, letter);
		if (!o)
			return cli_usage(c->verb, "unknown option -%c", letter);
		bool rest = o->type != CLI_FLAG && *word;
		int status = take(c, o, rest ? word : NULL);
		if (status != CLI_GO || rest)
			return status;
	}
	return CLI_GO;
}

int cli_parse(const struct cli_verb *verb, void *opts, int *argc, char ***argv)
{
	struct cursor c = { verb, opts, *argv + 1 };
	char **keep = *argv; /* operands move to the front, in order */
	int n = 0, status = CLI_GO;
	while (*c.at && status == CLI_GO) {
		char *word = *c.at++;
		if (!strcmp(word, "--"))
			break;
		if (!strncmp(word, "--", 2)) {
			status = take_long(&c, word + 2);
		} else if (word[0] == '-' && word[1]) {
			status = take_letters(&c, word + 1);
		} else {
			keep[n++] = word;
			/* Behind a program come its arguments; behind a recording, which no program is, more options. */
			if (verb->command && !launch_folder_is(word))
				break;
		}
	}
	while (*c.at)
		keep[n++] = *c.at++;
	keep[n] = NULL;
	*argc = n;
	return status;
}
