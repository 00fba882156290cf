/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/store share. */
#ifndef HOLDFAST_STORE_INTERNAL_H
#define HOLDFAST_STORE_INTERNAL_H

#include <sqlite3.h>
#include <sys/types.h>

#include "store/store.h"

#define STORE_VERSION 1 /* of the tables; PRAGMA user_version */

/* Statements that are prepared once, when they are first used. */
enum store_statement {
	STORE_PUT_SETTING,
	STORE_GET_SETTING,
	STORE_PUT_VERDICT,
	STORE_PUT_FINDING,
	STORE_PUT_INPUT,
	STORE_STATEMENTS,
};

struct store {
	char *path; /* of the database */
	sqlite3 *db;
	sqlite3_stmt *statement[STORE_STATEMENTS];
	int lock;       /* descriptor of the lock file; -1: reading */
	unsigned depth; /* of store_begin */
	char *text;     /* what store_get returned */
	dev_t dev;      /* the lock file, while it is locked */
	ino_t ino;
	pid_t pid;          /* of who locked it: a forked process does not hold it */
	struct store *next; /* of those that this process writes */
};

/* db.c: opening, the tables, errors in words. */
enum store_content {
	STORE_NO_FILE,
	STORE_EMPTY,    /* a file without tables: its maker was killed at once */
	STORE_SETTINGS, /* begun, without results */
	STORE_RESULTS,
	STORE_FOREIGN, /* damaged, or of another version: err says what */
};
int store_db_open(struct store *, bool write, struct err *);
void store_db_close(struct store *);
enum store_content store_db_content(struct store *, struct err *);
int store_db_create(struct store *, struct err *);
int store_db_clear(struct store *, struct err *);
int store_db_remove(struct store *, struct err *);
int store_exec(struct store *, const char *sql, struct err *);
int store_db_error(const struct store *, struct err *); /* what went wrong last; -1 */

#endif
