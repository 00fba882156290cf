/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A spool of messages, in the way of maildir: each is a file of its own. It is written in POOL/tmp, synced, linked
 * into POOL/new under the next number, and removed from tmp; then new is synced. The oldest is the one with the lowest
 * number; it is taken by unlink. To replace it, another file is renamed over it.
 */
#define _GNU_SOURCE
#include "common/corpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT 1500 /* of a message */

struct spool {
	int top, tmp, fresh; /* folders */
	uint64_t first, next;
};

#define OR_DIE(what)                                         \
	do {                                                 \
		if ((what) < 0) {                            \
			fprintf(stderr, "%s: %m\n", #what);  \
			exit(70);                            \
		}                                            \
	} while (0)

static const char *name_of(uint64_t n)
{
	static char name[2][32];
	static int i;

	i = !i;
	sprintf(name[i], "%012" PRIu64, n);
	return name[i];
}

/* ---- messages ---- */

static size_t compose(char *text, uint64_t key, uint64_t value)
{
	int n = sprintf(text, "key %" PRIu64 "\nvalue %" PRIu64 "\n", key, value);

	while (n < TEXT - 4)
		text[n] = (char)('a' + (key + value + (uint64_t)n) % 26), n++;
	return (size_t)n + (size_t)sprintf(text + n, "\n.\n");
}

static int read_message(const struct spool *s, uint64_t n, struct corpus_pair *out)
{
	char text[TEXT + 1] = "", wanted[TEXT + 1];
	int fd = openat(s->fresh, name_of(n), O_RDONLY);
	ssize_t length;

	*out = (struct corpus_pair){ 0, 0 };
	if (fd < 0)
		return 0;
	length = read(fd, text, TEXT);
	close(fd);
	if (sscanf(text, "key %" SCNu64 "\nvalue %" SCNu64, &out->key, &out->value) != 2)
		return 0;
	return length == (ssize_t)compose(wanted, out->key, out->value) && memcmp(text, wanted, (size_t)length) == 0;
}

/* Writes a message; the descriptor stays open. */
static int write_message(const struct spool *s, int folder, const char *name, uint64_t key, uint64_t value)
{
	char text[TEXT + 1];
	size_t n = compose(text, key, value);
	int fd;

#ifdef TRAP_SPOOL_TMPFILE
	if (folder == s->tmp && name[0] == '0')
		OR_DIE(fd = openat(folder, ".", O_TMPFILE | O_WRONLY, 0644));
	else
#endif
		OR_DIE(fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	OR_DIE(write(fd, text, n)); /* BUG(spool-unsynced) BUG(spool-in-place) BUG(spool-late) */
#if !defined(BUG_SPOOL_UNSYNCED) && !defined(BUG_SPOOL_LATE)
	OR_DIE(fsync(fd));
#endif
	(void)s;
	return fd;
}

static void sync_fresh(const struct spool *s)
{
#if defined(BUG_SPOOL_NO_DIR)
	(void)s;
#elif defined(BUG_SPOOL_WRONG_DIR)
	OR_DIE(fsync(s->tmp));
#else
	OR_DIE(fsync(s->fresh));
#endif
}

static enum corpus_result spool_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct spool *s = store;
	const char *name = name_of(s->next);
	int fd;

	(void)out;
#ifdef BUG_SPOOL_IN_PLACE
	fd = write_message(s, s->fresh, name, key, value);
#else
	fd = write_message(s, s->tmp, name, key, value);
#ifdef TRAP_SPOOL_TMPFILE
	char path[64];

	sprintf(path, "/proc/self/fd/%d", fd);
	OR_DIE(linkat(AT_FDCWD, path, s->fresh, name, AT_SYMLINK_FOLLOW)); /* TRAP(spool-tmpfile) */
#else
	OR_DIE(linkat(s->tmp, name, s->fresh, name, 0)); /* BUG(spool-no-dir) BUG(spool-wrong-dir) */
#ifndef TRAP_SPOOL_STALE
	OR_DIE(unlinkat(s->tmp, name, 0)); /* TRAP(spool-stale) */
#endif
#endif
#endif
	sync_fresh(s);
#ifdef BUG_SPOOL_LATE
	OR_DIE(fsync(fd));
#endif
#ifdef BUG_SPOOL_SYNC_TWICE
	OR_DIE(fsync(s->fresh)); /* BUG(spool-sync-twice) */
#endif
	close(fd);
	s->next++;
	return CORPUS_NEW;
}

static enum corpus_result spool_get(void *store, uint64_t key, uint64_t *out)
{
	struct spool *s = store;
	struct corpus_pair p;

	(void)key;
	if (s->first == s->next)
		return CORPUS_NONE;
	read_message(s, s->first, &p);
	*out = p.value;
	return CORPUS_VALUE;
}

static enum corpus_result spool_del(void *store, uint64_t key, uint64_t *out)
{
	struct spool *s = store;

	if (spool_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	OR_DIE(unlinkat(s->fresh, name_of(s->first++), 0)); /* BUG(spool-del-unsynced) */
#ifndef BUG_SPOOL_DEL_UNSYNCED
	sync_fresh(s);
#endif
	return CORPUS_OLD;
}

static enum corpus_result spool_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct spool *s = store;
	struct corpus_pair p;

	if (spool_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	read_message(s, s->first, &p);
	close(write_message(s, s->tmp, "replacement", p.key, value));
#ifdef BUG_SPOOL_UNLINK_FIRST
	OR_DIE(unlinkat(s->fresh, name_of(s->first), 0)); /* BUG(spool-unlink-first) */
	OR_DIE(fsync(s->fresh));
#endif
	OR_DIE(renameat(s->tmp, "replacement", s->fresh, name_of(s->first)));
	sync_fresh(s);
	return CORPUS_OLD;
}

static size_t spool_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct spool *s = store;
	size_t found = 0;

	(void)key;
	for (uint64_t i = s->first; i < s->next && found < n; i++)
		read_message(s, i, &out[found++]);
	return found;
}

/* ---- beginning and end ---- */

static int folder_in(int top, const char *name)
{
	int made = mkdirat(top, name, 0755) == 0, fd;

	OR_DIE(fd = openat(top, name, O_RDONLY | O_DIRECTORY));
#ifdef BUG_SPOOL_FOLDERS
	made = 0;
#endif
	if (made)
		OR_DIE(fsync(top));
	return fd;
}

static void *spool_open(const char *path)
{
	struct spool *s = calloc(1, sizeof(*s));
	DIR *list;
	int up;

	if (mkdir(path, 0755) == 0) {
		OR_DIE(s->top = open(path, O_RDONLY | O_DIRECTORY));
		OR_DIE(up = openat(s->top, "..", O_RDONLY | O_DIRECTORY));
		OR_DIE(fsync(up));
		close(up);
	} else {
		OR_DIE(s->top = open(path, O_RDONLY | O_DIRECTORY));
	}
	s->tmp = folder_in(s->top, "tmp");
	s->fresh = folder_in(s->top, "new"); /* BUG(spool-folders) */
	OR_DIE((list = fdopendir(dup(s->fresh))) ? 0 : -1);
	for (struct dirent *e; (e = readdir(list));) {
		uint64_t n;

		if (sscanf(e->d_name, "%" SCNu64, &n) != 1)
			continue;
		if (s->first == s->next)
			s->first = n, s->next = n + 1;
		s->first = n < s->first ? n : s->first;
		s->next = n >= s->next ? n + 1 : s->next;
	}
	closedir(list);
	return s;
}

static void spool_close(void *store)
{
	struct spool *s = store;

	close(s->fresh);
	close(s->tmp);
	close(s->top);
	free(s);
}

static void spool_check(void *store)
{
	const struct spool *s = store;
	struct corpus_pair p;

	for (uint64_t i = s->first; i < s->next; i++)
		if (!read_message(s, i, &p))
			corpus_wrong("message %" PRIu64 " is missing or damaged", i);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		"spool", spool_open, spool_close, spool_check, spool_put, spool_get, spool_del, spool_upd, spool_scan,
	};

	return corpus_main(&program, argc, argv);
}
