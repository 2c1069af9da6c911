#include "unit.h"

#include "base/clock.h"
#include "os/errand.h"
#include "os/signals.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { LONG_MS = 60000, SHORT_MS = 100 };

static int run(errand_work *work, void *context, void *result, size_t size, struct error *error)
{
	const struct errand errand = {
		.work = work,
		.context = context,
		.what = "test",
		.result = result,
		.result_size = size,
		.deadline_ms = deadline_in_ms(LONG_MS),
	};

	return errand_run(&errand, error);
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) != 0 && errno == ESRCH;
}

/* -------------------------------------------------------------------------------- what comes back */

struct told {
	int64_t number;
	char text[40];
};

static int add_one(void *context, void *result, struct error *error)
{
	struct told *told = result;

	(void)error;
	++*(int *)context;
	told->number++;
	(void)snprintf(told->text, sizeof(told->text), "child %d", *(int *)context);
	return 7;
}

static void the_answer_and_the_result_come_back_and_nothing_else(void **state)
{
	struct told told = { .number = 41 };
	struct error error = { 0 };
	int context = 1;

	(void)state;
	assert_int_equal(run(add_one, &context, &told, sizeof(told), &error), 7);
	assert_int_equal(told.number, 42);
	assert_string_equal(told.text, "child 2");
	assert_int_equal(context, 1);
	assert_int_equal(error.code, 0);
}

static int fail_at_the_door(void *context, void *result, struct error *error)
{
	(void)context;
	((struct told *)result)->number += 10;
	return error_set(error, EACCES, "open the door");
}

static void a_failure_comes_back_with_its_text_and_what_was_done_before(void **state)
{
	struct error error = { 0 }, first = { .code = EIO, .text = "something else" };
	struct told told = { .number = 1 };

	(void)state;
	assert_int_equal(run(fail_at_the_door, NULL, &told, sizeof(told), &error), -EACCES);
	assert_int_equal(error.code, EACCES);
	assert_string_equal(error.text, "open the door: Permission denied");
	assert_int_equal(told.number, 11);
	assert_int_equal(run(fail_at_the_door, NULL, &told, sizeof(told), &first), -EACCES);
	assert_string_equal(first.text, "something else");
	assert_int_equal(run(fail_at_the_door, NULL, &told, sizeof(told), NULL), -EACCES);
}

static int without_result(void *context, void *result, struct error *error)
{
	(void)context;
	(void)error;
	return result != NULL;
}

static void an_errand_needs_no_result(void **state)
{
	(void)state;
	assert_int_equal(run(without_result, NULL, NULL, 0, NULL), 0);
}

/* ------------------------------------------------------------------------------ what the child has */

enum { FDS = 40 };

static int list_fds(void *context, void *result, struct error *error)
{
	bool *open_fds = result;

	(void)context;
	(void)error;
	for (int fd = 0; fd < FDS; fd++)
		open_fds[fd] = fcntl(fd, F_GETFD) >= 0;
	return 0;
}

static void only_the_named_descriptors_and_the_standard_streams_stay_open(void **state)
{
	static const int keep[] = { 31, 20, 21, 20, STDERR_FILENO, -EBADF };
	bool open_fds[FDS];
	struct errand errand = {
		.work = list_fds,
		.keep = keep,
		.keep_count = ARRAY_SIZE(keep),
		.result = open_fds,
		.result_size = sizeof(open_fds),
		.deadline_ms = deadline_in_ms(LONG_MS),
	};

	(void)state;
	for (int fd = 10; fd < FDS; fd++)
		assert_return_code(dup2(STDERR_FILENO, fd), errno);
	assert_int_equal(errand_run(&errand, NULL), 0);
	for (int fd = 0; fd < FDS; fd++)
		assert_int_equal(open_fds[fd], fd <= 2 || fd == 20 || fd == 21 || fd == 31);
	errand.keep_count = 0;
	assert_int_equal(errand_run(&errand, NULL), 0);
	for (int fd = 0; fd < FDS; fd++)
		assert_int_equal(open_fds[fd], fd <= 2);
	for (int fd = 10; fd < FDS; fd++)
		assert_return_code(close(fd), errno);
}

/* In another process, to which our own locks are another's. */
static int locked_for_others(struct workdir *workdir, void *context)
{
	struct flock record = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(workdir_path(workdir, "f"), O_RDWR | O_CLOEXEC);

	(void)context;
	if (fd < 0 || fcntl(fd, F_GETLK, &record) != 0 || record.l_type == F_UNLCK)
		return 1;
	return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK ? 0 : 2;
}

