#include "base/text.h"
#include "db.h"
#include "store.h"

#include <errno.h>

static int store_finding(struct store *store, const char *finding, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(finding);

	return error_say(error, EUCLEAN, "database '%s': it is damaged: %.120s; " DB_WAY_OUT,
		store->path, shown);
}

/* Of a query whose one column says "ok", or what is wrong. */
static int store_finding_of(struct store *store, struct query *query, struct error *error)
{
	int r = query_step(query, error);

	if (r < 0)
		return r;
	if (r == 0 || text_equal(column_text(query, 0), "ok"))
		return 0;
	return store_finding(store, column_text(query, 0), error);
}

static int store_quick_check(struct store *store, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_QUICK_CHECK);

	return store_finding_of(store, &query, error);
}

static int store_check_table(struct store *store, const char *table, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_CHECK_TABLE);

	query_text(&query, table);
	return store_finding_of(store, &query, error);
}

int store_verify_books(struct store *store, struct error *error)
{
	static const char *const tables[] = { "meta", "run", "resource", "pin", "sighting", "hold",
		"brake", "salvage", "failure", "unfinished", "size", "lock_held", "probe", "tally",
		"tally_day", "probe_result", "duty" };
	struct query query CLEANUP(query_done) = { 0 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
		r = store_check_table(store, tables[i], error);
	if (r < 0)
		return r;
	query = query_new(store, SQL_CHECK_ENDS);
	r = query_step(&query, error);
	return r < 0 ? r : 0;
}

/* Each speaks of tables and columns that must be there. */
static int store_check_statements(struct store *store, struct error *error)
{
	for (enum sql sql = 0; sql < SQL_COUNT; sql++) {
		struct query query CLEANUP(query_done) = query_new(store, sql);

		if (query.code != SQLITE_OK)
			return db_fail(store, query.code, sql_statements[sql].doing, error);
	}
	return 0;
}

int store_verify(struct store *store, struct error *error)
{
	struct query query CLEANUP(query_done) = { 0 };
	int r = store_quick_check(store, error);

	if (r >= 0)
		r = store_verify_books(store, error);
	if (r >= 0)
		r = store_check_statements(store, error);
	if (r < 0)
		return r;
	query = query_new(store, SQL_FOREIGN_KEY_CHECK);
	r = query_step(&query, error);
	if (r <= 0)
		return r;
	return store_finding(store, "a resource without its run", error);
}
