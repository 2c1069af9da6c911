/*
 * Private to state/: a connection, its statements and its transactions. The only file that includes
 * sqlite3.h. Every statement stands in one table (sql.c) and is prepared once a connection.
 */
#pragma once

#include "base/error.h"
#include "room.h"
#include "sql.h"
#include "store.h"

#include <sqlite3.h>

enum { DB_BUSY_TIMEOUT_MS = 5000 };

/* What to do about one that is damaged; it is never mended or made anew unasked. */
#define DB_WAY_OUT                                                           \
	"restore it from a backup, or move it away and make a new one with " \
	"'sbx-reap check --new-database'"

struct store {
	sqlite3 *db;
	char *path;
	struct room *room;             /* NULL: it is only read */
	sqlite3_stmt *idle[SQL_COUNT]; /* prepared, and in no query's hands */
};

/* Opens the file with these flags (sqlite3_open_v2) and sets up the connection. 0 or -errno. */
int db_open(const char *path, int flags, struct store **ret_store, struct error *error);
void db_close(struct store *store);
void db_done(struct store **store);

/*
 * Converts an SQLite result (extended code), or what the connection reported last, into -errno with
 * an error that names the database and what was being done.
 */
int db_fail(struct store *store, int code, const char *doing, struct error *error);

/* Runs statements without parameters that are not worth a place in the table. 0 or -errno. */
int db_exec(struct store *store, const char *sql, const char *doing, struct error *error);

/*
 * One use of a statement. Parameters are bound in order, each exactly once; texts must live until
 * the query is done. Then it is run (no rows wanted) or stepped.
 *
 *	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_GET);
 *
 *	query_text(&query, run);
 *	r = query_step(&query, error);
 */
struct query {
	struct store *store;
	sqlite3_stmt *statement; /* NULL: it could not be prepared, and code says why */
	enum sql sql;
	int bound, code;
};

struct query query_new(struct store *store, enum sql sql);
void query_done(struct query *query);
void query_text(struct query *query, const char *value); /* NULL: NULL */
void query_int(struct query *query, int64_t value);
void query_moment(struct query *query, int64_t value_s);  /* 0, never: NULL */
int query_run(struct query *query, struct error *error);  /* rows changed, or -errno */
int query_step(struct query *query, struct error *error); /* 1 a row, 0 no more, or -errno */

/* Columns of the row that query_step reached, from 0. A text is good until the next step. */
const char *column_text(struct query *query, int column); /* NULL: NULL */
int64_t column_int(struct query *query, int column);      /* NULL: 0 */

/*
 * A transaction that is rolled back unless it was committed: BEGIN IMMEDIATE to write, so that it
 * waits for its turn at once and cannot fail half-way for being second; BEGIN to read one state of
 * all tables.
 */
struct transaction {
	struct store *store; /* NULL: none is open */
};

int transaction_write(struct transaction *transaction, struct store *store, struct error *error);
int transaction_read(struct transaction *transaction, struct store *store, struct error *error);
int transaction_commit(struct transaction *transaction, struct error *error);
void transaction_done(struct transaction *transaction);
