/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of cli.h as help text. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char *const cli_intro =
	"Holdfast finds mistakes in programs that keep data in persistent memory: what a crash could "
	"lose, and what only costs time. It records what a program does to persistent memory, "
	"exactly and in order, and shows it in source terms. It works on unmodified x86-64 Linux programs: no persistent-memory "
	"hardware, no annotations, no recompilation, no root.";

/* Statuses are documented in one place; record passes the program's own through. */
const char *const cli_statuses[][2] = {
	{ "0", "nothing found" },
	{ "1", "findings" },
	{ "2", "wrong usage" },
	{ "3",
	  "the program under test or its recovery could not be run, or nothing was found in what was "
	  "broken off, or in a campaign that ended before its first crash state" },
	{ "4", "internal error" },
	{ NULL },
};

const char *const cli_environment[][2] = {
	{ "HOLDFAST_LIBEXEC", "folder with the tracer, instead of the one beside holdfast" },
	{ "HOLDFAST_VALGRIND", "path of valgrind, instead of the first one on PATH" },
	{ "HOLDFAST_OPTIONS",
	  "options for every verb that has them, each written --NAME or --NAME=VALUE" },
	{ "NO_COLOR", "set and not empty: no colour" },
	{ NULL },
};

/* Text broken at `most` columns, each line after `indent` blanks. */
static void wrap(FILE *out, const char *text, int indent, int most)
{
	int column = 0;
	while (*text) {
		if (*text == '\n') {
			fputs(column ? "\n\n" : "\n", out);
			text += strspn(text, "\n");
			column = 0;
			continue;
		}
		int len = (int)strcspn(text, " \n");
		if (column && column + 1 + len > most) {
			fputc('\n', out);
			column = 0;
		}
		column +=
			fprintf(out, "%*s%.*s", column ? 1 : indent, column ? " " : "", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

enum { INDENT = 28, WIDTH = 88, NARROWEST = 50 };

/* No line is broken by the terminal, unless that leaves no room beside the options. */
static int width(void)
{
	struct winsize size;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return WIDTH;
	return size.ws_col > WIDTH ? WIDTH : size.ws_col < NARROWEST ? NARROWEST : size.ws_col;
}

void cli_beside(FILE *out, int at, const char *label, int indent, const char *text)
{
	struct buf b = { 0 };
	FILE *mem = open_memstream(&b.p, &b.n);
	if (!mem)
		return;
	wrap(mem, text, indent, width());
	fclose(mem);
	int used = fprintf(out, "%*s%s", at, "", label);
	if (used < indent - 1)
		fprintf(out, "%*s%s", indent - used, "", b.p + indent);
	else
		fprintf(out, "\n%s", b.p);
	free(b.p);
}

static void entry(FILE *out, const char *label, const char *text)
{
	cli_beside(out, 2, label, INDENT, text);
}

char *cli_option_label(const struct cli_option *o)
{
	char letter[8] = "    ";
	bool optional = o->type == CLI_RANGE;
	char *words = o->type == CLI_CHOICE ? cli_choice_words(o->choices, '|') : NULL;
	const char *arg = words ? words : o->arg;
	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	char *label =
		xasprintf("%s--%s%s%s%s%s", letter, o->name, arg ? " " : "",
			  arg && optional ? "[" : "", arg ? arg : "", arg && optional ? "]" : "");
	free(words);
	return label;
}

/* What each word of an option means, below it. */
static void choices(FILE *out, const struct cli_choices *of)
{
	const char *name, *about;
	int widest = 0;
	for (size_t i = 0; (name = of->at(i, &about)); i++)
		widest = (int)strlen(name) > widest ? (int)strlen(name) : widest;
	for (size_t i = 0; (name = of->at(i, &about)); i++) {
		char *text = xasprintf("%s%s", about, i == of->normal ? " (the default)" : "");
		cli_beside(out, INDENT + 2, name, INDENT + 4 + widest, text);
		free(text);
	}
}

static void option(FILE *out, const struct cli_option *o)
{
	char *label = cli_option_label(o);
	entry(out, label, o->help);
	free(label);
	if (o->type == CLI_CHOICE)
		choices(out, o->choices);
}

static void examples(FILE *out, const struct cli_verb *verb)
{
	if (!verb->examples)
		return;
	fputs("\nExamples:\n", out);
	for (const char *p = verb->examples; *p; p += *p == '\n') {
		int command = (int)strcspn(p, "\t");
		const char *text = p + command + 1;
		int len = (int)strcspn(text, "\n");
		fprintf(out, "  %.*s\n        %.*s\n", command, p, len, text);
		p = text + len;
	}
}

void cli_help_verb(FILE *out, const struct cli_verb *verb)
{
	fprintf(out, "usage: holdfast %s %s\n\n", verb->name, verb->usage);
	wrap(out, verb->about, 0, width());
	fputs("\nOptions:\n", out);
	struct cli_walk walk = { 0 };
	for (const struct cli_option *o; (o = cli_next_option(verb, &walk));)
		option(out, o);
	entry(out, "-h, --help", "show this");
	examples(out, verb);
}

void cli_help(FILE *out)
{
	fputs("usage: holdfast VERB [options] [operands]\n\n", out);
	wrap(out, cli_intro, 0, width());
	fputs("\nVerbs:\n", out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		entry(out, (*v)->name, (*v)->summary);
	entry(out, "help [VERB]", "say more about a verb");
	fputs("\nOptions:\n", out);
	entry(out, "--help", "show this");
	entry(out, "--version", "show the version");
	fputs("\nExit status:\n", out);
	for (size_t i = 0; cli_statuses[i][0]; i++)
		entry(out, cli_statuses[i][0], cli_statuses[i][1]);
	fputs("\nEnvironment:\n", out);
	for (size_t i = 0; cli_environment[i][0]; i++)
		entry(out, cli_environment[i][0], cli_environment[i][1]);
}
