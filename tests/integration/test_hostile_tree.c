/*
 * Trees whose owner goes on working against their removal, with processes of its own, and trees that
 * are only large: what unit/test_rmtree.c and unit/test_trash.c do on cue happens by chance here, some
 * thousand times a second for a bounded time.
 */
#include "unit.h"

#include "base/clock.h"
#include "os/rmtree.h"
#include "os/trash.h"
#include "within.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUND_MS = 1500, LONG_MS = 120000 };

/*
 * The sanitizer's own interface: what was freed is not to be held for a while, since memory is measured
 * here.
 */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0";
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static int remove_tree(void **state, const char *name, struct rmtree_report *report)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);

	return rmtree(parent, name, WITHIN_MS(LONG_MS), report, NULL);
}

static void make_link(void **state, const char *target, const char *name)
{
	assert_return_code(symlink(target, workdir_path(*state, name)), errno);
}

static void stop(pid_t pid)
{
	assert_return_code(kill(pid, SIGKILL), errno);
	(void)workdir_wait(pid);
}

/* Until killed, or the test program is gone. */
static bool goes_on(void)
{
	return getppid() != 1;
}

/* Two names that are exchanged for ever. */
struct exchange {
	const char *a, *b;
};

static int exchange_for_ever(struct workdir *workdir, void *context)
{
	const struct exchange *names = context;

	while (goes_on())
		(void)renameat2(workdir->dir, names->a, workdir->dir, names->b, RENAME_EXCHANGE);
	return 0;
}

static pid_t start_exchange(void **state, struct exchange *names)
{
	return workdir_fork(exchange_for_ever, *state, names);
}

/* "victim/d/sub/f" and so on: the same names as in a run, so that a walk led here would find them. */
static void make_tree(void **state, const char *top)
{
	static const char *const dirs[] = { "", "/d", "/d/sub", "/r1" };
	static const char *const files[] = { "/f", "/d/f", "/d/sub/f", "/r1/f" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		char *dir CLEANUP(mem_done) = mem_printf("%s%s", top, dirs[i]);

		workdir_make(*state, dir);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *file CLEANUP(mem_done) = mem_printf("%s%s", top, files[i]);

		workdir_fill(*state, file);
	}
}

static bool is_whole(void **state, const char *top)
{
	static const char *const files[] = { "/f", "/d/f", "/d/sub/f", "/r1/f" };
	bool whole = true;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *file CLEANUP(mem_done) = mem_printf("%s%s", top, files[i]);

		whole &= workdir_has(*state, file);
	}
	return whole;
}

/* ------------------------------------------------------------------------- while it is deleted */

static void move(void **state, const char *from, const char *to)
{
	struct workdir *workdir = *state;

	assert_return_code(
		renameat2(workdir->dir, from, workdir->dir, to, RENAME_NOREPLACE), errno);
}

/* Built elsewhere, so that whoever waits for it finds it whole. */
static void make_prey(void **state)
{
	make_tree(state, "new");
	make_link(state, "../victim/d", "new/link");
	make_link(state, "../../victim/d/sub", "new/d/link");
	move(state, "new", "r1");
}

static void links_and_directories_that_change_places_lead_nowhere(void **state)
{
	static struct exchange exchanges[] = {
		{ "r1/d", "r1/link" },       /* a directory and a link to the victim's */
		{ "r1/d/sub", "r1/d/link" }, /* one deeper */
		{ "r1/d", "r1/r1" },         /* two directories */
	};
	unsigned rounds = 0, gone = 0;

	workdir_in_memory(*state);
	make_tree(state, "victim");
	for (size_t i = 0; i < ARRAY_SIZE(exchanges); i++) {
		pid_t attacker = start_exchange(state, &exchanges[i]);
		int64_t end = clock_boot_ms() + ROUND_MS / 2;

		while (clock_boot_ms() < end) {
			struct rmtree_report report = { 0 };
			int r;

			make_prey(state);
			r = remove_tree(state, "r1", &report);
			gone += r == 1;
			rounds++;
			assert_true(r == 1 || r == -ENOTEMPTY);
			assert_true(is_whole(state, "victim"));
			if (r == 1)
				continue;
			move(state, "r1", "left");
			assert_int_equal(remove_tree(state, "left", &report), 1);
		}
		stop(attacker);
	}
	print_message("# %u rounds, %u gone at once\n", rounds, gone);
	assert_true(gone > 0);
}

