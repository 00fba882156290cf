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
	for (size_t i = 0; i < c->view.nfile; i++)
		if (c->opts->file[i].addr && c->view.file[i].seen)
			buf_printf(&b, "%#" PRIx64 "=%s\n", c->opts->file[i].addr,
				   c->view.file[i].seen);
	buf_add(&b, "", 1);
	return b.p;
}

static uint64_t first_address(const struct cell *c)
{
	for (size_t i = 0; i < c->view.nfile; i++)
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

struct env runner_env_new(const struct cell *c, bool fast)
{
	VEC(char *) v = { 0 };
	uint64_t addr = first_address(c);
	if (addr)
		VEC_PUSH(&v, xasprintf("PMEM_MMAP_HINT=%#" PRIx64, addr));
	if (c->preload && (addr || fast)) {
		VEC_PUSH(&v, with_old("LD_PRELOAD", c->preload, getenv("LD_PRELOAD"), ":"));
		/* It may come before the library of a program built with that sanitizer. */
		VEC_PUSH(&v, with_old("ASAN_OPTIONS", "verify_asan_link_order=0",
				      getenv("ASAN_OPTIONS"), ":"));
		if (addr)
			VEC_PUSH(&v, map_list(c));
		if (fast)
			VEC_PUSH(&v, xasprintf(FAST_ENV "=%d", FAST_FD));
	}
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
