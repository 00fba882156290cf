/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of cli.h as help text, man pages and bash completion. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static const char *const intro =
	"Holdfast finds mistakes in programs that keep data in persistent memory: what a crash could "
	"lose, and what only costs time. It records what a program does to persistent memory, "
	"exactly and in order, and shows it in source terms. It works on unmodified x86-64 Linux programs: no persistent-memory "
	"hardware, no annotations, no recompilation, no root.";

/* Statuses are documented in one place; record passes the program's own through. */
static const char *const statuses[][2] = {
	{ "0", "nothing found" },  { "1", "findings" },
	{ "2", "wrong usage" },    { "3", "the program under test could not be run" },
	{ "4", "internal error" },
};
#define NSTATUSES (sizeof statuses / sizeof *statuses)

static const char *const environment[][2] = {
	{ "HOLDFAST_LIBEXEC", "folder with the tracer, instead of the one beside holdfast" },
	{ "HOLDFAST_VALGRIND", "path of valgrind, instead of the first one on PATH" },
	{ "NO_COLOR", "set and not empty: no colour" },
};
#define NENVIRONMENT (sizeof environment / sizeof *environment)

/* Text broken at `width` columns, each line after `indent` blanks. */
static void wrap(FILE *out, const char *text, int indent, int width)
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
		if (column && column + 1 + len > width) {
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

/* A label, and beside it a text that may take several lines. */
static void entry(FILE *out, const char *label, const char *text)
{
	enum { INDENT = 28, WIDTH = 88 };
	struct buf b = { 0 };
	FILE *mem = open_memstream(&b.p, &b.n);
	if (!mem)
		return;
	wrap(mem, text, INDENT, WIDTH);
	fclose(mem);
	int used = fprintf(out, "  %s", label);
	if (used < INDENT - 1)
		fprintf(out, "%*s%s", INDENT - used, "", b.p + INDENT);
	else
		fprintf(out, "\n%s", b.p);
	free(b.p);
}

/* "-o, --output DIR", the long name always in the same column. */
static void option_label(char *buf, size_t size, const struct cli_option *o)
{
	char letter[8] = "    ";
	bool optional = o->type == CLI_RANGE;
	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	snprintf(buf, size, "%s--%s%s%s%s", letter, o->name, o->arg ? " " : "",
		 o->arg ? (optional ? "[" : "") : "", o->arg ? o->arg : "");
	if (o->arg && optional)
		strncat(buf, "]", size - strlen(buf) - 1);
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
	wrap(out, verb->about, 0, 88);
	fputs("\nOptions:\n", out);
	for (const struct cli_option *o = verb->options; o->name; o++) {
		char label[96];
		option_label(label, sizeof label, o);
		entry(out, label, o->help);
	}
	entry(out, "-h, --help", "show this");
	examples(out, verb);
}

void cli_help(FILE *out)
{
	fputs("usage: holdfast VERB [options] [operands]\n\n", out);
	wrap(out, intro, 0, 88);
	fputs("\nVerbs:\n", out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		entry(out, (*v)->name, (*v)->summary);
	entry(out, "help [VERB]", "say more about a verb");
	fputs("\nOptions:\n", out);
	entry(out, "--help", "show this");
	entry(out, "--version", "show the version");
	fputs("\nExit status:\n", out);
	for (size_t i = 0; i < NSTATUSES; i++)
		entry(out, statuses[i][0], statuses[i][1]);
	fputs("\nEnvironment:\n", out);
	for (size_t i = 0; i < NENVIRONMENT; i++)
		entry(out, environment[i][0], environment[i][1]);
}

/* Text with what roff would take for its own escaped. */
static void roff(FILE *out, const char *text, size_t len)
{
	bool start = true;
	for (size_t i = 0; i < len; i++) {
		if (start && (text[i] == '.' || text[i] == '\''))
			fputs("\\&", out);
		if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '-')
			fputs("\\-", out);
		else
			fputc(text[i], out);
		start = text[i] == '\n';
	}
}

static void roff_line(FILE *out, const char *macro, const char *text)
{
	fputs(macro, out);
	roff(out, text, strlen(text));
	fputc('\n', out);
}

static void roff_paragraphs(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		roff(out, text, len);
		fputc('\n', out);
		text += len + strspn(text + len, "\n");
		if (*text)
			fputs(".PP\n", out);
	}
}

static void man_pairs(FILE *out, const char *title, const char *const pairs[][2], size_t n)
{
	fprintf(out, ".SH %s\n", title);
	for (size_t i = 0; i < n; i++) {
		roff_line(out, ".TP\n.B ", pairs[i][0]);
		roff_line(out, "", pairs[i][1]);
	}
}

static void man_head(FILE *out, const char *page, const char *summary)
{
	fprintf(out, ".\\\" Made from the tables in src/cli/ by 'holdfast help --man'.\n");
	fputs(".TH \"", out);
	for (const char *p = page; *p; p++)
		fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, out);
	fprintf(out, "\" 1 \"\" \"holdfast %s\" \"User Commands\"\n.SH NAME\n", HOLDFAST_VERSION);
	roff(out, page, strlen(page));
	fputs(" \\- ", out);
	roff_line(out, "", summary);
}

static void man_examples(FILE *out, const struct cli_verb *verb)
{
	if (!verb->examples)
		return;
	fputs(".SH EXAMPLES\n", out);
	for (const char *p = verb->examples; *p; p += *p == '\n') {
		size_t command = strcspn(p, "\t");
		const char *text = p + command + 1;
		size_t len = strcspn(text, "\n");
		fputs(".TP\n.B ", out);
		roff(out, p, command);
		fputc('\n', out);
		roff(out, text, len);
		fputc('\n', out);
		p = text + len;
	}
}

static void man_verb(FILE *out, const struct cli_verb *verb)
{
	char page[64];
	snprintf(page, sizeof page, "holdfast-%s", verb->name);
	man_head(out, page, verb->summary);
	fprintf(out, ".SH SYNOPSIS\n.B holdfast %s\n", verb->name);
	roff_line(out, "", verb->usage);
	fputs(".SH DESCRIPTION\n", out);
	roff_paragraphs(out, verb->about);
	fputs(".SH OPTIONS\n", out);
	for (const struct cli_option *o = verb->options; o->name; o++) {
		char label[96];
		option_label(label, sizeof label, o);
		roff_line(out, ".TP\n.B ", label + strspn(label, " "));
		roff_line(out, "", o->help);
	}
	man_examples(out, verb);
	fputs(".SH SEE ALSO\n.BR holdfast (1)\n", out);
}

void cli_man(FILE *out, const struct cli_verb *verb)
{
	if (verb) {
		man_verb(out, verb);
		return;
	}
	man_head(out, "holdfast", "what a program does to persistent memory");
	fputs(".SH SYNOPSIS\n.B holdfast\nVERB [options] [operands]\n.SH DESCRIPTION\n", out);
	roff_paragraphs(out, intro);
	fputs(".SH VERBS\n", out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++) {
		fprintf(out, ".TP\n.BR holdfast\\-%s (1)\n", (*v)->name);
		roff_line(out, "", (*v)->summary);
	}
	man_pairs(out, "EXIT STATUS", statuses, NSTATUSES);
	man_pairs(out, "ENVIRONMENT", environment, NENVIRONMENT);
	fputs(".SH SEE ALSO\n.BR valgrind (1)", out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		fprintf(out, ",\n.BR holdfast\\-%s (1)", (*v)->name);
	fputc('\n', out);
}
