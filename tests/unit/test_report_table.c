#include "unit.h"

#include "base/text.h"
#include "report.h"

/* The table of a pass in which this run was due. The caller frees it. */
static char *table_of(enum result result)
{
	static const struct settings settings = { 0 };
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = 1795966380 };
	struct run *run = inventory_run(&inventory, "r1");
	const struct report report = {
		.kind = REPORT_PASS,
		.settings = &settings,
		.inventory = &inventory,
		.pass = "p1",
	};
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	run->decision = (struct decision){ .verdict = VERDICT_REAP, .reason = REASON_FINISHED_OK };
	run->result = result;
	report_table(&report, file);
	assert_int_equal(fclose(file), 0);
	return text;
}

static void what_a_pass_did_stands_in_the_place_of_what_it_meant_to_do(void **state)
{
	char *text CLEANUP(mem_done) = table_of(RESULT_REAPED);

	(void)state;
	assert_non_null(strstr(text, "reaped    finished_ok"));
}

/* The database failed before. */
static void a_run_that_a_pass_did_not_come_to_is_still_due(void **state)
{
	char *text CLEANUP(mem_done) = table_of(RESULT_NONE);

	(void)state;
	assert_non_null(strstr(text, "reap      finished_ok"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_pass_did_stands_in_the_place_of_what_it_meant_to_do),
		cmocka_unit_test(a_run_that_a_pass_did_not_come_to_is_still_due),
	};

	return cmocka_run_group_tests_name("report_table", tests, NULL, NULL);
}
