/* Units of systemd in groups that runs have. tests/system/test-scope.sh runs it in a booted systemd. */
#include "unit.h"

#include "child.h"
#include "transient.h"
#include "units.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static const char restarts[] = "--slice=" SLICE " -p Restart=always -p RestartSec=0";

static void kill_main(void)
{
	assert_int_equal(
		units_command("systemctl kill --kill-who=main -s KILL sbx-test-one.service"), 0);
}

static void a_service_that_restarts_itself_is_stopped_for_good(void **state)
{
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name() };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		transient_service(one, restarts, "sleep 600");
		units_identify(units, &ways[i]);
		assert_non_null(ways[i].token);
		units_probe(units, &ways[i]);
		assert_int_equal(ways[i].alive, TRI_YES);
		assert_false(ways[i].contradicts);
		units_go(units, &ways[i]);
	}
}

/* It has another invocation id then, and another cgroup. */
static void a_service_that_was_started_again_is_the_same(void **state)
{
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name() };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct resource again = ways[i];

		transient_service(one, restarts, "sleep 600");
		units_identify(units, &ways[i]);
		kill_main();
		units_until("[ \"$(systemctl show -P NRestarts sbx-test-one.service)\" = 1 ]");
		transient_wait(one, "active");
		units_probe(units, &ways[i]);
		assert_int_equal(ways[i].alive, TRI_YES);
		assert_null(ways[i].note);
		assert_false(ways[i].contradicts);
		units_identify(units, &again);
		assert_string_equal(again.token, ways[i].token);
		units_go(units, &ways[i]);
	}
}

static void a_service_made_anew_under_the_name_is_not_touched(void **state)
{
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name() };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		transient_service(one, restarts, "sleep 600");
		units_identify(units, &ways[i]);
		transient_end(one);
		transient_service(one, restarts, "sleep 600");
		units_probe(units, &ways[i]);
		assert_true(ways[i].contradicts);
		assert_int_equal(units_stop(units, &ways[i]), -ESTALE);
		assert_int_equal(units_remove(units, &ways[i]), -ESTALE);
		assert_true(transient_is(one, "active"));
		transient_end(one);
	}
}

/* Nothing runs, and there is no group: who looked for processes only would take it for dead. */
static void a_service_that_waits_for_its_restart_is_alive(void **state)
{
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name(), units_by_slice() };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		transient_service(
			one, "--slice=" SLICE " -p Restart=always -p RestartSec=600", "sleep 600");
		units_identify(units, &ways[i]);
		kill_main();
		transient_wait(one, "activating");
		units_probe(units, &ways[i]);
		assert_int_equal(ways[i].present, TRI_YES);
		assert_int_equal(ways[i].alive, TRI_YES);
		assert_false(ways[i].contradicts);
		units_go(units, &ways[i]);
	}
}

static void a_failed_service_leaves_nothing(void **state)
{
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name() };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		transient_service(one, in_slice, "false");
		transient_wait(one, "failed");
		units_identify(units, &ways[i]);
		units_probe(units, &ways[i]);
		assert_int_equal(ways[i].present, TRI_YES);
		assert_int_equal(ways[i].alive, TRI_NO);
		units_go(units, &ways[i]);
	}
}

/* Each would keep an ordinary stop waiting. */
static void masked_frozen_and_stubborn_services_are_stopped(void **state)
{
	static const char *const hindrances[] = {
		"systemctl mask --quiet --runtime sbx-test-one.service",
		"systemctl freeze sbx-test-one.service",
		"true",
	};
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name() };

	for (size_t i = 0; i < ARRAY_SIZE(ways) * ARRAY_SIZE(hindrances); i++) {
		struct resource *resource = &ways[i % ARRAY_SIZE(ways)];

		*resource = i % ARRAY_SIZE(ways) ? units_by_name() : units_by_group();
		transient_service(one, restarts, "sh -c \"trap '' TERM; sleep 600; sleep 600\"");
		units_identify(units, resource);
		assert_int_equal(units_command(hindrances[i / ARRAY_SIZE(ways)]), 0);
		units_go(units, resource);
		(void)units_command("systemctl unmask --quiet --runtime sbx-test-one.service");
	}
}

static pid_t bare_group_make(void)
{
	pid_t pid = child_start(NULL);
	char line[200];

	(void)snprintf(line, sizeof(line),
		"mkdir -p /sys/fs/cgroup%s/bare && echo %d >/sys/fs/cgroup%s/bare/cgroup.procs",
		SLICE_GROUP, (int)pid, SLICE_GROUP);
	assert_int_equal(units_command(line), 0);
	return pid;
}

