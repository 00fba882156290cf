/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of cli.h as a completion script for fish. */
#include "cli/cli.h"

#include <stdlib.h>

static void option(FILE *out, const struct cli_verb *v, const struct cli_option *o)
{
	char *brief = cli_complete_brief(o->help, "\\");
	fprintf(out, "complete -c holdfast -n '__holdfast_of %s' -l %s", v->name, o->name);
	if (o->letter)
		fprintf(out, " -s %c", o->letter);
	if (o->type == CLI_CHOICE) {
		char *words = cli_choice_words(o->choices, ' ');
		fprintf(out, " -x -a '%s'", words);
		free(words);
	} else if (o->type == CLI_FILE) {
		fputs(" -r -F", out);
	} else if (o->type != CLI_FLAG && o->type != CLI_RANGE) {
		fputs(" -x", out);
	}
	fprintf(out, " -d '%s'\n", brief);
	free(brief);
}

static void verb(FILE *out, const struct cli_verb *v)
{
	struct cli_walk walk = { 0 };
	char *brief = cli_complete_brief(v->summary, "\\");
	fprintf(out, "complete -c holdfast -n __fish_use_subcommand -f -a %s -d '%s'\n", v->name,
		brief);
	fprintf(out, "complete -c holdfast -n '__holdfast_of %s' -l help -d 'show help'\n",
		v->name);
	for (const struct cli_option *o; (o = cli_next_option(v, &walk));)
		option(out, v, o);
	if (v->command)
		fprintf(out,
			"complete -c holdfast -n '__holdfast_command %s' -a "
			"'(__fish_complete_command)'\n",
			v->name);
	free(brief);
}

void cli_complete_fish(FILE *out)
{
	fputs("# fish completion for holdfast, made from the tables in src/cli/.\n"
	      "# Is this the verb, before and after a \"--\"?\n"
	      "function __holdfast_of\n"
	      "\tset -l words (commandline -opc)\n"
	      "\ttest \"$words[2]\" = $argv[1]; and not contains -- -- $words\n"
	      "end\n"
	      "function __holdfast_command\n"
	      "\tset -l words (commandline -opc)\n"
	      "\ttest \"$words[2]\" = $argv[1]; and test \"$words[-1]\" = --\n"
	      "end\n"
	      "complete -c holdfast -n __fish_use_subcommand -f -a help -d 'show help'\n",
	      out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++) {
		verb(out, *v);
		fprintf(out, "complete -c holdfast -n '__holdfast_of help' -f -a %s\n", (*v)->name);
	}
}
