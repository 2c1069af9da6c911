#include "unit.h"

#include "base/clock.h"
#include "os/walk.h"
#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

static void walk_begin(struct walk *walk, int parent, const char *name)
{
	int top = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_return_code(top, errno);
	walk_start(walk, parent, name, deadline_in_ms(60000), 0);
	assert_int_equal(walk_push(walk, top, name), 0);
}

static void walk_enter(struct walk *walk, const struct walk_entry *entry)
{
	int fd = openat(entry->dir, entry->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_return_code(fd, errno);
	assert_int_equal(walk_push(walk, fd, entry->name), 0);
}

static size_t walk_open_count(const struct walk *walk)
{
	size_t count = 0;

	for (size_t i = 0; i < WALK_OPEN; i++)
		count += walk->streams[i].fd >= 0;
	return count;
}

/* A chain of directories "d" below "top", with a file before and after each in no given order. */
static void make_chain(void **state, unsigned depth)
{
	char *at CLEANUP(mem_done) = mem_dup("top");

	workdir_make(*state, at);
	for (unsigned i = 0; i < depth; i++) {
		char *one CLEANUP(mem_done) = mem_printf("%s/one", at);
		char *two CLEANUP(mem_done) = mem_printf("%s/two", at);
		char *deeper = mem_printf("%s/d", at);

		workdir_fill(*state, one);
		workdir_make(*state, deeper);
		workdir_fill(*state, two);
		free(at);
		at = deeper;
	}
}

/* Goes down to the last directory; returns the step that was next there. */
static int walk_down(struct walk *walk, struct walk_entry *entry, unsigned depth)
{
	int step;

	while (walk->depth <= depth) {
		step = walk_next(walk, entry);
		assert_int_equal(step, WALK_ENTRY);
		if (entry->type == DT_DIR)
			walk_enter(walk, entry);
	}
	return walk_next(walk, entry);
}

static void every_entry_comes_once_however_deep(void **state)
{
	enum { DEPTH = 50 };
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct walk walk CLEANUP(walk_done) = { 0 };
	unsigned files = 0, left = 0;
	struct walk_entry entry;
	int step;

	make_chain(state, DEPTH);
	walk_begin(&walk, parent, "top");
	while ((step = walk_next(&walk, &entry)) > 0) {
		assert_true(entry.dir >= 0);
		assert_true(walk_open_count(&walk) <= WALK_OPEN);
		if (step == WALK_LEAVE) {
			left++;
			walk_pop(&walk);
		} else if (entry.type == DT_DIR) {
			walk_enter(&walk, &entry);
		} else {
			files++;
		}
	}
	assert_int_equal(step, WALK_DONE);
	assert_int_equal(files, 2 * DEPTH);
	assert_int_equal(left, DEPTH + 1);
	assert_null(walk_top(&walk));
}

static void again_reads_the_same_directory_from_its_start(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct walk walk CLEANUP(walk_done) = { 0 };
	struct walk_entry entry;

	workdir_make(*state, "top");
	workdir_fill(*state, "top/f");
	walk_begin(&walk, parent, "top");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(walk_next(&walk, &entry), WALK_ENTRY);
		assert_string_equal(entry.name, "f");
		assert_int_equal(entry.type, DT_REG);
		assert_int_equal(walk_next(&walk, &entry), WALK_LEAVE);
		assert_string_equal(entry.name, "top");
		assert_int_equal(entry.dir, parent);
		walk_again(&walk);
	}
}

static void a_parent_that_is_not_the_remembered_one_is_stale(void **state)
{
	enum { DEPTH = 40, MOVED = 10 };
	const char *from, *to = workdir_path(*state, "away");
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct walk walk CLEANUP(walk_done) = { 0 };
	struct text path CLEANUP(text_done) = { 0 };
	struct walk_entry entry;
	int step;

	make_chain(state, DEPTH);
	walk_begin(&walk, parent, "top");
	step = walk_down(&walk, &entry, DEPTH);
	text_add(&path, "top");
	for (int i = 0; i < MOVED; i++)
		text_add(&path, "/d");
	from = workdir_path(*state, path.data);
	assert_return_code(rename(from, to), errno);
	while (step > 0) {
		if (step == WALK_LEAVE)
			walk_pop(&walk);
		step = walk_next(&walk, &entry);
	}
	assert_int_equal(step, -ESTALE);
	assert_int_equal(walk.depth, MOVED + 1);
}

static ino_t inode_of(void **state, const char *name)
{
	const char *path = workdir_path(*state, name);
	struct stat st;

	assert_return_code(lstat(path, &st), errno);
	return st.st_ino;
}

/* A filesystem that gives inode numbers out again at once. */
static void put_ext4(void **state)
{
	const char *path = workdir_path(*state, ".");
	char *command CLEANUP(mem_done) = mem_printf("truncate -s 8M '%s/disk' && mkfs.ext4 -q "
						     "'%s/disk' && mount -o loop '%s/disk' '%s'",
		path, path, path, path);

	assert_int_equal(system(command), 0);
	(void)close(((struct workdir *)*state)->dir);
	((struct workdir *)*state)->dir = workdir_open(*state);
}

/* Makes directories in "victim" until one has that number. */
static char *make_with_inode(void **state, ino_t inode)
{
	for (int i = 0; i < 500; i++) {
		char *name CLEANUP(mem_done) = mem_printf("victim/%d", i);

		workdir_make(*state, name);
		if (inode_of(state, name) == inode)
			return TAKE_PTR(name);
	}
	fail_msg("the number %llu is not given out again", (unsigned long long)inode);
	return NULL;
}

