/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs and their options, as data.
 *
 * A verb is one file here, NAME.c, that defines cmd_NAME and the struct cli_verb verb_NAME,
 * and one row of the table in verbs.c. The help, the man pages and the completions come from these
 * tables:
 *
 *	struct dump_opts { bool json; struct cli_range events; };
 *	static const struct cli_option dump_options[] = {
 *		{ "json", 0, CLI_FLAG, NULL, offsetof(struct dump_opts, json), "print JSON" },
 *		{ "events", 0, CLI_RANGE, "FROM..TO", offsetof(struct dump_opts, events), "…" },
 *		{ NULL },
 *	};
 *	const struct cli_verb verb_dump = {
 *		.name = "dump", .run = cmd_dump, .options = dump_options, …
 *	};
 *	int cmd_dump(int argc, char **argv)
 *	{
 *		struct dump_opts o = { 0 };
 *		int status = cli_parse(&verb_dump, &o, &argc, &argv);
 *		if (status != CLI_GO)
 *			return status;
 *		if (argc != 1)
 *			return cli_usage(&verb_dump, "one trace folder is needed");
 *		…argv[0] is the first operand…
 *	}
 */
#ifndef HOLDFAST_CLI_CLI_H
#define HOLDFAST_CLI_CLI_H

#include "base/base.h"

enum cli_type {
	CLI_FLAG,   /* bool */
	CLI_TEXT,   /* const char * */
	CLI_FILE,   /* const char *; completes to file names */
	CLI_LIST,   /* struct cli_list: may be given several times */
	CLI_CHOICE, /* const char *: one of the words of `choices` */
	CLI_FILES,  /* const char *[]: one option --WORD FILE for each word of `choices` */
	CLI_NUMBER, /* uint64_t */
	CLI_WORDS, /* struct cli_list: one for each word in arg, "MIN MAX LEN"; the last ones count */
	CLI_RANGE, /* struct cli_range: [FROM]..[TO] or N; the argument may be left out */
};

struct cli_list {
	const char **p;
	size_t n;
};

struct cli_range {
	bool given;
	uint64_t from, to; /* both included; from 0, to UINT64_MAX where left out */
};

/*
 * The words that an option takes come from the table that gives them their meaning (choices.h): help,
 * man pages, completion and messages have them from there.
 */
struct cli_choices {
	name_at *at;
	size_t normal; /* the default */
	bool joined;   /* several may be given: a+b */
};

struct cli_option {
	const char *name; /* NULL ends the table */
	char letter;      /* 0: none */
	enum cli_type type;
	const char *arg; /* what help calls the argument; of a CLI_CHOICE its words */
	size_t offset;   /* of the field in the struct that cli_parse fills */
	const char *help;
	const struct cli_choices *choices; /* CLI_CHOICE, CLI_FILES; else NULL */
	bool once; /* of this run only: it is not kept to be the same in a resumed one */
};

struct cli_verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;  /* one line, no full stop */
	const char *usage;    /* what follows "holdfast NAME" */
	const char *about;    /* paragraphs, separated by empty lines */
	const char *examples; /* lines: "command<TAB>what it does" */
	const struct cli_option *options;
	bool command; /* the operands are a command: options end at the first operand */
};

/* cli_parse: go on; anything else is the status to end with (help was shown, wrong usage). */
#define CLI_GO (-1)

/*
 * Fills the zeroed struct `opts` from argv (argv[0] is the verb) and leaves the operands in
 * argc and argv. Says what is wrong on stderr.
 */
int cli_parse(const struct cli_verb *, void *opts, int *argc, char ***argv);

/* Says what is wrong and how to get help; returns EXIT_USAGE. */
int cli_usage(const struct cli_verb *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The options of a verb, one by one, then NULL; a row of CLI_FILES gives several. Begins zeroed. */
struct cli_walk {
	const struct cli_option *row;
	size_t word;
	struct cli_option made;
};
const struct cli_option *cli_next_option(const struct cli_verb *, struct cli_walk *);
/* By its long name, of which `len` bytes are looked at. */
bool cli_find_option(const struct cli_verb *, const char *name, size_t len, struct cli_option *);
/* "a|b|c", with the separator given; xmalloc'ed. */
char *cli_choice_words(const struct cli_choices *, char separator);

/* Reports err, returns its status. Says what the machine lacks if that may be why nothing could be run. */
int cli_fail(const struct err *);

/* All verbs, ended by NULL. */
extern const struct cli_verb *const cli_verbs[];
const struct cli_verb *cli_find(const char *name);
/* The known word nearest to a mistyped one, or NULL. `next` gives the words in turn. */
const char *cli_nearest(const char *word, const char *(*next)(const void *arg, size_t i),
			const void *arg);

/* What the tables say: help.c for people, man.c for man, complete*.c for shells. */
void cli_help(FILE *);
void cli_help_verb(FILE *, const struct cli_verb *);
void cli_man(FILE *, const struct cli_verb *);  /* NULL: holdfast(1) itself */
bool cli_completion(FILE *, const char *shell); /* false: no such shell */
void cli_complete_zsh(FILE *);
void cli_complete_fish(FILE *);
/* The beginning of a help text, fit for a word in single quotes; xmalloc'ed. */
char *cli_complete_brief(const char *help, const char *escaped);
/* "-o, --output DIR", the long name always in the same column; xmalloc'ed. */
char *cli_option_label(const struct cli_option *);
/* A label `at` blanks in, and beside it, from column `indent` on, a text of several lines. */
void cli_beside(FILE *, int at, const char *label, int indent, const char *text);
extern const char *const cli_intro;
extern const char *const cli_statuses[][2], *const cli_environment[][2]; /* ended by NULL */

#endif
