/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Custom oracles: which are loaded. Those that are named start at once; those that load by themselves
 * wait in their folder for a call that they are about.
 */
#include <stdlib.h>
#include <string.h>

#include "check/plugin.h"

static void take_kinds(struct plugin *p)
{
	static VEC(struct finding_kind_info *) kept; /* kinds live as long as the process */
	static const enum finding_level level[] = { FINDING_ERROR, FINDING_PERFORMANCE,
						    FINDING_WARNING, FINDING_NOTE };
	const struct holdfast_kind *k = p->oracle->kinds;
	while (k && k[p->nkinds].name)
		p->nkinds++;
	p->kind = xcalloc(p->nkinds + 1, sizeof *p->kind);
	VEC_PUSH(&kept, p->kind);
	for (unsigned i = 0; i < p->nkinds; i++)
		p->kind[i] = (struct finding_kind_info){ k[i].name, level[k[i].level & 3],
							 k[i].title, k[i].help };
}

static void add(struct plugins *ps, const struct holdfast_oracle *o, const char *path, bool waits)
{
	struct plugin *p = xcalloc(1, sizeof *p);
	p->oracle = o;
	p->path = xstrdup(path);
	p->waits = waits;
	p->findings.check = ps->check;
	take_kinds(p);
	VEC_PUSH(&ps->v, p);
	for (const char *const *w = o->watch; w && *w; w++) {
		size_t i = 0;
		while (i < ps->watch.n && strcmp(ps->watch.p[i], *w))
			i++;
		if (i == ps->watch.n)
			VEC_PUSH(&ps->watch, *w);
	}
}

static bool has(const struct plugins *ps, const struct holdfast_oracle *o)
{
	for (size_t i = 0; i < ps->v.n; i++)
		if (ps->v.p[i]->oracle == o)
			return true;
	return false;
}

static int load_named(struct plugins *ps, const char *word, struct err *err)
{
	check_files files = check_find(word);
	int bad = 0;
	if (!files.n)
		bad = err_set(
			err, EXIT_USAGE,
			"cannot load the oracle %s: there is no such file, and no plug-in of that "
			"name in HOLDFAST_ORACLES or among the shipped ones",
			word);
	for (size_t i = 0; i < files.n && !bad; i++) {
		void *handle;
		const struct holdfast_oracle *o = check_find_open(files.p[i], &handle, err);
		if (!o)
			bad = -1;
		else if (!has(ps, o))
			add(ps, o, files.p[i], false);
	}
	check_files_free(&files);
	return bad;
}

/* Those that load by themselves wait for a call that they are about. */
static void load_automatic(struct plugins *ps)
{
	static bool said;
	check_files files = check_find_all();
	for (size_t i = 0; i < files.n; i++) {
		struct err err = { 0 };
		void *handle;
		const struct holdfast_oracle *o = check_find_open(files.p[i], &handle, &err);
		if (!o && !said)
			msg_warn("%s", err.text);
		else if (o && o->api >= 2 && o->automatic && !has(ps, o))
			add(ps, o, files.p[i], true);
		said |= !o;
	}
	check_files_free(&files);
}

struct plugins *check_plugins_load(struct check *c, const char *const *word, size_t n,
				   struct err *err)
{
	struct plugins *ps = xcalloc(1, sizeof *ps);
	bool automatic = true;
	ps->check = c;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(word[i], CHECK_NO_ORACLE)) {
			automatic = false;
		} else if (load_named(ps, word[i], err)) {
			check_plugins_free(ps);
			return NULL;
		}
	}
	for (size_t i = 0; i < ps->v.n; i++)
		check_plugin_start(ps, ps->v.p[i]);
	if (automatic)
		load_automatic(ps);
	return ps;
}

const char *const *check_plugins_watches(const struct plugins *ps, size_t *n)
{
	*n = ps->watch.n;
	return ps->watch.p;
}

void check_plugins_free(struct plugins *ps)
{
	if (!ps)
		return;
	check_plugins_stop(ps);
	for (size_t i = 0; i < ps->v.n; i++) {
		struct plugin *p = ps->v.p[i];
		for (size_t k = 0; k < p->message.n; k++)
			free(p->message.p[k]);
		VEC_FREE(&p->message);
		VEC_FREE(&p->related);
		check_causes_free(&p->findings.causes);
		free(p->path);
		free(p->why);
		free(p);
	}
	check_values_free(&ps->values);
	for (unsigned kind = 0; kind < TRACE_KINDS; kind++)
		VEC_FREE(&ps->listener[kind]);
	VEC_FREE(&ps->depth);
	VEC_FREE(&ps->v);
	VEC_FREE(&ps->watch);
	free(ps);
}

char *check_plugins_text(const struct plugins *ps)
{
	struct buf b = { 0 };
	const char *why = NULL;
	for (size_t i = 0; i < ps->v.n; i++) {
		const struct plugin *p = ps->v.p[i];
		if (!p->why)
			continue;
		buf_printf(&b, "%s%s", why ? ", " : "loaded by themselves: ", p->oracle->name);
		why = p->why;
	}
	if (why)
		buf_printf(&b,
			   " (the program calls %s; --oracle " CHECK_NO_ORACLE " keeps them out)",
			   why);
	if (why)
		buf_add(&b, "", 1);
	return b.p;
}