static void make_bush(void **state, const char *top, unsigned depth)
{
	char *at CLEANUP(mem_done) = mem_dup(top);

	workdir_make(*state, at);
	for (unsigned i = 0; i < depth; i++) {
		char *file CLEANUP(mem_done) = mem_printf("%s/f", at);
		char *deeper = mem_printf("%s/d", at);

		workdir_make(*state, deeper);
		workdir_fill(*state, file);
		free(at);
		at = deeper;
	}
}

/* Takes the middle of the tree out, into a directory with files beside it, and puts it back. */
static int move_for_ever(struct workdir *workdir, void *context)
{
	(void)context;
	while (goes_on()) {
		(void)renameat(workdir->dir, "r1/d/d", workdir->dir, "victim/d/moved");
		(void)renameat(workdir->dir, "victim/d/moved", workdir->dir, "r1/d/d");
	}
	return 0;
}

static void what_is_moved_out_during_the_walk_does_not_lead_it_out(void **state)
{
	int64_t end = clock_boot_ms() + ROUND_MS;

	workdir_in_memory(*state);
	make_tree(state, "victim");
	do {
		struct rmtree_report report = { 0 };
		pid_t attacker;
		int r;

		make_bush(state, "r1", 40);
		attacker = workdir_fork(move_for_ever, *state, NULL);
		r = remove_tree(state, "r1", &report);
		stop(attacker);
		/* EACCES: the wall, when the walk is in what is outside at that moment. */
		if (r != 1 && r != -ENOTEMPTY && r != -EACCES)
			fail_msg("it answers %d", r);
		assert_true(is_whole(state, "victim"));
		(void)remove_tree(state, "r1", &report);
		(void)renameat(((struct workdir *)*state)->dir, "victim/d/moved",
			((struct workdir *)*state)->dir, "moved");
		(void)remove_tree(state, "moved", &report);
	} while (clock_boot_ms() < end);
}

static int write_for_ever(struct workdir *workdir, void *context)
{
	int dir = openat(workdir->dir, "r1/d", O_RDONLY | O_DIRECTORY);
	char name[32];

	(void)context;
	for (unsigned i = 0; goes_on(); i++) {
		(void)snprintf(name, sizeof(name), "%d.%u", getpid(), i);
		(void)mknodat(dir, name, S_IFREG | 0600, 0);
		if (i % 3 == 0)
			(void)mkdirat(dir, "again", 0700);
	}
	return 0;
}

static void writers_that_never_stop_do_not_hold_it_for_ever(void **state)
{
	struct rmtree_report report = { 0 };
	int64_t begin, end;
	pid_t writers[3];
	int r;

	workdir_in_memory(*state);
	make_tree(state, "r1");
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
		writers[i] = workdir_fork(write_for_ever, *state, NULL);
	begin = clock_boot_ms();
	r = remove_tree(state, "r1", &report);
	end = clock_boot_ms();
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
		stop(writers[i]);
	print_message("# %d after %lld entries, %lld ms\n", r, (long long)report.entries,
		(long long)(end - begin));
	assert_true(end - begin < 30000);
	assert_true(r == 1 || r == -ENOTEMPTY);
	assert_false(workdir_has(*state, "r1/f"));
	assert_in_range(remove_tree(state, "r1", &report), 0, 1);
	assert_false(workdir_has(*state, "r1"));
}

static int remove_too(struct workdir *workdir, void *context)
{
	(void)context;
	if (fchdir(workdir->dir) != 0)
		return 1;
	(void)execlp("rm", "rm", "-rf", "r1", NULL);
	return 1;
}

