#include "unit.h"

#include "base/clock.h"
#include "os/processes.h"
#include "simclock.h"

#include <poll.h>
#include <sys/wait.h>

enum { HOUR = 3600, SLACK_S = 60 };

struct clocks {
	int64_t wall_s, boot_s, awake_s;
	char boot_id[37];
};

static struct clocks read_all(void)
{
	struct clocks clocks = {
		.wall_s = clock_wall_s(),
		.boot_s = clock_boot_ms() / 1000,
		.awake_s = clock_awake_ms() / 1000,
	};

	assert_int_equal(process_boot_id(clocks.boot_id, NULL), 0);
	return clocks;
}

static void assert_moved(struct clocks before, int64_t wall_s, int64_t boot_s, int64_t awake_s)
{
	struct clocks now = read_all();

	assert_in_range(now.wall_s - before.wall_s - wall_s + SLACK_S, SLACK_S, 2 * SLACK_S);
	assert_in_range(now.boot_s - before.boot_s - boot_s + SLACK_S, SLACK_S, 2 * SLACK_S);
	assert_in_range(now.awake_s - before.awake_s - awake_s + SLACK_S, SLACK_S, 2 * SLACK_S);
	assert_string_equal(now.boot_id, before.boot_id);
}

static void each_clock_moves_as_the_host_does(void **state)
{
	struct clocks before = read_all();

	(void)state;
	simclock_advance(HOUR);
	assert_moved(before, HOUR, HOUR, HOUR);
	simclock_suspend(HOUR);
	assert_moved(before, 2 * HOUR, 2 * HOUR, HOUR);
	simclock_step(-HOUR);
	assert_moved(before, HOUR, 2 * HOUR, HOUR);
}

static void a_boot_has_another_id_and_begins_at_nothing(void **state)
{
	struct clocks before = read_all(), now;

	(void)state;
	simclock_reboot(HOUR, SLACK_S);
	now = read_all();
	assert_string_not_equal(now.boot_id, before.boot_id);
	assert_in_range(now.boot_s, SLACK_S, 2 * SLACK_S);
	assert_in_range(now.wall_s - before.wall_s, HOUR + SLACK_S, HOUR + 2 * SLACK_S);
}

static void a_deadline_is_not_moved_by_a_step_but_by_a_suspend(void **state)
{
	int64_t deadline_ms = deadline_in_ms(HOUR * 1000);

	(void)state;
	simclock_step(10 * HOUR);
	assert_in_range(deadline_left_ms(deadline_ms), (HOUR - SLACK_S) * 1000, HOUR * 1000);
	simclock_suspend(HOUR);
	assert_int_equal(deadline_left_ms(deadline_ms), 0);
}

static void a_frozen_wall_clock_is_moved_by_the_test_alone(void **state)
{
	int64_t before_s = clock_wall_s(), then_ms = clock_boot_ms() + 1100;

	(void)state;
	simclock_freeze_wall();
	assert_in_range(clock_wall_s() - before_s, 0, SLACK_S);
	before_s = clock_wall_s();
	while (clock_boot_ms() < then_ms)
		(void)poll(NULL, 0, 50);
	assert_int_equal(clock_wall_s(), before_s);
	simclock_advance(HOUR);
	assert_int_equal(clock_wall_s(), before_s + HOUR);
	simclock_step(-HOUR);
	assert_int_equal(clock_wall_s(), before_s);
}

static void a_deadline_comes_while_one_waits(void **state)
{
	int64_t deadline_ms = deadline_in_ms(20);

	(void)state;
	while (deadline_left_ms(deadline_ms) > 0)
		(void)poll(NULL, 0, (int)deadline_left_ms(deadline_ms));
	assert_true(clock_boot_ms() >= deadline_ms);
}

static void children_see_the_clock_move(void **state)
{
	struct clocks before = read_all();
	int status, go[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;

		(void)close(go[1]);
		(void)!read(go[0], &byte, 1);
		_exit(clock_wall_s() - before.wall_s >= HOUR ? 0 : 1);
	}
	(void)close(go[0]);
	simclock_step(HOUR);
	(void)close(go[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int start(void **state)
{
	(void)state;
	simclock_start();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_clock_moves_as_the_host_does, start),
		cmocka_unit_test_setup(a_boot_has_another_id_and_begins_at_nothing, start),
		cmocka_unit_test_setup(a_deadline_is_not_moved_by_a_step_but_by_a_suspend, start),
		cmocka_unit_test_setup(a_frozen_wall_clock_is_moved_by_the_test_alone, start),
		cmocka_unit_test_setup(a_deadline_comes_while_one_waits, start),
		cmocka_unit_test_setup(children_see_the_clock_move, start),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
