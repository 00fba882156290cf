/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What recovery reads of an image: the runner calls us in a cell's sandbox, where recovery is run
 * under the tracer.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "launch/launch.h"

struct files {
	const char **path;
	size_t n;
};

static size_t file_of(const struct files *a, const char *path)
{
	size_t i = 0;

	while (i < a->n && strcmp(a->path[i], path) != 0)
		i++;
	return i;
}

/* In the sandbox: struct trace_reads with our numbers of the files to `out`. */
static int look(void *arg, char **argv, int out)
{
	const struct files *a = arg;
	struct launch_opts o = { .argv = (const char *const *)argv, .pm = a->path, .npm = a->n };
	struct launch_reads r;
	struct err err;
	int bad = launch_reads(&o, &r, &err);

	for (size_t i = 0; !bad && i < r.read.n; i++) {
		struct trace_read *read = &r.read.p[i];
		size_t file = file_of(a, r.file.p[read->file]);

		read->file = (uint32_t)file;
		bad = file == a->n || write_all(out, read, sizeof *read);
	}
	launch_reads_free(&r);
	return bad;
}

/* A file under another name than the one it was recorded with would not be recognised. */
static bool renamed(const struct crash *c)
{
	for (uint32_t i = 0; i < c->h->file.n; i++)
		if (!c->building.name[i] || strcmp(c->building.name[i], c->h->file.p[i].path) != 0)
			return true;
	return false;
}

static bool ask(struct crash *c, const struct crash_state *s, struct trace_read **out, size_t *n)
{
	struct files a = { 0 };
	struct err err;
	int cell = runner_calls(c->runner) ? runner_idle(c->runner, &err) : -1;

	*out = NULL;
	if (cell < 0 || crash_materialise(c, (unsigned)cell, s, &err) || renamed(c))
		return false;
	a.path = xcalloc(c->h->file.n + 1, sizeof *a.path);
	for (; a.n < c->h->file.n; a.n++)
		a.path[a.n] = c->h->file.p[a.n].path;
	*out = runner_call(c->runner, (unsigned)cell, look, &a, n, &err);
	*n /= sizeof **out;
	free(a.path);
	return *out != NULL;
}

bool crash_reads_lines(void *arg, const struct crash_state *s, uint32_t **line, size_t *n)
{
	struct crash *c = arg;
	struct trace_read *read;
	VEC(uint32_t) v = { 0 };
	size_t nread = 0;
	uint64_t at;
	bool told = ask(c, s, &read, &nread) && nread; /* not to have read anything: no */

	for (size_t i = 0; told && i < nread; i++)
		if (hmap_get(&c->h->line_at,
			     (uint64_t)read[i].file << 44 | read[i].off / c->h->unit, &at))
			VEC_PUSH(&v, (uint32_t)at);
	free(read);
	*line = v.p;
	*n = v.n;
	return told;
}

bool crash_is_blind(struct crash *c)
{
	struct crash_state end = { .event = c->h->events };
	struct trace_read *read;
	size_t n = 0;
	bool blind = ask(c, &end, &read, &n) && !n;

	free(read);
	return blind;
}