static int rmtree_too(struct workdir *workdir, void *context)
{
	struct rmtree_report report = { 0 };

	(void)context;
	return rmtree(workdir->dir, "r1", WITHIN_MS(LONG_MS), &report, NULL) < 0;
}

static void others_who_remove_it_too_are_no_error(void **state)
{
	int64_t end = clock_boot_ms() + ROUND_MS;
	unsigned rounds = 0;

	workdir_in_memory(*state);
	do {
		struct rmtree_report report = { 0 };
		pid_t other;

		make_bush(state, "r1", 40);
		other = workdir_fork(rounds % 2 ? remove_too : rmtree_too, *state, NULL);
		assert_in_range(remove_tree(state, "r1", &report), 0, 1);
		assert_false(workdir_has(*state, "r1"));
		if (rounds++ % 2)
			(void)workdir_wait(other); /* rm may find that a directory is gone */
		else
			assert_int_equal(workdir_wait(other), 0);
	} while (clock_boot_ms() < end || rounds < 4);
}

/* ------------------------------------------------------------------------- while it is set aside */

static struct stat stat_of(void **state, const char *name)
{
	struct stat st;

	assert_return_code(lstat(workdir_path(*state, name), &st), errno);
	return st;
}

/*
 * The tree of a run at one place and somebody's precious one at the other, while somebody exchanges
 * them or what they are in. The first place is the one that is registered.
 */
struct contest {
	struct exchange names;
	const char *places[2];
};

static bool has_precious(void **state, const char *place)
{
	char *file CLEANUP(mem_done) = mem_printf("%s/precious", place);

	return workdir_has(*state, file);
}

/* A new tree at the place that is free at that moment; its identity. */
static struct stat contest_place(void **state, const struct contest *contest)
{
	struct workdir *workdir = *state;
	struct stat st;

	workdir_make(*state, "new");
	workdir_fill(*state, "new/f");
	st = stat_of(state, "new");
	for (unsigned i = 0;; i++) {
		if (renameat2(workdir->dir, "new", workdir->dir, contest->places[i % 2],
			    RENAME_NOREPLACE) == 0)
			return st;
		assert_true(i < 100000);
	}
}

/* What could not be put back in time is where no purge finds it, and goes back by hand. */
static bool contest_recover(void **state, const struct contest *contest)
{
	static const char stray[] = ".sbx-trash/.stray:r1:3:0";
	struct workdir *workdir = *state;
	bool back = false;

	if (!has_precious(state, stray))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(contest->places); i++)
		back |= renameat2(workdir->dir, stray, workdir->dir, contest->places[i],
				RENAME_NOREPLACE) == 0;
	return back;
}

/* Looks while the attacker holds still, since the places change hands meanwhile. */
static bool contest_is_won(void **state, const struct contest *contest, pid_t attacker)
{
	bool won = has_precious(state, contest->places[0]);

	if (won)
		return true;
	assert_return_code(kill(attacker, SIGSTOP), errno);
	assert_int_equal(waitpid(attacker, NULL, WUNTRACED), attacker);
	won = has_precious(state, contest->places[0]) || has_precious(state, contest->places[1]) ||
	      contest_recover(state, contest);
	assert_return_code(kill(attacker, SIGCONT), errno);
	return won;
}