static void a_younger_parent_with_the_inode_of_the_remembered_one_is_stale(void **state)
{
	enum { DEPTH = 40 };
	int parent CLEANUP(fd_done) = -EBADF;
	struct walk walk CLEANUP(walk_done) = { 0 };
	char *younger CLEANUP(mem_done) = NULL, *moved CLEANUP(mem_done) = NULL;
	char *command CLEANUP(mem_done) = NULL;
	struct walk_entry entry;
	ino_t inode;
	int step;

	put_ext4(state);
	parent = workdir_open(*state);
	make_chain(state, DEPTH);
	workdir_make(*state, "victim");
	inode = inode_of(state, "top/d/d/d");
	walk_begin(&walk, parent, "top");
	step = walk_down(&walk, &entry, DEPTH);
	assert_return_code(
		rename(workdir_path(*state, "top/d/d/d/d"), workdir_path(*state, "held")), errno);
	command = mem_printf("rm -r '%s'", workdir_path(*state, "top/d/d/d"));
	assert_int_equal(system(command), 0);
	younger = make_with_inode(state, inode);
	moved = mem_printf("%s/d", younger);
	assert_return_code(
		rename(workdir_path(*state, "held"), workdir_path(*state, moved)), errno);
	while (step > 0) {
		if (step == WALK_LEAVE)
			walk_pop(&walk);
		step = walk_next(&walk, &entry);
	}
	assert_int_equal(step, -ESTALE);
	assert_int_equal(walk.depth, 5);
}

static void a_directory_removed_under_the_walk_is_at_its_end(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	const char *top = workdir_path(*state, "top");
	struct walk walk CLEANUP(walk_done) = { 0 };
	struct walk_entry entry;

	workdir_make(*state, "top");
	walk_begin(&walk, parent, "top");
	assert_return_code(rmdir(top), errno);
	assert_int_equal(walk_next(&walk, &entry), WALK_LEAVE);
	assert_int_equal(entry.code, 0);
}

static void beyond_what_is_remembered_the_lower_half_goes_on(void **state)
{
	int parent CLEANUP(fd_done) = -EBADF;
	struct walk walk CLEANUP(walk_done) = { 0 };
	struct walk_entry entry;
	unsigned left = 0;
	int step = 1;

	workdir_in_memory(*state);
	parent = workdir_open(*state);
	workdir_make(*state, "top");
	walk_begin(&walk, parent, "top");
	for (size_t i = 0; i < WALK_DEPTH; i++) {
		const struct walk_stream *stream = &walk.streams[(walk.depth - 1) % WALK_OPEN];

		assert_return_code(mkdirat(stream->fd, "d", 0700), errno);
		assert_int_equal(walk_next(&walk, &entry), WALK_ENTRY);
		walk_enter(&walk, &entry);
	}
	assert_true(walk.cut);
	assert_int_equal(walk.depth, WALK_DEPTH / 2 + 1);
	while ((step = walk_next(&walk, &entry)) == WALK_LEAVE) {
		assert_string_equal(entry.name, "d");
		assert_int_equal(entry.dir < 0, walk.depth == 1);
		walk_pop(&walk);
		left++;
	}
	assert_int_equal(step, WALK_DONE);
	assert_int_equal(left, WALK_DEPTH / 2 + 1);
}

static void paths_for_messages_stay_whole_when_short_and_bounded_when_long(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct walk walk CLEANUP(walk_done) = { 0 };
	char *path CLEANUP(mem_done) = NULL, *bounded CLEANUP(mem_done) = NULL;
	struct walk_entry entry;
	char name[256];

	memset(name, '\1', 255);
	name[255] = 0;
	make_chain(state, 120);
	walk_begin(&walk, parent, "top");
	(void)walk_down(&walk, &entry, 3);
	path = walk_path(&walk, "f\n");
	assert_string_equal(path, "top/d/d/d/f\\x0a");
	while (walk.depth < 120) {
		if (entry.type == DT_DIR)
			walk_enter(&walk, &entry);
		assert_int_equal(walk_next(&walk, &entry), WALK_ENTRY);
	}
	bounded = walk_path(&walk, name);
	assert_true(strlen(bounded) <= 400);
	assert_true(text_starts(bounded, "top/.../"));
	assert_true(text_ends(bounded, "\\x01..."));
}

static void the_deadline_is_an_answer(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct walk walk CLEANUP(walk_done) = { 0 };
	struct walk_entry entry;

	workdir_make(*state, "top");
	walk_begin(&walk, parent, "top");
	walk.deadline_ms = clock_boot_ms() - 1;
	assert_int_equal(walk_next(&walk, &entry), -ETIME);
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(every_entry_comes_once_however_deep),
		workdir_test(again_reads_the_same_directory_from_its_start),
		workdir_test(a_parent_that_is_not_the_remembered_one_is_stale),
		workdir_test(a_younger_parent_with_the_inode_of_the_remembered_one_is_stale),
		workdir_test(a_directory_removed_under_the_walk_is_at_its_end),
		workdir_test(beyond_what_is_remembered_the_lower_half_goes_on),
		workdir_test(paths_for_messages_stay_whole_when_short_and_bounded_when_long),
		workdir_test(the_deadline_is_an_answer),
	};

	return cmocka_run_group_tests_name("walk", tests, workdir_own_mounts, NULL);
}
