/* SPDX-License-Identifier: BSD-3-Clause */
/* A command line as words, as a shell would take it apart; nothing is expanded. */
#include <stdlib.h>
#include <string.h>

#include "project/project.h"

void project_words_free(struct project_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->p[i]);
	free(w->p);
	*w = (struct project_words){ 0 };
}

/* What a shell would do something with, outside quotes. */
static bool is_special(char c)
{
	return strchr("$`|&;<>*?(){}~!", c) != NULL;
}

/* One word from *p on; NULL and *wrong: it is none. */
static char *next_word(const char **p, const char **wrong)
{
	struct buf word = { 0 };
	char quote = 0;
	for (; **p && (quote || !strchr(" \t\n", **p)); (*p)++) {
		char c = **p;
		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? 0 : c;
			continue;
		}
		if (c == '\\' && quote != '\'' && (*p)[1])
			c = *++*p;
		else if (!quote ? is_special(c) : quote == '"' && (c == '$' || c == '`'))
			*wrong =
				"only a shell can do this; write [\"sh\", \"-c\", \"…\"], or put it in single quotes";
		buf_add(&word, &c, 1);
	}
	if (quote)
		*wrong = "a quote is not closed";
	buf_add(&word, "", 1);
	return word.p;
}

int project_split(const char *text, struct project_words *out, struct err *err)
{
	const char *wrong = NULL;
	for (text += strspn(text, " \t\n"); *text && !wrong; text += strspn(text, " \t\n"))
		VEC_PUSH(out, next_word(&text, &wrong));
	return wrong ? err_set(err, EXIT_USAGE, "%s", wrong) : 0;
}