static void contest_run(void **state, struct contest *contest)
{
	int root CLEANUP(fd_done) = workdir_open(*state);
	pid_t attacker = start_exchange(state, &contest->names);
	int64_t end = clock_boot_ms() + ROUND_MS;
	unsigned moved = 0, stale = 0;
	struct stat st = contest_place(state, contest);

	/* On a busy machine until there was one of each. */
	while (clock_boot_ms() < end ||
		((!moved || !stale) && clock_boot_ms() < end + LONG_MS / 4)) {
		const struct trash_thing thing = { contest->places[0], "r1", 3, st.st_dev,
			st.st_ino, *WITHIN_MS(LONG_MS), NULL };
		struct rmtree_report report = { 0 };
		int r = trash_take(root, &thing, &report, NULL);

		assert_true(r == 1 || r == 0 || r == -ESTALE);
		moved += r == 1;
		stale += r == -ESTALE;
		assert_in_range(
			trash_purge(root, "r1", 3, WITHIN_MS(LONG_MS), &report, NULL), 0, 1);
		if (r == 1)
			st = contest_place(state, contest);
		assert_true(contest_is_won(state, contest, attacker));
	}
	stop(attacker);
	print_message("# %u moved, %u refused\n", moved, stale);
	assert_true(moved > 0 && stale > 0);
}

static void another_tree_in_the_place_of_the_proved_one_is_never_deleted(void **state)
{
	struct contest contest = { { "r1", "other" }, { "r1", "other" } };

	workdir_in_memory(*state);
	workdir_make(*state, "other");
	workdir_fill(*state, "other/precious");
	contest_run(state, &contest);
}

static void another_directory_in_the_place_of_one_above_is_never_entered(void **state)
{
	struct contest contest = { { "a", "other" }, { "a/r1", "other/r1" } };

	workdir_in_memory(*state);
	workdir_make(*state, "a");
	workdir_make(*state, "other");
	workdir_make(*state, "other/r1");
	workdir_fill(*state, "other/r1/precious");
	contest_run(state, &contest);
}

/* ---------------------------------------------------------------------------------- only large */

static int fill(struct workdir *workdir, void *context)
{
	const unsigned *count = context;
	int dir CLEANUP(fd_done) = -EBADF;
	char name[32];

	dir = openat(workdir->dir, "r1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || mknodat(workdir->dir, "one", S_IFREG | 0600, 0) != 0)
		return 1;
	/* Links of one file, so that a million costs the kernel no million inodes. */
	for (unsigned i = 0; i < *count; i++) {
		(void)snprintf(name, sizeof(name), "%u\xff\n", i);
		if (linkat(workdir->dir, "one", dir, name, 0) != 0)
			return 2;
	}
	return unlinkat(workdir->dir, "one", 0) != 0;
}

/* Removes that many entries in one directory; the memory it took at most, in KiB. */
static long memory_of_removing(void **state, unsigned count)
{
	struct rusage usage;
	int status;
	pid_t pid;

	workdir_make(*state, "r1");
	assert_int_equal(workdir_wait(workdir_fork(fill, *state, &count)), 0);
	pid = workdir_fork(rmtree_too, *state, NULL);
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	assert_int_equal(status, 0);
	assert_false(workdir_has(*state, "r1"));
	return usage.ru_maxrss;
}

static void many_entries_in_one_directory_take_no_more_memory_than_a_thousand(void **state)
{
	long few, many;
	int64_t begin;

	workdir_in_memory(*state);
	few = memory_of_removing(state, 1000);
	begin = clock_boot_ms();
	many = memory_of_removing(state, 800000);
	print_message("# %lld ms, %ld KiB, of a thousand %ld KiB\n",
		(long long)(clock_boot_ms() - begin), many, few);
	/* KiB. A thread more costs half of it with sanitizers; 14 bytes an entry would be 11,000. */
	assert_true(many < few + 8192);
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(links_and_directories_that_change_places_lead_nowhere),
		workdir_test(what_is_moved_out_during_the_walk_does_not_lead_it_out),
		workdir_test(writers_that_never_stop_do_not_hold_it_for_ever),
		workdir_test(others_who_remove_it_too_are_no_error),
		workdir_test(another_tree_in_the_place_of_the_proved_one_is_never_deleted),
		workdir_test(another_directory_in_the_place_of_one_above_is_never_entered),
		workdir_test(many_entries_in_one_directory_take_no_more_memory_than_a_thousand),
	};

	return cmocka_run_group_tests_name("hostile_tree", tests, workdir_own_mounts, NULL);
}
