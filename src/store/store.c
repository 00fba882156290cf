/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A campaign's folder: who may write in it, and what each mode makes of what is there.
 *
 * The writer holds a POSIX lock on campaign.lock. The kernel lets go of it when the process ends,
 * however it ends; processes that it forked do not hold it; and it tells others who does. But it
 * also lets go of it when the process closes any descriptor of the file, so a process remembers
 * what it has locked and does not open that again. The file stays: to remove it would let two
 * processes lock two files of the same name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/internal.h"

static char *lock_path(const char *dir)
{
	return xasprintf("%s/campaign.lock", dir);
}

static struct store *writers; /* this process's */

static bool is_ours(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	for (const struct store *s = writers; s; s = s->next)
		if (s->dev == st.st_dev && s->ino == st.st_ino && s->pid == getpid())
			return true;
	return false;
}

static void remember(struct store *s)
{
	struct stat st;

	if (fstat(s->lock, &st))
		return;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->pid = getpid();
	s->next = writers;
	writers = s;
}

static void forget(struct store *s)
{
	struct store **at = &writers;

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
}

static int held(const char *dir, const struct flock *by, struct err *err)
{
	if (by->l_type != F_UNLCK && by->l_pid > 0)
		return err_set(
			err, EXIT_USAGE,
			"another campaign runs in %s: process %ld; 'holdfast status %s' shows it",
			dir, (long)by->l_pid, dir);
	return err_set(err, EXIT_USAGE, "another campaign runs in %s", dir);
}

static int lock_file(int fd, const char *dir, const char *path, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!fcntl(fd, F_SETLK, &lock))
		return 0;
	if (errno != EACCES && errno != EAGAIN)
		return err_errno(err, EXIT_USAGE, "cannot lock %s", path);
	if (fcntl(fd, F_GETLK, &lock))
		lock.l_type = F_UNLCK;
	return held(dir, &lock, err);
}

static int take_lock(struct store *s, const char *dir, struct err *err)
{
	char *path = lock_path(dir);
	int status = 0;

	if (is_ours(path))
		status = err_set(err, EXIT_INTERNAL, "%s is open for writing already", s->path);
	else if ((s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
		status = err_errno(err, EXIT_USAGE, "cannot keep results in %s: cannot open %s",
				   dir, path);
	else
		status = lock_file(s->lock, dir, path, err);
	if (!status)
		remember(s);
	free(path);
	return status;
}

long store_writer(const char *dir)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char *path = lock_path(dir);
	int fd = is_ours(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	long pid = 0;

	free(path);
	if (fd < 0)
		return 0;
	if (!fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK)
		pid = lock.l_pid > 0 ? (long)lock.l_pid : -1;
	close(fd);
	return pid;
}

static int nothing_there(const struct store *s, struct err *err)
{
	return err_set(err, EXIT_USAGE,
		       "there is no campaign to go on with: %s is not there or has nothing in it",
		       s->path);
}

/* Begins with empty tables, whatever is there. */
static int begin_anew(struct store *s, enum store_content content, struct err *err)
{
	if (content == STORE_RESULTS || content == STORE_SETTINGS)
		return store_db_clear(s, err);
	if (content == STORE_FOREIGN && (store_db_remove(s, err) || store_db_open(s, true, err)))
		return -1;
	/* The first write: WAL from here on, where the file system can do it. */
	return store_exec(s, "PRAGMA journal_mode=WAL", err) || store_db_create(s, err) ? -1 : 0;
}

static int prepare(struct store *s, enum store_mode mode, struct err *err)
{
	enum store_content content = store_db_content(s, err);

	if (content == STORE_FOREIGN && mode != STORE_FRESH)
		return -1;
	if (mode == STORE_NEW && content == STORE_RESULTS)
		return err_set(err, EXIT_USAGE,
			       "%s has results already: --resume goes on, --fresh starts anew",
			       s->path);
	if ((mode == STORE_RESUME || mode == STORE_READ) && content == STORE_EMPTY)
		return nothing_there(s, err);
	if ((mode == STORE_NEW || mode == STORE_FRESH) && begin_anew(s, content, err))
		return -1;
	if (mode == STORE_READ)
		return 0;
	return store_exec(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", err);
}

static int open_store(struct store *s, const char *dir, enum store_mode mode, struct err *err)
{
	bool write = mode != STORE_READ;
	bool there = access(s->path, F_OK) == 0;

	if (!there && errno != ENOENT)
		return err_errno(err, EXIT_USAGE, "cannot use %s", s->path);
	if (!there && mode == STORE_READ)
		return err_set(err, EXIT_USAGE, "%s has no campaign: 'holdfast crash' makes one",
			       dir);
	if (!there && mode == STORE_RESUME)
		return nothing_there(s, err);
	if (write && take_lock(s, dir, err))
		return -1;
	return store_db_open(s, write, err) || prepare(s, mode, err) ? -1 : 0;
}

static void release(struct store *s)
{
	store_db_close(s);
	forget(s);
	if (s->lock >= 0)
		close(s->lock);
	free(s->text);
	free(s->path);
	free(s);
}

struct store *store_open(const char *dir, enum store_mode mode, struct err *err)
{
	struct store *s = xcalloc(1, sizeof *s);

	s->lock = -1;
	s->path = xasprintf("%s/campaign.db", dir);
	if (!open_store(s, dir, mode, err))
		return s;
	release(s);
	return NULL;
}

int store_close(struct store *s, struct err *err)
{
	int status = 0;

	if (!s)
		return 0;
	if (s->depth)
		status = store_exec(s, "ROLLBACK", err);
	release(s);
	return status;
}