static int open_and_close(void *context, void *result, struct error *error)
{
	(void)result;
	(void)error;
	return close(open(context, O_RDWR | O_CLOEXEC)) == 0 ? 0 : -errno;
}

static void locks_of_both_kinds_stay_held(void **state)
{
	struct flock record = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path CLEANUP(mem_done) = NULL;
	int fd CLEANUP(fd_done) = -EBADF;

	workdir_fill(*state, "f");
	path = mem_dup(workdir_path(*state, "f"));
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_return_code(fcntl(fd, F_SETLK, &record), errno);
	assert_return_code(flock(fd, LOCK_EX | LOCK_NB), errno);
	assert_int_equal(run(open_and_close, path, NULL, 0, NULL), 0);
	assert_int_equal(workdir_wait(workdir_fork(locked_for_others, *state, NULL)), 0);
}

static int say_nothing(void *context, void *result, struct error *error)
{
	(void)context;
	(void)result;
	(void)error;
	return 0;
}

static void what_was_printed_and_not_yet_written_is_written_once(void **state)
{
	int dir CLEANUP(fd_done) = workdir_open(*state);
	int out CLEANUP(fd_done) = openat(dir, "out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int before CLEANUP(fd_done) = -EBADF;
	char text[40] = "";
	int r;

	assert_int_equal(fflush(stdout), 0);
	before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	assert_return_code(dup2(out, STDOUT_FILENO), errno);
	(void)printf("once ");
	r = run(say_nothing, NULL, NULL, 0, NULL);
	(void)fflush(stdout);
	assert_return_code(dup2(before, STDOUT_FILENO), errno);
	assert_int_equal(r, 0);
	assert_int_equal(pread(out, text, sizeof(text) - 1, 0), 5);
	assert_string_equal(text, "once ");
}

/* ---------------------------------------------------------------------------------------- signals */

static int signal_itself(void *context, void *result, struct error *error)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1 };

	(void)context;
	(void)result;
	(void)error;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)kill(getpid(), signals[i]);
	return 5;
}

static void a_signal_to_all_of_us_does_not_tear_the_work(void **state)
{
	sigset_t before, ours, after;

	(void)state;
	assert_int_equal(sigemptyset(&ours), 0);
	assert_int_equal(sigaddset(&ours, SIGUSR2), 0);
	assert_int_equal(sigprocmask(SIG_SETMASK, &ours, &before), 0);
	assert_int_equal(run(signal_itself, NULL, NULL, 0, NULL), 5);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, &after), 0);
	for (int signal = 1; signal < SIGRTMIN; signal++)
		assert_int_equal(sigismember(&after, signal), signal == SIGUSR2);
}

static int die(void *context, void *result, struct error *error)
{
	(void)error;
	*(int *)result = 3;
	if (*(int *)context > 0)
		_exit(*(int *)context);
	(void)signal(-*(int *)context, SIG_DFL); /* the sanitizer's */
	(void)raise(-*(int *)context);
	return 0;
}

