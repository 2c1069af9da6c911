/*
 * rmtree() with a crew, or a walk, that goes astray. The Makefile compiles reaper/os/rmtree.c and
 * rmtree_crew.c a second time, for this program alone, with some of the functions they call replaced by
 * those below: the faults are in them, and the program that is installed has none of this, nor a switch for it.
 *
 * Everything runs in a child confined to the test's own directory, so that not even a fault that goes
 * further than intended, or a broken wall, reaches the machine.
 */
#include "unit.h"

#include "base/clock.h"
#include "os/confine.h"
#include "os/dir.h"
#include "os/errand.h"
#include "os/rmtree_crew.h"
#include "os/walk.h"
#include "within.h"
#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { LONG_MS = 60000 };

int broken_open_below(int dir, const char *path, int flags, struct error *error);
int broken_walk_next(struct walk *walk, struct walk_entry *ret_entry);
ssize_t broken_getdents64(int fd, void *buffer, size_t size);
bool rmtree_crew_broken(const struct rmtree_top *top, struct rmtree_report *report);

static enum fault {
	FAULT_NONE,
	FAULT_LINKS,    /* takes links to directories for directories */
	FAULT_ABSOLUTE, /* opens by a path from elsewhere what is named "astray" */
	FAULT_UP        /* takes ".." for an entry, once */
} fault;
static const char *elsewhere;
static bool crew_works; /* else the walk finds all that there is */

int broken_open_below(int dir, const char *path, int flags, struct error *error)
{
	int fd;

	if (fault == FAULT_ABSOLUTE && text_equal(path, "astray"))
		path = elsewhere;
	else if (fault == FAULT_NONE || text_equal(path, "."))
		return dir_open_below(dir, path, flags, error);
	fd = openat(dir, path, (flags & ~O_NOFOLLOW) | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int broken_walk_next(struct walk *walk, struct walk_entry *ret_entry)
{
	static bool went_up;
	int r = walk_next(walk, ret_entry);

	if (r != WALK_ENTRY)
		return r;
	if (fault == FAULT_LINKS && ret_entry->type == DT_LNK)
		ret_entry->type = DT_DIR;
	if (fault == FAULT_UP && text_equal(ret_entry->name, "astray") && !went_up) {
		went_up = true;
		ret_entry->name = "..";
	}
	return r;
}

ssize_t broken_getdents64(int fd, void *buffer, size_t size)
{
	ssize_t got = getdents64(fd, buffer, size);

	for (ssize_t at = 0; at < got;) {
		struct dirent64 *record = (void *)((char *)buffer + at);

		if (fault == FAULT_LINKS && record->d_type == DT_LNK)
			record->d_type = DT_DIR;
		at += record->d_reclen;
	}
	return got;
}

/* In the library's place. */
bool rmtree_crew(const struct rmtree_top *top, struct rmtree_report *report)
{
	return crew_works && rmtree_crew_broken(top, report);
}

/* -------------------------------------------------------------------------------- how it is called */

struct removal {
	int dir; /* of the test */
	int (*remove)(int parent, struct rmtree_report *report, struct error *error);
};

static int confined_to_the_test(void *context, void *result, struct error *error)
{
	const struct removal *removal = context;
	int r = confine_to(&removal->dir, 1, CONFINE_REMOVE, error);

	return r != 1 ? -ENOTRECOVERABLE : removal->remove(removal->dir, result, error);
}

static int behind_the_wall(int parent, struct rmtree_report *report, struct error *error)
{
	return rmtree(parent, "r1", WITHIN_MS(LONG_MS), report, error);
}

static int without_a_wall(int parent, struct rmtree_report *report, struct error *error)
{
	int top CLEANUP(fd_done) = rmtree_open(parent, "r1", error);

	const struct rmtree_top opened = { top, "r1", NULL, *WITHIN_MS(LONG_MS) };

	return top < 0 ? top : rmtree_walk(&opened, report, error);
}

static int crew_without_a_wall(int parent, struct rmtree_report *report, struct error *error)
{
	int top CLEANUP(fd_done) = rmtree_open(parent, "r1", error);

	(void)rmtree_crew_broken(
		&(struct rmtree_top){ top, "r1", NULL, *WITHIN_MS(LONG_MS) }, report);
	return 0;
}

static int remove_with(struct workdir *workdir,
	int (*remove)(int parent, struct rmtree_report *report, struct error *error),
	struct rmtree_report *report, struct error *error)
{
	struct removal removal = { .dir = workdir->dir, .remove = remove };
	const struct errand errand = {
		.work = confined_to_the_test,
		.context = &removal,
		.keep = &removal.dir,
		.keep_count = 1,
		.result = report,
		.result_size = sizeof(*report),
		.deadline_ms = deadline_in_ms(LONG_MS),
	};

	return errand_run(&errand, error);
}

/* A tree to remove, and one beside it that is nobody's to remove. */
static void make_world(struct workdir *workdir)
{
	workdir_make(workdir, "victim");
	workdir_make(workdir, "victim/sub");
	workdir_fill(workdir, "victim/f");
	workdir_fill(workdir, "victim/sub/f");
	workdir_make(workdir, "r1");
	workdir_make(workdir, "r1/astray");
	workdir_make(workdir, "r1/d");
	workdir_fill(workdir, "r1/d/f");
	assert_return_code(symlinkat("../victim", workdir->dir, "r1/out"), errno);
	elsewhere = workdir_path(workdir, "victim");
}

static bool victim_is_whole(struct workdir *workdir)
{
	return workdir_has(workdir, "victim/f") && workdir_has(workdir, "victim/sub/f");
}

static const struct {
	enum fault fault;
	const char *named; /* where it went, as the walk took it to be */
} cases[] = {
	{ FAULT_LINKS, "unlink r1/out/" },
	{ FAULT_ABSOLUTE, "unlink r1/astray/" },
	{ FAULT_UP, "r1/../" },
};

static void in_world(void **state, void (*check)(struct workdir *workdir, size_t i))
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct workdir *workdir;

		assert_int_equal(workdir_setup(state), 0);
		workdir = *state;
		make_world(workdir);
		fault = cases[i].fault;
		check(workdir, i);
		fault = FAULT_NONE;
		assert_int_equal(workdir_teardown(state), 0);
	}
}

