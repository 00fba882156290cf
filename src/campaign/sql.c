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

#include "campaign/internal.h"

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
				"PRAGMA user_version=" TEXT(CAMPAIGN_DB_VERSION) ";"
										 "COMMIT";

#define FRESH "--fresh starts anew"

int campaign_sql_error(const struct campaign_db *db, struct err *err)
{
	int code = db->sql ? sqlite3_extended_errcode(db->sql) : SQLITE_NOMEM;
	int number = db->sql ? sqlite3_system_errno(db->sql) : ENOMEM;
	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(err, EXIT_USAGE, "%s is damaged (%s): " FRESH, db->path,
			       sqlite3_errmsg(db->sql));
	case SQLITE_FULL:
		return err_set(err, EXIT_INTERNAL, "cannot write %s: no space left", db->path);
	case SQLITE_READONLY:
		return err_set(err, EXIT_USAGE, "cannot write %s: it is read-only", db->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(err, EXIT_USAGE, "%s is in use by another program", db->path);
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		errno = number ? number : EACCES;
		return err_errno(err, EXIT_USAGE, "cannot open %s", db->path);
	default:
		return err_set(err, EXIT_INTERNAL, "cannot use %s: %s%s%s", db->path,
			       db->sql ? sqlite3_errmsg(db->sql) : "out of memory",
			       number ? ": " : "", number ? strerror(number) : "");
	}
}

static bool damaged(const struct campaign_db *db)
{
	int code = sqlite3_errcode(db->sql) & 0xff;
	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

int campaign_sql_exec(struct campaign_db *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db->sql, sql, NULL, NULL, NULL) != SQLITE_OK)
		return campaign_sql_error(db, err);
	return 0;
}

/* One number; -1 and err if it cannot be had. */
static int64_t number_of(struct campaign_db *db, const char *sql, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = -1;
	if (sqlite3_prepare_v2(db->sql, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	else
		campaign_sql_error(db, err);
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

static int open_as(struct campaign_db *db, const char *options, int flags, struct err *err)
{
	char *uri = uri_of(db->path, options);
	int code = sqlite3_open_v2(uri, &db->sql, flags | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE,
				   NULL);
	free(uri);
	if (code != SQLITE_OK) {
		campaign_sql_error(db, err);
		campaign_sql_close(db);
		return -1;
	}
	sqlite3_busy_timeout(db->sql, WAIT_MS);
	return 0;
}

/*
 * Reading a database in WAL mode needs its two side files. Where they are not there and cannot be
 * made, nobody writes, and the database is all there is.
 */
static int open_to_read(struct campaign_db *db, struct err *err)
{
	char *log = xasprintf("%s-wal", db->path);
	bool alone = access(log, F_OK) != 0;
	free(log);
	if (open_as(db, "", SQLITE_OPEN_READONLY, err))
		return -1;
	int64_t version = number_of(db, "PRAGMA schema_version", err);
	if (version < 0 && alone && !damaged(db)) {
		campaign_sql_close(db);
		return open_as(db, "?immutable=1", SQLITE_OPEN_READONLY, err);
	}
	return 0;
}

int campaign_sql_open(struct campaign_db *db, bool write, struct err *err)
{
	if (!write)
		return open_to_read(db, err);
	return open_as(db, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
}

void campaign_sql_close(struct campaign_db *db)
{
	for (int i = 0; i < CAMPAIGN_DB_STATEMENTS; i++) {
		sqlite3_finalize(db->statement[i]);
		db->statement[i] = NULL;
	}
	sqlite3_close(db->sql);
	db->sql = NULL;
}

/* The first databases of this version had no inputs, and what was said is kept only by those who listen. */
bool campaign_sql_has(struct campaign_db *db, const char *table)
{
	struct err ignored;
	char *query =
		xasprintf("SELECT EXISTS(SELECT 1 FROM sqlite_schema WHERE name = '%s')", table);
	bool has = number_of(db, query, &ignored) == 1;
	free(query);
	return has;
}

enum campaign_db_content campaign_sql_content(struct campaign_db *db, struct err *err)
{
	int64_t made = number_of(db, "SELECT count(*) FROM sqlite_schema", err);
	int64_t version = made < 0 ? -1 : number_of(db, "PRAGMA user_version", err);
	if (version < 0)
		return CAMPAIGN_DB_FOREIGN;
	if (!made && !version)
		return CAMPAIGN_DB_EMPTY;
	if (number_of(db, "PRAGMA application_id", err) != APPLICATION_ID) {
		err_set(err, EXIT_USAGE, "%s is not a campaign of holdfast: " FRESH, db->path);
		return CAMPAIGN_DB_FOREIGN;
	}
	if (version != CAMPAIGN_DB_VERSION) {
		err_set(err, EXIT_USAGE,
			"%s is a campaign of version %lld, this holdfast knows version %d: " FRESH,
			db->path, (long long)version, CAMPAIGN_DB_VERSION);
		return CAMPAIGN_DB_FOREIGN;
	}
	int64_t results = number_of(
		db, "SELECT EXISTS(SELECT 1 FROM verdict) OR EXISTS(SELECT 1 FROM finding)", err);
	if (!results && campaign_sql_has(db, "input"))
		results = number_of(db, "SELECT EXISTS(SELECT 1 FROM input)", err);
	return results < 0 ? CAMPAIGN_DB_FOREIGN
	       : results   ? CAMPAIGN_DB_RESULTS
			   : CAMPAIGN_DB_SETTINGS;
}

int campaign_sql_create(struct campaign_db *db, struct err *err)
{
	if (!campaign_sql_exec(db, tables, err))
		return 0;
	sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

int campaign_sql_clear(struct campaign_db *db, struct err *err)
{
	if (!campaign_sql_exec(db,
			       "BEGIN IMMEDIATE; DELETE FROM setting; DELETE FROM verdict;"
			       "DELETE FROM finding;"
			       "DROP TABLE IF EXISTS said;"
			       "DROP TABLE IF EXISTS input;" INPUTS "COMMIT",
			       err))
		return 0;
	sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

int campaign_sql_remove(struct campaign_db *db, struct err *err)
{
	static const char *const parts[] = { "-wal", "-shm", "-journal", "" };
	int status = 0;
	campaign_sql_close(db);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !status; i++) {
		char *path = xasprintf("%s%s", db->path, parts[i]);
		if (unlink(path) && errno != ENOENT)
			status = err_errno(err, EXIT_USAGE, "cannot remove %s", path);
		free(path);
	}
	return status;
}
