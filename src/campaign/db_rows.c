/* SPDX-License-Identifier: BSD-3-Clause */
/* What is put into the tables, and read from them. */
#include <stdlib.h>
#include <string.h>

#include "campaign/internal.h"

static const char *const sql[] = {
	[CAMPAIGN_DB_PUT_SETTING] = "INSERT INTO setting VALUES(?, ?)"
				    " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
	[CAMPAIGN_DB_GET_SETTING] = "SELECT value FROM setting WHERE key = ?",
	[CAMPAIGN_DB_PUT_VERDICT] =
		"INSERT INTO verdict(hash, verdict, status, event, strategy, output,"
		" spent) VALUES(?, ?, ?, ?, ?, ?, ?)",
	[CAMPAIGN_DB_PUT_SAID] = "INSERT OR REPLACE INTO said(hash, said) VALUES(?, ?)",
	[CAMPAIGN_DB_PUT_FINDING] = "INSERT INTO finding(id, finding, witness) VALUES(?, ?, ?)"
				    " ON CONFLICT(id) DO UPDATE SET finding = excluded.finding,"
				    " witness = excluded.witness",
	[CAMPAIGN_DB_PUT_INPUT] = "INSERT INTO input(number, what, bytes) VALUES(?, ?, ?)"
				  " ON CONFLICT(number) DO UPDATE SET what = excluded.what,"
				  " bytes = excluded.bytes",
};

/* The statement, ready for values; NULL and err if it cannot be had. */
static sqlite3_stmt *statement(struct campaign_db *db, enum campaign_db_statement which,
			       struct err *err)
{
	if (!db->statement[which] &&
	    sqlite3_prepare_v3(db->sql, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
			       &db->statement[which], NULL) != SQLITE_OK)
		campaign_sql_error(db, err);
	return db->statement[which];
}

static void bind_text(sqlite3_stmt *to, int at, const char *text)
{
	sqlite3_bind_text(to, at, text, -1, SQLITE_STATIC); /* NULL for NULL */
}

/* Runs a statement that returns nothing. */
static int run(struct campaign_db *db, sqlite3_stmt *what, struct err *err)
{
	int status = 0;
	if (sqlite3_step(what) != SQLITE_DONE)
		status = campaign_sql_error(db, err);
	sqlite3_reset(what);
	sqlite3_clear_bindings(what);
	return status;
}

int campaign_db_set(struct campaign_db *db, const char *key, const char *value, struct err *err)
{
	sqlite3_stmt *put = statement(db, CAMPAIGN_DB_PUT_SETTING, err);
	if (!put)
		return -1;
	bind_text(put, 1, key);
	bind_text(put, 2, value);
	return run(db, put, err);
}

const char *campaign_db_get(struct campaign_db *db, const char *key)
{
	sqlite3_stmt *get = statement(db, CAMPAIGN_DB_GET_SETTING, NULL);
	free(db->text);
	db->text = NULL;
	if (!get)
		return NULL;
	bind_text(get, 1, key);
	if (sqlite3_step(get) == SQLITE_ROW)
		db->text = xstrdup((const char *)sqlite3_column_text(get, 0));
	sqlite3_reset(get);
	sqlite3_clear_bindings(get);
	return db->text;
}

static int put_said(struct campaign_db *db, const struct campaign_db_verdict *v, struct err *err)
{
	sqlite3_stmt *put;
	if (!db->statement[CAMPAIGN_DB_PUT_SAID] &&
	    campaign_sql_exec(db,
			      "CREATE TABLE IF NOT EXISTS said(hash INTEGER PRIMARY KEY,"
			      " said INTEGER NOT NULL)",
			      err))
		return -1;
	put = statement(db, CAMPAIGN_DB_PUT_SAID, err);
	if (!put)
		return -1;
	sqlite3_bind_int64(put, 1, (int64_t)v->hash);
	sqlite3_bind_int64(put, 2, (int64_t)v->said);
	return run(db, put, err);
}

int campaign_db_put_verdict(struct campaign_db *db, const struct campaign_db_verdict *v,
			    struct err *err)
{
	sqlite3_stmt *put = statement(db, CAMPAIGN_DB_PUT_VERDICT, err);
	if (!put || (v->said && put_said(db, v, err)))
		return -1;
	sqlite3_bind_int64(put, 1, (int64_t)v->hash);
	sqlite3_bind_int64(put, 2, v->verdict);
	sqlite3_bind_int64(put, 3, v->status);
	sqlite3_bind_int64(put, 4, (int64_t)v->event);
	bind_text(put, 5, v->strategy);
	bind_text(put, 6, v->output);
	sqlite3_bind_double(put, 7, v->spent);
	return run(db, put, err);
}

int campaign_db_put_finding(struct campaign_db *db, const struct campaign_db_finding *f,
			    struct err *err)
{
	sqlite3_stmt *put = statement(db, CAMPAIGN_DB_PUT_FINDING, err);
	if (!put)
		return -1;
	bind_text(put, 1, f->id);
	bind_text(put, 2, f->finding);
	bind_text(put, 3, f->witness);
	return run(db, put, err);
}

int campaign_db_clear_findings(struct campaign_db *db, struct err *err)
{
	return campaign_sql_exec(db, "DELETE FROM finding", err);
}

