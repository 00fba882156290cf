/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of cli.h as man pages. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "finding/finding.h"

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

static void man_pairs(FILE *out, const char *title, const char *const pairs[][2])
{
	fprintf(out, ".SH %s\n", title);
	for (size_t i = 0; pairs[i][0]; i++) {
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

static void man_choices(FILE *out, const struct cli_choices *of)
{
	const char *name, *about;
	fputs(".RS\n", out);
	for (size_t i = 0; (name = of->at(i, &about)); i++) {
		roff_line(out, ".TP\n.B ", name);
		roff_line(out, "", about);
		if (i == of->normal)
			fputs("(the default)\n", out);
	}
	fputs(".RE\n", out);
}

static void man_option(FILE *out, const struct cli_option *o)
{
	char *label = cli_option_label(o);
	roff_line(out, ".TP\n.B ", label + strspn(label, " "));
	roff_line(out, "", o->help);
	free(label);
	if (o->type == CLI_CHOICE)
		man_choices(out, o->choices);
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
	struct cli_walk walk = { 0 };
	for (const struct cli_option *o; (o = cli_next_option(verb, &walk));)
		man_option(out, o);
	man_examples(out, verb);
	fputs(".SH SEE ALSO\n.BR holdfast (1)\n", out);
}

static void man_kinds(FILE *out)
{
	fputs(".SH FINDINGS\n", out);
	for (int i = 0; i < FINDING_KINDS_COUNT; i++) {
		const struct finding_kind_info *kind = finding_kind_info((enum finding_kind)i);
		fputs(".TP\n.BR ", out);
		roff(out, kind->name, strlen(kind->name));
		fprintf(out, " \" (%s)\"\n", finding_level_name(kind->level));
		roff_line(out, "", kind->help);
	}
}

void cli_man(FILE *out, const struct cli_verb *verb)
{
	if (verb) {
		man_verb(out, verb);
		return;
	}
	man_head(out, "holdfast", "what a program does to persistent memory");
	fputs(".SH SYNOPSIS\n.B holdfast\nVERB [options] [operands]\n.SH DESCRIPTION\n", out);
	roff_paragraphs(out, cli_intro);
	fputs(".SH VERBS\n", out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++) {
		fprintf(out, ".TP\n.BR holdfast\\-%s (1)\n", (*v)->name);
		roff_line(out, "", (*v)->summary);
	}
	man_kinds(out);
	man_pairs(out, "EXIT STATUS", cli_statuses);
	man_pairs(out, "ENVIRONMENT", cli_environment);
	fputs(".SH SEE ALSO\n.BR valgrind (1)", out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		fprintf(out, ",\n.BR holdfast\\-%s (1)", (*v)->name);
	fputc('\n', out);
}
