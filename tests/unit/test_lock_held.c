#include "unit.h"

#include "state/lock_held.h"

#include "database.h"
#include "state/passes.h"

static struct lock_held add(void **state, int64_t now_s)
{
	struct lock_held held;

	assert_int_equal(lock_held_add(database(state), now_s, &held, NULL), 0);
	return held;
}

static void passes_that_find_it_held_are_counted_from_the_first(void **state)
{
	struct lock_held held = add(state, NOW);

	assert_int_equal(held.count, 1);
	assert_int_equal(held.since_s, NOW);
	(void)add(state, NOW + 300);
	held = add(state, NOW + 600);
	assert_int_equal(held.count, 3);
	assert_int_equal(held.since_s, NOW);
}

static void a_pass_that_begins_ends_the_row(void **state)
{
	const struct pass_clocks clocks = { .wall_s = NOW, .boot_id = "b" };

	(void)add(state, NOW);
	(void)add(state, NOW);
	assert_int_equal(pass_begin(database(state), "p1", &clocks, NULL), 0);
	assert_int_equal(add(state, NOW + 900).count, 1);
	assert_int_equal(lock_held_clear(database(state), NULL), 0);
	assert_int_equal(add(state, NOW + 950).since_s, NOW + 950);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(passes_that_find_it_held_are_counted_from_the_first),
		TEST(a_pass_that_begins_ends_the_row),
	};

	return cmocka_run_group_tests_name("lock_held", tests, NULL, NULL);
}
