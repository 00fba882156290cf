/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a unit was compiled where no compile_commands.json says it: gcc and clang keep the options that decide what the
 * code means in the debug information, but neither -I nor -D. Folders of headers follow from the files that a
 * unit was made of.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source/internal.h"
#include "srcloc/srcloc.h"

struct source_built {
	const char *path; /* of the unit's file, as it is here */
	const char *folder, *producer;
	VEC(const char *) header; /* paths, as they are here */
	uint64_t time;            /* of the object */
};

static const char *joined(struct source *s, const char *folder, const char *name)
{
	return *name == '/' || !folder ? name : source_keep(s, xasprintf("%s/%s", folder, name));
}

static bool is_system(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 || *path == '<';
}

struct reading {
	struct source *s;
	uint64_t time;
};

static void note_unit(void *arg, const struct srcloc_unit *u)
{
	const struct reading *r = arg;
	struct source *s = r->s;
	const struct source_file *f;
	struct err ignored;
	if (source_find_file(s, joined(s, u->folder, u->name), &f, &ignored) < 0)
		return;
	struct source_built *b = xcalloc(1, sizeof *b);
	b->path = f->path;
	b->time = r->time;
	b->folder = u->folder ? source_keep(s, xstrdup(u->folder)) : NULL;
	b->producer = source_keep(s, xstrdup(u->producer ? u->producer : ""));
	for (size_t i = 0; i < u->files; i++) {
		const char *name = joined(s, u->folder, u->file[i]);
		if (!is_system(name) && source_find_file(s, name, &f, &ignored) == 0)
			VEC_PUSH(&b->header, f->path);
	}
	VEC_PUSH(&s->built, b);
	VEC_PUSH(&s->sources, b->path);
}

static void load(struct source *s)
{
	if (s->built_known)
		return;
	s->built_known = true;
	for (size_t i = 0; i < s->options.objects; i++) {
		struct stat st;
		struct reading r = { .s = s };
		if (stat(s->options.object[i], &st) == 0)
			r.time = (uint64_t)st.st_mtime;
		srcloc_units(s->options.object[i], note_unit, &r);
	}
}

void source_built_list(struct source *s)
{
	load(s);
}

static bool has_file(const struct source_built *b, const char *path)
{
	bool found = strcmp(b->path, path) == 0;
	for (size_t k = 0; k < b->header.n && !found; k++)
		found = strcmp(b->header.p[k], path) == 0;
	return found;
}

uint64_t source_built_time(struct source *s, const char *path)
{
	uint64_t time = 0;
	load(s);
	for (size_t i = 0; i < s->built.n; i++)
		if (s->built.p[i]->time > time && has_file(s->built.p[i], path))
			time = s->built.p[i]->time;
	return time;
}

const char *source_built_including(struct source *s, const char *header)
{
	load(s);
	for (size_t i = 0; i < s->built.n; i++)
		if (has_file(s->built.p[i], header))
			return s->built.p[i]->path;
	return NULL;
}

void source_built_close(struct source *s)
{
	for (size_t i = 0; i < s->built.n; i++) {
		VEC_FREE(&s->built.p[i]->header);
		free(s->built.p[i]);
	}
	VEC_FREE(&s->built);
}

/* ---- flags ---- */

static void add_folder(struct source *s, struct source_flags *f, const char *folder, size_t n)
{
	struct stat st;
	char *flag = xasprintf("-I%.*s", (int)n, folder);
	bool known = stat(flag + 2, &st) < 0 || !S_ISDIR(st.st_mode);
	for (size_t i = 0; i < f->arg.n && !known; i++)
		known = strcmp(f->arg.p[i], flag) == 0;
	if (known)
		free(flag);
	else
		VEC_PUSH(&f->arg, source_keep(s, flag));
}

/* The header's folder and those above it up to ROOT: one of them is what #include names it from. */
static void add_folders(struct source *s, struct source_flags *f, const char *header)
{
	size_t root = strlen(s->root);
	for (const char *end = strrchr(header, '/'); end && (size_t)(end - header) >= root;) {
		add_folder(s, f, header, (size_t)(end - header));
		if (end == header)
			break;
		const char *up = end - 1;
		while (up > header && *up != '/')
			up--;
		end = up;
	}
}

/* Options that the compiler noted; the unit's own folder is searched anyway. */
static void add_options(struct source *s, struct source_flags *f, const char *producer)
{
	for (const char *p = strstr(producer, " -"); p; p = strstr(p + 1, " -")) {
		const char *word = source_keep_n(s, p + 1, strcspn(p + 1, " "));
		if (strncmp(word, "-std=", 5) == 0 || strncmp(word, "-m", 2) == 0)
			source_flags_keep(s, f, &word, 1);
	}
}

void source_flags_built(struct source *s, const char *path, struct source_flags *f)
{
	static const char *const guesses[] = { "", "/include", "/src" };
	load(s);
	for (size_t i = 0; i < s->built.n; i++) {
		const struct source_built *b = s->built.p[i];
		if (strcmp(b->path, path) != 0)
			continue;
		add_options(s, f, b->producer);
		for (size_t k = 0; k < b->header.n; k++)
			add_folders(s, f, b->header.p[k]);
		break;
	}
	for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
		char *folder = xasprintf("%s%s", s->root, guesses[i]);
		add_folder(s, f, folder, strlen(folder));
		free(folder);
	}
}
