#include "unit.h"

#include "base/text.h"
#include "os/mounts.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int parse(const char *text, struct mount_table *table)
{
	struct error error = { 0 };
	int r = mounts_parse(text, strlen(text), table, &error);

	assert_int_equal(error.code, -r);
	return r;
}

static void a_table_is_read_with_its_escapes(void **state)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };

	(void)state;
	assert_int_equal(
		parse("36 35 98:0 /m /a\\040b\\011\\012\\134\\043\\377 rw master:1 shared:2 - ext3 "
		      "/dev/root rw\n"
		      "37 35 0:1 net:[1] /ns rw - fuse.bindfs  rw,x=- - y\n",
			&table),
		0);
	assert_int_equal(table.count, 2);
	assert_int_equal(table.mounts[0].id, 36);
	assert_string_equal(table.mounts[0].point, "/a b\t\n\\#\xff");
	assert_string_equal(table.mounts[0].type, "ext3");
	assert_string_equal(table.mounts[0].source, "/dev/root");
	assert_string_equal(table.mounts[1].type, "fuse.bindfs");
	assert_string_equal(table.mounts[1].source, "");
	assert_ptr_equal(mounts_of_type(&table, "fuse.bindfs"), &table.mounts[1]);
	assert_null(mounts_of_type(&table, "fuse"));
}

static void one_line_not_understood_makes_the_whole_table_unknown(void **state)
{
	static const char good[] = "36 35 98:0 / /a rw - ext3 /dev/root rw\n";
	static const char *const bad[] = {
		"x 35 98:0 / /b rw - ext3 /dev/root rw\n",
		"-1 35 98:0 / /b rw - ext3 /dev/root rw\n",
		"36 35 98:0 / b rw - ext3 /dev/root rw\n",
		"36 35 98:0 / /b\\04 rw - ext3 /dev/root rw\n",
		"36 35 98:0 / /b\\900 rw - ext3 /dev/root rw\n",
		"36 35 98:0 / /b\\000 rw - ext3 /dev/root rw\n",
		"36 35 98:0 / /b\\ rw - ext3 /dev/root rw\n",
		"36 35 98:0 / /b rw ext3 /dev/root rw\n",
		"36 35 98:0 / /b rw -\n",
		"36 35 98:0 / /b rw - ext3\n",
		"36 35 98:0 / /b rw -  /dev/root rw\n",
		"36 35 98:0 / /b rw - ext3 /dev/root rw",
		"36 x 98:0 / /b rw - ext3 /dev/root rw\n",
		"36 35 98 / /b rw - ext3 /dev/root rw\n",
		"36 35 98: / /b rw - ext3 /dev/root rw\n",
		"36 35 98:0:1 / /b rw - ext3 /dev/root rw\n",
		"36 35 98:0 /  rw - ext3 /dev/root rw\n",
		"\n",
		" ",
		"36",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct mount_table table CLEANUP(mounts_done) = { 0 };
		char *text CLEANUP(mem_done) = mem_printf("%s%s%s", good, bad[i], good);

		/* An unfinished line would run on into the next. */
		if (!strchr(bad[i], '\n'))
			text[strlen(good) + strlen(bad[i])] = 0;
		assert_int_equal(parse(text, &table), -EINVAL);
		assert_null(table.mounts);
	}
}

static void an_empty_table_is_not_a_table_without_mounts(void **state)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	struct error error = { 0 };

	(void)state;
	assert_int_equal(mounts_parse("", 0, &table, &error), -EINVAL);
	assert_int_equal(
		mounts_parse("36 35 98:0 / /a rw - e\0t3 d rw\n", 31, &table, NULL), -EINVAL);
}

static void below_means_whole_components(void **state)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };

	(void)state;
	assert_int_equal(parse("1 0 0:1 / /ws/run10 rw - tmpfs t rw\n"
			       "2 0 0:1 / /ws/run1/a/b rw - tmpfs t rw\n"
			       "3 0 0:1 / /x//deleted rw - tmpfs t rw\n",
				 &table),
		0);
	assert_int_equal(mounts_below(&table, "/ws/run1")->id, 2);
	assert_int_equal(mounts_below(&table, "/ws/run10")->id, 1);
	assert_int_equal(mounts_below(&table, "/")->id, 2);
	assert_int_equal(mounts_below(&table, "/x")->id, 3);
	assert_null(mounts_below(&table, "/ws/run1/a/b/c"));
	assert_null(mounts_below(&table, "/ws/run"));
}

