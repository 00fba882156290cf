/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree: which file a name of debug information means, its text and its lines. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/internal.h"

char *source_keep(struct source *s, char *text)
{
	VEC_PUSH(&s->kept, text);
	return text;
}

char *source_keep_n(struct source *s, const char *text, size_t n)
{
	char *copy = xmalloc(n + 1);
	memcpy(copy, text, n);
	copy[n] = 0;
	return source_keep(s, copy);
}

const char *source_string(struct source *s, CXString string)
{
	const char *text = source_lib.getCString(string);
	char *copy = source_keep(s, xstrdup(text ? text : ""));
	source_lib.disposeString(string);
	return copy;
}

const char *source_type_text(struct source *s, CXType type)
{
	return source_string(s, source_lib.getTypeSpelling(type));
}

/* ---- lines ---- */

static const struct source_text *text_of(const struct source_file *f)
{
	return (const struct source_text *)f; /* it is the first member */
}

size_t source_line_start(const struct source_file *f, uint32_t line)
{
	const struct source_text *t = text_of(f);
	return line > t->line.n ? f->size : t->line.p[line ? line - 1 : 0];
}

uint32_t source_line_of(const struct source_file *f, size_t offset)
{
	const struct source_text *t = text_of(f);
	return (uint32_t)BISECT(i, t->line.n, t->line.p[i] <= offset);
}

struct source_place source_place_of(const struct source_file *f, size_t offset)
{
	uint32_t line = source_line_of(f, offset);
	return (struct source_place){ f->path, line,
				      (uint32_t)(offset - source_line_start(f, line)) + 1 };
}

int source_offset(const struct source_file *f, const struct source_place *at, size_t *offset,
		  struct err *err)
{
	const struct source_text *t = text_of(f);
	size_t lines = t->line.n - (f->size && t->line.p[t->line.n - 1] == f->size);
	if (at->line == 0 || at->line > lines)
		return err_set(
			err, EXIT_PROGRAM,
			"%s has %zu lines, and debug information speaks of line %u: it is not the "
			"source that was compiled",
			f->name, lines, at->line);
	size_t start = source_line_start(f, at->line);
	*offset = start + (at->column ? at->column - 1 : 0);
	if (*offset > source_line_end(f, start))
		return err_set(
			err, EXIT_PROGRAM,
			"line %u of %s has no column %u: it is not the source that was compiled",
			at->line, f->name, at->column);
	return 0;
}

/* ---- reading ---- */

static int read_text(struct source_text *t, struct err *err)
{
	int fd = open(t->file.path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		int e = errno;
		if (fd >= 0)
			close(fd);
		errno = e;
		return err_errno(err, EXIT_PROGRAM, "%s", t->file.path);
	}
	char *text = xmalloc((size_t)st.st_size + 1);
	ssize_t n = 0, got = 1;
	while (n < st.st_size && (got = read(fd, text + n, (size_t)(st.st_size - n))) > 0)
		n += got;
	close(fd);
	text[n] = 0;
	t->file.text = text;
	t->file.size = (size_t)n;
	size_t returns = 0;
	VEC_PUSH(&t->line, 0);
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\n') {
			VEC_PUSH(&t->line, (uint32_t)i + 1);
			returns += i > 0 && text[i - 1] == '\r';
		}
	t->file.crlf = returns * 2 > t->line.n - 1;
	return 0;
}

static bool below(const char *root, const char *path)
{
	size_t n = strlen(root);
	return strncmp(root, path, n) == 0 && (path[n] == '/' || n == 0);
}

/* What files say of themselves, in their first lines, by common conventions. */
static const char *const generated[] = { "DO NOT EDIT", "Do not edit", "@generated" };
#define FIRST_LINES 10

/* A tool made the file, and will make it again. A #line says so, too: then lines are not those of the file. */
static const char *made(struct source *s, const struct source_text *t)
{
	const char *text = t->file.text;
	size_t head = t->line.n > FIRST_LINES ? t->line.p[FIRST_LINES] : t->file.size;
	for (size_t i = 0; i < sizeof generated / sizeof *generated; i++) {
		const char *at = strstr(text, generated[i]);
		if (at && (size_t)(at - text) < head)
			return source_keep(s, xasprintf("%s says that it is generated (%s)",
							t->file.path, generated[i]));
	}
	for (size_t i = 0; i < t->line.n; i++) {
		const char *p = text + t->line.p[i];
		p += strspn(p, " \t");
		if (*p++ != '#')
			continue;
		p += strspn(p, " \t");
		if ((!strncmp(p, "line", 4) && (p[4] == ' ' || p[4] == '\t')) ||
		    (*p >= '0' && *p <= '9'))
			return source_keep(s,
					   xasprintf("%s is generated: it has a #line in line %zu",
						     t->file.path, i + 1));
	}
	return NULL;
}

/* Why the file may not be edited; NULL: it may. */
static const char *refusal(struct source *s, const struct source_text *t)
{
	const char *path = t->file.path;
	struct stat st;
	if (!below(s->root, path))
		return source_keep(s, xasprintf("%s is not below %s", path, s->root));
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return source_keep(s, xasprintf("%s is no file", path));
	if (!(st.st_mode & 0222) || access(path, W_OK) < 0)
		return source_keep(s, xasprintf("%s is read-only", path));
	return made(s, t);
}

