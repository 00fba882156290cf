/* SPDX-License-Identifier: BSD-3-Clause */
/* Which folders the view covers, and where their changes are kept. */
#include "preload/internal.h"

#include "holdfast.h"

#include <stdlib.h>
#include <string.h>

struct preload_view preload_state;
static bool explored;      /* by the tracer that this runs under */
static char text[1 << 13]; /* HOLDFAST_VIEW; folders point into it */

static bool begins(const char *path, const char *with, size_t n)
{
	return !strncmp(path, with, n) && (path[n] == '/' || !path[n]);
}

static void take_bases(char *line)
{
	struct preload_bases *b = &preload_state.base;
	for (char *part = line; part && b->n < PRELOAD_BASES;) {
		char *colon = strchr(part, ':');
		if (colon)
			*colon = '\0';
		if (*part == '/' && strlen(part) < sizeof b->path[0])
			strcpy(b->path[b->n++], part);
		part = colon ? colon + 1 : NULL;
	}
}

static void take_folder(char *line)
{
	struct preload_view *s = &preload_state;
	char *end;
	unsigned long id = strtoul(line, &end, 10);
	if (end == line || (*end != '+' && *end != '=') || strncmp(end + 1, " /", 2) != 0 ||
	    s->nfolder == PRELOAD_FOLDERS)
		return;
	const char *dir = strcmp(end + 2, "/") ? end + 2 : "";
	s->folder[s->nfolder++] = (struct preload_folder){
		.dir = dir, .n = strlen(dir), .id = (uint32_t)id, .only = *end == '='
	};
}

/* Before any other code of the program, as a rule; else with its first call. */
__attribute__((constructor)) void preload_start(void)
{
	static bool started;
	const char *env = getenv(PRELOAD_VIEW);
	if (started)
		return;
	started = true;
	if (!env || strlen(env) >= sizeof text)
		return;
	strcpy(text, env);
	for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		if (line == text)
			take_bases(line);
		else
			take_folder(line);
	}
	if (preload_state.base.n)
		explored = holdfast_request(PRELOAD_REQUEST_VIEW, (unsigned long)&preload_state, 0);
}

unsigned preload_layers(void)
{
	return *(volatile const __typeof__(preload_state.base.n) *)&preload_state.base.n;
}

bool preload_on(void)
{
	preload_start();
	return preload_state.base.n > 0;
}

size_t preload_copy(char to[VIEW_PATH], const char *from)
{
	if (explored)
		return holdfast_request(PRELOAD_REQUEST_TEXT, (unsigned long)to,
					(unsigned long)from);
	size_t n = strnlen(from, VIEW_PATH);
	if (n < VIEW_PATH)
		memcpy(to, from, n + 1);
	return n;
}

bool preload_is_input(const char *path)
{
	return explored && holdfast_request(PRELOAD_REQUEST_INPUT, (unsigned long)path, 0);
}

const struct preload_folder *preload_folder_at(const char *path, size_t n)
{
	for (unsigned i = 0; i < preload_state.nfolder; i++) {
		const struct preload_folder *f = &preload_state.folder[i];
		if (f->n == n && !memcmp(f->dir, path, n))
			return f;
	}
	return NULL;
}

const struct preload_folder *preload_folder_over(const char *path)
{
	const struct preload_folder *best = NULL;
	for (unsigned i = 0; i < preload_state.nfolder; i++) {
		const struct preload_folder *f = &preload_state.folder[i];
		if (begins(path, f->dir, f->n) && (!best || f->n > best->n))
			best = f;
	}
	return best;
}

bool preload_in_base(const char *path)
{
	const struct preload_bases *b = &preload_state.base;
	for (unsigned i = 0; i < b->n; i++)
		if (begins(path, b->path[i], strlen(b->path[i])))
			return true;
	return false;
}

/* "/dev/shm/holdfast-Ab3dE5": all are called so, but for the end. */
bool preload_is_cell(const char *dir, const char *name)
{
	const struct preload_bases *b = &preload_state.base;
	const char *base = b->path[b->n - 1], *slash = strrchr(base, '/');
	const char *dash = strrchr(slash, '-');
	return dash && strlen(dir) == (size_t)(slash - base) &&
	       !memcmp(dir, base, (size_t)(slash - base)) && strlen(name) == strlen(slash + 1) &&
	       !strncmp(name, slash + 1, (size_t)(dash - slash));
}

static bool outside_of(const char *base, const char *inside, char out[VIEW_PATH])
{
	size_t n = strlen(base);
	char *end;
	if (!begins(inside, base, n) || strncmp(inside + n, "/u", 2) != 0)
		return false;
	unsigned long id = strtoul(inside + n + 2, &end, 10);
	for (unsigned i = 0; i < preload_state.nfolder; i++) {
		const struct preload_folder *f = &preload_state.folder[i];
		if (f->id != id || (*end && *end != '/') || f->n + strlen(end) + 2 > VIEW_PATH)
			continue;
		memcpy(out, f->dir, f->n);
		strcpy(out + f->n, end);
		if (!*out)
			strcpy(out, "/");
		return true;
	}
	return false;
}

bool preload_outside(const char *inside, char out[VIEW_PATH])
{
	const struct preload_bases *b = &preload_state.base;
	for (unsigned i = 0; i < b->n; i++)
		if (outside_of(b->path[i], inside, out))
			return true;
	return false;
}

static size_t add(char *out, size_t room, size_t at, const char *s)
{
	size_t n = strlen(s);
	if (at + n < room)
		memcpy(out + at, s, n + 1);
	return at + n;
}

size_t preload_text(char *out, size_t room)
{
	const struct preload_view *s = &preload_state;
	char digits[PRELOAD_DIGITS];
	size_t at = 0;
	for (unsigned i = 0; i < s->base.n; i++) {
		at = add(out, room, at, i ? ":" : PRELOAD_VIEW "=");
		at = add(out, room, at, s->base.path[i]);
	}
	for (unsigned i = 0; i < s->nfolder; i++) {
		at = add(out, room, at, "\n");
		at = add(out, room, at, preload_digits(digits, s->folder[i].id));
		at = add(out, room, at, s->folder[i].only ? "= " : "+ ");
		at = add(out, room, at, s->folder[i].n ? s->folder[i].dir : "/");
	}
	return at;
}
