#include "unit.h"

#include <errno.h>

static void the_first_error_wins(void **state)
{
	struct error error = { 0 };

	(void)state;
	assert_int_equal(error_set(&error, ENOENT, "open %s", "/x"), -ENOENT);
	assert_int_equal(error_say(&error, EIO, "later"), -EIO);
	assert_int_equal(error.code, ENOENT);
	assert_string_equal(error.text, "open /x: No such file or directory");
}

static void nobody_needs_to_listen(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, EPERM, "x"), -EPERM);
	error_prefix(NULL, "x");
}

static void what_does_not_fit_is_cut(void **state)
{
	struct error error = { 0 };
	char longer[2 * sizeof(error.text)];

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(error_set(&error, EIO, "%s", longer), -EIO);
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	error_prefix(&error, "%s", "where");
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	assert_memory_equal(error.text, "where: aaa", 10);
}

static void a_full_disk_and_a_used_up_quota_are_both_no_room(void **state)
{
	(void)state;
	assert_true(error_is_full(-ENOSPC));
	assert_true(error_is_full(-EDQUOT));
	assert_false(error_is_full(-EFBIG));
	assert_false(error_is_full(0));
	assert_false(error_is_full(ENOSPC)); /* a descriptor of that number */
}

static void what_is_short_for_the_moment_is_told_from_what_stays_as_it_is(void **state)
{
	static const int passing[] = { ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN,
		EINTR };
	static const int staying[] = { EIO, EFBIG, EACCES, EROFS, EBUSY, ETIME, ENOENT };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
		assert_true(error_may_pass(-passing[i]));
	for (size_t i = 0; i < ARRAY_SIZE(staying); i++)
		assert_false(error_may_pass(-staying[i]));
	assert_false(error_may_pass(0));
	assert_false(error_may_pass(EMFILE)); /* a descriptor of that number */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_error_wins),
		cmocka_unit_test(nobody_needs_to_listen),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(a_full_disk_and_a_used_up_quota_are_both_no_room),
		cmocka_unit_test(what_is_short_for_the_moment_is_told_from_what_stays_as_it_is),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
