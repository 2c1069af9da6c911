#include "unit.h"

#include "base/clock.h"
#include "os/unmount.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* A directory with mounts in it: tree/m/n is the one to take down, other/n is somebody else's. */
struct fixture {
	struct workdir *workdir;
	struct mount_table table;
	int tree;
};

static const char *place(struct fixture *fixture, const char *name)
{
	return workdir_path(fixture->workdir, name);
}

static void put(struct fixture *fixture, const char *at)
{
	assert_return_code(mount("t", place(fixture, at), "tmpfs", 0, "size=64k"), errno);
}

static void fixture_open(struct fixture *fixture, void **state)
{
	static const char *const dirs[] = { "tree", "tree/m", "tree/m/n", "other", "other/n" };

	*fixture = (struct fixture){ .workdir = *state };
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		workdir_make(*state, dirs[i]);
	put(fixture, "tree/m/n");
	put(fixture, "other/n");
	assert_int_equal(mounts_read(&fixture->table, NULL), 0);
	fixture->tree = open(place(fixture, "tree"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(fixture->tree, errno);
}

static void fixture_done(struct fixture *fixture)
{
	fd_done(&fixture->tree);
	mounts_done(&fixture->table);
}

static struct unmount ours(struct fixture *fixture)
{
	return (struct unmount){
		.tree = fixture->tree,
		.below = "m/n",
		.mount = mounts_at(&fixture->table, place(fixture, "tree/m/n")),
		.deadline_ms = deadline_in_ms(20000),
	};
}

static bool mounted(struct fixture *fixture, const char *name)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };

	assert_int_equal(mounts_read(&table, NULL), 0);
	return mounts_at(&table, place(fixture, name));
}

static void the_mount_that_is_named_goes_once(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct unmount unmount;

	fixture_open(&fixture, state);
	unmount = ours(&fixture);
	assert_int_equal(unmount_take(&unmount, NULL), 1);
	assert_false(mounted(&fixture, "tree/m/n"));
	assert_int_equal(unmount_take(&unmount, NULL), 0);
	assert_return_code(rmdir(place(&fixture, "tree/m/n")), errno);
	assert_int_equal(unmount_take(&unmount, NULL), 0);
	assert_return_code(rmdir(place(&fixture, "tree/m")), errno);
	assert_int_equal(unmount_take(&unmount, NULL), 0);
}

/* Plainly or detached: what the names lead to must be the mount that was seen. */
static void stays_out_of(struct fixture *fixture, int code, const char *name)
{
	struct unmount unmount = ours(fixture);
	struct error error = { 0 };

	assert_int_equal(unmount_take(&unmount, &error), code);
	assert_int_equal(unmount_detach(&unmount, &error), code);
	assert_int_equal(unmount_ask(&unmount, &error), code);
	assert_true(mounted(fixture, name));
}

static void a_link_on_the_way_leads_nowhere(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	assert_return_code(rename(place(&fixture, "tree/m"), place(&fixture, "tree/gone")), errno);
	assert_return_code(symlink(place(&fixture, "other"), place(&fixture, "tree/m")), errno);
	stays_out_of(&fixture, -ENOTDIR, "other/n");
	assert_return_code(unlink(place(&fixture, "tree/m")), errno);
	assert_return_code(symlink("../other", place(&fixture, "tree/m")), errno);
	stays_out_of(&fixture, -ENOTDIR, "other/n");
}

/* Even where it leads to the very mount. */
static void a_link_further_up_is_not_followed_either(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct unmount unmount;

	fixture_open(&fixture, state);
	assert_return_code(symlink(".", place(&fixture, "tree/way")), errno);
	unmount = ours(&fixture);
	unmount.below = "way/m/n";
	assert_int_equal(unmount_take(&unmount, NULL), -ELOOP);
	unmount.below = "../tree/m/n";
	assert_int_equal(unmount_take(&unmount, NULL), -EXDEV);
	assert_true(mounted(&fixture, "tree/m/n"));
}

static void a_directory_that_was_swapped_leads_to_no_other_mount(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	assert_return_code(renameat2(AT_FDCWD, place(&fixture, "tree/m"), AT_FDCWD,
				   place(&fixture, "other"), RENAME_EXCHANGE),
		errno);
	stays_out_of(&fixture, -ESTALE, "tree/m/n");
	assert_true(mounted(&fixture, "other/n"));
}

static void what_is_mounted_over_it_is_not_taken_for_it(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	put(&fixture, "tree/m/n");
	stays_out_of(&fixture, -ESTALE, "tree/m/n");
	assert_return_code(umount(place(&fixture, "tree/m/n")), errno);
	assert_true(mounted(&fixture, "tree/m/n"));
}

static void a_link_in_its_place_is_not_followed(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct unmount unmount;

	fixture_open(&fixture, state);
	unmount = ours(&fixture);
	assert_int_equal(unmount_take(&unmount, NULL), 1);
	assert_return_code(rmdir(place(&fixture, "tree/m/n")), errno);
	assert_return_code(symlink(place(&fixture, "other/n"), place(&fixture, "tree/m/n")), errno);
	assert_int_equal(unmount_take(&unmount, NULL), 0);
	assert_int_equal(unmount_detach(&unmount, NULL), 0);
	assert_true(mounted(&fixture, "other/n"));
}

static int without_rights(struct workdir *workdir, void *context)
{
	struct fixture *fixture = context;
	struct unmount unmount = ours(fixture);

	(void)workdir;
	if (!unmount_allowed() || setresuid(65534, 65534, 65534) != 0 || unmount_allowed())
		return 1;
	return unmount_take(&unmount, NULL) == -EPERM ? 0 : 2;
}

static void without_the_capability_it_is_said_so(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	assert_int_equal(workdir_wait(workdir_fork(without_rights, *state, &fixture)), 0);
	assert_true(mounted(&fixture, "tree/m/n"));
}

static void what_others_serve_is_told_by_its_type(void **state)
{
	static const char *const served[] = { "fuse", "fuse.bindfs", "fuseblk", "nfs4", "9p" };
	static const char *const local[] = { "ext4", "tmpfs", "overlay", "fusectl", "nfsd", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(served); i++)
		assert_true(mount_is_served(&(struct mount){ .type = served[i] }));
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		assert_false(mount_is_served(&(struct mount){ .type = local[i] }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define workdir_test(test) cmocka_unit_test_setup_teardown(test, workdir_setup, workdir_teardown)
		workdir_test(the_mount_that_is_named_goes_once),
		workdir_test(a_link_on_the_way_leads_nowhere),
		workdir_test(a_link_further_up_is_not_followed_either),
		workdir_test(a_directory_that_was_swapped_leads_to_no_other_mount),
		workdir_test(what_is_mounted_over_it_is_not_taken_for_it),
		workdir_test(a_link_in_its_place_is_not_followed),
		workdir_test(without_the_capability_it_is_said_so),
		cmocka_unit_test(what_others_serve_is_told_by_its_type),
	};

	return cmocka_run_group_tests_name("unmount", tests, workdir_own_mounts, NULL);
}
