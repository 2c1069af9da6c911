#include "unit.h"

#include "os/record_lock.h"

#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

struct holding {
	short type;
	const char *name;
	int ready[2];
};

static int hold(struct workdir *workdir, void *context)
{
	const struct holding *holding = context;
	struct flock lock = { .l_type = holding->type, .l_start = 1 << 30, .l_len = 1 };
	int fd = openat(workdir->dir, holding->name, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0)
		return 1;
	(void)!write(holding->ready[1], "x", 1);
	for (;;)
		pause();
}

static pid_t start(struct workdir *workdir, const char *name, short type)
{
	struct holding holding = { .type = type, .name = name };
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(holding.ready, O_CLOEXEC), 0);
	pid = workdir_fork(hold, workdir, &holding);
	close(holding.ready[1]);
	assert_int_equal(read(holding.ready[0], &byte, 1), 1);
	close(holding.ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(workdir_wait(pid), 255);
}

static void who_writes_is_named_before_who_reads(void **state)
{
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "f");
	pid_t reader, writer;

	workdir_write(workdir, "f", "x", 1);
	workdir_write(workdir, "g", "x", 1);
	assert_int_equal(record_lock_holder(path), 0);
	reader = start(workdir, "g", F_WRLCK);
	assert_int_equal(record_lock_holder(path), 0);
	end(reader);
	reader = start(workdir, "f", F_RDLCK);
	assert_int_equal(record_lock_holder(path), reader);
	end(reader);
	writer = start(workdir, "f", F_WRLCK);
	assert_int_equal(record_lock_holder(path), writer);
	end(writer);
	assert_int_equal(record_lock_holder(path), 0);
}

static int is_locked(struct workdir *workdir, void *context)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	int fd = openat(workdir->dir, "f", O_RDWR | O_CLOEXEC);

	(void)context;
	return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK ? 0 : 1;
}

static void our_own_lock_is_not_another_s_and_stays(void **state)
{
	struct workdir *workdir = *state;
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	int fd CLEANUP(fd_done) = -EBADF;

	workdir_write(workdir, "f", "x", 1);
	fd = openat(workdir->dir, "f", O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
	assert_int_equal(record_lock_holder(workdir_path(workdir, "f")), 0);
	assert_int_equal(workdir_wait(workdir_fork(is_locked, workdir, NULL)), 0);
	assert_int_equal(record_lock_holder(workdir_path(workdir, "gone")), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(who_writes_is_named_before_who_reads),
		TEST(our_own_lock_is_not_another_s_and_stays),
	};

	return cmocka_run_group_tests_name("record_lock", tests, NULL, NULL);
}
