/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of cli.h as a completion script for zsh. */
#include "cli/cli.h"

#include <stdlib.h>

/* What _arguments has after a colon: the argument's name, and what completes it. */
static void argument(FILE *out, const struct cli_option *o)
{
	if (o->type == CLI_FLAG || o->type == CLI_RANGE)
		return;
	if (o->type == CLI_CHOICE) {
		char *words = cli_choice_words(o->choices, ' ');
		fprintf(out, ":%s:(%s)", o->name, words);
		free(words);
	} else {
		fprintf(out, ":%s:%s", o->name, o->type == CLI_FILE ? "_files" : " ");
	}
}

static void option(FILE *out, const struct cli_option *o)
{
	char *brief = cli_complete_brief(o->help, "[]\\");
	bool again = o->type == CLI_LIST || o->type == CLI_WORDS;
	fputs("\t\t\t", out);
	if (o->letter && !again)
		fprintf(out, "'(-%c --%s)'", o->letter, o->name);
	else if (again)
		fputs("'*'", out);
	if (o->letter)
		fprintf(out, "{-%c,--%s}'", o->letter, o->name);
	else
		fprintf(out, "'--%s", o->name);
	fprintf(out, "[%s]", brief);
	argument(out, o);
	fputs("' \\\n", out);
	free(brief);
}

static void verb(FILE *out, const struct cli_verb *v)
{
	struct cli_walk walk = { 0 };
	fprintf(out, "\t%s)\n\t\t_arguments -S \\\n\t\t\t'--help[show help]' \\\n", v->name);
	for (const struct cli_option *o; (o = cli_next_option(v, &walk));)
		option(out, o);
	fprintf(out, "\t\t\t'%s'\n\t\t;;\n", v->command ? "*::command:_normal" : "*:file:_files");
}

void cli_complete_zsh(FILE *out)
{
	fputs("#compdef holdfast\n"
	      "# zsh completion for holdfast, made from the tables in src/cli/.\n"
	      "_holdfast()\n"
	      "{\n"
	      "\tlocal -a verbs\n"
	      "\tverbs=(\n",
	      out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++) {
		char *brief = cli_complete_brief((*v)->summary, ":\\");
		fprintf(out, "\t\t'%s:%s'\n", (*v)->name, brief);
		free(brief);
	}
	fputs("\t\t'help:show help'\n"
	      "\t)\n"
	      "\tif ((CURRENT == 2)); then\n"
	      "\t\t_describe verb verbs\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tshift words\n"
	      "\t((CURRENT--))\n"
	      "\tcase $words[1] in\n",
	      out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		verb(out, *v);
	fputs("\thelp) _describe verb verbs ;;\n"
	      "\tesac\n"
	      "}\n"
	      "_holdfast \"$@\"\n",
	      out);
}
