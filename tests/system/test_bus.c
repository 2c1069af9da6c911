/* Needs a booted systemd: tests/system/test-scope.sh runs it in one. */
#include "unit.h"

#include "base/clock.h"
#include "child.h"
#include "os/bus.h"
#include "transient.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 10000 };

static const char unit[] = "sbx-test.scope";
static const char service[] = "sbx-test.service";

struct world {
	struct bus *bus;
	pid_t child;
};

static int world_set_up(void **state)
{
	struct world *world = mem_new(sizeof(*world));
	struct error error = { 0 };

	*state = world;
	if (bus_open(PATIENCE_MS, &world->bus, &error) < 0)
		fail_msg("%s", error.text);
	return 0;
}

static int world_tear_down(void **state)
{
	struct world *world = *state;

	transient_end(unit);
	transient_end(service);
	child_end(world->child);
	bus_close(world->bus);
	free(world);
	return 0;
}

static struct bus_unit get(struct world *world, const char *name)
{
	struct bus_unit found;
	struct error error = { 0 };

	if (bus_unit_get(world->bus, name, &found, &error) < 0)
		fail_msg("%s: %s", name, error.text);
	return found;
}

static int stop(struct world *world, const char *name, const char *invocation, struct error *error)
{
	return bus_unit_stop(world->bus, name, invocation, deadline_in_ms(PATIENCE_MS), error);
}

static void a_unit_that_is_not_there_is_absent_and_stopped(void **state)
{
	struct world *world = *state;
	struct bus_unit found;
	struct error error = { 0 };

	assert_int_equal(bus_unit_get(world->bus, "sbx-none.scope", &found, &error), -ENOENT);
	assert_int_equal(stop(world, "sbx-none.scope", NULL, &error), 0);
	assert_int_equal(error.code, 0);
}

static void a_scope_is_seen_with_group_slice_and_invocation(void **state)
{
	struct world *world = *state;
	struct bus_unit found;

	world->child = transient_scope(unit, "sbx.slice");
	found = get(world, unit);
	assert_string_equal(found.load_state, "loaded");
	assert_string_equal(found.active_state, "active");
	assert_string_equal(found.control_group, "/sbx.slice/sbx-test.scope");
	assert_string_equal(found.slice, "sbx.slice");
	assert_int_equal(strspn(found.invocation_id, "0123456789abcdef"), 32);
}

/* What runs in it ignores SIGTERM, and systemd alone would wait for a minute and a half. */
static void stopping_ends_the_scope_at_once_and_may_be_repeated(void **state)
{
	struct world *world = *state;
	struct bus_unit found;

	world->child = transient_scope(unit, "sbx.slice");
	found = get(world, unit);
	assert_int_equal(stop(world, unit, found.invocation_id, NULL), 1);
	assert_int_equal(waitpid(world->child, NULL, 0), world->child);
	world->child = 0;
	assert_int_equal(bus_unit_get(world->bus, unit, &found, NULL), -ENOENT);
	assert_int_equal(stop(world, unit, found.invocation_id, NULL), 0);
}

static void another_invocation_of_the_name_is_not_hit(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };

	world->child = transient_scope(unit, "sbx.slice");
	assert_int_equal(stop(world, unit, "0123456789abcdef0123456789abcdef", &error), -ESTALE);
	assert_true(transient_is(unit, "active"));
	assert_int_equal(stop(world, unit, NULL, NULL), 1);
}

static void a_failed_unit_gives_its_name_back(void **state)
{
	struct world *world = *state;
	struct bus_unit found;

	transient_service(service, "", "false");
	transient_wait(service, "failed");
	assert_int_equal(stop(world, service, NULL, NULL), 1);
	assert_int_equal(bus_unit_get(world->bus, service, &found, NULL), -ENOENT);
	transient_service(service, "", "true");
}

static void a_service_that_restarts_itself_stays_stopped(void **state)
{
	struct world *world = *state;
	struct bus_unit found;

	transient_service(service, "-p Restart=always -p RestartSec=0", "sleep 600");
	found = get(world, service);
	assert_int_equal(stop(world, service, found.invocation_id, NULL), 1);
	(void)poll(NULL, 0, 300); /* as long as a restart would take */
	assert_int_equal(bus_unit_get(world->bus, service, &found, NULL), -ENOENT);
}

/* Nothing withstands being killed, so it is given no time; on a busy machine it may still make it. */
static void a_unit_that_cannot_end_in_time_is_named(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	int r = 1;

	for (int i = 0; i < 20 && r == 1; i++) {
		child_end(world->child);
		world->child = transient_scope(unit, "sbx.slice");
		r = bus_unit_stop(world->bus, unit, NULL, deadline_in_ms(0), &error);
	}
	assert_int_equal(r, -ETIME);
	assert_non_null(strstr(error.text, unit));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
		IN_WORLD(a_unit_that_is_not_there_is_absent_and_stopped),
		IN_WORLD(a_scope_is_seen_with_group_slice_and_invocation),
		IN_WORLD(stopping_ends_the_scope_at_once_and_may_be_repeated),
		IN_WORLD(another_invocation_of_the_name_is_not_hit),
		IN_WORLD(a_failed_unit_gives_its_name_back),
		IN_WORLD(a_service_that_restarts_itself_stays_stopped),
		IN_WORLD(a_unit_that_cannot_end_in_time_is_named),
	};

	return cmocka_run_group_tests_name("bus", tests, NULL, NULL);
}
