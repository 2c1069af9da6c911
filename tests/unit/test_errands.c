#include "unit.h"

#include "base/clock.h"
#include "os/errands.h"
#include "os/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { LONG_MS = 60000, MANY = 30 };

/* Who was told of, how often and with what. */
struct told {
	size_t times[MANY];
	int answers[MANY];
};

static void note(void *context, size_t place, int answer)
{
	struct told *told = context;

	told->times[place]++;
	told->answers[place] = answer;
}

static struct told run(struct errand *items, size_t count, int64_t each_ms, int64_t end_ms)
{
	struct told told = { 0 };
	const struct errands errands = {
		.items = items,
		.count = count,
		.each_ms = each_ms,
		.end_ms = end_ms,
		.done = note,
		.context = &told,
	};

	errands_run(&errands);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(told.times[i], 1);
	return told;
}

static int double_it(void *context, void *result, struct error *error)
{
	(void)error;
	*(int *)result *= 2;
	return *(int *)context;
}

static int hang(void *context, void *result, struct error *error)
{
	(void)context;
	(void)result;
	(void)error;
	while (poll(NULL, 0, -1) <= 0)
		;
	return 0;
}

static void each_has_its_own_answer_and_result(void **state)
{
	struct errand items[MANY] = { 0 };
	int numbers[MANY], results[MANY];
	struct told told;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		numbers[i] = i % 7;
		results[i] = i;
		items[i] = (struct errand){
			.work = double_it,
			.context = &numbers[i],
			.result = &results[i],
			.result_size = sizeof(results[i]),
		};
	}
	told = run(items, MANY, LONG_MS, deadline_in_ms(LONG_MS));
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(told.answers[i], i % 7);
		assert_int_equal(results[i], 2 * i);
	}
}

static void there_may_be_none(void **state)
{
	(void)state;
	(void)run(NULL, 0, LONG_MS, deadline_in_ms(LONG_MS));
}

struct meeting {
	int own, other; /* ends of two pipes */
};

/* Answers only when the other one is there at the same time. */
static int meet(void *context, void *result, struct error *error)
{
	const struct meeting *meeting = context;
	char byte = 'x';

	(void)result;
	(void)error;
	if (write(meeting->own, &byte, 1) != 1 || read(meeting->other, &byte, 1) != 1)
		return -errno;
	return 1;
}

static void two_are_at_work_at_the_same_time(void **state)
{
	struct meeting meetings[2];
	struct errand items[2];
	int pipes[2][2], keep[4];
	struct told told;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_return_code(pipe(pipes[i]), errno);
	for (int i = 0; i < 2; i++) {
		keep[2 * i] = meetings[i].own = pipes[i][1];
		keep[2 * i + 1] = meetings[i].other = pipes[!i][0];
		items[i] = (struct errand){
			.work = meet, .context = &meetings[i], .keep = keep, .keep_count = 4
		};
	}
	told = run(items, 2, LONG_MS, deadline_in_ms(LONG_MS));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(told.answers[i], 1);
		assert_return_code(close(pipes[i][0]), errno);
		assert_return_code(close(pipes[i][1]), errno);
	}
}

static void one_that_hangs_costs_its_own_time_only(void **state)
{
	struct errand items[MANY] = { 0 };
	int one = 1, results[MANY] = { 0 };
	struct told told;

	(void)state;
	for (int i = 0; i < MANY; i++)
		items[i] = (struct errand){
			.work = i == 0 ? hang : double_it,
			.context = &one,
			.result = &results[i],
			.result_size = sizeof(results[i]),
		};
	told = run(items, MANY, 10000, deadline_in_ms(LONG_MS));
	assert_int_equal(told.answers[0], -ETIME);
	for (int i = 1; i < MANY; i++)
		assert_int_equal(told.answers[i], 1);
}

static void what_has_no_time_left_is_told_as_such(void **state)
{
	struct errand items[MANY] = { 0 };
	struct told told;

	(void)state;
	for (int i = 0; i < MANY; i++)
		items[i].work = hang;
	told = run(items, MANY, LONG_MS, deadline_in_ms(300));
	for (int i = 0; i < MANY; i++)
		assert_int_equal(told.answers[i], -ETIME);
}

static void asked_to_stop_it_leaves_the_rest(void **state)
{
	struct errand items[MANY] = { 0 };
	struct told told;
	siginfo_t info;
	sigset_t set;

	(void)state;
	signals_hold();
	assert_return_code(kill(getpid(), SIGTERM), errno);
	for (int i = 0; i < MANY; i++)
		items[i].work = hang;
	told = run(items, MANY, LONG_MS, deadline_in_ms(LONG_MS));
	for (int i = 0; i < MANY; i++)
		assert_int_equal(told.answers[i], -EINTR);
	assert_int_equal(sigemptyset(&set) | sigaddset(&set, SIGTERM), 0);
	assert_int_equal(sigwaitinfo(&set, &info), SIGTERM);
}

static void no_child_is_left(void **state)
{
	(void)state;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_own_answer_and_result),
		cmocka_unit_test(there_may_be_none),
		cmocka_unit_test(two_are_at_work_at_the_same_time),
		cmocka_unit_test(one_that_hangs_costs_its_own_time_only),
		cmocka_unit_test(what_has_no_time_left_is_told_as_such),
		cmocka_unit_test(asked_to_stop_it_leaves_the_rest),
		cmocka_unit_test(no_child_is_left),
	};

	return cmocka_run_group_tests_name("errands", tests, NULL, NULL);
}
