/* SPDX-License-Identifier: BSD-3-Clause */
/* What recovery reads: holdfast reads in a cell's sandbox. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/internal.h"

static void quote(struct buf *b, const char *word)
{
	shell_quote(b, word, strlen(word));
}

char *campaign_reads(void *arg, struct runner *r, unsigned cell)
{
	struct campaign *c = arg;
	struct buf b = { 0 };
	struct err err;
	char self[4096], *text;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	size_t files;
	const struct runner_file *file = crash_files(c->crash, false, &files);

	/* It needs the files where they were, and a /tmp that goes with the sandbox. */
	if (n <= 0 || c->options.runner.client || runner_view(r)->flags & SANDBOX_MOVED)
		return NULL;
	self[n] = 0;
	quote(&b, self);
	buf_puts(&b, " reads");
	for (size_t i = 0; i < files; i++) {
		buf_puts(&b, " --pm ");
		quote(&b, file[i].path);
	}
	buf_puts(&b, " -- /bin/sh -c ");
	quote(&b, c->options.runner.command);
	buf_add(&b, "", 1);
	text = runner_capture(r, cell, b.p, &err);
	buf_free(&b);
	/* The last line says that all went well. */
	size_t len = text ? strlen(text) : 0;
	if (len < 4 || strcmp(text + len - 4, "end\n") != 0) {
		free(text);
		return NULL;
	}
	text[len - 4] = 0;
	return text;
}
