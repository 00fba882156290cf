/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The database: how it is opened, its tables, and what went wrong in words for people.
 *
 * It is in WAL mode: readers and the writer do not wait for each other, and a put is one append to
 * the log, which the kernel has when the put returns. So a killed process loses nothing, without
 * a sync for each put; the log is synced when it is moved into the database now and then, which
 * keeps the database sound even when the machine goes down.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/internal.h"

#define WAIT_MS 10000             /* for a lock of SQLite's own, which are short */
#define APPLICATION_ID 0x48467374 /* "HFst" */

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define INPUTS                                                                                     \
	"CREATE TABLE input(number INTEGER PRIMARY KEY, what TEXT NOT NULL,"                       \
	" bytes BLOB NOT NULL);"

static const char tables[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE verdict(number INTEGER PRIMARY KEY, hash INTEGER NOT NULL,"
	" verdict INTEGER NOT NULL, status INTEGER NOT NULL, event INTEGER NOT NULL,"
	" strategy TEXT, output TEXT, spent REAL NOT NULL);"
	"CREATE TABLE finding(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
	" finding TEXT NOT NULL, witness TEXT);" INPUTS "PRAGMA application_id=" TEXT(
		APPLICATION_ID) ";"
				"PRAGMA user_version=" TEXT(STORE_VERSION) ";"
									   "COMMIT";

#define FRESH "--fresh starts anew"

int store_db_error(const struct store *s, struct err *err)
{
	int code = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
	int number = s->db ? sqlite3_system_errno(s->db) : ENOMEM;

	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(err, EXIT_USAGE, "%s is damaged (%s): " FRESH, s->path,
			       sqlite3_errmsg(s->db));
	case SQLITE_FULL:
		return err_set(err, EXIT_INTERNAL, "cannot write %s: no space left", s->path);
	case SQLITE_READONLY:
		return err_set(err, EXIT_USAGE, "cannot write %s: it is read-only", s->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(err, EXIT_USAGE, "%s is in use by another program", s->path);
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		errno = number ? number : EACCES;
		return err_errno(err, EXIT_USAGE, "cannot open %s", s->path);
	default:
		return err_set(err, EXIT_INTERNAL, "cannot use %s: %s%s%s", s->path,
			       s->db ? sqlite3_errmsg(s->db) : "out of memory", number ? ": " : "",
			       number ? strerror(number) : "");
	}
}

static bool damaged(const struct store *s)
{
	int code = sqlite3_errcode(s->db) & 0xff;

	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

int store_exec(struct store *s, const char *sql, struct err *err)
{
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return store_db_error(s, err);
	return 0;
}

/* One number; -1 and err if it cannot be had. */
static int64_t number_of(struct store *s, const char *sql, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = -1;

	if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	else
		store_db_error(s, err);
	sqlite3_finalize(statement);
	return value;
}

/* A path as a URI of SQLite's. */
static char *uri_of(const char *path, const char *options)
{
	struct buf uri = { 0 };

	buf_puts(&uri, *path == '/' ? "file://" : "file:");
	for (; *path; path++)
		buf_printf(&uri, strchr("%?#", *path) ? "%%%02X" : "%c", *path & 0xff);
	buf_puts(&uri, options);
	buf_add(&uri, "", 1);
	return uri.p;
}

static int open_as(struct store *s, const char *options, int flags, struct err *err)
{
	char *uri = uri_of(s->path, options);
	int code =
		sqlite3_open_v2(uri, &s->db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, NULL);

	free(uri);
	if (code != SQLITE_OK) {
		store_db_error(s, err);
		store_db_close(s);
		return -1;
	}
	sqlite3_busy_timeout(s->db, WAIT_MS);
	return 0;
}

/*
 * Reading a database in WAL mode needs its two side files. Where they are not there and cannot be
 * made, nobody writes, and the database is all there is.
 */
static int open_to_read(struct store *s, struct err *err)
{
	char *log = xasprintf("%s-wal", s->path);
	bool alone = access(log, F_OK) != 0;

	free(log);
	if (open_as(s, "", SQLITE_OPEN_READONLY, err))
		return -1;
	int64_t version = number_of(s, "PRAGMA schema_version", err);
	if (version < 0 && alone && !damaged(s)) {
		store_db_close(s);
		return open_as(s, "?immutable=1", SQLITE_OPEN_READONLY, err);
	}
	return 0;
}

int store_db_open(struct store *s, bool write, struct err *err)
{
	if (!write)
		return open_to_read(s, err);
	return open_as(s, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
}

void store_db_close(struct store *s)
{
	for (int i = 0; i < STORE_STATEMENTS; i++) {
		sqlite3_finalize(s->statement[i]);
		s->statement[i] = NULL;
	}
	sqlite3_close(s->db);
	s->db = NULL;
}

/* The first databases of this version had none. */
static bool has_inputs(struct store *s)
{
	struct err ignored;

	return number_of(s, "SELECT EXISTS(SELECT 1 FROM sqlite_schema WHERE name = 'input')",
			 &ignored) == 1;
}

enum store_content store_db_content(struct store *s, struct err *err)
{
	int64_t made = number_of(s, "SELECT count(*) FROM sqlite_schema", err);
	int64_t version = made < 0 ? -1 : number_of(s, "PRAGMA user_version", err);

	if (version < 0)
		return STORE_FOREIGN;
	if (!made && !version)
		return STORE_EMPTY;
	if (number_of(s, "PRAGMA application_id", err) != APPLICATION_ID) {
		err_set(err, EXIT_USAGE, "%s is not a campaign of holdfast: " FRESH, s->path);
		return STORE_FOREIGN;
	}
	if (version != STORE_VERSION) {
		err_set(err, EXIT_USAGE,
			"%s is a campaign of version %lld, this holdfast knows version %d: " FRESH,
			s->path, (long long)version, STORE_VERSION);
		return STORE_FOREIGN;
	}
	int64_t results = number_of(
		s, "SELECT EXISTS(SELECT 1 FROM verdict) OR EXISTS(SELECT 1 FROM finding)", err);
	if (!results && has_inputs(s))
		results = number_of(s, "SELECT EXISTS(SELECT 1 FROM input)", err);
	return results < 0 ? STORE_FOREIGN : results ? STORE_RESULTS : STORE_SETTINGS;
}

int store_db_create(struct store *s, struct err *err)
{
	if (!store_exec(s, tables, err))
		return 0;
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

int store_db_clear(struct store *s, struct err *err)
{
	if (!store_exec(s,
			"BEGIN IMMEDIATE; DELETE FROM setting; DELETE FROM verdict;"
			"DELETE FROM finding;"
			"DROP TABLE IF EXISTS input;" INPUTS "COMMIT",
			err))
		return 0;
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

int store_db_remove(struct store *s, struct err *err)
{
	static const char *const parts[] = { "-wal", "-shm", "-journal", "" };
	int status = 0;

	store_db_close(s);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !status; i++) {
		char *path = xasprintf("%s%s", s->path, parts[i]);
		if (unlink(path) && errno != ENOENT)
			status = err_errno(err, EXIT_USAGE, "cannot remove %s", path);
		free(path);
	}
	return status;
}
