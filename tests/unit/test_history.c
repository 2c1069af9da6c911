#include "unit.h"

#include "state/db.h"
#include "state/history.h"
#include "state/passes.h"
#include "state/pins.h"
#include "state/run_row.h"

#include "database.h"

static void add(struct store *store, int64_t at_s, const char *run, const char *action)
{
	assert_int_equal(
		history_add(store,
			&(struct history_entry){ .at_s = at_s, .run = run, .action = action },
			NULL),
		0);
}

static void an_entry_is_read_back_whole(void *context, const struct history_entry *entry)
{
	size_t *count = context;

	(*count)++;
	assert_int_equal(entry->at_s, NOW);
	assert_string_equal(entry->pass, "p1");
	assert_string_equal(entry->run, "r1");
	assert_int_equal(entry->generation, 7);
	assert_string_equal(entry->action, "partial");
	assert_string_equal(entry->reason, "orphan");
	assert_string_equal(entry->resource, "worktree /a\xff");
	assert_string_equal(entry->detail, "it's \"so\"");
	assert_int_equal(entry->bytes, INT64_C(1) << 40);
}

static void what_was_added_is_read_back(void **state)
{
	size_t count = 0;

	assert_int_equal(history_add(database(state),
				 &(struct history_entry){ .at_s = NOW,
					 .pass = "p1",
					 .run = "r1",
					 .generation = 7,
					 .action = "partial",
					 .reason = "orphan",
					 .resource = "worktree /a\xff",
					 .detail = "it's \"so\"",
					 .bytes = INT64_C(1) << 40 },
				 NULL),
		0);
	assert_int_equal(
		history_each(database(state), NULL, 0, an_entry_is_read_back_whole, &count, NULL),
		0);
	assert_int_equal(count, 1);
}

struct order {
	size_t count;
	int64_t last_s;
};

static void check_order(void *context, const struct history_entry *entry)
{
	struct order *order = context;

	assert_true(entry->at_s >= order->last_s);
	order->last_s = entry->at_s;
	order->count++;
}

/* More than two pages, many of one moment, and not added in order. */
static void all_come_in_order_of_time(void **state)
{
	struct order all = { 0 }, some = { 0 }, late = { 0 };

	assert_int_equal(db_exec(database(state),
				 "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
				 " WHERE i < 1199) INSERT INTO history (at_s, run, action, bytes)"
				 " SELECT 1000 + (i * 7) % 5, 'r' || (i % 2), 'kept', 0 FROM n",
				 "fill", NULL),
		0);
	assert_int_equal(history_each(database(state), NULL, 0, check_order, &all, NULL), 0);
	assert_int_equal(all.count, 1200);
	assert_int_equal(history_each(database(state), "r1", 0, check_order, &some, NULL), 0);
	assert_int_equal(some.count, 600);
	assert_int_equal(history_each(database(state), NULL, 1003, check_order, &late, NULL), 0);
	assert_int_equal(late.count, 480);
}

static void trimming_spares_the_tombstone_of_a_pinned_run(void **state)
{
	char *left CLEANUP(mem_done) = NULL, *pinned CLEANUP(mem_done) = NULL;
	bool known;

	add(database(state), NOW - 100, "r1", "registered");
	add(database(state), NOW - 90, "r1", "reaped");
	add(database(state), NOW - 80, "r1", "reaped");
	add(database(state), NOW - 90, "r2", "reaped");
	add(database(state), NOW, "r3", "registered");
	assert_int_equal(pins_set(database(state), &(struct pin){ .run = "r1" }, &known, NULL), 1);
	assert_int_equal(history_trim(database(state), NOW, NULL), 0);
	pinned = database_history(database(state), "r1");
	left = database_history(database(state), NULL);
	assert_non_null(strstr(pinned, "reaped"));
	assert_null(strstr(pinned, "reaped reaped"));
	assert_null(strstr(pinned, "registered"));
	assert_non_null(strstr(left, "registered"));
}

static void fill(struct store *store, int rows, int64_t at_s)
{
	char *sql CLEANUP(mem_done) = mem_printf(
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
		" INSERT INTO history (at_s, pass, run, generation, action, reason, bytes)"
		" SELECT %lld, 'p' || i, 'r' || (i * 7919 %% 100000), i, 'reaped', 'finished_ok', i"
		" FROM n",
		rows, (long long)at_s);

	assert_int_equal(db_exec(store, sql, "fill", NULL), 0);
}

