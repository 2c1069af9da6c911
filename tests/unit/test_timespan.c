#include "unit.h"

#include "base/timespan.h"

#include <errno.h>

static void durations_parse_as_systemd_writes_them(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = {
		{ "90s", 90000 },
		{ "15m", 900000 },
		{ "2h", 7200000 },
		{ "1d12h", 129600000 },
		{ "2w", 1209600000 },
		{ "0", 0 },
		{ "1h 30min", 5400000 },
		{ "500ms", 500 },
		{ "7", 7000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct error error = { 0 };
		int64_t ms = -1;

		assert_int_equal(timespan_parse_ms(good[i].text, &ms, &error), 0);
		assert_int_equal(ms, good[i].ms);
	}
}

static void rubbish_durations_are_refused_by_name(void **state)
{
	static const char *const bad[] = { "", " ", "-5m", "5x", "m", "1.5h",
		"999999999999999999999s", "101y", "5 fortnights", "\xff" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = { 0 };
		int64_t ms = 77;

		assert_true(timespan_parse_ms(bad[i], &ms, &error) < 0);
		assert_int_equal(ms, 77);
		assert_true(error.code == EINVAL || error.code == ERANGE);
	}
}

static void moments_parse_in_every_form(void **state)
{
	static const struct {
		const char *text;
		int64_t moment_s;
	} good[] = {
		{ "2026-11-29T15:33:00Z", 1795966380 },
		{ "2026-11-29T16:33:00+01:00", 1795966380 },
		{ "2026-11-29 15:33:00.25z", 1795966380 },
		{ "@5", 5 },
		{ "+2h", 1007200 },
		{ "-1m", 999940 },
		{ "2024-02-29T00:00:00Z", 1709164800 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct error error = { 0 };
		int64_t moment_s = -1;

		assert_int_equal(moment_parse_s(good[i].text, 1000000, &moment_s, &error), 0);
		assert_int_equal(moment_s, good[i].moment_s);
	}
}

static void impossible_moments_are_refused(void **state)
{
	static const char *const bad[] = { "", "2026-02-30T00:00:00Z", "2026-11-29", "@", "@-1",
		"2026-11-29T15:33:00", "1969-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "-40y",
		"@99999999999999", "2026-11-29T15:33:00.Z", "2026-11-29T24:00:00Z" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = { 0 };
		int64_t moment_s;

		assert_true(moment_parse_s(bad[i], 1000000, &moment_s, &error) < 0);
		assert_int_not_equal(error.code, 0);
	}
}

static void spans_are_shown_with_two_units(void **state)
{
	char buffer[TIMESPAN_TEXT];

	(void)state;
	assert_string_equal(timespan_format(buffer, 0), "0s");
	assert_string_equal(timespan_format(buffer, 61), "1min 1s");
	assert_string_equal(timespan_format(buffer, 3600), "1h");
	assert_string_equal(timespan_format(buffer, 86400 + 59), "1d");
	assert_string_equal(timespan_format(buffer, -90), "-1min 30s");
}

static void short_spans_are_at_most_five_wide(void **state)
{
	static const struct {
		int64_t span_s;
		const char *text;
	} table[] = {
		{ 0, "0s" },
		{ 59, "59s" },
		{ 60, "1m" },
		{ 599, "9m59s" },
		{ 659, "10m" },
		{ 3600, "1h" },
		{ 9 * 3600 + 59 * 60 + 59, "9h59m" },
		{ 86399, "23h" },
		{ 86400 + 59, "1d" },
		{ 9 * 86400 + 23 * 3600, "9d23h" },
		{ 9999 * INT64_C(86400), "9999d" },
		{ -90, "-1m30s" },
	};
	char buffer[TIMESPAN_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_string_equal(timespan_format_short(buffer, table[i].span_s), table[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_parse_as_systemd_writes_them),
		cmocka_unit_test(rubbish_durations_are_refused_by_name),
		cmocka_unit_test(moments_parse_in_every_form),
		cmocka_unit_test(impossible_moments_are_refused),
		cmocka_unit_test(spans_are_shown_with_two_units),
		cmocka_unit_test(short_spans_are_at_most_five_wide),
	};

	return cmocka_run_group_tests_name("timespan", tests, NULL, NULL);
}
