/* SPDX-License-Identifier: BSD-3-Clause */
/* What is put into the tables, and read from them. */
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

static const char *const sql[] = {
	[STORE_PUT_SETTING] = "INSERT INTO setting VALUES(?, ?)"
			      " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
	[STORE_GET_SETTING] = "SELECT value FROM setting WHERE key = ?",
	[STORE_PUT_VERDICT] = "INSERT INTO verdict(hash, verdict, status, event, strategy, output,"
			      " spent) VALUES(?, ?, ?, ?, ?, ?, ?)",
	[STORE_PUT_FINDING] = "INSERT INTO finding(id, finding, witness) VALUES(?, ?, ?)"
			      " ON CONFLICT(id) DO UPDATE SET finding = excluded.finding,"
			      " witness = excluded.witness",
	[STORE_PUT_INPUT] = "INSERT INTO input(number, what, bytes) VALUES(?, ?, ?)"
			    " ON CONFLICT(number) DO UPDATE SET what = excluded.what,"
			    " bytes = excluded.bytes",
};

/* The statement, ready for values; NULL and err if it cannot be had. */
static sqlite3_stmt *statement(struct store *s, enum store_statement which, struct err *err)
{
	if (!s->statement[which] &&
	    sqlite3_prepare_v3(s->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
			       &s->statement[which], NULL) != SQLITE_OK)
		store_db_error(s, err);
	return s->statement[which];
}

static void bind_text(sqlite3_stmt *to, int at, const char *text)
{
	sqlite3_bind_text(to, at, text, -1, SQLITE_STATIC); /* NULL for NULL */
}

/* Runs a statement that returns nothing. */
static int run(struct store *s, sqlite3_stmt *what, struct err *err)
{
	int status = 0;

	if (sqlite3_step(what) != SQLITE_DONE)
		status = store_db_error(s, err);
	sqlite3_reset(what);
	sqlite3_clear_bindings(what);
	return status;
}

int store_set(struct store *s, const char *key, const char *value, struct err *err)
{
	sqlite3_stmt *put = statement(s, STORE_PUT_SETTING, err);

	if (!put)
		return -1;
	bind_text(put, 1, key);
	bind_text(put, 2, value);
	return run(s, put, err);
}

const char *store_get(struct store *s, const char *key)
{
	sqlite3_stmt *get = statement(s, STORE_GET_SETTING, NULL);

	free(s->text);
	s->text = NULL;
	if (!get)
		return NULL;
	bind_text(get, 1, key);
	if (sqlite3_step(get) == SQLITE_ROW)
		s->text = xstrdup((const char *)sqlite3_column_text(get, 0));
	sqlite3_reset(get);
	sqlite3_clear_bindings(get);
	return s->text;
}

int store_put_verdict(struct store *s, const struct store_verdict *v, struct err *err)
{
	sqlite3_stmt *put = statement(s, STORE_PUT_VERDICT, err);

	if (!put)
		return -1;
	sqlite3_bind_int64(put, 1, (int64_t)v->hash);
	sqlite3_bind_int64(put, 2, v->verdict);
	sqlite3_bind_int64(put, 3, v->status);
	sqlite3_bind_int64(put, 4, (int64_t)v->event);
	bind_text(put, 5, v->strategy);
	bind_text(put, 6, v->output);
	sqlite3_bind_double(put, 7, v->spent);
	return run(s, put, err);
}

int store_put_finding(struct store *s, const struct store_finding *f, struct err *err)
{
	sqlite3_stmt *put = statement(s, STORE_PUT_FINDING, err);

	if (!put)
		return -1;
	bind_text(put, 1, f->id);
	bind_text(put, 2, f->finding);
	bind_text(put, 3, f->witness);
	return run(s, put, err);
}

int store_clear_findings(struct store *s, struct err *err)
{
	return store_exec(s, "DELETE FROM finding", err);
}

