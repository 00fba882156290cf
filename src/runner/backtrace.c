/* SPDX-License-Identifier: BSD-3-Clause */
/* Once more under gdb. */
#include "runner/internal.h"

#include <stdlib.h>
#include <string.h>

#define GDB_MS 30000 /* on top of the command's own time */

/* "gdb … --args COMMAND" */
struct command runner_gdb_command(const struct command *cmd, const char *const *options, size_t n)
{
	struct command g = { .text = xstrdup("") };
	VEC(char *) w = { 0 };
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(&w, xstrdup(options[i]));
	for (size_t i = 0; i < cmd->nword; i++)
		VEC_PUSH(&w, xstrdup(cmd->word[i]));
	if (!cmd->word) {
		VEC_PUSH(&w, xstrdup(SHELL));
		VEC_PUSH(&w, xstrdup("-c"));
		VEC_PUSH(&w, xstrdup(cmd->text));
	}
	g.nword = w.n;
	VEC_PUSH(&w, NULL);
	g.word = w.p;
	return g;
}

/* From where gdb tells of the signal; NULL: there was none. */
static char *useful_part(const struct buf *text)
{
	static const char mark[] = " received signal ";
	const char *at = text->n ? memmem(text->p, text->n, mark, sizeof mark - 1) : NULL;
	if (!at)
		return NULL;
	while (at > text->p && at[-1] != '\n')
		at--;
	size_t n = (size_t)(text->p + text->n - at);
	return xasprintf("%.*s", (int)(n < OUTPUT_KEPT ? n : OUTPUT_KEPT), at);
}

void runner_cell_backtrace(struct cell *c, struct runner_result *r)
{
	static const char *const options[] = {
		"env",    ("SHELL=" SHELL),
		"gdb",    "-batch",
		"-nx",    "-q",
		"-iex",   "set debuginfod enabled off",
		"-ex",    "set follow-fork-mode child",
		"-ex",    "run",
		"-ex",    "bt 64",
		"--args",
	};
	struct command gdb =
		runner_gdb_command(&c->command, options, sizeof options / sizeof *options);
	struct proc p, *list[] = { &p };
	struct err err;
	runner_fast_stop(c);
	c->unlimited = true;
	if (runner_cell_show(c, &err) || runner_cell_start(c, &p, &gdb, -1, &err)) {
		runner_broken(r, "%s", err.text);
		runner_command_free(&gdb);
		c->unlimited = false;
		return;
	}
	unsigned ms = c->opts->timeout_ms;
	runner_proc_pump(c, list, 1, runner_deadline_after(ms ? ms + GDB_MS : 0), NULL);
	r->trace = useful_part(&p.text);
	runner_proc_kill_all(c);
	runner_proc_close(&p);
	runner_command_free(&gdb);
	c->unlimited = false;
	if (runner_cell_restore(c, r, &err))
		runner_broken(r, "%s", err.text);
}
