/* What starts services again. tests/system/test-scope.sh runs it in a booted systemd. */
#include "unit.h"

#include "transient.h"
#include "units.h"

#include <string.h>

static const char timer[] = "sbx-test-one.timer";

static int triggers_tear_down(void **state)
{
	transient_end(timer);
	transient_end("sbx-test-one.path");
	(void)units_command("cd /run/systemd/system && rm -f sbx-test-one.service "
			    "sbx-test-one.timer && systemctl daemon-reload");
	return units_tear_down(state);
}

/* One that has a while to go, and its service, which somebody has started meanwhile. */
static void timer_start(void)
{
	transient_service(one, "--slice=" SLICE " --on-active=1h", "sleep 600");
	assert_int_equal(units_command("systemctl start sbx-test-one.service"), 0);
	transient_wait(timer, "active");
}

static void assert_says(const char *note, const char *words)
{
	if (!note || !strstr(note, words))
		fail_msg("not \"%s\", but: %s", words, note ? note : "nothing");
}

/* What nobody registered is not touched, and what it starts is not gone. */
static void a_service_with_an_active_timer_is_stopped_and_not_gone(void **state)
{
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name(), units_by_slice() };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		timer_start();
		units_identify(units, &ways[i]);
		units_probe(units, &ways[i]);
		assert_int_equal(ways[i].alive, TRI_YES);
		assert_false(ways[i].contradicts);
		assert_says(ways[i].note, "sbx-test-one.timer starts sbx-test-one.service again");
		assert_int_equal(units_stop(units, &ways[i]), 1);
		assert_true(units_remove(units, &ways[i]) >= 0);
		assert_true(transient_is(one, "inactive"));
		units_probe(units, &ways[i]);
		assert_int_equal(ways[i].present, TRI_YES);
		assert_int_equal(ways[i].alive, TRI_NO);
		assert_false(ways[i].contradicts);
		assert_says(ways[i].note, ": systemctl stop sbx-test-one.timer");
		assert_true(transient_is(timer, "active"));
		assert_int_equal(units_command("systemctl stop sbx-test-one.timer"), 0);
		units_are_gone(units, &ways[i]);
	}
}

/* Of a unit with a file it stays active for ever, and starts nothing any more. */
static void a_timer_that_has_elapsed_for_good_starts_nothing(void **state)
{
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name() };

	assert_int_equal(
		units_command(
			"cd /run/systemd/system && printf '[Service]\\nSlice=" SLICE
			"\\nExecStart=sleep 600\\n' >sbx-test-one.service && "
			"printf '[Timer]\\nOnBootSec=1us\\nAccuracySec=1us\\n' >sbx-test-one.timer "
			"&& systemctl daemon-reload && systemctl start sbx-test-one.timer"),
		0);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		assert_int_equal(units_command("systemctl start sbx-test-one.service"), 0);
		units_identify(units, &ways[i]);
		assert_int_equal(units_stop(units, &ways[i]), 1);
		units_until("[ \"$(systemctl show -P SubState sbx-test-one.timer)\" = elapsed ]");
		assert_true(transient_is(timer, "active"));
		assert_true(units_remove(units, &ways[i]) >= 0);
		units_are_gone(units, &ways[i]);
	}
}

/* As fast as it is stopped: in the middle of that, or right after it. */
static void a_path_that_starts_a_service_at_once_is_named(void **state)
{
	struct units *units = *state;
	struct resource resource = units_by_name();
	struct error error = { 0 };

	units->settings.limits.kill_timeout_ms = 2000;
	units_reopen(units);
	transient_service(one,
		"--slice=" SLICE " --path-property=PathExists=/run -p StartLimitIntervalSec=0",
		"sleep 600");
	transient_wait(one, "active");
	units_identify(units, &resource);
	if (units_try_stop(units, &resource, &error) >= 0) {
		transient_wait(one, "active");
		units_probe(units, &resource);
		assert_int_equal(resource.alive, TRI_YES);
	}
	assert_says(error.code ? error.text : resource.note,
		"sbx-test-one.path starts sbx-test-one.service again: systemctl stop "
		"sbx-test-one.path");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, units_set_up, triggers_tear_down)
		IN_WORLD(a_service_with_an_active_timer_is_stopped_and_not_gone),
		IN_WORLD(a_timer_that_has_elapsed_for_good_starts_nothing),
		IN_WORLD(a_path_that_starts_a_service_at_once_is_named),
	};

	return cmocka_run_group_tests_name("triggers", tests, NULL, NULL);
}
