#include "unit.h"

#include "state/db.h"
#include "state/pins.h"

#include "database.h"

#include <errno.h>
#include <fcntl.h>

static int64_t root_page(struct store *store, const char *name)
{
	sqlite3_stmt *statement;
	int64_t page;

	assert_int_equal(
		sqlite3_prepare_v2(store->db, "SELECT rootpage FROM sqlite_schema WHERE name = ?",
			-1, &statement, NULL),
		SQLITE_OK);
	(void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	page = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return page;
}

/* Bytes of a page, by other hands. The database must be closed: its locks would be dropped. */
static void write_page(struct workdir *workdir, int64_t page, off_t at, char byte, size_t count)
{
	int fd CLEANUP(fd_done) = openat(workdir->dir, "state.db", O_WRONLY | O_CLOEXEC);
	char bytes[4096];

	memset(bytes, byte, sizeof(bytes));
	assert_int_equal(pwrite(fd, bytes, count, (page - 1) * 4096 + at), count);
}

/* What the whole check and that of the books say of a database with such bytes in it. */
static void expect_found(void **state, const char *name, off_t at, char byte, size_t count)
{
	struct workdir *workdir = *state;
	int64_t page = root_page(database(state), name);
	struct error whole = { 0 }, books = { 0 };

	store_close(database(state));
	write_page(workdir, page, at, byte, count);
	workdir->more = database_open(workdir, STORE_READ);
	assert_int_equal(store_verify_books(database(state), &books), -EUCLEAN);
	assert_int_equal(store_verify(database(state), &whole), -EUCLEAN);
	assert_non_null(strstr(books.text, "damaged"));
	assert_non_null(strstr(books.text, "--new-database"));
}

static void an_index_that_lacks_a_row_is_found_before_it_hides_a_pin(void **state)
{
	bool known;

	assert_int_equal(pins_set(database(state), &(struct pin){ .run = "r1" }, &known, NULL), 1);
	expect_found(state, "sqlite_autoindex_pin_1", 3, 0, 2); /* no cells */
}

static void rubbish_in_a_table_of_the_books_is_found(void **state)
{
	assert_int_equal(database_register(database(state), "r1", NULL, 0, NULL), 1);
	expect_found(state, "resource", 0, 'Z', 4096);
}

static void rubbish_where_the_next_row_of_history_goes_is_found(void **state)
{
	assert_int_equal(database_register(database(state), "r1", NULL, 0, NULL), 1);
	expect_found(state, "history_run", 0, 'Z', 4096);
}

/* Opened anew, since a statement that is prepared already is not asked again. */
static void expect_missing(void **state, const char *sql, const char *said)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };

	assert_int_equal(db_exec(database(state), sql, "test", NULL), 0);
	store_close(database(state));
	workdir->more = database_open(workdir, STORE_READ);
	assert_true(store_verify(database(state), &error) < 0);
	assert_non_null(strstr(error.text, said));
	store_close(database(state));
	workdir->more = database_open(workdir, STORE_WRITE);
}

static void whole_books_pass_and_a_missing_table_or_column_is_named(void **state)
{
	assert_int_equal(database_register(database(state), "r1", NULL, 0, NULL), 1);
	assert_int_equal(store_verify_books(database(state), NULL), 0);
	assert_int_equal(store_verify(database(state), NULL), 0);
	expect_missing(state, "ALTER TABLE salvage DROP COLUMN bytes", "bytes");
	expect_missing(state, "DROP TABLE hold", "no such table: hold");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_index_that_lacks_a_row_is_found_before_it_hides_a_pin),
		TEST(rubbish_in_a_table_of_the_books_is_found),
		TEST(rubbish_where_the_next_row_of_history_goes_is_found),
		TEST(whole_books_pass_and_a_missing_table_or_column_is_named),
	};

	return cmocka_run_group_tests_name("store_verify", tests, NULL, NULL);
}
