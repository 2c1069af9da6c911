#include "unit.h"

#include "probe_findings.h"

static void that_nothing_was_found_is_as_bad_as_what_cannot_run(void **state)
{
	const struct probe_findings findings = { 0 };

	(void)state;
	assert_int_equal(probe_findings_worst(&findings), PROBE_CANNOT);
}

static void the_worst_counts_whatever_its_place(void **state)
{
	static const enum probe_outcome order[] = { PROBE_OK, PROBE_PUT_OFF, PROBE_FAILED,
		PROBE_CANNOT };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		for (size_t j = 0; j < ARRAY_SIZE(order); j++) {
			struct probe_findings findings CLEANUP(probe_findings_done) = { 0 };

			probe_findings_add(&findings, "due", order[i], "a");
			probe_findings_add(&findings, "pinned", order[j], "b");
			assert_int_equal(probe_findings_worst(&findings),
				order[i] > order[j] ? order[i] : order[j]);
		}
}

static void the_reason_names_the_first_bad_one_and_counts_the_others(void **state)
{
	struct probe_findings findings CLEANUP(probe_findings_done) = { 0 };
	char *reason CLEANUP(mem_done) = NULL, *more CLEANUP(mem_done) = NULL;

	(void)state;
	probe_findings_add(&findings, "due", PROBE_PUT_OFF, "the brake");
	probe_findings_add(&findings, "pinned", PROBE_OK, "as it was");
	probe_findings_add(&findings, "outside", PROBE_FAILED, "file %s", "x");
	reason = probe_findings_reason(&findings);
	assert_string_equal(reason, "outside: FAILED: file x");
	probe_findings_add(&findings, "write", PROBE_CANNOT, "no answer");
	more = probe_findings_reason(&findings);
	assert_string_equal(more, "outside: FAILED: file x (and 1 more; see 'sbx-reap log')");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(that_nothing_was_found_is_as_bad_as_what_cannot_run),
		cmocka_unit_test(the_worst_counts_whatever_its_place),
		cmocka_unit_test(the_reason_names_the_first_bad_one_and_counts_the_others),
	};

	return cmocka_run_group_tests_name("probe_findings", tests, NULL, NULL);
}
