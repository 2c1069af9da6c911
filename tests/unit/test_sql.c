#include "unit.h"

#include "base/text.h"
#include "state/db.h"

#include "database.h"

/* Those that read one row of many in the order of their key are called a scan, too. */
static bool ends_at_once(enum sql sql)
{
	return sql == SQL_PASS_LAST;
}

static void expect_no_scan(struct store *store, enum sql sql)
{
	char *text CLEANUP(mem_done) =
		mem_printf("EXPLAIN QUERY PLAN %s", sql_statements[sql].text);
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(store->db, text, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(store->db));
	while (sqlite3_step(statement) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(statement, 3);

		if (text_starts(detail, "SCAN history") ||
			(text_starts(detail, "SCAN pass") && !ends_at_once(sql)))
			fail_msg("%s\n%s", sql_statements[sql].text, detail);
	}
	(void)sqlite3_finalize(statement);
}

/* Whatever is asked of them: they are the tables that become long. */
static void no_statement_goes_through_all_of_history_or_passes(void **state)
{
	for (enum sql sql = 0; sql < SQL_COUNT; sql++)
		expect_no_scan(database(state), sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_statement_goes_through_all_of_history_or_passes,
			database_setup, database_teardown),
	};

	return cmocka_run_group_tests_name("sql", tests, NULL, NULL);
}
