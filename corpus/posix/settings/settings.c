/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings in a text file, as a desktop program keeps them: read as a whole when it starts, and written as a
 * whole whenever one changes. What is written goes to settings.new, is synced, and takes the place of settings by
 * rename; then the folder is synced, so that the change stays.
 *
 *   settings 3
 *   key  =  value          a line each, in the order of the keys
 *   end 1f3a…              a sum of all pairs
 */
#define _GNU_SOURCE
#include "common/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 64

typedef struct {
	char *folder, *file, *fresh, *backup;
	size_t count;
	struct corpus_pair pair[MOST];
	int damaged; /* what is in the file cannot be right */
} Settings;

static void die(const char *what)
{
	perror(what);
	abort();
}

static char *join(const char *folder, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		die("asprintf");
	return path;
}

static uint64_t sum_of(const Settings *s)
{
	uint64_t sum = s->count + 1;

	for (size_t i = 0; i < s->count; i++)
		sum = (sum ^ s->pair[i].key * 31 ^ s->pair[i].value) * 0x100000001b3ull;
	return sum;
}

static void sync_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	if (fd < 0 || fsync(fd) != 0)
		die(path);
	close(fd);
}

/* ---- the file ---- */

static int parse(Settings *s, FILE *in)
{
	uint64_t sum;
	size_t n;

	if (fscanf(in, "settings %zu\n", &n) != 1 || n > MOST)
		return 0;
	for (s->count = 0; s->count < n; s->count++) {
		struct corpus_pair *p = &s->pair[s->count];

		if (fscanf(in, "%" SCNu64 " = %" SCNu64 "\n", &p->key, &p->value) != 2)
			return 0;
	}
	return fscanf(in, "end %" SCNx64, &sum) == 1 && sum == sum_of(s);
}

static void load(Settings *s)
{
	FILE *in = fopen(s->file, "r");

	if (!in)
		return;
	s->damaged = !parse(s, in);
	if (s->damaged)
		s->count = 0;
	fclose(in);
}

static void print(const Settings *s, FILE *out)
{
	fprintf(out, "settings %zu\n", s->count);
	for (size_t i = 0; i < s->count; i++)
		fprintf(out, "%-30" PRIu64 " = %-30" PRIu64 "\n", s->pair[i].key, s->pair[i].value);
	fprintf(out, "end %" PRIx64 "\n", sum_of(s));
}

static void save(Settings *s)
{
#ifdef BUG_SETTINGS_IN_PLACE
	FILE *out = fopen(s->file, "w");
#else
	FILE *out = fopen(s->fresh, "w");
#endif
	if (!out)
		die(s->fresh);
	print(s, out);
#ifdef BUG_SETTINGS_BUFFERED
	if (fsync(fileno(out)) != 0)
		die("fsync");
#else
	if (fflush(out) != 0) /* BUG(settings-no-fsync) BUG(settings-fsync-late) BUG(settings-in-place) BUG(settings-wrong-file) */
		die("fflush");
#if defined(BUG_SETTINGS_WRONG_FILE)
	sync_folder(s->folder);
#elif !defined(BUG_SETTINGS_NO_FSYNC) && !defined(BUG_SETTINGS_FSYNC_LATE)
	if (fsync(fileno(out)) != 0)
		die("fsync");
#endif
#ifdef BUG_SETTINGS_TWICE
	if (fdatasync(fileno(out)) != 0) /* BUG(settings-twice) */
		die("fdatasync");
#endif
#endif
#ifdef BUG_SETTINGS_FSYNC_LATE
	if (rename(s->fresh, s->file) != 0)
		die("rename");
	if (fsync(fileno(out)) != 0)
		die("fsync");
#endif
	if (fclose(out) != 0) /* BUG(settings-buffered) */
		die("fclose");
#ifdef BUG_SETTINGS_UNLINK_FIRST
	unlink(s->file); /* BUG(settings-unlink-first) */
	sync_folder(s->folder);
#endif
#ifdef TRAP_SETTINGS_BACKUP
	unlink(s->backup); /* TRAP(settings-backup) */
	if (link(s->file, s->backup) != 0 && errno != ENOENT)
		die("link");
#endif
#if !defined(BUG_SETTINGS_IN_PLACE) && !defined(BUG_SETTINGS_FSYNC_LATE)
	if (rename(s->fresh, s->file) != 0) /* BUG(settings-no-dir-fsync) */
		die("rename");
#endif
#ifndef BUG_SETTINGS_NO_DIR_FSYNC
	sync_folder(s->folder);
#endif
}