/* A slash comes before every other byte: "/a-b" does not stand between "/a" and "/a/b". */
static void what_lies_below_stands_together(void **state)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	const struct mount *const *list;

	(void)state;
	assert_int_equal(parse("1 0 0:1 / /a-b rw - tmpfs t rw\n"
			       "2 0 0:1 / /a/\\001 rw - tmpfs t rw\n"
			       "3 0 0:1 / /a rw - tmpfs t rw\n"
			       "4 0 0:1 / / rw - tmpfs t rw\n"
			       "5 0 0:1 / /a/b/c rw - tmpfs t rw\n"
			       "6 0 0:1 / /a! rw - tmpfs t rw\n"
			       "7 0 0:1 / /a rw - tmpfs t rw\n"
			       "8 0 0:1 / /a0 rw - tmpfs t rw\n",
				 &table),
		0);
	assert_int_equal(mounts_within(&table, "/a", &list), 4);
	assert_int_equal(list[0]->id, 3);
	assert_int_equal(list[1]->id, 7);
	assert_int_equal(list[2]->id, 2);
	assert_int_equal(list[3]->id, 5);
	assert_int_equal(mounts_within(&table, "/", &list), 8);
	assert_int_equal(mounts_within(&table, "/a/b", &list), 1);
	assert_int_equal(list[0]->id, 5);
	assert_int_equal(mounts_within(&table, "/a/b/c/d", &list), 0);
	assert_int_equal(mounts_within(&table, "/z", &list), 0);
}

static void the_mount_on_top_is_the_one_that_none_of_its_place_is_mounted_on(void **state)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };

	(void)state;
	assert_int_equal(parse("10 20 0:1 / /a rw - tmpfs top rw\n"
			       "30 1 0:1 / /a rw - tmpfs low rw\n"
			       "5 30 0:1 / /a/b/c rw - tmpfs beside rw\n"
			       "20 30 0:1 / /a rw - tmpfs middle rw\n",
				 &table),
		0);
	assert_int_equal(mounts_at(&table, "/a")->id, 10);
	assert_int_equal(mounts_at(&table, "/a/b/c")->id, 5);
	assert_null(mounts_at(&table, "/"));
	assert_null(mounts_at(&table, "/a/b"));
}

/* 2 is on 1's root and hides 3, which is in 1; 4 is in 3, 5 in 2, 6 is on 5. */
static void the_way_down_takes_each_before_what_it_is_mounted_on(void **state)
{
	static const uint64_t wanted[] = { 6, 5, 2, 4, 3, 1 };
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	const struct mount *const *list;
	const struct mount **order;
	size_t count;

	(void)state;
	assert_int_equal(parse("1 0 0:1 / /t rw - tmpfs t rw\n"
			       "3 1 0:1 / /t/a rw - tmpfs t rw\n"
			       "4 3 0:1 / /t/a/b rw - tmpfs t rw\n"
			       "2 1 0:1 / /t rw - tmpfs t rw\n"
			       "5 2 0:1 / /t/a rw - tmpfs t rw\n"
			       "6 5 0:1 / /t/a rw - tmpfs t rw\n",
				 &table),
		0);
	count = mounts_within(&table, "/t", &list);
	assert_int_equal(count, ARRAY_SIZE(wanted));
	order = mounts_downward(list, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(order[i]->id, wanted[i]);
	free(order);
}

static void a_table_that_contradicts_itself_still_has_an_order(void **state)
{
	static const char *const tables[] = {
		"1 1 0:1 / /a rw - t t rw\n",
		"1 2 0:1 / /a rw - t t rw\n2 1 0:1 / /a rw - t t rw\n",
		"1 1 0:1 / /a rw - t t rw\n1 1 0:1 / /a rw - t t rw\n2 1 0:1 / /a/b rw - t t rw\n",
		"5 9 0:1 / /a rw - t t rw\n5 9 0:1 / /a rw - t t rw\n9 5 0:1 / /a rw - t t rw\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct mount_table table CLEANUP(mounts_done) = { 0 };
		const struct mount *const *list, **order CLEANUP(mem_done) = NULL;
		size_t count, found = 0;

		assert_int_equal(parse(tables[i], &table), 0);
		count = mounts_within(&table, "/a", &list);
		assert_int_equal(count, table.count);
		order = mounts_downward(list, count);
		for (size_t j = 0; j < count * count; j++)
			found += order[j / count] == list[j % count];
		assert_int_equal(found, count);
	}
}

static void options_of_the_filesystem_are_split_before_they_are_decoded(void **state)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	const struct mount *mount;

	(void)state;
	assert_int_equal(
		parse("1 0 8:17 /r\\040t /a rw - overlay o "
		      "rw,xupperdir=/no,lowerdir=/l,upperdir=/a\\054b\\040c,redirect_dir=on\n",
			&table),
		0);
	mount = &table.mounts[0];
	assert_string_equal(mounts_option(mount, "upperdir", &arena), "/a,b c");
	assert_string_equal(mounts_option(mount, "redirect_dir", &arena), "on");
	assert_null(mounts_option(mount, "workdir", &arena));
	assert_null(mounts_option(mount, "rw", &arena));
	assert_string_equal(mount->root, "/r t");
	assert_int_equal(mount->dev, makedev(8, 17));
	assert_int_equal(mount->parent, 0);
}

