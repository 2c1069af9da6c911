#include "unit.h"

#include "state/brake.h"

#include "database.h"

static int64_t tripped(void **state)
{
	int64_t tripped_s = -1;

	assert_int_equal(brake_get(database(state), &tripped_s, NULL), 0);
	return tripped_s;
}

static int set(void **state, int64_t tripped_s)
{
	return brake_set(database(state), tripped_s, "p1", NOW, "60 of 60 runs", NULL);
}

static void a_trip_is_remembered_until_it_is_forgotten(void **state)
{
	assert_int_equal(tripped(state), 0);
	assert_int_equal(set(state, NOW), 1);
	assert_int_equal(tripped(state), NOW);
	assert_int_equal(set(state, NOW - 5), 1);
	assert_int_equal(tripped(state), NOW - 5);
	assert_int_equal(set(state, 0), 1);
	assert_int_equal(tripped(state), 0);
}

static void what_is_remembered_already_is_no_change(void **state)
{
	char *history CLEANUP(mem_done) = NULL;

	assert_int_equal(set(state, 0), 0);
	assert_int_equal(set(state, NOW), 1);
	assert_int_equal(set(state, NOW), 0);
	assert_int_equal(set(state, 0), 1);
	history = database_history(database(state), NULL);
	assert_string_equal(history, "braked released");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_trip_is_remembered_until_it_is_forgotten),
		TEST(what_is_remembered_already_is_no_change),
	};

	return cmocka_run_group_tests_name("brake", tests, NULL, NULL);
}
