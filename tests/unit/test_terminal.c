#include "unit.h"

#include "os/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>

struct pair {
	int master, slave;
};

static void pair_done(struct pair *pair)
{
	fd_done(&pair->slave);
	fd_done(&pair->master);
}

/* A real terminal of so many columns. */
static struct pair pair_open(unsigned short columns)
{
	struct winsize size = { .ws_col = columns };
	struct pair pair = { posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), -EBADF };

	assert_true(pair.master >= 0);
	assert_int_equal(grantpt(pair.master), 0);
	assert_int_equal(unlockpt(pair.master), 0);
	pair.slave = open(ptsname(pair.master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(pair.slave >= 0);
	assert_int_equal(ioctl(pair.slave, TIOCSWINSZ, &size), 0);
	return pair;
}

static int plain_environment(void **state)
{
	(void)state;
	(void)unsetenv("COLUMNS");
	(void)unsetenv("NO_COLOR");
	(void)setenv("TERM", "xterm-256color", 1);
	(void)setenv("LC_ALL", "C.UTF-8", 1);
	return 0;
}

static void what_is_no_terminal_has_no_width_and_no_colour(void **state)
{
	int null CLEANUP(fd_done) = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct terminal terminal;

	(void)state;
	(void)setenv("COLUMNS", "120", 1);
	terminal = terminal_ask(null);
	assert_int_equal(terminal.columns, 0);
	assert_false(terminal.colour);
}

static void a_terminal_says_how_wide_it_is(void **state)
{
	struct pair pair CLEANUP(pair_done) = pair_open(132), unknown CLEANUP(pair_done);

	(void)state;
	unknown = pair_open(0);
	assert_int_equal(terminal_ask(pair.slave).columns, 132);
	assert_int_equal(terminal_ask(unknown.slave).columns, 80);
}

static void columns_says_it_better_when_it_is_a_number(void **state)
{
	struct pair pair CLEANUP(pair_done) = pair_open(132);

	(void)state;
	(void)setenv("COLUMNS", "100", 1);
	assert_int_equal(terminal_ask(pair.slave).columns, 100);
	(void)setenv("COLUMNS", "-3", 1);
	assert_int_equal(terminal_ask(pair.slave).columns, 132);
	(void)setenv("COLUMNS", "wide", 1);
	assert_int_equal(terminal_ask(pair.slave).columns, 132);
}

static void colours_are_for_who_wants_and_has_them(void **state)
{
	struct pair pair CLEANUP(pair_done) = pair_open(80);

	(void)state;
	assert_true(terminal_ask(pair.slave).colour);
	(void)setenv("NO_COLOR", "1", 1);
	assert_false(terminal_ask(pair.slave).colour);
	assert_true(terminal_ask(pair.slave).controls);
	(void)setenv("NO_COLOR", "", 1); /* no-color.org: not empty */
	assert_true(terminal_ask(pair.slave).colour);
	(void)setenv("TERM", "dumb", 1);
	assert_false(terminal_ask(pair.slave).colour);
	assert_false(terminal_ask(pair.slave).controls);
	(void)unsetenv("TERM");
	assert_false(terminal_ask(pair.slave).colour);
}

static void the_locale_says_whether_it_speaks_utf8(void **state)
{
	struct pair pair CLEANUP(pair_done) = pair_open(80);

	(void)state;
	assert_true(terminal_ask(pair.slave).utf8);
	(void)setenv("LC_ALL", "C", 1);
	assert_false(terminal_ask(pair.slave).utf8);
	(void)setenv("LC_ALL", "no-such-locale", 1);
	assert_false(terminal_ask(pair.slave).utf8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			what_is_no_terminal_has_no_width_and_no_colour, plain_environment),
		cmocka_unit_test_setup(a_terminal_says_how_wide_it_is, plain_environment),
		cmocka_unit_test_setup(
			columns_says_it_better_when_it_is_a_number, plain_environment),
		cmocka_unit_test_setup(colours_are_for_who_wants_and_has_them, plain_environment),
		cmocka_unit_test_setup(the_locale_says_whether_it_speaks_utf8, plain_environment),
	};

	return cmocka_run_group_tests_name("terminal", tests, NULL, NULL);
}
