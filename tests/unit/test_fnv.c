#include "unit.h"

#include "base/fnv.h"

/* The published test vectors of FNV-1a, 64 bits. */
static void sums_are_those_of_fnv_1a(void **state)
{
	(void)state;
	assert_true(fnv_add(FNV_START, "", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(fnv_add(FNV_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(fnv_add(FNV_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void pieces_add_up_to_the_whole(void **state)
{
	(void)state;
	assert_true(
		fnv_add(fnv_add(FNV_START, "foo", 3), "bar", 3) == fnv_add(FNV_START, "foobar", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_fnv_1a),
		cmocka_unit_test(pieces_add_up_to_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
