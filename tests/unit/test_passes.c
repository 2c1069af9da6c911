#include "unit.h"

#include "state/history.h"
#include "state/passes.h"

#include "database.h"

#include <errno.h>

#define HOUR_MS INT64_C(3600000)

static const struct pass_clocks base = {
	.wall_s = NOW,
	.boot_ms = 10 * HOUR_MS,
	.awake_ms = 9 * HOUR_MS,
	.boot_id = "01234567-89ab-cdef-0123-456789abcdef",
	.resumed_s = NOW - 3600,
};

static void clocks_that_run_together_are_fine(void **state)
{
	struct pass_clocks now = base;
	struct host_facts host;

	(void)state;
	now.wall_s += 3600 + 299;
	now.boot_ms += HOUR_MS;
	now.awake_ms += HOUR_MS - 60000;
	pass_compare(&base, &now, &host);
	assert_false(host.clock_stepped);
	assert_int_equal(host.resumed_s, base.resumed_s);
}

static void a_step_of_more_than_five_minutes_is_seen_either_way(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		struct pass_clocks now = base;
		struct host_facts host;

		now.wall_s += 3600 + sign * 301;
		now.boot_ms += HOUR_MS;
		now.awake_ms += HOUR_MS;
		pass_compare(&base, &now, &host);
		assert_true(host.clock_stepped);
		assert_int_equal(host.resumed_s, base.resumed_s + sign * 301);
	}
}

static void a_suspend_is_no_step_and_is_noted_when_it_is_seen(void **state)
{
	struct pass_clocks now = base;
	struct host_facts host;

	(void)state;
	now.wall_s += 7200;
	now.boot_ms += 2 * HOUR_MS;
	now.awake_ms += 2 * HOUR_MS - 60001;
	pass_compare(&base, &now, &host);
	assert_false(host.clock_stepped);
	assert_int_equal(host.resumed_s, now.wall_s);
}

static void after_a_boot_only_the_boot_counts(void **state)
{
	struct pass_clocks now = base;
	struct host_facts host;

	(void)state;
	now.boot_id[0] = 'f';
	now.wall_s += 86400;
	now.boot_ms = now.awake_ms = 60000;
	pass_compare(&base, &now, &host);
	assert_false(host.clock_stepped);
	assert_int_equal(host.boot_s, now.wall_s - 60);
	assert_int_equal(host.resumed_s, 0);
	pass_compare(NULL, &now, &host);
	assert_false(host.clock_stepped);
	assert_int_equal(host.boot_s, now.wall_s - 60);
	assert_int_equal(host.resumed_s, 0);
	now.wall_s = 5; /* no clock of its own, and no time server yet */
	pass_compare(NULL, &now, &host);
	assert_int_equal(host.boot_s, 0);
}

static void over_a_boot_the_clock_may_go_forward_but_not_back(void **state)
{
	struct pass_clocks now = base;
	struct host_facts host;

	(void)state;
	now.boot_id[0] = 'f';
	now.boot_ms = now.awake_ms = 60000;
	now.wall_s = base.wall_s - 200;
	pass_compare(&base, &now, &host);
	assert_false(host.clock_stepped);
	now.wall_s = 31536000; /* 1971: the battery of its clock is empty */
	pass_compare(&base, &now, &host);
	assert_true(host.clock_stepped);
	assert_int_equal(host.clock_step_s, 0);
}

/* When o1 was first seen, by the sightings of the database. */
static int64_t sighting_of_o1(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct run *run = inventory_run(&inventory, "o1");

	assert_int_equal(runs_load_sightings(database(state), &inventory, NULL), 0);
	return run->facts.first_seen_s;
}

static void sightings_move_with_the_clock_and_are_never_in_the_future(void **state)
{
	static const int64_t years_s = INT64_C(315360000);
	struct pass_clocks clocks = base;

	assert_int_equal(runs_note_sighting(database(state), "o1", base.wall_s - 60, NULL), 0);
	clocks.wall_s += years_s;
	clocks.step_s = years_s;
	assert_int_equal(pass_begin(database(state), "p1", &clocks, NULL), 0);
	assert_int_equal(sighting_of_o1(state), clocks.wall_s - 60);
	clocks.step_s = 0; /* back, but over a boot: by how much cannot be told */
	clocks.wall_s = base.wall_s;
	assert_int_equal(pass_begin(database(state), "p2", &clocks, NULL), 0);
	assert_int_equal(sighting_of_o1(state), base.wall_s);
	clocks.step_s = -2 * base.wall_s;
	assert_int_equal(pass_begin(database(state), "p3", &clocks, NULL), 0);
	assert_int_equal(sighting_of_o1(state), 0);
}

