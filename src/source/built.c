/* SPDX-License-Identifier: BSD-3-Clause */
/* How a unit was compiled where no compile_commands.json says it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source/internal.h"

/* Folders of ROOT that headers are usually found in. */
static void add_guesses(struct source *s, struct source_flags *f)
{
	static const char *const folders[] = { "", "/include", "/src" };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		struct stat st;
		char *folder = xasprintf("%s%s", s->root, folders[i]);
		if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
			VEC_PUSH(&f->arg, source_keep(s, xasprintf("-I%s", folder)));
		free(folder);
	}
}

void source_flags_built(struct source *s, const char *path, struct source_flags *f)
{
	(void)path;
	add_guesses(s, f);
}

void source_built_list(struct source *s)
{
	(void)s;
}