/* The file of a path without links; NULL and err: it cannot be read. */
static struct source_text *open_text(struct source *s, const char *path, struct err *err)
{
	uint64_t key = hash_bytes(path, strlen(path)), val;
	if (hmap_get(&s->file_at, key, &val))
		return (struct source_text *)(uintptr_t)val;
	struct source_text *t = xcalloc(1, sizeof *t);
	t->file.path = source_keep(s, xstrdup(path));
	if (read_text(t, err) < 0) {
		free(t);
		return NULL;
	}
	t->file.name = below(s->root, path) ? t->file.path + strlen(s->root) + 1 : t->file.path;
	t->file.refused = refusal(s, t);
	hmap_put(&s->file_at, key, (uintptr_t)t);
	VEC_PUSH(&s->file, t);
	return t;
}

/* ROOT/tail for the longest tail of the name that is there, without links; NULL: none. */
static char *below_root(struct source *s, const char *name)
{
	for (const char *tail = name; tail; tail = strchr(tail, '/')) {
		while (*tail == '/')
			tail++;
		if (!*tail)
			break;
		char *path = xasprintf("%s/%s", s->root, tail);
		char *real = realpath(path, NULL);
		free(path);
		if (real && below(s->root, real))
			return real;
		free(real);
	}
	return NULL;
}

/* The file is newer than the object that it is in; of one that is in none, than the newest. */
static void check_age(struct source *s, struct source_text *t)
{
	struct stat st;
	if (t->aged || s->options.changed)
		return;
	t->aged = true;
	uint64_t built = source_built_time(s, t->file.path);
	built = built ? built : s->newest;
	if (built && !t->file.refused && stat(t->file.path, &st) == 0 &&
	    (uint64_t)st.st_mtime > built)
		t->file.refused = source_keep(
			s, xasprintf("%s was changed after the program was built", t->file.path));
}

int source_file_at(struct source *s, const char *name, const struct source_file **out,
		   struct err *err)
{
	if (source_find_file(s, name, out, err) < 0)
		return -1;
	check_age(s, (struct source_text *)*out);
	return 0;
}

int source_find_file(struct source *s, const char *name, const struct source_file **out,
		     struct err *err)
{
	uint64_t key = hash_bytes(name, strlen(name)), val;
	if (hmap_get(&s->name_at, key, &val)) {
		*out = &((struct source_text *)(uintptr_t)val)->file;
		return 0;
	}
	char *real = *name == '/' ? realpath(name, NULL) : NULL;
	if (!real || !below(s->root, real)) {
		char *other = below_root(s, name);
		if (other) {
			free(real);
			real = other;
		}
	}
	if (!real)
		return err_set(err, EXIT_PROGRAM, "%s is not to be found below %s", name, s->root);
	struct source_text *t = open_text(s, real, err);
	free(real);
	if (!t)
		return -1;
	hmap_put(&s->name_at, key, (uintptr_t)t);
	*out = &t->file;
	return 0;
}

/* ---- opening and closing ---- */

static uint64_t newest_object(const struct source_options *o)
{
	uint64_t newest = 0;
	for (size_t i = 0; i < o->objects; i++) {
		struct stat st;
		if (stat(o->object[i], &st) == 0 && (uint64_t)st.st_mtime > newest)
			newest = (uint64_t)st.st_mtime;
	}
	return newest;
}

struct source *source_open(const struct source_options *o, struct err *err)
{
	struct stat st;
	const char *root = o->root ? o->root : ".";
	if (source_lib_load(err) < 0)
		return NULL;
	char *real = realpath(root, NULL);
	if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode)) {
		free(real);
		err_set(err, EXIT_USAGE, "%s is no folder", root);
		return NULL;
	}
	struct source *s = xcalloc(1, sizeof *s);
	s->root = strcmp(real, "/") == 0 ? (free(real), xstrdup("")) : real;
	s->options = *o;
	s->newest = newest_object(o);
	s->index = source_lib.createIndex(0, 0);
	if (source_commands_open(s, err) < 0) {
		source_close(s);
		return NULL;
	}
	return s;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	source_units_close(s);
	source_commands_close(s);
	source_built_close(s);
	source_lib.disposeIndex(s->index);
	for (size_t i = 0; i < s->file.n; i++) {
		free((char *)s->file.p[i]->file.text);
		VEC_FREE(&s->file.p[i]->line);
		free(s->file.p[i]);
	}
	for (size_t i = 0; i < s->kept.n; i++)
		free(s->kept.p[i]);
	VEC_FREE(&s->file);
	VEC_FREE(&s->kept);
	VEC_FREE(&s->sources);
	VEC_FREE(&s->define);
	hmap_free(&s->file_at);
	hmap_free(&s->name_at);
	hmap_free(&s->name_used);
	hmap_free(&s->name_of);
	hmap_free(&s->declared);
	free(s->root);
	free(s);
}

void source_counts(const struct source *s, size_t *units, size_t *broken)
{
	*units = s->parsed;
	*broken = s->broken;
}
