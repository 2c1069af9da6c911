/* Who answers behind a path, asked of a mount that never does. */
#include "unit.h"

#include "fuse.h"
#include "os/answering.h"
#include "workdir.h"

#include <errno.h>
#include <sys/mount.h>

struct far {
	struct fuse fuse;
	char *point, *below;
};

static struct far far_mount(struct workdir *workdir)
{
	struct far far = { .point = mem_dup(workdir_path(workdir, "far")) };

	workdir_make(workdir, "far");
	far.below = mem_printf("%s/below", far.point);
	far.fuse = fuse_mount(far.point);
	return far;
}

static void far_done(struct far *far)
{
	fuse_kill(&far->fuse);
	assert_return_code(umount2(far->point, MNT_DETACH), errno);
	free(far->point);
	free(far->below);
}

static void what_does_not_answer_is_silent_and_the_one_behind_it_is_asked(void **state)
{
	struct workdir *workdir = *state;
	struct far far = far_mount(workdir);
	const char *paths[] = { far.point, workdir->path, "/nonexistent" };
	bool silent[ARRAY_SIZE(paths)] = { false };

	assert_int_equal(answering_ask(paths, ARRAY_SIZE(paths), silent, NULL), 0);
	assert_true(silent[0]);
	assert_false(silent[1]);
	assert_false(silent[2]);
	far_done(&far);
}

/* Nor is an automount triggered, which opening it would do. */
static void where_a_name_leads_is_asked_without_opening_it(void **state)
{
	struct workdir *workdir = *state;
	struct far far = far_mount(workdir);
	const char *point[] = { workdir->path, far.point };
	const char *below[] = { workdir->path, far.below };
	bool silent[ARRAY_SIZE(point)] = { false };

	assert_int_equal(answering_ask_names(point, ARRAY_SIZE(point), 1, silent, NULL), 0);
	assert_false(silent[0] || silent[1]); /* the mount itself is not touched by its name */
	assert_int_equal(answering_ask_names(below, ARRAY_SIZE(below), 1, silent, NULL), 0);
	assert_false(silent[0]);
	assert_true(silent[1]);
	far_done(&far);
}

int main(void)
{
#define IN_WORKDIR(test) cmocka_unit_test_setup_teardown(test, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		IN_WORKDIR(what_does_not_answer_is_silent_and_the_one_behind_it_is_asked),
		IN_WORKDIR(where_a_name_leads_is_asked_without_opening_it),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
