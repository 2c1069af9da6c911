#include "unit.h"

#include "base/text.h"
#include "probe_blocked.h"

#include <errno.h>

/* What an attempt that ended so is judged as; the words are the caller's. */
static enum probe_outcome judged(const char *step, int code, const char *note, char **ret_why)
{
	const struct probe_attempt attempt = { .step = step, .code = code, .note = note };
	struct probe_findings findings CLEANUP(probe_findings_done) = { 0 };

	probe_blocked_judge(&findings, "write", &attempt, "writing");
	assert_int_equal(findings.count, 1);
	assert_string_equal(findings.list[0].check, "write");
	if (ret_why)
		*ret_why = mem_dup(findings.list[0].why);
	return findings.list[0].outcome;
}

static void only_what_a_wall_answers_is_the_right_reason(void **state)
{
	static const struct {
		const char *step;
		int code;
	} right[] = {
		{ "open", EROFS },
		{ "open", EACCES },
		{ "open", EPERM },
		{ "socket", EAFNOSUPPORT },
		{ "socket", EACCES },
		{ "socket", EPERM },
		{ "connect", EACCES },
		{ "connect", EPERM },
		{ "connect", ENETUNREACH },
	};
	static const char *const steps[] = { "open", "socket", "connect" };
	size_t good = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		assert_int_equal(judged(right[i].step, right[i].code, NULL, NULL), PROBE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		for (int code = 0; code < 200; code++)
			good += judged(steps[i], code, NULL, NULL) == PROBE_OK;
	assert_int_equal(good, ARRAY_SIZE(right));
}

static void what_came_through_is_not_blocked_whatever_went_wrong_then(void **state)
{
	static const char *const steps[] = { "write", "send", "through" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		char *why CLEANUP(mem_done) = NULL;

		assert_int_equal(judged(steps[i], EPERM, NULL, &why), PROBE_FAILED);
		assert_non_null(strstr(why, "not kept from writing"));
	}
}

static void what_was_killed_or_not_understood_is_the_wrong_reason(void **state)
{
	char *why CLEANUP(mem_done) = NULL;

	(void)state;
	assert_int_equal(judged("socket", 0, "ended by signal 31 (SIGSYS)", &why), PROBE_FAILED);
	assert_non_null(strstr(why, "wrong reason"));
	assert_non_null(strstr(why, "SIGSYS"));
	assert_int_equal(judged("begin", EPERM, NULL, NULL), PROBE_FAILED);
	assert_int_equal(judged("dance", EPERM, NULL, NULL), PROBE_FAILED);
	assert_int_equal(judged(NULL, EPERM, NULL, NULL), PROBE_FAILED);
	assert_int_equal(judged("open", INT32_MAX, NULL, NULL), PROBE_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_a_wall_answers_is_the_right_reason),
		cmocka_unit_test(what_came_through_is_not_blocked_whatever_went_wrong_then),
		cmocka_unit_test(what_was_killed_or_not_understood_is_the_wrong_reason),
	};

	return cmocka_run_group_tests_name("probe_blocked", tests, NULL, NULL);
}
