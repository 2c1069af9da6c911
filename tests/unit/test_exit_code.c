#include "unit.h"

#include "exit_code.h"

#include <errno.h>

static const enum exit_code worst_first[] = { EXIT_USAGE, EXIT_STATE, EXIT_LOCKED, EXIT_ATTENTION,
	EXIT_BLIND, EXIT_DUE, EXIT_DONE };

static void the_numbers_are_the_promised_ones(void **state)
{
	static const int numbers[] = { 2, 65, 75, 1, 69, 3, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		assert_int_equal(worst_first[i], numbers[i]);
}

static void of_two_codes_the_first_in_the_promised_order_is_reported(void **state)
{
	(void)state;
	for (size_t a = 0; a < ARRAY_SIZE(worst_first); a++)
		for (size_t b = 0; b < ARRAY_SIZE(worst_first); b++)
			assert_int_equal(exit_code_worse(worst_first[a], worst_first[b]),
				worst_first[a < b ? a : b]);
}

static void unusable_state_is_told_from_a_lock_that_passes(void **state)
{
	(void)state;
	assert_int_equal(exit_code_of_error(-EUCLEAN), EXIT_STATE);
	assert_int_equal(exit_code_of_error(ENODATA), EXIT_STATE);
	assert_int_equal(exit_code_of_error(-EPROTO), EXIT_STATE);
	assert_int_equal(exit_code_of_error(-EDQUOT), EXIT_STATE);
	assert_int_equal(exit_code_of_error(-EBUSY), EXIT_ATTENTION);
	assert_int_equal(exit_code_of_error(-EEXIST), EXIT_ATTENTION);
	assert_int_equal(exit_code_of_error(-EINPROGRESS), EXIT_ATTENTION); /* file_write() */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_are_the_promised_ones),
		cmocka_unit_test(of_two_codes_the_first_in_the_promised_order_is_reported),
		cmocka_unit_test(unusable_state_is_told_from_a_lock_that_passes),
	};

	return cmocka_run_group_tests_name("exit_code", tests, NULL, NULL);
}
