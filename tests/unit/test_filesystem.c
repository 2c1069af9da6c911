#include "unit.h"

#include "os/filesystem.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { ID_BYTES = sizeof(((struct filesystem_space *)0)->id) };

static struct filesystem_space ask(struct workdir *workdir, const char *name)
{
	struct filesystem_space space = { 0 };
	struct error error = { 0 };

	if (filesystem_ask(workdir_path(workdir, name), &space, &error) < 0)
		fail_msg("%s", error.text);
	return space;
}

static void mount_small(struct workdir *workdir, const char *name, const char *options)
{
	workdir_make(workdir, name);
	assert_return_code(mount("tmpfs", workdir_path(workdir, name), "tmpfs", 0, options), errno);
}

static void what_is_used_and_what_is_left_are_told_in_bytes_and_inodes(void **state)
{
	struct filesystem_space empty, filled;

	mount_small(*state, "fs", "size=1m,nr_inodes=100");
	empty = ask(*state, "fs");
	workdir_fill(*state, "fs/f");
	filled = ask(*state, "fs");
	assert_int_equal(empty.total_bytes, 1 << 20);
	assert_int_equal(filled.total_bytes, 1 << 20);
	assert_int_equal(filled.used_bytes - empty.used_bytes, 8192);
	assert_int_equal(filled.total_inodes, 100);
	assert_int_equal(filled.used_inodes - empty.used_inodes, 1);
}

static void without_a_fixed_number_of_inodes_there_is_no_total(void **state)
{
	mount_small(*state, "fs", "size=1m,nr_inodes=0");
	assert_int_equal(ask(*state, "fs").total_inodes, 0);
}

static void one_filesystem_is_the_same_in_each_of_its_directories(void **state)
{
	mount_small(*state, "fs", "size=1m");
	mount_small(*state, "other", "size=1m");
	workdir_make(*state, "fs/a");
	workdir_make(*state, "bound");
	assert_return_code(mount(workdir_path(*state, "fs/a"), workdir_path(*state, "bound"), NULL,
				   MS_BIND, NULL),
		errno);
	assert_memory_equal(ask(*state, "fs").id, ask(*state, "bound").id, ID_BYTES);
	assert_memory_not_equal(ask(*state, "fs").id, ask(*state, "other").id, ID_BYTES);
}

/* A loop device of its own, which goes with its last mount. */
static void mount_image(struct workdir *workdir, const char *make)
{
	const char *image = workdir_path(workdir, "image");
	char *command CLEANUP(mem_done) =
		mem_printf("truncate --size 256M %s && %s %s >/dev/null && mount -o loop %s %s",
			image, make, image, image, workdir_path(workdir, "fs"));

	workdir_make(workdir, "fs");
	assert_int_equal(system(command), 0);
}

static void subvolumes_of_btrfs_are_one_filesystem(void **state)
{
	char *command CLEANUP(mem_done) =
		mem_printf("cd %s && btrfs -q subvolume create a && btrfs -q subvolume create b",
			workdir_path(*state, "fs"));
	struct stat a, b;

	mount_image(*state, "mkfs.btrfs -q");
	assert_int_equal(system(command), 0);
	assert_return_code(stat(workdir_path(*state, "fs/a"), &a), errno);
	assert_return_code(stat(workdir_path(*state, "fs/b"), &b), errno);
	assert_true(a.st_dev != b.st_dev);
	assert_memory_equal(ask(*state, "fs/a").id, ask(*state, "fs/b").id, ID_BYTES);
	assert_int_equal(ask(*state, "fs/a").total_inodes, 0);
}

/* df(1): used / (used + available). A fifth of these blocks is for root alone. */
static void blocks_for_root_alone_count_as_df_counts_them(void **state)
{
	struct filesystem_space space;
	struct statvfs df;

	mount_image(*state, "mkfs.ext4 -q -m 20");
	assert_return_code(statvfs(workdir_path(*state, "fs"), &df), errno);
	space = ask(*state, "fs");
	assert_int_equal(space.total_bytes, (df.f_blocks - df.f_bfree + df.f_bavail) * df.f_frsize);
	assert_true((int64_t)(df.f_blocks * df.f_frsize) * 17 / 20 > space.total_bytes);
}

static void what_is_not_there_is_an_error_that_names_it(void **state)
{
	struct filesystem_space space;
	struct error error = { 0 };

	assert_int_equal(filesystem_ask(workdir_path(*state, "none"), &space, &error), -ENOENT);
	assert_non_null(strstr(error.text, "none"));
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(what_is_used_and_what_is_left_are_told_in_bytes_and_inodes),
		workdir_test(without_a_fixed_number_of_inodes_there_is_no_total),
		workdir_test(one_filesystem_is_the_same_in_each_of_its_directories),
		workdir_test(subvolumes_of_btrfs_are_one_filesystem),
		workdir_test(blocks_for_root_alone_count_as_df_counts_them),
		workdir_test(what_is_not_there_is_an_error_that_names_it),
	};

	return cmocka_run_group_tests_name("filesystem", tests, workdir_own_mounts, NULL);
}