/* --------------------------------------------------------------------------------------- the tests */

static void check_held(struct workdir *workdir, size_t i)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	assert_int_equal(remove_with(workdir, behind_the_wall, &report, &error), -EACCES);
	assert_true(victim_is_whole(workdir));
	assert_non_null(strstr(error.text, cases[i].named));
	assert_non_null(strstr(error.text, "Permission denied"));
	assert_false(workdir_has(workdir, "r1/d"));
	assert_in_range(report.entries, 2, 4);
}

static void where_the_walk_goes_astray_the_wall_holds(void **state)
{
	in_world(state, check_held);
}

static void check_destroyed(struct workdir *workdir, size_t i)
{
	struct rmtree_report report = { 0 };

	(void)i;
	(void)remove_with(workdir, without_a_wall, &report, NULL);
	assert_false(workdir_has(workdir, "victim/f"));
	assert_false(workdir_has(workdir, "victim/sub"));
}

static void without_the_wall_the_same_walk_destroys_what_is_elsewhere(void **state)
{
	in_world(state, check_destroyed);
}

static void check_crew_held(struct workdir *workdir, size_t i)
{
	struct rmtree_report report = { 0 };

	(void)i;
	crew_works = true;
	(void)remove_with(workdir, behind_the_wall, &report, NULL);
	crew_works = false;
	assert_true(victim_is_whole(workdir));
	assert_false(workdir_has(workdir, "r1/d"));
}

static void where_the_crew_goes_astray_the_wall_holds(void **state)
{
	in_world(state, check_crew_held);
}

static void check_crew_destroyed(struct workdir *workdir, size_t i)
{
	struct rmtree_report report = { 0 };

	if (cases[i].fault == FAULT_UP) /* the walk's alone */
		return;
	assert_int_equal(remove_with(workdir, crew_without_a_wall, &report, NULL), 0);
	assert_false(workdir_has(workdir, "victim/f"));
	assert_false(workdir_has(workdir, "victim/sub"));
}

static void without_the_wall_the_same_crew_destroys_what_is_elsewhere(void **state)
{
	in_world(state, check_crew_destroyed);
}

static void check_sound(struct workdir *workdir, size_t i)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	fault = FAULT_NONE;
	crew_works = i > 0;
	assert_int_equal(remove_with(workdir, behind_the_wall, &report, &error), 1);
	assert_false(workdir_has(workdir, "r1"));
	assert_true(victim_is_whole(workdir));
	assert_int_equal(report.entries, 5);
	assert_int_equal(report.bytes_freed, 8192);
	crew_works = false;
}

static void without_a_fault_it_is_as_it_is(void **state)
{
	in_world(state, check_sound);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_the_walk_goes_astray_the_wall_holds),
		cmocka_unit_test(without_the_wall_the_same_walk_destroys_what_is_elsewhere),
		cmocka_unit_test(where_the_crew_goes_astray_the_wall_holds),
		cmocka_unit_test(without_the_wall_the_same_crew_destroys_what_is_elsewhere),
		cmocka_unit_test(without_a_fault_it_is_as_it_is),
	};

	return cmocka_run_group_tests_name("rmtree_wall", tests, workdir_own_mounts, NULL);
}
