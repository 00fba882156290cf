/* SPDX-License-Identifier: BSD-3-Clause */
/* HOLDFAST_OPTIONS: options for every verb that has them, for wrappers that cannot change command lines. */
#include <stdlib.h>
#include <string.h>

#include "cli/project.h"

static bool any_has(const char *name, size_t len)
{
	struct cli_option o;
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		if (cli_find_option(*v, name, len, &o))
			return true;
	return false;
}

/* One word: --NAME or --NAME=VALUE. */
static int add(const struct cli_verb *verb, const char *word, struct project_words *out,
	       struct err *err)
{
	const char *name = word + 2;
	size_t len = strcspn(word, "=") - 2;
	struct cli_option o;
	if (strncmp(word, "--", 2) != 0 || !any_has(name, len))
		return err_set(err, EXIT_USAGE,
			       CLI_OPTIONS_VARIABLE
			       ": '%s' is no option; each is written --NAME or "
			       "--NAME=VALUE",
			       word);
	/* Verbs may have options of one name that take something or do not. */
	if (cli_find_option(verb, name, len, &o) && (o.type == CLI_FLAG) == !word[len + 2])
		VEC_PUSH(out, xstrdup(word));
	return 0;
}

int cli_env_options(const struct cli_verb *verb, struct project_words *out, struct err *err)
{
	const char *text = getenv(CLI_OPTIONS_VARIABLE);
	struct project_words w = { 0 };
	struct err why;
	int bad = 0;
	if (!text)
		return 0;
	if (project_split(text, &w, &why))
		bad = err_set(err, EXIT_USAGE, CLI_OPTIONS_VARIABLE ": %s", why.text);
	for (size_t i = 0; !bad && i < w.n; i++)
		bad = add(verb, w.p[i], out, err);
	project_words_free(&w);
	return bad;
}
