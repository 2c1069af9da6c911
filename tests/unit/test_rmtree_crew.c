/* The crew alone: what the walk would do after it is seen to be left. The numbers are rmtree.h's. */
#include "unit.h"

#include "os/crew.h"
#include "os/rmtree_crew.h"
#include "within.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { LONG_MS = 60000, MANY = 5000, DEEPER = 100 };

/* The real unlinkat, before which something may be done, or noted. */
static void (*hook)(void **state, int dir, const char *name, int flags);
static void **hook_state;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names */
int unlinkat(int dir, const char *name, int flags)
{
	if (hook)
		hook(hook_state, dir, name, flags);
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

static bool cleared; /* what it said */

static int hook_done(void **state)
{
	hook = NULL;
	return workdir_teardown(state);
}

static struct rmtree_report clear_with(void **state, struct rmtree_top top)
{
	struct workdir *workdir = *state;
	int fd CLEANUP(fd_done) = openat(workdir->dir, "r1", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct rmtree_report report = { 0 };

	assert_return_code(fd, errno);
	top.fd = fd;
	top.name = "r1";
	cleared = rmtree_crew(&top, &report);
	return report;
}

static struct rmtree_report clear_tree(void **state, unsigned threads)
{
	struct rmtree_top top = { .limits = *WITHIN_MS(LONG_MS) };

	top.limits.threads = threads;
	return clear_with(state, top);
}

static void fill_numbered(void **state, const char *dir, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *name CLEANUP(mem_done) = mem_printf("%s/%zu", dir, i);
		int fd CLEANUP(fd_done) = openat(((struct workdir *)*state)->dir, name,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		assert_return_code(fd, errno);
	}
}

/* Directories within directories, each with a file of 8192 bytes; one with very many of none. */
static int64_t make_tree(void **state)
{
	int64_t entries = 0;

	workdir_make(*state, "r1");
	workdir_make(*state, "r1/many");
	fill_numbered(state, "r1/many", MANY);
	for (int i = 0; i < 20; i++) {
		char *path = mem_printf("r1/%d", i);

		for (int depth = 0; depth < 10; depth++) {
			char *file CLEANUP(mem_done) = mem_printf("%s/f", path);
			char *below = mem_printf("%s/d", path);

			workdir_make(*state, path);
			workdir_fill(*state, file);
			free(path);
			path = below;
			entries += 2;
		}
		free(path);
	}
	return entries + 1 + MANY;
}

static void expect_empty(void **state)
{
	struct workdir *workdir = *state;

	assert_return_code(unlinkat(workdir->dir, "r1", AT_REMOVEDIR), errno);
}

/* ------------------------------------------------------------------------------ what it removes */

static void a_tree_goes_whole_with_any_number_of_threads(void **state)
{
	workdir_in_memory(*state);
	for (unsigned threads = 0; threads <= CREW_MOST; threads += 4) {
		int64_t entries = make_tree(state);
		struct rmtree_report report = clear_tree(state, threads);

		assert_true(cleared);
		assert_int_equal(report.entries, entries);
		assert_int_equal(report.bytes_freed, 200 * 8192);
		expect_empty(state);
	}
}

static uint64_t last_inode;
static size_t out_of_order, unlinked;

static void note_order(void **state, int dir, const char *name, int flags)
{
	struct stat st;

	(void)state;
	if (flags & AT_REMOVEDIR)
		return;
	assert_return_code(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), errno);
	out_of_order += st.st_ino < last_inode;
	unlinked++;
	last_inode = st.st_ino;
}

static void files_go_in_the_order_of_their_inodes(void **state)
{
	workdir_make(*state, "r1");
	fill_numbered(state, "r1", CREW_MOST * 64);
	out_of_order = unlinked = last_inode = 0;
	hook = note_order;
	clear_tree(state, 1);
	assert_int_equal(unlinked, CREW_MOST * 64);
	assert_int_equal(out_of_order, 0);
}

static void what_has_another_link_frees_nothing(void **state)
{
	struct workdir *workdir = *state;
	struct rmtree_report report;

	workdir_make(*state, "r1");
	workdir_fill(*state, "kept");
	workdir_fill(*state, "r1/f");
	assert_return_code(linkat(workdir->dir, "kept", workdir->dir, "r1/link", 0), errno);
	report = clear_tree(state, 1);
	assert_int_equal(report.entries, 2);
	assert_int_equal(report.bytes_freed, 8192);
	assert_true(workdir_has(*state, "kept"));
}

/* -------------------------------------------------------------------------------- what it leaves */

static void what_is_to_stay_stays(void **state)
{
	struct rmtree_top top = { .spare = "d", .limits = *WITHIN_MS(LONG_MS) };

	workdir_make(*state, "r1");
	workdir_make(*state, "r1/d");
	workdir_fill(*state, "r1/d/f");
	workdir_make(*state, "r1/e");
	workdir_make(*state, "r1/e/d");
	clear_with(state, top);
	assert_true(workdir_has(*state, "r1/d/f"));
	assert_false(workdir_has(*state, "r1/e"));
	top.spare = "f";
	workdir_fill(*state, "r1/f");
	clear_with(state, top);
	assert_true(workdir_has(*state, "r1/f"));
	assert_false(workdir_has(*state, "r1/d"));
}

static void must_2_links_are_unlinked_and_never_followed(void **state)
{
	struct workdir *workdir = *state;

	workdir_make(*state, "victim");
	workdir_fill(*state, "victim/f");
	workdir_make(*state, "r1");
	assert_return_code(symlinkat("../victim", workdir->dir, "r1/link"), errno);
	assert_int_equal(clear_tree(state, 2).entries, 1);
	expect_empty(state);
	assert_true(workdir_has(*state, "victim/f"));
}

/* What was read as a directory is a link when it is its turn. */
static void swap_for_link(void **state, int dir, const char *name, int flags)
{
	struct workdir *workdir = *state;

	(void)dir;
	(void)flags;
	if (strcmp(name, "first") != 0)
		return;
	hook = NULL;
	assert_return_code(renameat(workdir->dir, "r1/d", workdir->dir, "away"), errno);
	assert_return_code(symlinkat("../victim", workdir->dir, "r1/d"), errno);
}

static void must_2_a_directory_swapped_for_a_link_leads_nowhere(void **state)
{
	workdir_make(*state, "victim");
	workdir_fill(*state, "victim/f");
	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/first");
	workdir_make(*state, "r1/d");
	workdir_fill(*state, "r1/d/f");
	hook = swap_for_link;
	clear_tree(state, 1);
	assert_null(hook);
	assert_true(workdir_has(*state, "victim/f"));
	assert_true(workdir_has(*state, "away/f"));
	assert_true(workdir_has(*state, "r1/d"));
}

static void must_3_no_mount_is_entered_and_the_rest_goes(void **state)
{
	workdir_make(*state, "victim");
	workdir_fill(*state, "victim/f");
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	workdir_make(*state, "r1/a/bound");
	workdir_fill(*state, "r1/a/f");
	workdir_fill(*state, "r1/z");
	assert_return_code(mount(workdir_path(*state, "victim"), workdir_path(*state, "r1/a/bound"),
				   NULL, MS_BIND, NULL),
		errno);
	assert_int_equal(clear_tree(state, 2).entries, 2);
	assert_false(cleared);
	assert_true(workdir_has(*state, "victim/f"));
	assert_true(workdir_has(*state, "r1/a/bound/f"));
	assert_false(workdir_has(*state, "r1/a/f"));
	assert_return_code(umount2(workdir_path(*state, "r1/a/bound"), MNT_DETACH), errno);
}

/* Each level holds a descriptor: what is deeper than others hold is the walk's. */
static void must_5_what_is_deep_is_left(void **state)
{
	struct workdir *workdir = *state;
	int dir = openat(workdir->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct rmtree_report report = { 0 };

	for (int i = 0; i < DEEPER; i++) {
		const char *name = i ? "d" : "r1";
		int next;

		assert_return_code(mkdirat(dir, name, 0755), errno);
		next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
		close(openat(dir, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	}
	close(dir);
	report = clear_tree(state, 4);
	assert_false(cleared);
	assert_in_range(report.entries, 60, 70); /* one file each */
	assert_int_equal(rmtree(workdir->dir, "r1", WITHIN_MS(LONG_MS), &report, NULL), 1);
	assert_int_equal(report.entries, 2 * DEEPER);
}

static int clear_with_few_descriptors(struct workdir *workdir, void *context)
{
	const struct rlimit few = { 12, 12 };
	void *state = workdir;

	(void)context;
	if (setrlimit(RLIMIT_NOFILE, &few) != 0)
		return 2;
	clear_tree(&state, 8);
	return 0;
}

static void must_5_without_descriptors_the_rest_is_left(void **state)
{
	struct workdir *workdir = *state;
	struct rmtree_report report = { 0 };

	workdir_in_memory(*state);
	make_tree(state);
	assert_int_equal(workdir_wait(workdir_fork(clear_with_few_descriptors, *state, NULL)), 0);
	assert_int_equal(rmtree(workdir->dir, "r1", WITHIN_MS(LONG_MS), &report, NULL), 1);
}

static void add_another(void **state, int dir, const char *name, int flags)
{
	static atomic_uint added;
	char *late CLEANUP(mem_done) = mem_printf("late-%u", atomic_fetch_add(&added, 1));

	(void)state;
	(void)name;
	if (!(flags & AT_REMOVEDIR))
		close(openat(dir, late, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

/* In tmpfs the new entry is read after all others: such a directory has no end. */
static void must_6_what_grows_as_fast_as_it_goes_is_left(void **state)
{
	struct rmtree_report report;

	workdir_in_memory(*state);
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/d");
	fill_numbered(state, "r1/d", 10);
	hook = add_another;
	report = clear_tree(state, 1);
	hook = NULL;
	assert_in_range(report.entries, 10, 100000);
	assert_true(workdir_has(*state, "r1/d"));
}

static void what_is_late_is_left(void **state)
{
	struct rmtree_top top = { .limits = { .deadline_ms = clock_boot_ms() - 1, .threads = 4 } };

	workdir_make(*state, "r1");
	workdir_make(*state, "r1/d");
	workdir_fill(*state, "r1/d/f");
	workdir_fill(*state, "r1/f");
	assert_int_equal(clear_with(state, top).entries, 0);
	assert_false(cleared);
	assert_true(workdir_has(*state, "r1/f"));
	assert_true(workdir_has(*state, "r1/d/f"));
}

static struct rmtree_report *reported;

static void note_report(void **state, int dir, const char *name, int flags)
{
	(void)state;
	(void)dir;
	if (flags & AT_REMOVEDIR && strcmp(name, "d") == 0)
		assert_int_equal(reported->entries, 1);
}

/* An errand that is killed has done it all the same. */
static void what_was_done_is_told_on_the_way(void **state)
{
	struct workdir *workdir = *state;
	struct rmtree_report report = { 0 };
	struct rmtree_top top = { .name = "r1", .limits = *WITHIN_MS(LONG_MS) };

	workdir_make(*state, "r1");
	workdir_make(*state, "r1/d");
	workdir_fill(*state, "r1/d/f");
	top.fd = openat(workdir->dir, "r1", O_PATH | O_DIRECTORY | O_CLOEXEC);
	reported = &report;
	hook = note_report;
	assert_true(rmtree_crew(&top, &report));
	close(top.fd);
	assert_int_equal(report.entries, 2);
}

/* What a process may hold, in bytes more than it does: the room that is touched counts. */
static int clear_in_little_memory(struct workdir *workdir, void *context)
{
	struct rusage before, after;
	void *state = workdir;

	(void)context;
	(void)getrusage(RUSAGE_SELF, &before);
	clear_tree(&state, 4);
	(void)getrusage(RUSAGE_SELF, &after);
	return after.ru_maxrss - before.ru_maxrss < 32 * 1024 ? 0 : 1; /* KiB */
}

static void memory_does_not_grow_with_the_directory(void **state)
{
	workdir_in_memory(*state);
	workdir_make(*state, "r1");
	fill_numbered(state, "r1", 60 * MANY);
	assert_int_equal(workdir_wait(workdir_fork(clear_in_little_memory, *state, NULL)), 0);
	expect_empty(state);
}

static int set_up(void **state)
{
	hook_state = state;
	return workdir_setup(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, hook_done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_tree_goes_whole_with_any_number_of_threads),
		TEST(files_go_in_the_order_of_their_inodes),
		TEST(what_has_another_link_frees_nothing),
		TEST(what_is_to_stay_stays),
		TEST(must_2_links_are_unlinked_and_never_followed),
		TEST(must_2_a_directory_swapped_for_a_link_leads_nowhere),
		TEST(must_3_no_mount_is_entered_and_the_rest_goes),
		TEST(must_5_what_is_deep_is_left),
		TEST(must_5_without_descriptors_the_rest_is_left),
		TEST(must_6_what_grows_as_fast_as_it_goes_is_left),
		TEST(what_is_late_is_left),
		TEST(what_was_done_is_told_on_the_way),
		TEST(memory_does_not_grow_with_the_directory),
	};

	return cmocka_run_group_tests_name("rmtree_crew", tests, workdir_own_mounts, NULL);
}
