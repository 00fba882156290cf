/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scratch: what a program makes and removes by itself in a folder for temporary files. No crash state tells whether it is
 * there, or what is in it: recovery sees it as it is now, gone.
 *
 * A name alone is no evidence, since data may lie there as well, with a journal beside it that comes and goes. So a folder
 * counts only if the program changes no file in it that was there before, or stays; and none counts if there would be
 * nothing else to crash.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

/* Nobody may rely on what is there after a restart: Filesystem Hierarchy Standard 3.0, 3.18 and 5.15; shm_open(3).
 * For /var/tmp, whose files stay, the folder's use as above is the evidence. */
static const char *const folders[] = { "/tmp", "/var/tmp", "/dev/shm" };
enum { FOLDERS = sizeof folders / sizeof *folders, NO_FOLDER = FOLDERS };

struct scratch {
	struct crash_history *h;
	uint8_t *lies,
		*stays; /* by thing: in such folders only; elsewhere too, before, or at the end */
	uint32_t folder[FOLDERS]; /* things; TRACE_NOTHING: it does not occur */
	bool used[FOLDERS];       /* … for data */
};

/* What is in a folder at the end, by name. */
static uint32_t find_in(const struct crash_history *h, uint32_t folder, const char *name,
			size_t len)
{
	const struct trace_entry *e;
	for (size_t i = 0; (e = trace_tree_entry(h->tree, i)); i++)
		if (e->folder == folder && strlen(e->name) == len && !memcmp(e->name, name, len))
			return e->at.p[e->at.n - 1].thing;
	return TRACE_NOTHING;
}

/* What is at an absolute path at the end; the root is 0. */
static uint32_t find_path(const struct crash_history *h, const char *path)
{
	uint32_t thing = 0;
	while (*path && thing != TRACE_NOTHING) {
		size_t len = strcspn(++path, "/");
		thing = find_in(h, thing, path, len);
		path += len;
	}
	return thing;
}

static size_t folder_of(const struct scratch *s, uint32_t folder)
{
	size_t i = 0;
	while (i < FOLDERS && s->folder[i] != folder)
		i++;
	return i;
}

static bool is_file(const struct crash_history *h, uint32_t thing)
{
	return thing != TRACE_NOTHING && trace_tree_thing(h->tree, thing)->kind == TRACE_IS_FILE;
}

static void look_at(struct scratch *s, const struct trace_entry *e, size_t folder)
{
	for (size_t k = 0; k < e->at.n; k++) {
		uint32_t thing = e->at.p[k].thing;
		if (!is_file(s->h, thing))
			continue;
		s->lies[thing] = folder != NO_FOLDER;
		if (folder != NO_FOLDER && k && k + 1 < e->at.n)
			continue;
		s->stays[thing] = 1;
		if (folder != NO_FOLDER)
			s->used[folder] = true;
	}
}

static void look(struct scratch *s)
{
	const struct trace_entry *e;
	for (size_t i = 0; i < FOLDERS; i++)
		s->folder[i] = find_path(s->h, folders[i]);
	for (size_t i = 0; (e = trace_tree_entry(s->h->tree, i)); i++)
		look_at(s, e, folder_of(s, e->folder));
	for (size_t i = 0; (e = trace_tree_entry(s->h->tree, i)); i++) {
		size_t folder = folder_of(s, e->folder);
		for (size_t k = 0; k < e->at.n; k++)
			if (is_file(s->h, e->at.p[k].thing) && folder != NO_FOLDER &&
			    s->used[folder])
				s->stays[e->at.p[k].thing] = 1;
	}
}

/* What is mapped has lines of its own: it stays. */
static bool is_scratch(const struct scratch *s, uint32_t thing)
{
	const struct trace_thing *g = trace_tree_thing(s->h->tree, thing);
	return s->lies[thing] && !s->stays[thing] && g->node != TRACE_NO_NODE &&
	       g->file == TRACE_NO_FILE;
}

static void take(struct scratch *s, size_t things)
{
	struct crash_history *h = s->h;
	size_t n = 0, files = 0;
	for (uint32_t i = 0; i < things; i++) {
		files += is_file(h, i);
		n += s->lies[i] = is_scratch(s, i);
	}
	if (!n || n == files)
		return;
	h->scratch = s->lies;
	s->lies = NULL;
	for (uint32_t i = 0; i < things; i++) {
		uint32_t node = trace_tree_thing(h->tree, i)->node;
		if (h->scratch[i] && h->of_node[node] != CRASH_NO_FILE)
			h->file.p[h->of_node[node]].lost = true;
	}
}

void crash_scratch_find(struct crash_history *h)
{
	size_t things = trace_tree_things(h->tree);
	struct scratch s = { .h = h, .lies = xcalloc(things, 1), .stays = xcalloc(things, 1) };
	look(&s);
	take(&s, things);
	free(s.lies);
	free(s.stays);
}

bool crash_is_scratch(const struct crash_history *h, uint32_t thing)
{
	return h->scratch && thing != TRACE_NOTHING && h->scratch[thing];
}

bool crash_scratch_only(const struct crash_history *h, const struct trace_entry *e)
{
	bool any = false;
	for (size_t k = 0; h->scratch && k < e->at.n; k++) {
		if (e->at.p[k].thing != TRACE_NOTHING && !h->scratch[e->at.p[k].thing])
			return false;
		any |= e->at.p[k].thing != TRACE_NOTHING;
	}
	return any;
}
