/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which folders there are to be looked at: what is served, or, if that is none, those below it. A folder
 * that is one is not looked into: an exploration has the campaigns of its paths in it.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/campaign.h"
#include "explore/explore.h"
#include "serve/internal.h"

#define DEPTH 4u  /* folders below folders */
#define MOST 500u /* of them that are shown */
#define LOOKS 20000u
#define TRACE "trace" /* the one file in a recording */

static double changed_at(const char *dir)
{
	static const char *const files[] = { "campaign.db-wal", "campaign.db", TRACE };
	double last = 0;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct stat st;
		char *path = xasprintf("%s/%s", dir, files[i]);
		if (!stat(path, &st) && (double)st.st_mtime > last)
			last = (double)st.st_mtime;
		free(path);
	}
	return last;
}

static bool has_trace(const char *dir)
{
	struct stat st;
	char *path = xasprintf("%s/" TRACE, dir);
	bool has = !stat(path, &st) && S_ISREG(st.st_mode);
	free(path);
	return has;
}

static bool is_exploration(const char *dir)
{
	struct err ignored;
	struct campaign_db *db = campaign_db_open(dir, CAMPAIGN_DB_READ, &ignored);
	bool is = db && explore_is(db);
	campaign_db_close(db, &ignored);
	return is;
}

static bool look(const char *dir, enum serve_kind *kind)
{
	bool trace = has_trace(dir), results = campaign_is(dir);
	*kind = !results                        ? SERVE_RECORDING
		: !trace && is_exploration(dir) ? SERVE_EXPLORATION
						: SERVE_CAMPAIGN;
	return trace || results;
}

static bool add(struct serve_places *p, const char *name, const char *dir)
{
	enum serve_kind kind;
	if (!look(dir, &kind))
		return false;
	VEC_PUSH(&p->v, ((struct serve_place){ .name = xstrdup(name),
					       .dir = xstrdup(dir),
					       .kind = kind,
					       .changed = changed_at(dir) }));
	return true;
}

static void below(struct serve_places *p, const char *name, const char *dir, unsigned depth,
		  unsigned *looks)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	while (d && p->v.n < MOST && (*looks)++ < LOOKS && (e = readdir(d))) {
		struct stat st;
		if (*e->d_name == '.')
			continue;
		char *path = xasprintf("%s/%s", dir, e->d_name);
		char *at = xasprintf("%s%s%s", name, *name ? "/" : "", e->d_name);
		if (!lstat(path, &st) && S_ISDIR(st.st_mode) && !add(p, at, path) && depth > 1)
			below(p, at, path, depth - 1, looks);
		free(path);
		free(at);
	}
	if (d)
		closedir(d);
}

static int newest_first(const void *a, const void *b)
{
	const struct serve_place *x = a, *y = b;
	if (x->changed != y->changed)
		return x->changed < y->changed ? 1 : -1;
	return strcmp(x->name, y->name);
}

void serve_places_find(struct serve_places *p, const char *dir)
{
	unsigned looks = 0;
	*p = (struct serve_places){ 0 };
	p->one = add(p, "", dir);
	if (!p->one)
		below(p, "", dir, DEPTH, &looks);
	if (p->v.n)
		qsort(p->v.p, p->v.n, sizeof *p->v.p, newest_first);
}

const struct serve_place *serve_place_named(const struct serve_places *p, const char *name,
					    size_t n)
{
	for (size_t i = 0; i < p->v.n; i++)
		if (strlen(p->v.p[i].name) == n && !memcmp(p->v.p[i].name, name, n))
			return &p->v.p[i];
	return NULL;
}

void serve_places_free(struct serve_places *p)
{
	for (size_t i = 0; i < p->v.n; i++) {
		free(p->v.p[i].name);
		free(p->v.p[i].dir);
	}
	VEC_FREE(&p->v);
}
