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
	bool bytes; /* reads to the byte, which takes longer */
};

static size_t file_of(const struct files *a, const char *path)
{
	size_t i = 0;
	while (i < a->n && strcmp(a->path[i], path) != 0)
		i++;
	return i;
}

/* A line that recovery reads before it writes it, or the other way round. */
struct used {
	struct trace_read line;
	bool written;
};

static int tell(const struct files *a, const struct launch_reads *r, struct trace_read line,
		bool written, int out)
{
	struct used u;
	memset(&u, 0, sizeof u); /* its gaps are sent too */
	u.line = line;
	u.line.file = (uint32_t)file_of(a, r->file.p[line.file]);
	u.written = written;
	return u.line.file == a->n || write_all(out, &u, sizeof u) ? -1 : 0;
}

/* In the sandbox: struct used with our numbers of the files to `out`. */
static int look(void *arg, char **argv, int out)
{
	const struct files *a = arg;
	struct launch_opts o = { .argv = (const char *const *)argv,
				 .pm = a->path,
				 .npm = a->n,
				 .load_bytes = a->bytes };
	struct launch_reads r;
	struct err err;
	int bad = launch_reads(&o, &r, &err);
	for (size_t i = 0; !bad && i < r.read.n; i++)
		bad = tell(a, &r, r.read.p[i], false, out);
	for (size_t i = 0; !bad && i < r.written.n; i++)
		bad = tell(a, &r, r.written.p[i], true, out);
	launch_reads_free(&r);
	return bad;
}

/* A file under another name than the one it was recorded with would not be recognised. */
static bool renamed(const struct crash *c)
{
	for (uint32_t i = 0; i < c->h->npm; i++)
		if (c->building.name[i] && strcmp(c->building.name[i], c->h->file.p[i].path) != 0)
			return true;
	return false;
}

static bool ask(struct crash *c, const struct crash_state *s, bool bytes, struct used **out,
		size_t *n)
{
	struct files a = { .bytes = bytes };
	struct err err;
	int cell = runner_calls(c->runner) ? runner_idle(c->runner, &err) : -1;
	*out = NULL;
	if (c->h->meta != CRASH_NO_FILE) /* what is read without mapping it is not seen */
		return false;
	if (cell < 0 || crash_materialise(c, (unsigned)cell, s, &err) || renamed(c) ||
	    crash_suffix_put(c, (unsigned)cell, crash_ops_begun(c->h, s->event), &err))
		return false;
	a.path = xcalloc(c->h->file.n + 1, sizeof *a.path);
	for (; a.n < c->h->npm; a.n++)
		a.path[a.n] = c->h->file.p[a.n].path;
	*out = runner_call(c->runner, (unsigned)cell, look, &a, n, &err);
	*n /= sizeof **out;
	free(a.path);
	return *out != NULL;
}

bool crash_reads_lines(void *arg, const struct crash_state *s, uint32_t **line, size_t *n)
{
	struct crash *c = arg;
	struct used *used = NULL;
	VEC(uint32_t) v = { 0 };
	size_t nused = 0, nread = 0;
	uint64_t at;
	bool told = !(c->until > 0 && now_seconds() >= c->until) && ask(c, s, false, &used, &nused);
	while (told && nread < nused && !used[nread].written)
		nread++;
	for (size_t i = 0; i < nread; i++)
		if (hmap_get(&c->h->line_at,
			     (uint64_t)used[i].line.file << 44 | used[i].line.off / c->h->unit,
			     &at))
			VEC_PUSH(&v, (uint32_t)at);
	free(used);
	*line = v.p;
	*n = v.n;
	return nread > 0; /* not to have read anything: it cannot be told */
}

/* Entries for the same line are one: reads come first, what is written follows. */
struct trace_use *crash_uses(struct crash *c, struct runner *r, size_t *n)
{
	struct crash_state end = { .event = c->h->events };
	VEC(struct trace_use) v = { 0 };
	struct hmap seen = { 0 };
	struct used *used;
	size_t nused = 0;
	uint64_t at;
	bool told;
	crash_use(c, r);
	*n = 0;
	if (c->opts.several ||
	    c->suffix) /* another command looks as well; or there is nothing left to do */
		return NULL;
	told = ask(c, &end, true, &used, &nused);
	for (size_t i = 0; told && i < nused; i++) {
		const struct trace_read *l = &used[i].line;
		uint64_t key = (uint64_t)l->file << 44 | l->off / TRACE_LINE;
		if (!hmap_get(&seen, key, &at)) {
			hmap_put(&seen, key, at = v.n);
			VEC_PUSH(&v, ((struct trace_use){ c->h->file.p[l->file].path, l->off }));
		}
		*(used[i].written ? &v.p[at].written : &v.p[at].read) |= l->bytes;
	}
	free(used);
	hmap_free(&seen);
	if (told)
		VEC_RESERVE(&v, v.n + 1); /* even for none */
	*n = v.n;
	return v.p;
}

bool crash_is_blind(struct crash *c)
{
	size_t n;
	struct trace_use *use = crash_uses(c, c->runner, &n);
	bool blind = use != NULL;
	for (size_t i = 0; i < n; i++)
		blind &= !use[i].read;
	free(use);
	return blind;
}
