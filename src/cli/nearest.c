/* SPDX-License-Identifier: BSD-3-Clause */
/* Which word may have been meant. */
#include <string.h>

#include "cli/cli.h"

/* Edit distance of two short words; a swap of neighbours counts as one edit. */
static size_t distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	size_t la = strlen(a), lb = strlen(b);
	size_t d[MAX + 1][MAX + 1];
	if (la > MAX || lb > MAX)
		return SIZE_MAX;
	for (size_t i = 0; i <= la; i++)
		for (size_t j = 0; j <= lb; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[la][lb];
}

const char *cli_nearest(const char *word, const char *(*next)(const void *arg, size_t i),
			const void *arg)
{
	const char *best = NULL, *known;
	size_t limit = strlen(word) / 3 + 2; /* farther than that is another word */
	for (size_t i = 0; (known = next(arg, i)); i++) {
		size_t d = distance(word, known);
		if (d < limit) {
			limit = d;
			best = known;
		}
	}
	return best;
}