/* Calls back for each row; the statement is the call's own, so that calls may nest. */
static int each_row(struct store *s, const char *query, void (*row)(void *, sqlite3_stmt *),
		    void *arg, struct err *err)
{
	sqlite3_stmt *rows = NULL;
	int code, status = 0;

	if (sqlite3_prepare_v2(s->db, query, -1, &rows, NULL) != SQLITE_OK)
		return store_db_error(s, err);
	while ((code = sqlite3_step(rows)) == SQLITE_ROW)
		row(arg, rows);
	if (code != SQLITE_DONE)
		status = store_db_error(s, err);
	sqlite3_finalize(rows);
	return status;
}

struct verdict_call {
	void (*each)(void *, const struct store_verdict *);
	void *arg;
};

static void verdict_row(void *arg, sqlite3_stmt *row)
{
	const struct verdict_call *call = arg;
	struct store_verdict v = {
		.hash = (uint64_t)sqlite3_column_int64(row, 0),
		.verdict = (uint32_t)sqlite3_column_int64(row, 1),
		.status = (int32_t)sqlite3_column_int64(row, 2),
		.event = (uint64_t)sqlite3_column_int64(row, 3),
		.strategy = (const char *)sqlite3_column_text(row, 4),
		.output = (const char *)sqlite3_column_text(row, 5),
		.spent = sqlite3_column_double(row, 6),
	};

	call->each(call->arg, &v);
}

int store_each_verdict(struct store *s, void (*each)(void *, const struct store_verdict *),
		       void *arg, struct err *err)
{
	struct verdict_call call = { each, arg };

	return each_row(s,
			"SELECT hash, verdict, status, event, strategy, output, spent FROM verdict"
			" ORDER BY number",
			verdict_row, &call, err);
}

struct finding_call {
	void (*each)(void *, const struct store_finding *);
	void *arg;
};

static void finding_row(void *arg, sqlite3_stmt *row)
{
	const struct finding_call *call = arg;
	struct store_finding f = {
		.id = (const char *)sqlite3_column_text(row, 0),
		.finding = (const char *)sqlite3_column_text(row, 1),
		.witness = (const char *)sqlite3_column_text(row, 2),
	};

	call->each(call->arg, &f);
}

int store_each_finding(struct store *s, void (*each)(void *, const struct store_finding *),
		       void *arg, struct err *err)
{
	struct finding_call call = { each, arg };

	return each_row(s, "SELECT id, finding, witness FROM finding ORDER BY number", finding_row,
			&call, err);
}

int store_put_input(struct store *s, const struct store_input *input, struct err *err)
{
	sqlite3_stmt *put = statement(s, STORE_PUT_INPUT, err);

	if (!put)
		return -1;
	sqlite3_bind_int64(put, 1, (int64_t)input->number);
	bind_text(put, 2, input->what);
	if (input->n)
		sqlite3_bind_blob64(put, 3, input->bytes, input->n, SQLITE_STATIC);
	else
		sqlite3_bind_zeroblob(put, 3, 0);
	return run(s, put, err);
}

struct input_call {
	void (*each)(void *, const struct store_input *);
	void *arg;
};

static void input_row(void *arg, sqlite3_stmt *row)
{
	const struct input_call *call = arg;
	struct store_input input = {
		.number = (uint64_t)sqlite3_column_int64(row, 0),
		.what = (const char *)sqlite3_column_text(row, 1),
		.bytes = sqlite3_column_blob(row, 2),
		.n = (size_t)sqlite3_column_bytes(row, 2),
	};

	call->each(call->arg, &input);
}

int store_each_input(struct store *s, void (*each)(void *, const struct store_input *), void *arg,
		     struct err *err)
{
	struct input_call call = { each, arg };

	return each_row(s, "SELECT number, what, bytes FROM input ORDER BY number", input_row,
			&call, err);
}

int store_begin(struct store *s, struct err *err)
{
	if (!s->depth && store_exec(s, "BEGIN IMMEDIATE", err))
		return -1;
	s->depth++;
	return 0;
}

int store_commit(struct store *s, struct err *err)
{
	if (!s->depth)
		return err_set(err, EXIT_INTERNAL, "%s: a commit without a begin", s->path);
	if (--s->depth)
		return 0;
	if (sqlite3_get_autocommit(s->db)) /* a put that failed took all with it */
		return err_set(err, EXIT_USAGE, "cannot write %s: what was begun is undone",
			       s->path);
	if (!store_exec(s, "COMMIT", err))
		return 0;
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}
