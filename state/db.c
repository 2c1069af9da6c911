#include "db.h"
#include "base/text.h"
#include "os/processes.h"
#include "os/record_lock.h"

#include <errno.h>

/* The first line that fits counts: extended results before their primary one (code & 0xff). */
static const struct conversion {
	int code;
	int errno_code;
	const char *text;
} conversions[] = {
	{ SQLITE_READONLY_ROLLBACK, EBUSY,
		"a writer was killed in the middle of a change; the next pass, or any command that "
		"may write, recovers it" },
	{ SQLITE_READONLY_DIRECTORY, EACCES, "its directory is not writable for us" },
	{ SQLITE_READONLY_DBMOVED, EUCLEAN, "the file was moved or replaced while it was open" },
	{ SQLITE_BUSY, EBUSY, "locked by another process for longer than 5 s" },
	{ SQLITE_LOCKED, EBUSY, "locked by ourselves" },
	{ SQLITE_READONLY, EROFS, "it is read-only" },
	{ SQLITE_FULL, ENOSPC, "the disk is full" },
	{ SQLITE_CORRUPT, EUCLEAN, "it is damaged; " DB_WAY_OUT },
	{ SQLITE_NOTADB, EUCLEAN, "it is not an SQLite database; " DB_WAY_OUT },
	{ SQLITE_PERM, EACCES, "not permitted" },
	{ SQLITE_AUTH, EACCES, "not permitted" },
	{ SQLITE_CANTOPEN, EACCES, "it, or a file beside it, cannot be opened" },
	{ SQLITE_CONSTRAINT, EINVAL, "a value that may not stand there" },
	{ SQLITE_TOOBIG, E2BIG, "a value is too large" },
	{ SQLITE_IOERR, EIO, "input or output failed" },
};

static const struct conversion *conversion_find(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(conversions); i++)
		if (conversions[i].code == code || conversions[i].code == (code & 0xff))
			return &conversions[i];
	return NULL;
}

/*
 * The operating system's word where SQLite has only a general one. Never ENOENT: that is
 * store_open's answer for "nothing is on record", and a failing disk must not be able to say so.
 */
static int system_code(int system, int otherwise)
{
	switch (system) {
	case ENOSPC:
	case EDQUOT:
		return ENOSPC;
	case EACCES:
	case EPERM:
		return EACCES;
	case EROFS:
	case EMFILE:
	case ENFILE:
		return system;
	default:
		return otherwise;
	}
}

enum { HOLDER_TEXT = 320 };

/* Who it is that does not let go, to wait for or to stop: ": pid 12 (sqlite3)". Returns buffer. */
static const char *holder_describe(const struct store *store, char buffer[HOLDER_TEXT])
{
	pid_t pid = record_lock_holder(store->path);
	char comm[HOLDER_TEXT - 32];

	buffer[0] = 0;
	if (pid > 0) {
		process_comm(pid, comm, sizeof(comm));
		(void)snprintf(buffer, HOLDER_TEXT, ": pid %d (%s)", pid, comm);
	}
	return buffer;
}

int db_fail(struct store *store, int code, const char *doing, struct error *error)
{
	const struct conversion *found = conversion_find(code);
	int system = store->db ? sqlite3_system_errno(store->db) : 0, primary = code & 0xff;
	char holder[HOLDER_TEXT];

	if (primary == SQLITE_NOMEM)
		abort();
	if ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && system > 0)
		return error_say(error, system_code(system, found->errno_code),
			"database '%s': %s: %s: %s", store->path, doing, found->text,
			strerror(system));
	return error_say(error, found ? found->errno_code : EIO, "database '%s': %s: %s%s",
		store->path, doing, found ? found->text : sqlite3_errmsg(store->db),
		primary == SQLITE_BUSY ? holder_describe(store, holder) : "");
}

int db_exec(struct store *store, const char *sql, const char *doing, struct error *error)
{
	int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : db_fail(store, code, doing, error);
}