static void the_last_pass_that_began_is_remembered(void **state)
{
	struct pass_clocks read, second = base;

	assert_int_equal(pass_last(database(state), &read, NULL), 0);
	assert_int_equal(pass_begin(database(state), "p1", &base, NULL), 0);
	second.wall_s -= 500; /* the later one, whatever the clock says */
	assert_int_equal(pass_begin(database(state), "p2", &second, NULL), 0);
	assert_int_equal(pass_last(database(state), &read, NULL), 1);
	assert_int_equal(read.wall_s, second.wall_s);
	assert_int_equal(read.boot_ms, second.boot_ms);
	assert_int_equal(read.awake_ms, second.awake_ms);
	assert_int_equal(read.resumed_s, second.resumed_s);
	assert_string_equal(read.boot_id, second.boot_id);
}

static void an_end_is_noted_and_what_was_done_stands_in_the_log(void **state)
{
	struct pass_clocks read;
	char *history CLEANUP(mem_done) = NULL;

	assert_int_equal(pass_begin(database(state), "p1", &base, NULL), 0);
	assert_int_equal(
		pass_end(database(state), "p1", NOW + 1, &(struct pass_counts){ .runs = 4 }, NULL),
		0);
	assert_int_equal(pass_begin(database(state), "p2", &base, NULL), 0);
	assert_int_equal(
		pass_end(database(state), "p2", NOW + 2,
			&(struct pass_counts){ .runs = 4, .exit_code = 69, .blind = "containers" },
			NULL),
		0);
	assert_int_equal(
		pass_end(database(state), "p3", NOW, &(struct pass_counts){ 0 }, NULL), -ENOENT);
	history = database_history(database(state), NULL);
	assert_string_equal(history, "pass");
	assert_int_equal(history_trim(database(state), NOW + 100, NULL), 0);
	assert_int_equal(pass_last(database(state), &read, NULL), 1);
}

static void end(void **state, const char *pass, int64_t now_s, int exit_code)
{
	struct pass_counts counts = { .exit_code = exit_code };

	assert_int_equal(pass_begin(database(state), pass, &base, NULL), 0);
	assert_int_equal(pass_end(database(state), pass, now_s, &counts, NULL), 0);
}

static void the_last_pass_with_nothing_to_say_is_found_behind_others(void **state)
{
	int64_t ended_s = -1;

	assert_int_equal(pass_last_done(database(state), &ended_s, NULL), 0);
	end(state, "p1", NOW + 5, 0);
	end(state, "p2", NOW + 6, 0);
	end(state, "p3", NOW + 7, 1);
	assert_int_equal(pass_last_done(database(state), &ended_s, NULL), 1);
	assert_int_equal(ended_s, NOW + 6);
	assert_int_equal(history_trim(database(state), NOW + 100, NULL), 0); /* however old it is */
	ended_s = -1;
	assert_int_equal(pass_last_done(database(state), &ended_s, NULL), 1);
	assert_int_equal(ended_s, NOW + 6);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_run_together_are_fine),
		cmocka_unit_test(a_step_of_more_than_five_minutes_is_seen_either_way),
		cmocka_unit_test(a_suspend_is_no_step_and_is_noted_when_it_is_seen),
		cmocka_unit_test(after_a_boot_only_the_boot_counts),
		cmocka_unit_test(over_a_boot_the_clock_may_go_forward_but_not_back),
		TEST(sightings_move_with_the_clock_and_are_never_in_the_future),
		TEST(the_last_pass_that_began_is_remembered),
		TEST(an_end_is_noted_and_what_was_done_stands_in_the_log),
		TEST(the_last_pass_with_nothing_to_say_is_found_behind_others),
	};

	return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