static void long_tables_are_read_whole(void **state)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	struct text text CLEANUP(text_done) = { 0 };

	(void)state;
	for (int i = 0; i < 5000; i++)
		text_addf(&text, "%d 0 0:1 / /m/%d rw - tmpfs t rw\n", i, i);
	assert_int_equal(parse(text.data, &table), 0);
	assert_int_equal(table.count, 5000);
	assert_string_equal(table.mounts[4999].point, "/m/4999");
}

static void a_real_mount_is_found_and_named(void **state)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	const char *dir = workdir_path(*state, "d");
	const char *odd = workdir_path(*state, "d/a b\n#\\\xff");
	struct error error = { 0 };
	struct statx stx;
	const struct mount *found;

	assert_int_equal(mounts_refuse(dir, &error), 0);
	workdir_make(*state, "d");
	workdir_make(*state, "d/a b\n#\\\xff");
	assert_return_code(mount("sbx", odd, "tmpfs", 0, "size=64k"), errno);
	assert_int_equal(mounts_read(&table, &error), 0);
	found = mounts_below(&table, dir);
	assert_non_null(found);
	assert_string_equal(found->point, odd);
	assert_string_equal(found->type, "tmpfs");
	assert_string_equal(found->source, "sbx");
	assert_return_code(statx(AT_FDCWD, odd, 0, STATX_MNT_ID, &stx), errno);
	assert_int_equal(found->id, stx.stx_mnt_id);
	assert_int_equal(mounts_refuse(dir, &error), -EBUSY);
	assert_non_null(strstr(error.text, "a b\\x0a#\\x5c\\xff"));
	assert_null(strchr(error.text, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_read_with_its_escapes),
		cmocka_unit_test(one_line_not_understood_makes_the_whole_table_unknown),
		cmocka_unit_test(an_empty_table_is_not_a_table_without_mounts),
		cmocka_unit_test(below_means_whole_components),
		cmocka_unit_test(what_lies_below_stands_together),
		cmocka_unit_test(the_mount_on_top_is_the_one_that_none_of_its_place_is_mounted_on),
		cmocka_unit_test(the_way_down_takes_each_before_what_it_is_mounted_on),
		cmocka_unit_test(a_table_that_contradicts_itself_still_has_an_order),
		cmocka_unit_test(options_of_the_filesystem_are_split_before_they_are_decoded),
		cmocka_unit_test(long_tables_are_read_whole),
		cmocka_unit_test_setup_teardown(
			a_real_mount_is_found_and_named, workdir_setup, workdir_teardown),
	};

	return cmocka_run_group_tests_name("mounts", tests, workdir_own_mounts, NULL);
}
