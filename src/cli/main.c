/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast: finds the verb and runs it. */
#include "campaign/campaign.h"
#include "cli/project.h"
#include "trace/trace.h"

#include <malloc.h>
#include <signal.h>
#include <string.h>

static const char *next_verb(const void *arg, size_t i)
{
	(void)arg;
	return cli_verbs[i] ? cli_verbs[i]->name : NULL;
}

static int unknown(const char *word)
{
	const char *near = cli_nearest(word, next_verb, NULL);
	if (near)
		msg_error("unknown verb '%s'; did you mean '%s'?", word, near);
	else
		msg_error("unknown verb '%s'", word);
	fprintf(stderr, "The verbs are listed by 'holdfast --help'.\n");
	return EXIT_USAGE;
}

/* help [VERB]; for the build: help --man [VERB], help --complete [SHELL]. */
static int help(int argc, char **argv)
{
	bool man = argc > 1 && !strcmp(argv[1], "--man");
	const char *name = argv[1 + man];
	if (argc > 1 && !strcmp(argv[1], "--complete")) {
		if (cli_completion(stdout, argc > 2 ? argv[2] : "bash"))
			return EXIT_NOTHING;
		msg_error("there is no completion for '%s': bash, zsh, fish", argv[2]);
		return EXIT_USAGE;
	}
	const struct cli_verb *verb = name ? cli_find(name) : NULL;
	if (name && !verb)
		return unknown(name);
	if (man)
		cli_man(stdout, verb);
	else if (verb)
		cli_help_verb(stdout, verb);
	else
		cli_help(stdout);
	return EXIT_NOTHING;
}

/* With the options that the environment has for it, before its own, which win. */
static int run_verb(const struct cli_verb *verb, char **argv)
{
	struct project_words words = { 0 };
	struct err err;
	VEC_PUSH(&words, *argv);
	if (cli_env_options(verb, &words, &err))
		return cli_fail(&err);
	for (char **w = argv + 1; *w; w++)
		VEC_PUSH(&words, *w);
	int argc = (int)words.n;
	VEC_PUSH(&words, NULL);
	return verb->run(argc, words.p); /* the words live as long as the process */
}

static int run(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	if (!word) {
		cli_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
		return help(argc - 1, argv + 1);
	if (!strcmp(word, "--version")) {
		printf("holdfast %s\nreads traces of versions 1 to %u, campaigns of version %d\n",
		       HOLDFAST_VERSION, TRACE_FILE_VERSION, CAMPAIGN_DB_VERSION);
		return EXIT_NOTHING;
	}
	const struct cli_verb *verb = cli_find(word);
	return verb ? run_verb(verb, argv + 1) : unknown(word);
}

static void ignore(int sig)
{
	(void)sig;
}

/* Where a file may not grow any more (ulimit -f), a write fails, and that is said; it does not end us.
 * What we execute has the signal as it was: handlers do not survive that. */
static void survive_file_limit(void)
{
	struct sigaction old, sa = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	if (!sigaction(SIGXFSZ, NULL, &old) && old.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &sa, NULL);
}

/* Tables of many megabytes grow by doubling: each goes back to the system at once, not into a heap that keeps its holes. */
static void return_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

int main(int argc, char **argv)
{
	return_memory();
	survive_file_limit();
	own_folder(); /* before any sandbox is entered */
	int status = run(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		msg_error("cannot write the output");
		return EXIT_INTERNAL;
	}
	return status;
}