static void a_child_that_dies_by_itself_is_an_error_that_says_how(void **state)
{
	static const struct {
		int how;
		const char *text;
	} cases[] = {
		{ -SIGKILL, "was ended by signal 9 (SIGKILL)" },
		{ 99, "ended with code 99" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error = { 0 };
		int how = cases[i].how, done = 0;

		assert_int_equal(run(die, &how, &done, sizeof(done), &error), -EIO);
		assert_non_null(strstr(error.text, "test: its process "));
		assert_non_null(strstr(error.text, cases[i].text));
		assert_int_equal(done, 3);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	}
}

/* ---------------------------------------------------------------------------------- time that ends */

static int sleep_on(void *context, void *result, struct error *error)
{
	(void)context;
	(void)error;
	*(pid_t *)result = getpid();
	while (pause() < 0)
		;
	return 0;
}

/* Longer each time, until the child has come so far as to say who it is. */
static void a_child_that_does_not_come_back_is_killed_at_the_deadline(void **state)
{
	pid_t pid = 0;

	(void)state;
	for (int64_t ms = SHORT_MS; pid == 0; ms *= 2) {
		const struct errand errand = {
			.work = sleep_on,
			.what = "sleep",
			.result = &pid,
			.result_size = sizeof(pid),
			.deadline_ms = deadline_in_ms(ms),
		};
		struct error error = { 0 };
		int64_t start_ms = clock_boot_ms();

		assert_int_equal(errand_run(&errand, &error), -ETIME);
		assert_true(clock_boot_ms() - start_ms >= ms);
		assert_non_null(strstr(error.text, "sleep: not done in time"));
	}
	assert_true(is_gone(pid));
}

static int notice_by_itself(void *context, void *result, struct error *error)
{
	(void)result;
	while (deadline_left_ms(*(int64_t *)context) > 0)
		(void)poll(NULL, 0, 10);
	return error_set(error, ETIME, "delete a/b/c");
}

/* The child is given a moment for it, which on a busy machine may be too short. */
static void work_that_looks_at_the_deadline_says_itself_where_it_was(void **state)
{
	bool said = false;

	(void)state;
	for (int i = 0; i < 20 && !said; i++) {
		int64_t deadline_ms = deadline_in_ms(SHORT_MS);
		const struct errand errand = {
			.work = notice_by_itself,
			.context = &deadline_ms,
			.deadline_ms = deadline_ms,
		};
		struct error error = { 0 };

		assert_int_equal(errand_run(&errand, &error), -ETIME);
		said = text_equal(error.text, "delete a/b/c: Timer expired");
	}
	assert_true(said);
}

/* --------------------------------------------------------------------------- when things go wrong */

static int no_descriptor_left(struct workdir *workdir, void *context)
{
	const struct rlimit limit = { 3, 3 }; /* the standard streams */
	struct error error = { 0 };

	(void)workdir;
	(void)context;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1;
	if (run(say_nothing, NULL, NULL, 0, &error) != -EMFILE)
		return 2;
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 3;
}

static void without_a_descriptor_for_it_there_is_an_error_and_no_child(void **state)
{
	assert_int_equal(workdir_wait(workdir_fork(no_descriptor_left, *state, NULL)), 0);
}

/* The end of a pipe that only the child still holds. */
static int hold_pipe(void *context, void *result, struct error *error)
{
	(void)result;
	(void)error;
	(void)!write(*(int *)context, "", 1);
	while (pause() < 0)
		;
	return 0;
}

static int run_until_killed(struct workdir *workdir, void *context)
{
	const struct errand errand = {
		.work = hold_pipe,
		.context = context,
		.keep = context,
		.keep_count = 1,
		.deadline_ms = deadline_in_ms(LONG_MS),
	};

	(void)workdir;
	return errand_run(&errand, NULL);
}

static void a_killed_parent_leaves_no_child(void **state)
{
	struct pollfd ended;
	int ends[2];
	char byte;
	pid_t pid;

	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	pid = workdir_fork(run_until_killed, *state, &ends[1]);
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_return_code(kill(pid, SIGKILL), errno);
	assert_int_equal(workdir_wait(pid), 255);
	ended = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	assert_int_equal(poll(&ended, 1, 10000), 1);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
}

/* The errand itself sees to it that we are asked to stop while it runs. */
static int ask_parent_to_stop(void *context, void *result, struct error *error)
{
	(void)result;
	(void)error;
	(void)kill(getppid(), SIGTERM);
	while (*(int *)context)
		(void)pause();
	return 3;
}

static int take_stop(void **state)
{
	const struct timespec now = { 0 };
	sigset_t set;

	(void)state;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	return sigtimedwait(&set, NULL, &now) == SIGTERM ? sigprocmask(SIG_UNBLOCK, &set, NULL)
							 : -1;
}

static void an_errand_ends_when_we_are_asked_to_stop(void **state)
{
	int64_t start_ms = clock_boot_ms();
	struct error error = { 0 };
	int goes_on = 1;

	signals_hold();
	assert_int_equal(run(ask_parent_to_stop, &goes_on, NULL, 0, &error), -EINTR);
	assert_int_equal(error.code, EINTR);
	assert_non_null(strstr(error.text, "test: not done when we were asked to stop"));
	assert_in_range(clock_boot_ms() - start_ms, 0, LONG_MS / 2);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(take_stop(state), 0);
	/* One that is done in a moment has its say. */
	goes_on = 0;
	signals_hold();
	assert_int_equal(run(ask_parent_to_stop, &goes_on, NULL, 0, NULL), 3);
	assert_int_equal(take_stop(state), 0);
}

static void a_steadfast_errand_goes_on_to_its_deadline(void **state)
{
	int goes_on = 1;
	const struct errand errand = {
		.work = ask_parent_to_stop,
		.context = &goes_on,
		.deadline_ms = deadline_in_ms(1000),
		.steadfast = true,
	};
	struct error error = { 0 };

	signals_hold();
	assert_int_equal(errand_run(&errand, &error), -ETIME);
	assert_int_equal(take_stop(state), 0);
}

/* By then the child is stuck, and the disk is not thawed yet. */
enum { STUCK_MS = 3000, FROZEN_MS = 120 * 1000 };

/*
 * A frozen filesystem is what a broken disk is to a process: it waits in the kernel, and SIGKILL has
 * to wait, too. Whatever becomes of the test, a process of its own lets it go.
 */
static pid_t thaw_when_closed(int mount, const int ends[2])
{
	struct pollfd closed = { .fd = ends[0], .events = POLLIN };
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)setsid();
	(void)close(ends[1]);
	(void)poll(&closed, 1, FROZEN_MS);
	_exit(ioctl(mount, FITHAW, 0) == 0 ? 0 : 1);
}

