/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of cli.h as completion scripts: bash's is here, and the table of the others. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* What may follow an option: words, file names, or nothing we know. */
static void arguments(FILE *out, const struct cli_option *o)
{
	if (o->type == CLI_FLAG || o->type == CLI_RANGE)
		return;
	fputs("\t\t", out);
	if (o->letter)
		fprintf(out, "-%c | ", o->letter);
	fprintf(out, "--%s)\n", o->name);
	if (o->type == CLI_CHOICE) {
		char *words = cli_choice_words(o->choices, ' ');
		fprintf(out, "\t\t\t_holdfast_reply -W '%s'\n", words);
		free(words);
	} else if (o->type == CLI_FILE) {
		fputs("\t\t\t_holdfast_reply -f\n", out);
	}
	fputs("\t\t\treturn\n\t\t\t;;\n", out);
}

static void verb(FILE *out, const struct cli_verb *v)
{
	fprintf(out, "\t%s)\n", v->name);
	if (v->command)
		fputs("\t\tif [[ $after == yes ]]; then\n"
		      "\t\t\t_holdfast_reply -c -f\n"
		      "\t\t\treturn\n"
		      "\t\tfi\n",
		      out);
	fputs("\t\tcase $prev in\n", out);
	struct cli_walk walk = { 0 };
	for (const struct cli_option *o; (o = cli_next_option(v, &walk));)
		arguments(out, o);
	fputs("\t\tesac\n\t\toptions='--help", out);
	walk = (struct cli_walk){ 0 };
	for (const struct cli_option *o; (o = cli_next_option(v, &walk));)
		fprintf(out, " --%s", o->name);
	fputs(v->command ? " --'\n" : "'\n", out);
	fputs("\t\t;;\n", out);
}

static void names(FILE *out)
{
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		fprintf(out, "%s ", (*v)->name);
}

static void bash(FILE *out)
{
	fputs("# bash completion for holdfast, made from the tables in src/cli/.\n"
	      "_holdfast_reply()\n"
	      "{\n"
	      "\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
	      "}\n"
	      "\n"
	      "_holdfast()\n"
	      "{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal after=no options='' i\n"
	      "\tCOMPREPLY=()\n"
	      "\tif ((COMP_CWORD == 1)); then\n"
	      "\t\t_holdfast_reply -W '",
	      out);
	names(out);
	fputs("help --help --version'\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then after=yes; fi\n"
	      "\tdone\n"
	      "\tcase ${COMP_WORDS[1]} in\n",
	      out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		verb(out, *v);
	fputs("\thelp) options='", out);
	names(out);
	fputs("' ;;\n"
	      "\tesac\n"
	      "\tif [[ $cur == -* || ${COMP_WORDS[1]} == help ]]; then\n"
	      "\t\t_holdfast_reply -W \"$options\"\n"
	      "\telse\n"
	      "\t\t_holdfast_reply -f\n"
	      "\tfi\n"
	      "}\n"
	      "complete -o filenames -F _holdfast holdfast\n",
	      out);
}

static const struct {
	const char *name;
	void (*write)(FILE *);
} shells[] = {
	{ "bash", bash },
	{ "zsh", cli_complete_zsh },
	{ "fish", cli_complete_fish },
};

bool cli_completion(FILE *out, const char *shell)
{
	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
		if (strcmp(shells[i].name, shell))
			continue;
		shells[i].write(out);
		return true;
	}
	return false;
}

char *cli_complete_brief(const char *help, const char *escaped)
{
	size_t n = strcspn(help, ".;\n");
	char *text = xcalloc(n * 4 + 1, 1), *to = text;
	for (size_t i = 0; i < n; i++) {
		if (help[i] == '\'') {
			to = stpcpy(to, "'\\''");
			continue;
		}
		if (strchr(escaped, help[i]))
			*to++ = '\\';
		*to++ = help[i];
	}
	return text;
}