static int64_t number(struct store *store, const char *sql)
{
	sqlite3_stmt *statement;
	int64_t value;

	assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	value = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return value;
}

static int count_commit(void *context)
{
	(*(int *)context)++;
	return 0;
}

static void much_is_trimmed_in_many_small_transactions_and_by_several_passes(void **state)
{
	struct store *store = database(state);
	int commits = 0;

	fill(store, 25000, NOW - 100);
	fill(store, 10, NOW);
	(void)sqlite3_commit_hook(store->db, count_commit, &commits);
	assert_int_equal(history_trim(store, NOW, NULL), 0);
	assert_in_range(commits, 100, 110);
	assert_int_equal(number(store, "SELECT count(*) FROM history"), 5010);
	assert_int_equal(history_trim(store, NOW, NULL), 0);
	assert_int_equal(number(store, "SELECT count(*) FROM history"), 10);
	(void)sqlite3_commit_hook(store->db, NULL, NULL);
}

static void the_file_does_not_grow_when_old_rows_make_room_for_new_ones(void **state)
{
	struct store *store = database(state);
	int64_t before = 0;

	for (int day = 0; day < 40; day++) {
		fill(store, 500, NOW + day);
		assert_int_equal(history_trim(store, NOW + day - 5, NULL), 0);
		if (day == 15)
			before = number(store, "PRAGMA page_count");
	}
	assert_int_equal(number(store, "SELECT count(*) FROM history"), 6 * 500);
	assert_in_range(number(store, "PRAGMA page_count"), 1, before + before / 20);
}

/* Pages, not seconds. */
static void what_a_pass_writes_and_trims_does_not_cost_by_the_length_of_history(void **state)
{
	struct workdir *workdir = *state;
	struct store *store;
	struct pass_clocks clocks = { .wall_s = NOW };
	int64_t generation;
	int misses, unused;

	fill(database(state), 1000000, NOW);
	assert_int_equal(
		db_exec(database(state),
			"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
			" WHERE i < 20000) INSERT INTO pass (pass, wall_s, boot_ms, awake_ms,"
			" boot_id, resumed_s) SELECT 'o' || i, 1000000 + i, 0, 0, 'b', 0 FROM n",
			"fill", NULL),
		0);
	store = database_open(workdir, STORE_WRITE);
	assert_int_equal(store_verify_books(store, NULL), 0);
	assert_int_equal(pass_begin(store, "now", &clocks, NULL), 0);
	assert_int_equal(database_register(store, "r1", NULL, 0, NULL), 1);
	assert_int_equal(run_row_generation(store, "r77", NOW, &generation, NULL), 0);
	add(store, NOW, "r77", "reaped");
	assert_int_equal(pass_end(store, "now", NOW, &(struct pass_counts){ .runs = 1 }, NULL), 0);
	assert_int_equal(history_trim(store, 1000000, NULL), 0);
	assert_int_equal(
		sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &unused, 0),
		SQLITE_OK);
	assert_in_range(misses, 5, 150);
	assert_true(number(store, "PRAGMA page_count") > 10L * misses);
	store_close(store);
}

/* Whoever reads slowly must not keep a harness from registering. */
static void write_meanwhile(void *context, const struct history_entry *entry)
{
	struct store *store = context;

	(void)entry;
	(void)runs_note_sighting(store, "o1", NOW, NULL);
	assert_int_equal(runs_renew(store, "r1", NOW, 0, NULL), 1);
}

static void a_reader_holds_no_lock_while_it_is_called_back(void **state)
{
	struct workdir *workdir = *state;
	struct store *reader = database_open(workdir, STORE_READ);

	assert_int_equal(database_register(database(state), "r1", NULL, 0, NULL), 1);
	assert_int_equal(history_each(reader, NULL, 0, write_meanwhile, database(state), NULL), 0);
	store_close(reader);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_added_is_read_back),
		TEST(all_come_in_order_of_time),
		TEST(trimming_spares_the_tombstone_of_a_pinned_run),
		TEST(much_is_trimmed_in_many_small_transactions_and_by_several_passes),
		TEST(the_file_does_not_grow_when_old_rows_make_room_for_new_ones),
		TEST(what_a_pass_writes_and_trims_does_not_cost_by_the_length_of_history),
		TEST(a_reader_holds_no_lock_while_it_is_called_back),
	};

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