static int make_file(void *context, void *result, struct error *error)
{
	int dir = *(int *)context;

	*(pid_t *)result = getpid();
	if (mknodat(dir, "f", S_IFREG | 0600, 0) != 0)
		return error_set(error, errno, "make a file");
	return 0;
}

static void expect_left_behind(int mount)
{
	pid_t pid = 0;
	const struct errand errand = {
		.work = make_file,
		.context = &mount,
		.what = "make a file",
		.keep = &mount,
		.keep_count = 1,
		.result = &pid,
		.result_size = sizeof(pid),
		.deadline_ms = deadline_in_ms(STUCK_MS),
	};
	char *named CLEANUP(mem_done) = NULL;
	struct error error = { 0 };

	assert_int_equal(errand_run(&errand, &error), -ETIME);
	named = mem_printf("process %d does not die", pid);
	assert_non_null(strstr(error.text, named));
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
}

static void a_child_that_is_stuck_in_the_kernel_is_left_behind(void **state)
{
	const char *image = workdir_path(*state, "image");
	const char *at = workdir_path(*state, "at");
	char *command CLEANUP(mem_done) = mem_printf("truncate -s 4M '%s' && mkfs.ext4 -q '%s' && "
						     "mount -o loop '%s' '%s'",
		image, image, image, at);
	int mount CLEANUP(fd_done) = -EBADF, ends[2];
	pid_t guard;

	workdir_make(*state, "at");
	assert_int_equal(system(command), 0);
	mount = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(mount, errno);
	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	guard = thaw_when_closed(mount, ends);
	(void)close(ends[0]);
	assert_return_code(ioctl(mount, FIFREEZE, 0), errno);
	expect_left_behind(mount);
	(void)close(ends[1]);
	assert_int_equal(workdir_wait(guard), 0);
	assert_true(waitpid(-1, NULL, 0) > 0); /* the one that was left behind */
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_answer_and_the_result_come_back_and_nothing_else),
		cmocka_unit_test(a_failure_comes_back_with_its_text_and_what_was_done_before),
		cmocka_unit_test(an_errand_needs_no_result),
		cmocka_unit_test(only_the_named_descriptors_and_the_standard_streams_stay_open),
		workdir_test(locks_of_both_kinds_stay_held),
		workdir_test(what_was_printed_and_not_yet_written_is_written_once),
		cmocka_unit_test(a_signal_to_all_of_us_does_not_tear_the_work),
		cmocka_unit_test(a_child_that_dies_by_itself_is_an_error_that_says_how),
		cmocka_unit_test(a_child_that_does_not_come_back_is_killed_at_the_deadline),
		cmocka_unit_test(work_that_looks_at_the_deadline_says_itself_where_it_was),
		workdir_test(without_a_descriptor_for_it_there_is_an_error_and_no_child),
		workdir_test(a_killed_parent_leaves_no_child),
		cmocka_unit_test(an_errand_ends_when_we_are_asked_to_stop),
		cmocka_unit_test(a_steadfast_errand_goes_on_to_its_deadline),
		workdir_test(a_child_that_is_stuck_in_the_kernel_is_left_behind),
	};

	return cmocka_run_group_tests_name("errand", tests, workdir_own_mounts, NULL);
}
