/* SPDX-License-Identifier: BSD-3-Clause */
/* The command's environment: ours, and what the preloaded library and PMDK need. */
#include "runner/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_name(const char *entry, const char *with)
{
	size_t n = strcspn(with, "=") + 1;
	return !strncmp(entry, with, n);
}

/* "address=path", one a line */
static char *map_list(const struct cell *c)
{
	struct buf b = { 0 };
	buf_puts(&b, FAST_MAP "=");
	for (size_t i = 0; i < c->opts->nfile; i++)
		if (c->opts->file[i].addr && sandbox_cell_seen(c->box, i))
			buf_printf(&b, "%#" PRIx64 "=%s\n", c->opts->file[i].addr,
				   sandbox_cell_seen(c->box, i));
	buf_add(&b, "", 1);
	return b.p;
}

static uint64_t first_address(const struct cell *c)
{
	for (size_t i = 0; i < c->opts->nfile; i++)
		if (c->opts->file[i].addr)
			return c->opts->file[i].addr;
	return 0;
}

static char *with_old(const char *name, const char *value, const char *old, const char *between)
{
	if (old && *old)
		return xasprintf("%s=%s%s%s", name, value, between, old);
	return xasprintf("%s=%s", name, value);
}

/* The libraries that are preloaded: ours, the view's, and those that were there before. */
static void preload(struct sandbox_strings *v, const char *ours)
{
	static const char name[] = "LD_PRELOAD";
	size_t i = 0;
	while (i < v->n && !has_name(v->p[i], "LD_PRELOAD="))
		i++;
	if (i == v->n && !ours)
		return;
	if (i == v->n) {
		VEC_PUSH(v, with_old(name, ours, getenv(name), ":"));
	} else {
		char *views = v->p[i] + sizeof name;
		bool both = ours && strcmp(ours, views) != 0;
		char *list = both ? xasprintf("%s:%s", ours, views) : xstrdup(views);
		free(v->p[i]);
		v->p[i] = with_old(name, list, getenv(name), ":");
		free(list);
	}
	/* They may come before the library of a program built with that sanitizer. */
	VEC_PUSH(v,
		 with_old("ASAN_OPTIONS", "verify_asan_link_order=0", getenv("ASAN_OPTIONS"), ":"));
}

struct env runner_env_new(const struct cell *c, bool fast)
{
	struct sandbox_strings v = { 0 };
	uint64_t addr = first_address(c);
	bool ours = c->preload && (addr || fast);
	sandbox_cell_env(c->box, &v);
	preload(&v, ours ? c->preload : NULL);
	if (addr)
		VEC_PUSH(&v, xasprintf("PMEM_MMAP_HINT=%#" PRIx64, addr));
	if (ours && addr)
		VEC_PUSH(&v, map_list(c));
	if (ours && fast)
		VEC_PUSH(&v, xasprintf(FAST_ENV "=%d", FAST_FD));
	size_t own = v.n;
	for (char **e = environ; *e; e++) {
		bool set = false;
		for (size_t i = 0; i < own; i++)
			set = set || has_name(*e, v.p[i]);
		if (!set)
			VEC_PUSH(&v, *e);
	}
	VEC_PUSH(&v, NULL);
	return (struct env){ v.p, own };
}

void runner_env_free(struct env *e)
{
	for (size_t i = 0; i < e->own; i++)
		free(e->p[i]);
	free(e->p);
}
