/* Subvolumes are tested on a real btrfs, in tests/integration/test-btrfs.sh. */
#include "unit.h"

#include "os/protection.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

static int flags_of(void **state, const char *name, int more)
{
	const char *path = workdir_path(*state, name);
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), flags = 0;

	assert_return_code(fd, errno);
	assert_return_code(ioctl(fd, FS_IOC_GETFLAGS, &flags), errno);
	flags |= more;
	if (more)
		assert_return_code(ioctl(fd, FS_IOC_SETFLAGS, &flags), errno);
	return flags;
}

static int lift(void **state, const char *name, int flags)
{
	const char *path = workdir_path(*state, name);
	int fd CLEANUP(fd_done) = open(path, flags | O_NOFOLLOW | O_CLOEXEC);

	assert_return_code(fd, errno);
	return protection_lift(fd);
}

static void both_flags_go_at_once_and_no_other_does(void **state)
{
	const int both = FS_IMMUTABLE_FL | FS_APPEND_FL;

	workdir_make(*state, "dir");
	workdir_fill(*state, "file");
	(void)flags_of(state, "dir", both | FS_NODUMP_FL);
	(void)flags_of(state, "file", both | FS_NODUMP_FL);
	assert_int_equal(lift(state, "dir", O_RDONLY), 1);
	assert_int_equal(lift(state, "file", O_PATH), 1);
	assert_int_equal(flags_of(state, "dir", 0) & (both | FS_NODUMP_FL), FS_NODUMP_FL);
	assert_int_equal(flags_of(state, "file", 0) & (both | FS_NODUMP_FL), FS_NODUMP_FL);
	assert_int_equal(lift(state, "dir", O_PATH), 0);
	assert_int_equal(lift(state, "file", O_RDONLY), 0);
}

static void a_file_with_another_link_keeps_its_flag(void **state)
{
	workdir_fill(*state, "file");
	assert_return_code(link(workdir_path(*state, "file"), workdir_path(*state, "link")), errno);
	assert_int_equal(lift(state, "file", O_PATH), 0);
	(void)flags_of(state, "file", FS_APPEND_FL);
	assert_int_equal(lift(state, "link", O_PATH), -EMLINK);
	assert_int_equal(flags_of(state, "file", 0) & FS_APPEND_FL, FS_APPEND_FL);
}

static void links_lead_nowhere_and_mounts_are_not_entered(void **state)
{
	int dir CLEANUP(fd_done) = workdir_open(*state);

	workdir_make(*state, "victim");
	workdir_make(*state, "mounted");
	assert_return_code(symlink("victim", workdir_path(*state, "link")), errno);
	assert_return_code(mount(workdir_path(*state, "victim"), workdir_path(*state, "mounted"),
				   NULL, MS_BIND, NULL),
		errno);
	(void)flags_of(state, "victim", FS_IMMUTABLE_FL);
	assert_int_equal(protection_lift_entry(dir, "link"), 0);
	assert_int_equal(protection_lift_entry(dir, "mounted"), -EXDEV);
	assert_int_equal(protection_lift_entry(dir, "none"), -ENOENT);
	assert_int_equal(flags_of(state, "victim", 0) & FS_IMMUTABLE_FL, FS_IMMUTABLE_FL);
	assert_int_equal(protection_lift_entry(dir, "victim"), 1);
}

/* Whether anybody opened it meanwhile; an O_PATH descriptor opens nothing (open(2)). */
static bool was_opened(int watch)
{
	char event[sizeof(struct inotify_event) + 256];

	return read(watch, event, sizeof(event)) > 0;
}

static void what_acts_when_opened_is_not_opened(void **state)
{
	static const mode_t kinds[] = { S_IFIFO, S_IFCHR, S_IFBLK, S_IFSOCK, S_IFREG };
	int dir CLEANUP(fd_done) = workdir_open(*state);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int watch CLEANUP(fd_done) = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		const char *path = workdir_path(*state, "thing");

		assert_return_code(mknod(path, kinds[i] | 0600, 0), errno);
		assert_return_code(inotify_add_watch(watch, path, IN_OPEN), errno);
		assert_int_equal(protection_lift_entry(dir, "thing"), 0);
		assert_int_equal(was_opened(watch), S_ISREG(kinds[i]));
		assert_return_code(unlink(path), errno);
	}
}

static void filesystems_without_flags_have_nothing_to_lift(void **state)
{
	int proc CLEANUP(fd_done) = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_return_code(proc, errno);
	assert_int_equal(protection_lift(proc), 0);
	assert_int_equal(protection_lift_subvolume(proc), 0);
	assert_null(protection_of(proc));
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(both_flags_go_at_once_and_no_other_does),
		workdir_test(a_file_with_another_link_keeps_its_flag),
		workdir_test(links_lead_nowhere_and_mounts_are_not_entered),
		workdir_test(what_acts_when_opened_is_not_opened),
		workdir_test(filesystems_without_flags_have_nothing_to_lift),
	};

	return cmocka_run_group_tests_name("protection", tests, workdir_own_mounts, NULL);
}