/* Calls back for each row; the statement is the call's own, so that calls may nest. */
static int each_row(struct campaign_db *db, const char *query, void (*row)(void *, sqlite3_stmt *),
		    void *arg, struct err *err)
{
	sqlite3_stmt *rows = NULL;
	int code, status = 0;
	if (sqlite3_prepare_v2(db->sql, query, -1, &rows, NULL) != SQLITE_OK)
		return campaign_sql_error(db, err);
	while ((code = sqlite3_step(rows)) == SQLITE_ROW)
		row(arg, rows);
	if (code != SQLITE_DONE)
		status = campaign_sql_error(db, err);
	sqlite3_finalize(rows);
	return status;
}

struct verdict_call {
	void (*each)(void *, const struct campaign_db_verdict *);
	void *arg;
};

static void verdict_row(void *arg, sqlite3_stmt *row)
{
	const struct verdict_call *call = arg;
	struct campaign_db_verdict v = {
		.hash = (uint64_t)sqlite3_column_int64(row, 0),
		.verdict = (uint32_t)sqlite3_column_int64(row, 1),
		.status = (int32_t)sqlite3_column_int64(row, 2),
		.event = (uint64_t)sqlite3_column_int64(row, 3),
		.strategy = (const char *)sqlite3_column_text(row, 4),
		.output = (const char *)sqlite3_column_text(row, 5),
		.spent = sqlite3_column_double(row, 6),
		.said = (uint64_t)sqlite3_column_int64(row, 7),
	};
	call->each(call->arg, &v);
}

int campaign_db_each_verdict(struct campaign_db *db,
			     void (*each)(void *, const struct campaign_db_verdict *), void *arg,
			     struct err *err)
{
	struct verdict_call call = { each, arg };
	const char *query =
		campaign_sql_has(db, "said")
			? "SELECT hash, verdict, status, event, strategy, output, spent, said"
			  " FROM verdict LEFT JOIN said USING(hash) ORDER BY number"
			: "SELECT hash, verdict, status, event, strategy, output, spent, 0"
			  " FROM verdict ORDER BY number";
	return each_row(db, query, verdict_row, &call, err);
}

struct finding_call {
	void (*each)(void *, const struct campaign_db_finding *);
	void *arg;
};

static void finding_row(void *arg, sqlite3_stmt *row)
{
	const struct finding_call *call = arg;
	struct campaign_db_finding f = {
		.id = (const char *)sqlite3_column_text(row, 0),
		.finding = (const char *)sqlite3_column_text(row, 1),
		.witness = (const char *)sqlite3_column_text(row, 2),
	};
	call->each(call->arg, &f);
}

int campaign_db_each_finding(struct campaign_db *db,
			     void (*each)(void *, const struct campaign_db_finding *), void *arg,
			     struct err *err)
{
	struct finding_call call = { each, arg };
	return each_row(db, "SELECT id, finding, witness FROM finding ORDER BY number", finding_row,
			&call, err);
}

int campaign_db_put_input(struct campaign_db *db, const struct campaign_db_input *input,
			  struct err *err)
{
	sqlite3_stmt *put = statement(db, CAMPAIGN_DB_PUT_INPUT, err);
	if (!put)
		return -1;
	sqlite3_bind_int64(put, 1, (int64_t)input->number);
	bind_text(put, 2, input->what);
	if (input->n)
		sqlite3_bind_blob64(put, 3, input->bytes, input->n, SQLITE_STATIC);
	else
		sqlite3_bind_zeroblob(put, 3, 0);
	return run(db, put, err);
}

struct input_call {
	void (*each)(void *, const struct campaign_db_input *);
	void *arg;
};

static void input_row(void *arg, sqlite3_stmt *row)
{
	const struct input_call *call = arg;
	struct campaign_db_input input = {
		.number = (uint64_t)sqlite3_column_int64(row, 0),
		.what = (const char *)sqlite3_column_text(row, 1),
		.bytes = sqlite3_column_blob(row, 2),
		.n = (size_t)sqlite3_column_bytes(row, 2),
	};
	call->each(call->arg, &input);
}

int campaign_db_each_input(struct campaign_db *db,
			   void (*each)(void *, const struct campaign_db_input *), void *arg,
			   struct err *err)
{
	struct input_call call = { each, arg };
	return each_row(db, "SELECT number, what, bytes FROM input ORDER BY number", input_row,
			&call, err);
}

int campaign_db_begin(struct campaign_db *db, struct err *err)
{
	if (!db->depth && campaign_sql_exec(db, "BEGIN IMMEDIATE", err))
		return -1;
	db->depth++;
	return 0;
}

int campaign_db_commit(struct campaign_db *db, struct err *err)
{
	if (!db->depth)
		return err_set(err, EXIT_INTERNAL, "%s: a commit without a begin", db->path);
	if (--db->depth)
		return 0;
	if (sqlite3_get_autocommit(db->sql)) /* a put that failed took all with it */
		return err_set(err, EXIT_USAGE, "cannot write %s: what was begun is undone",
			       db->path);
	if (!campaign_sql_exec(db, "COMMIT", err))
		return 0;
	sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}