static void a_slice_goes_with_all_that_is_in_it(void **state)
{
	struct units *units = *state;
	struct resource resource = units_by_slice();
	pid_t bare;

	transient_service(one, restarts, "sleep 600");
	transient_service(
		two, "--slice=sbx-test-deep.slice -p Restart=always -p RestartSec=0", "sleep 600");
	units->child = transient_scope(scope, SLICE);
	bare = bare_group_make();
	units_identify(units, &resource);
	units_probe(units, &resource);
	assert_int_equal(resource.alive, TRI_YES);
	assert_int_equal(units_stop(units, &resource), 1);
	child_end(bare);
	assert_true(units_remove(units, &resource) >= 0);
	units_stay_away(one);
	units_stay_away(two);
	units_stay_away(scope);
	assert_true(transient_is("sbx-test-deep.slice", "inactive"));
	assert_true(transient_is(SLICE, "inactive"));
	assert_int_not_equal(access("/sys/fs/cgroup" SLICE_GROUP, F_OK), 0);
	units_are_gone(units, &resource);
}

/* The group has the name of a unit, and the unit has its processes elsewhere. */
static void a_unit_that_only_has_the_groups_name_is_not_touched(void **state)
{
	struct units *units = *state;
	struct resource resource = { .kind = KIND_CGROUP,
		.proof = PROOF_ROW,
		.locator = "/sbx.slice/sbx-test-one.service" };

	transient_service(two, "--slice=sbx.slice", "sleep 600"); /* for the slice to be there */
	transient_service(one, "--slice=system.slice", "sleep 600");
	assert_int_equal(units_command("mkdir /sys/fs/cgroup/sbx.slice/sbx-test-one.service"), 0);
	units_identify(units, &resource);
	assert_null(resource.token);
	units_probe(units, &resource);
	assert_int_equal(resource.alive, TRI_NO);
	assert_int_equal(units_stop(units, &resource), 0);
	assert_int_equal(units_remove(units, &resource), 1);
	assert_true(transient_is(one, "active"));
}

/* Hands on what it reads, and ends with either side. */
static void relay(int near, int far)
{
	struct pollfd ends[] = { { near, POLLIN, 0 }, { far, POLLIN, 0 } };
	char bytes[4096];

	while (poll(ends, 2, -1) > 0)
		for (int i = 0; i < 2; i++) {
			ssize_t count =
				ends[i].revents ? read(ends[i].fd, bytes, sizeof(bytes)) : 0;

			if (ends[i].revents &&
				(count <= 0 || write(ends[!i].fd, bytes, (size_t)count) != count))
				_exit(0);
		}
}

/* A bus of our own, for one connection, that ends when the child does. */
static pid_t bus_between(const char *path)
{
	struct sockaddr_un near = { .sun_family = AF_UNIX }, far = { .sun_family = AF_UNIX };
	int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), out;
	pid_t pid;

	(void)snprintf(near.sun_path, sizeof(near.sun_path), "%s", path);
	(void)snprintf(far.sun_path, sizeof(far.sun_path), "/run/dbus/system_bus_socket");
	(void)unlink(path);
	assert_return_code(bind(listening, (struct sockaddr *)&near, sizeof(near)), errno);
	assert_return_code(listen(listening, 1), errno);
	pid = fork();
	assert_return_code(pid, errno);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(out, (struct sockaddr *)&far, sizeof(far)) == 0)
			relay(accept(listening, NULL, NULL), out);
		_exit(1);
	}
	(void)close(listening);
	return pid;
}

/* Killed by its cgroup instead it would be started again; and what cannot be asked is not dead. */
static void a_bus_that_goes_away_leaves_a_service_to_the_next_pass(void **state)
{
	static const char address[] = "/run/sbx-test-bus";
	struct units *units = *state;
	struct resource ways[] = { units_by_group(), units_by_name(), units_by_slice() };

	transient_service(one, restarts, "sleep 600");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		pid_t bus = bus_between(address);

		(void)setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/run/sbx-test-bus", 1);
		units_reopen(units);
		units_identify(units, &ways[i]);
		units_probe(units, &ways[i]);
		assert_int_equal(ways[i].alive, TRI_YES);
		child_end(bus);
		units_probe(units, &ways[i]);
		assert_int_not_equal(ways[i].alive, TRI_NO);
		assert_int_not_equal(ways[i].present, TRI_NO);
		assert_false(ways[i].contradicts);
		assert_true(units_stop(units, &ways[i]) < 0);
		assert_true(units_remove(units, &ways[i]) < 0);
		units_reopen(units); /* now there is none to begin with */
		assert_true(units_stop(units, &ways[i]) < 0);
		(void)unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
		(void)unlink(address);
		units_reopen(units);
	}
	assert_true(transient_is(one, "active"));
	units_go(units, &ways[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, units_set_up, units_tear_down)
		IN_WORLD(a_service_that_restarts_itself_is_stopped_for_good),
		IN_WORLD(a_service_that_was_started_again_is_the_same),
		IN_WORLD(a_service_made_anew_under_the_name_is_not_touched),
		IN_WORLD(a_service_that_waits_for_its_restart_is_alive),
		IN_WORLD(a_failed_service_leaves_nothing),
		IN_WORLD(masked_frozen_and_stubborn_services_are_stopped),
		IN_WORLD(a_slice_goes_with_all_that_is_in_it),
		IN_WORLD(a_unit_that_only_has_the_groups_name_is_not_touched),
		IN_WORLD(a_bus_that_goes_away_leaves_a_service_to_the_next_pass),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