/* ---- operations ---- */

static size_t place_of(const Settings *s, uint64_t key)
{
	size_t i = 0;

	while (i < s->count && s->pair[i].key < key)
		i++;
	return i;
}

static int has(const Settings *s, size_t i, uint64_t key)
{
	return i < s->count && s->pair[i].key == key;
}

static enum corpus_result settings_get(void *store, uint64_t key, uint64_t *out)
{
	Settings *s = store;
	size_t i = place_of(s, key);

	if (!has(s, i, key))
		return CORPUS_NONE;
	*out = s->pair[i].value;
	return CORPUS_VALUE;
}

static enum corpus_result settings_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	Settings *s = store;
	size_t i = place_of(s, key);

	if (!has(s, i, key))
		return CORPUS_NONE;
	*out = s->pair[i].value;
	s->pair[i].value = value;
	save(s);
	return CORPUS_OLD;
}

static enum corpus_result settings_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	Settings *s = store;
	size_t i = place_of(s, key);

	if (has(s, i, key))
		return settings_upd(store, key, value, out);
	if (s->count == MOST)
		return CORPUS_FULL;
	memmove(&s->pair[i + 1], &s->pair[i], (s->count - i) * sizeof(s->pair[0]));
	s->pair[i] = (struct corpus_pair){ key, value };
	s->count++;
	save(s);
	return CORPUS_NEW;
}

static enum corpus_result settings_del(void *store, uint64_t key, uint64_t *out)
{
	Settings *s = store;
	size_t i = place_of(s, key);

	if (!has(s, i, key))
		return CORPUS_NONE;
	*out = s->pair[i].value;
	s->count--;
	memmove(&s->pair[i], &s->pair[i + 1], (s->count - i) * sizeof(s->pair[0]));
	save(s);
	return CORPUS_OLD;
}

static size_t settings_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	Settings *s = store;
	size_t i = place_of(s, key), found = 0;

	while (i < s->count && found < n)
		out[found++] = s->pair[i++];
	return found;
}

/* ---- beginning and end ---- */

static void make_folder(const char *path)
{
	char *copy = strdup(path), *slash = strrchr(copy, '/');

	if (mkdir(path, 0755) == 0) {
		if (slash)
			*slash = '\0';
		sync_folder(slash ? slash == copy ? "/" : copy : ".");
	} else if (errno != EEXIST) {
		die(path);
	}
	free(copy);
}

static void *settings_open(const char *path)
{
	Settings *s = calloc(1, sizeof(*s));

	s->folder = strdup(path);
	s->file = join(path, "settings");
	s->fresh = join(path, "settings.new");
	s->backup = join(path, "settings.old");
	make_folder(path);
#ifdef TRAP_SETTINGS_STALE
	unlink(s->fresh); /* TRAP(settings-stale) */
#endif
	load(s);
	return s;
}

static void settings_close(void *store)
{
	Settings *s = store;

	free(s->folder);
	free(s->file);
	free(s->fresh);
	free(s->backup);
	free(s);
}

static void settings_check(void *store)
{
	Settings *s = store;

	if (s->damaged)
		corpus_wrong("%s is damaged", s->file);
	for (size_t i = 1; i < s->count; i++)
		if (s->pair[i].key <= s->pair[i - 1].key)
			corpus_wrong("key %" PRIu64 " is out of order", s->pair[i].key);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "settings",
		.open = settings_open,
		.close = settings_close,
		.check = settings_check,
		.put = settings_put,
		.get = settings_get,
		.del = settings_del,
		.upd = settings_upd,
		.scan = settings_scan,
	};

	return corpus_main(&program, argc, argv);
}
