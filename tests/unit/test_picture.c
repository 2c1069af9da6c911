#include "unit.h"

#include "os/picture.h"

#include "workdir.h"

#include <fcntl.h>
#include <sys/stat.h>

static char *picture(struct workdir *workdir)
{
	struct text text = { 0 };
	struct error error = { 0 };

	if (picture_add(&text, workdir->path, &error) < 0)
		fail_msg("%s", error.text);
	return text.data;
}

static void make(struct workdir *workdir)
{
	workdir_make(workdir, "a");
	workdir_write(workdir, "a/file", "canary", 6);
	assert_int_equal(symlink("a/file", workdir_path(workdir, "link")), 0);
}

/* What is changed must be found, at the place where it was. */
static void expect(struct workdir *workdir, const char *before, const char *where)
{
	char *after CLEANUP(mem_done) = picture(workdir);
	char *differs CLEANUP(mem_done) = picture_difference(before, after);

	if (!where) {
		assert_null(differs);
		return;
	}
	assert_non_null(differs);
	assert_string_equal(differs, workdir_path(workdir, where));
}

static void two_looks_at_the_same_see_the_same(void **state)
{
	struct workdir *workdir = *state;
	char *before CLEANUP(mem_done) = NULL;

	make(workdir);
	before = picture(workdir);
	expect(workdir, before, NULL);
}

static void what_is_written_with_its_times_put_back_is_seen(void **state)
{
	struct workdir *workdir = *state;
	char *before CLEANUP(mem_done) = NULL;
	struct timespec times[2];
	struct stat file;

	make(workdir);
	before = picture(workdir);
	assert_int_equal(stat(workdir_path(workdir, "a/file"), &file), 0);
	times[0] = file.st_atim;
	times[1] = file.st_mtim;
	workdir_write(workdir, "a/file", "CANARY", 6);
	assert_int_equal(utimensat(AT_FDCWD, workdir_path(workdir, "a/file"), times, 0), 0);
	expect(workdir, before, "a/file");
}

static void a_mode_that_changed_is_seen(void **state)
{
	struct workdir *workdir = *state;
	char *before CLEANUP(mem_done) = NULL;

	make(workdir);
	before = picture(workdir);
	assert_int_equal(chmod(workdir_path(workdir, "a/file"), 0600), 0);
	expect(workdir, before, "a/file");
}

static void another_name_of_a_file_is_seen(void **state)
{
	struct workdir *workdir = *state;
	char *before CLEANUP(mem_done) = NULL, *beside CLEANUP(mem_done) = NULL;

	make(workdir);
	before = picture(workdir);
	beside = mem_printf("%s.link", workdir->path);
	assert_int_equal(link(workdir_path(workdir, "a/file"), beside), 0);
	expect(workdir, before, "a/file");
	(void)unlink(beside);
	expect(workdir, before, NULL);
}

static void what_takes_the_place_of_another_is_seen(void **state)
{
	struct workdir *workdir = *state;
	char *before CLEANUP(mem_done) = NULL, *new CLEANUP(mem_done) = NULL;

	make(workdir);
	before = picture(workdir);
	assert_int_equal(unlink(workdir_path(workdir, "link")), 0);
	assert_int_equal(symlink("a/elsewhere", workdir_path(workdir, "link")), 0);
	new = picture(workdir);
	assert_non_null(strstr(new, "a/elsewhere"));
	assert_null(strstr(before, "a/elsewhere"));
}

static void a_line_more_or_less_is_named(void **state)
{
	char *more CLEANUP(mem_done) = picture_difference("/a\tx", "/a\tx\n/b\ty");
	char *less CLEANUP(mem_done) = picture_difference("/a\tx\n/b\ty", "/a\tx");
	char *first CLEANUP(mem_done) = picture_difference("/a\tx", "/a\tz");
	char *none CLEANUP(mem_done) = picture_difference("/a\tx", "");
	char *longer CLEANUP(mem_done) = picture_difference("/a\tx\n/b\ty", "/a\txy\n/b\ty");

	(void)state;
	assert_string_equal(more, "/b");
	assert_string_equal(less, "/b");
	assert_string_equal(first, "/a");
	assert_string_equal(none, "/a");
	assert_string_equal(longer, "/a");
	assert_null(picture_difference("", ""));
}

static void what_is_not_there_is_said(void **state)
{
	struct text text CLEANUP(text_done) = { 0 };

	(void)state;
	assert_int_equal(picture_add(&text, "/nonexistent", NULL), 0);
	assert_string_equal(text.data, "/nonexistent\tis not there");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(two_looks_at_the_same_see_the_same),
		TEST(what_is_written_with_its_times_put_back_is_seen),
		TEST(a_mode_that_changed_is_seen),
		TEST(another_name_of_a_file_is_seen),
		TEST(what_takes_the_place_of_another_is_seen),
		cmocka_unit_test(a_line_more_or_less_is_named),
		cmocka_unit_test(what_is_not_there_is_said),
	};

	return cmocka_run_group_tests_name("picture", tests, NULL, NULL);
}
