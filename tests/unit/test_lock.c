#include "unit.h"

#include "os/lock.h"

#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void a_second_taker_is_told_who_holds_it(void **state)
{
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "lock");
	char *who CLEANUP(mem_done) =
		mem_printf("pid %d, since 2026-11-29T15:33:00Z", (int)getpid());
	struct error error = { 0 };
	int fd CLEANUP(fd_done) = lock_take(path, 1795966380, &error);

	assert_true(fd >= 0);
	assert_int_equal(lock_take(path, 1795966381, &error), -EBUSY);
	assert_non_null(strstr(error.text, path));
	assert_non_null(strstr(error.text, who));
}

static void it_can_be_taken_again_when_it_was_closed(void **state)
{
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "lock");
	int fd = lock_take(path, 1795966380, NULL);
	char longer[140];
	struct stat stat;

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	memset(longer, 'x', sizeof(longer));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, longer, sizeof(longer)), sizeof(longer));
	close(fd);
	fd = lock_take(path, 5, NULL);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(stat.st_mode & 07777, 0600);
	assert_true(stat.st_size < 100); /* the shorter hint has nothing of the longer behind it */
	close(fd);
}

static int hold_for_ever(struct workdir *workdir, void *context)
{
	int *ready = context;

	if (lock_take(workdir_path(workdir, "lock"), 1, NULL) < 0)
		return 1;
	(void)!write(ready[1], "x", 1);
	for (;;)
		pause();
}

static void a_killed_holder_loses_it_at_once(void **state)
{
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "lock");
	int ready[2];
	char byte;
	pid_t pid;
	int fd;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = workdir_fork(hold_for_ever, workdir, ready);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(lock_take(path, 2, NULL), -EBUSY);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(workdir_wait(pid), 255);
	fd = lock_take(path, 2, NULL);
	assert_true(fd >= 0);
	close(fd);
	close(ready[0]);
	close(ready[1]);
}

static void a_holder_without_a_readable_hint_still_holds_it(void **state)
{
	static const char *const hints[] = {
		"", "12", "x y\n", "-1 5\n", "99999999999999999999 1\n",
		"1 99999999999999999 zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\n"
	};
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "lock");
	int fd CLEANUP(fd_done) = lock_take(path, 1, NULL);

	assert_true(fd >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		struct error error = { 0 };

		workdir_write(workdir, "lock", hints[i], strlen(hints[i]));
		assert_int_equal(lock_take(path, 2, &error), -EBUSY);
		assert_null(strstr(error.text, "pid"));
	}
}

static void holder_is(const char *path, const char *pattern)
{
	char text[LOCK_HOLDER];

	assert_int_equal(lock_describe_holder(path, text), *pattern != 0);
	if (!strstr(text, pattern) || (!*pattern && *text))
		fail_msg("%s is not in: %s", pattern, text);
}

static void a_holder_is_described_by_what_it_is_and_does(void **state)
{
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "lock");
	char *who CLEANUP(mem_done) = NULL;
	int ready[2], status;
	char byte;
	pid_t pid;

	holder_is(path, ""); /* nobody ever held it */
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = workdir_fork(hold_for_ever, workdir, ready);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	who = mem_printf("pid %d (", pid);
	holder_is(path, who);
	holder_is(path, "test_lock"); /* its command line */
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	holder_is(path, "stopped by a signal");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(workdir_wait(pid), 255);
	holder_is(path, "");
	close(ready[0]);
	close(ready[1]);
}

static void another_process_of_that_number_is_not_described(void **state)
{
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "lock");
	char *hint CLEANUP(mem_done) =
		mem_printf("%d 1795966380 00000000-0000-4000-8000-000000000000:1\n", (int)getpid());
	char *old CLEANUP(mem_done) = mem_printf("%d 1795966380\n", (int)getpid());
	int fd CLEANUP(fd_done) = lock_take(path, 1, NULL);

	assert_true(fd >= 0);
	holder_is(path, "test_lock");
	workdir_write(workdir, "lock", hint, strlen(hint));
	holder_is(path, "");
	workdir_write(workdir, "lock", old, strlen(old));
	holder_is(path, "");
}

static void what_is_no_file_is_no_lock(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };

	assert_int_equal(mkfifoat(workdir->dir, "fifo", 0600), 0);
	assert_int_equal(lock_take(workdir_path(workdir, "fifo"), 1, &error), -EINVAL);
	assert_int_equal(symlinkat("elsewhere", workdir->dir, "link"), 0);
	assert_int_equal(lock_take(workdir_path(workdir, "link"), 1, NULL), -ELOOP);
	assert_int_equal(faccessat(workdir->dir, "elsewhere", F_OK, 0), -1);
	assert_int_equal(lock_take(workdir_path(workdir, "no/such"), 1, NULL), -ENOENT);
}

static void a_file_with_another_name_is_no_lock_and_stays_as_it_is(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };
	struct stat stat;
	int fd;

	workdir_write(workdir, "precious", "content", 7);
	assert_int_equal(linkat(workdir->dir, "precious", workdir->dir, "lock", 0), 0);
	assert_int_equal(lock_check(workdir_path(workdir, "lock"), NULL), -EUCLEAN);
	assert_int_equal(lock_take(workdir_path(workdir, "lock"), 1, &error), -EUCLEAN);
	assert_non_null(strstr(error.text, "has 2 names instead of one"));
	assert_int_equal(fstatat(workdir->dir, "precious", &stat, 0), 0);
	assert_int_equal(stat.st_size, 7);
	assert_int_equal(unlinkat(workdir->dir, "precious", 0), 0);
	fd = lock_take(workdir_path(workdir, "lock"), 1, NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(lock_check(workdir_path(workdir, "lock"), NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_second_taker_is_told_who_holds_it),
		TEST(it_can_be_taken_again_when_it_was_closed),
		TEST(a_killed_holder_loses_it_at_once),
		TEST(a_holder_without_a_readable_hint_still_holds_it),
		TEST(a_holder_is_described_by_what_it_is_and_does),
		TEST(another_process_of_that_number_is_not_described),
		TEST(what_is_no_file_is_no_lock),
		TEST(a_file_with_another_name_is_no_lock_and_stays_as_it_is),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