int db_open(const char *path, int flags, struct store **ret_store, struct error *error)
{
	struct store *store CLEANUP(db_done) = mem_new(sizeof(*store));
	int code = 0;

	store->path = mem_dup(path);
	if (flags & SQLITE_OPEN_READWRITE)
		code = room_open(path, &store->room, error);
	if (code < 0)
		return code;
	code = sqlite3_open_v2(path, &store->db,
		flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
		store->room ? room_vfs(store->room) : NULL);
	if (code != SQLITE_OK)
		return db_fail(store, code, "open it", error);
	(void)sqlite3_busy_timeout(store->db, DB_BUSY_TIMEOUT_MS);
	/* None of these touches the file; temporary tables would be files of their own. */
	code = db_exec(store,
		"PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;"
		"PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON",
		"set up the connection", error);
	if (code < 0)
		return code;
	*ret_store = TAKE_PTR(store);
	return 0;
}

void db_close(struct store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < SQL_COUNT; i++)
		(void)sqlite3_finalize(store->idle[i]);
	(void)sqlite3_close(store->db);
	room_close(store->room);
	free(store->path);
	free(store);
}

void db_done(struct store **store)
{
	db_close(*store);
	*store = NULL;
}

/* The idle one of the table, or another when that is in use further up the stack. */
struct query query_new(struct store *store, enum sql sql)
{
	struct query query = { .store = store, .sql = sql, .code = SQLITE_OK };

	query.statement = TAKE_PTR(store->idle[sql]);
	if (!query.statement)
		query.code = sqlite3_prepare_v3(store->db, sql_statements[sql].text, -1,
			SQLITE_PREPARE_PERSISTENT, &query.statement, NULL);
	return query;
}

void query_done(struct query *query)
{
	sqlite3_stmt *statement = TAKE_PTR(query->statement);

	if (!statement)
		return;
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	if (query->store->idle[query->sql])
		(void)sqlite3_finalize(statement);
	else
		query->store->idle[query->sql] = statement;
}

static void query_bound(struct query *query, int code)
{
	assert(code != SQLITE_RANGE); /* more values than the statement has parameters */
	if (query->code == SQLITE_OK)
		query->code = code;
}

void query_text(struct query *query, const char *value)
{
	if (query->statement)
		query_bound(query, sqlite3_bind_text(query->statement, ++query->bound, value, -1,
					   SQLITE_STATIC));
}

void query_int(struct query *query, int64_t value)
{
	if (query->statement)
		query_bound(query, sqlite3_bind_int64(query->statement, ++query->bound, value));
}

void query_moment(struct query *query, int64_t value_s)
{
	if (value_s)
		query_int(query, value_s);
	else
		query_text(query, NULL);
}

int query_step(struct query *query, struct error *error)
{
	if (query->code == SQLITE_OK) {
		assert(query->bound == sqlite3_bind_parameter_count(query->statement));
		query->code = sqlite3_step(query->statement);
	}
	if (query->code == SQLITE_DONE)
		return 0;
	if (query->code != SQLITE_ROW)
		return db_fail(query->store, query->code, sql_statements[query->sql].doing, error);
	query->code = SQLITE_OK;
	return 1;
}

int query_run(struct query *query, struct error *error)
{
	int r = query_step(query, error);

	if (r < 0)
		return r;
	assert(r == 0);
	return sqlite3_changes(query->store->db);
}

const char *column_text(struct query *query, int column)
{
	const unsigned char *text = sqlite3_column_text(query->statement, column);

	return (const char *)text;
}

int64_t column_int(struct query *query, int column)
{
	return sqlite3_column_int64(query->statement, column);
}

static int transaction_open(
	struct transaction *transaction, struct store *store, const char *sql, struct error *error)
{
	int r = db_exec(store, sql, "begin a transaction", error);

	if (r < 0)
		return r;
	transaction->store = store;
	return 0;
}

int transaction_write(struct transaction *transaction, struct store *store, struct error *error)
{
	return transaction_open(transaction, store, "BEGIN IMMEDIATE", error);
}

int transaction_read(struct transaction *transaction, struct store *store, struct error *error)
{
	return transaction_open(transaction, store, "BEGIN", error);
}

int transaction_commit(struct transaction *transaction, struct error *error)
{
	int r = db_exec(transaction->store, "COMMIT", "commit", error);

	if (r < 0)
		return r; /* still open: transaction_done rolls it back */
	transaction->store = NULL;
	return 0;
}

/* Some errors (a full disk) have rolled back already: then there is nothing left to do. */
void transaction_done(struct transaction *transaction)
{
	struct store *store = TAKE_PTR(transaction->store);

	if (store && !sqlite3_get_autocommit(store->db))
		(void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}
