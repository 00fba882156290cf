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

#include "campaign/internal.h"

static char *lock_path(const char *dir)
{
	return xasprintf("%s/campaign.lock", dir);
}

static struct campaign_db *writers; /* this process's */

static bool is_ours(const char *path)
{
	struct stat st;
	if (stat(path, &st))
		return false;
	for (const struct campaign_db *db = writers; db; db = db->next)
		if (db->dev == st.st_dev && db->ino == st.st_ino && db->pid == getpid())
			return true;
	return false;
}

static void remember(struct campaign_db *db)
{
	struct stat st;
	if (fstat(db->lock, &st))
		return;
	db->dev = st.st_dev;
	db->ino = st.st_ino;
	db->pid = getpid();
	db->next = writers;
	writers = db;
}

static void forget(struct campaign_db *db)
{
	struct campaign_db **at = &writers;
	while (*at && *at != db)
		at = &(*at)->next;
	if (*at)
		*at = db->next;
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

static int take_lock(struct campaign_db *db, const char *dir, struct err *err)
{
	char *path = lock_path(dir);
	int status = 0;
	if (is_ours(path))
		status = err_set(err, EXIT_INTERNAL, "%s is open for writing already", db->path);
	else if ((db->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
		status = err_errno(err, EXIT_USAGE, "cannot keep results in %s: cannot open %s",
				   dir, path);
	else
		status = lock_file(db->lock, dir, path, err);
	if (!status)
		remember(db);
	free(path);
	return status;
}

long campaign_db_writer(const char *dir)
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

static int nothing_there(const struct campaign_db *db, struct err *err)
{
	return err_set(err, EXIT_USAGE,
		       "there is no campaign to go on with: %s is not there or has nothing in it",
		       db->path);
}

/* Begins with empty tables, whatever is there. */
static int begin_anew(struct campaign_db *db, enum campaign_db_content content, struct err *err)
{
	if (content == CAMPAIGN_DB_RESULTS || content == CAMPAIGN_DB_SETTINGS)
		return campaign_sql_clear(db, err);
	if (content == CAMPAIGN_DB_FOREIGN &&
	    (campaign_sql_remove(db, err) || campaign_sql_open(db, true, err)))
		return -1;
	/* The first write: WAL from here on, where the file system can do it. */
	return campaign_sql_exec(db, "PRAGMA journal_mode=WAL", err) || campaign_sql_create(db, err)
		       ? -1
		       : 0;
}

static int prepare(struct campaign_db *db, enum campaign_db_mode mode, struct err *err)
{
	enum campaign_db_content content = campaign_sql_content(db, err);
	if (content == CAMPAIGN_DB_FOREIGN && mode != CAMPAIGN_DB_FRESH)
		return -1;
	if (mode == CAMPAIGN_DB_NEW && content == CAMPAIGN_DB_RESULTS)
		return err_set(err, EXIT_USAGE,
			       "%s has results already: --resume goes on, --fresh starts anew",
			       db->path);
	if ((mode == CAMPAIGN_DB_RESUME || mode == CAMPAIGN_DB_READ) &&
	    content == CAMPAIGN_DB_EMPTY)
		return nothing_there(db, err);
	if ((mode == CAMPAIGN_DB_NEW || mode == CAMPAIGN_DB_FRESH) && begin_anew(db, content, err))
		return -1;
	if (mode == CAMPAIGN_DB_READ)
		return 0;
	return campaign_sql_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", err);
}

static int open_db(struct campaign_db *db, const char *dir, enum campaign_db_mode mode,
		   struct err *err)
{
	bool write = mode != CAMPAIGN_DB_READ;
	bool there = access(db->path, F_OK) == 0;
	if (!there && errno != ENOENT)
		return err_errno(err, EXIT_USAGE, "cannot use %s", db->path);
	if (!there && mode == CAMPAIGN_DB_READ)
		return err_set(err, EXIT_USAGE, "%s has no campaign: 'holdfast crash' makes one",
			       dir);
	if (!there && mode == CAMPAIGN_DB_RESUME)
		return nothing_there(db, err);
	if (write && take_lock(db, dir, err))
		return -1;
	return campaign_sql_open(db, write, err) || prepare(db, mode, err) ? -1 : 0;
}

static void release(struct campaign_db *db)
{
	campaign_sql_close(db);
	forget(db);
	if (db->lock >= 0)
		close(db->lock);
	free(db->text);
	free(db->path);
	free(db);
}

struct campaign_db *campaign_db_open(const char *dir, enum campaign_db_mode mode, struct err *err)
{
	struct campaign_db *db = xcalloc(1, sizeof *db);
	db->lock = -1;
	db->path = xasprintf("%s/campaign.db", dir);
	if (!open_db(db, dir, mode, err))
		return db;
	release(db);
	return NULL;
}

int campaign_db_close(struct campaign_db *db, struct err *err)
{
	int status = 0;
	if (!db)
		return 0;
	if (db->depth)
		status = campaign_sql_exec(db, "ROLLBACK", err);
	release(db);
	return status;
}
