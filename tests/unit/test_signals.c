#include "unit.h"

#include "base/clock.h"
#include "os/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { LONG_MS = 60000, SHORT_MS = 50 };

/* Held signals are taken again, so that the next test is asked nothing. */
static int forget(void **state)
{
	const struct timespec now = { 0 };
	sigset_t set;

	(void)state;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	return sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void each_of_the_three_signals_asks_to_stop(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		signals_hold();
		assert_false(signals_stop_wanted());
		assert_return_code(raise(signals[i]), errno);
		assert_true(signals_stop_wanted());
		assert_true(signals_stop_wanted());
		assert_int_equal(signals_wait(-EBADF, 0, deadline_in_ms(LONG_MS)), -EINTR);
		assert_int_equal(forget(state), 0);
	}
}

static void a_wait_ends_with_the_deadline_or_with_what_it_waits_for(void **state)
{
	int64_t start_ms = clock_boot_ms();
	int ends[2];

	(void)state;
	signals_hold();
	assert_return_code(pipe(ends), errno);
	assert_int_equal(signals_wait(ends[0], POLLIN, deadline_in_ms(SHORT_MS)), 0);
	assert_true(clock_boot_ms() - start_ms >= SHORT_MS);
	assert_int_equal(signals_wait(ends[0], POLLIN, 0), 0);
	assert_int_equal(write(ends[1], "", 1), 1);
	assert_int_equal(signals_wait(ends[0], POLLIN, 0), 1);
	/* What is there already comes before the wish to stop. */
	assert_return_code(raise(SIGTERM), errno);
	assert_int_equal(signals_wait(ends[0], POLLIN, deadline_in_ms(LONG_MS)), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void a_wait_ends_when_a_signal_comes(void **state)
{
	pid_t us = getpid(), other;

	(void)state;
	signals_hold();
	other = fork();
	if (other == 0) {
		(void)poll(NULL, 0, SHORT_MS);
		_exit(kill(us, SIGTERM));
	}
	assert_int_equal(signals_wait(-EBADF, 0, deadline_in_ms(LONG_MS)), -EINTR);
	assert_int_equal(waitpid(other, NULL, 0), other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_of_the_three_signals_asks_to_stop, forget),
		cmocka_unit_test_teardown(
			a_wait_ends_with_the_deadline_or_with_what_it_waits_for, forget),
		cmocka_unit_test_teardown(a_wait_ends_when_a_signal_comes, forget),
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
