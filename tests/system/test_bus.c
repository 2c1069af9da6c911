/* Needs a booted systemd: tests/system/test-scope.sh runs it in one. */
#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "child.h"
#include "os/bus.h"
#include "os/mounts.h"
#include "transient.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 10000, SEEN_STEPS = 400 };

static const char unit[] = "sbx-test.scope";
static const char service[] = "sbx-test.service";

struct world {
	struct bus *bus;
	pid_t child;
	char *point; /* a directory to mount on, made with the first mount */
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
	if (world->point) {
		while (umount2(world->point, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
			;
		(void)rmdir(world->point);
	}
	free(world->point);
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

static void mount_make(struct world *world, const char *name)
{
	world->point = mem_printf("/run/sbx-test-%d %s", (int)getpid(), name);
	assert_return_code(mkdir(world->point, 0700), errno);
	assert_return_code(mount("none", world->point, "tmpfs", 0, "size=64k"), errno);
}

static bool mounted(const struct world *world)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };

	assert_int_equal(mounts_read(&table, NULL), 0);
	return mounts_at(&table, world->point);
}

/* Again until systemd has seen it: systemctl(1) cannot say so of every name. */
static int stop_mount(struct world *world, struct error *error)
{
	int r = -ENOENT;

	for (int step = 0; step < SEEN_STEPS && r == -ENOENT; step++) {
		*error = (struct error){ 0 };
		r = bus_mount_stop(world->bus, world->point, deadline_in_ms(PATIENCE_MS), error);
		if (r == -ENOENT)
			(void)poll(NULL, 0, 50);
	}
	return r;
}

static void a_mount_is_taken_down_whatever_its_name(void **state)
{
	static const char *const names[] = { "plain", "a-b\\c@d", "\xc3\xa4 \xff", "tab\tline\nend",
		"%n $HOME '\"" };
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct error error = { 0 };

		mount_make(world, names[i]);
		if (stop_mount(world, &error) != 1)
			fail_msg("%s", error.text);
		assert_false(mounted(world));
		assert_return_code(rmdir(world->point), errno);
		mem_done(&world->point);
		world->point = NULL;
	}
}

static void a_mount_in_use_stays_and_is_busy(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	int fd;

	mount_make(world, "busy");
	fd = open(world->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(stop_mount(world, &error), -EBUSY);
	assert_non_null(strstr(error.text, "could not stop"));
	assert_true(mounted(world));
	(void)close(fd);
	assert_int_equal(stop_mount(world, &error), 1);
	assert_false(mounted(world));
}

/* Not "already gone", which would be believed: the table is asked about that. */
static void a_mount_that_systemd_does_not_know_is_an_error(void **state)
{
	struct world *world = *state;
	struct error error = { 0 }, longer = { 0 };
	char point[300] = "/run/";

	assert_int_equal(bus_mount_stop(world->bus, "/run/sbx-test-none",
				 deadline_in_ms(PATIENCE_MS), &error),
		-ENOENT);
	assert_non_null(strstr(error.text, "systemd knows of no mount there"));
	memset(point + 5, 'x', 280);
	assert_int_equal(bus_mount_stop(world->bus, point, deadline_in_ms(PATIENCE_MS), &longer),
		-ENAMETOOLONG);
}

static bool sandbox_has(const struct bus_sandbox *sandbox, const char *path)
{
	for (char **at = sandbox->read_write_paths; at && *at; at++)
		if (text_equal(*at, path))
			return true;
	return false;
}

static void where_a_service_may_write_is_told_with_prefixes(void **state)
{
	struct world *world = *state;
	struct bus_sandbox sandbox CLEANUP(bus_sandbox_done) = { 0 };

	transient_service(
		service, "-p ProtectSystem=strict -p 'ReadWritePaths=-/srv/sbx /run'", "sleep 600");
	assert_int_equal(bus_sandbox_get(world->bus, service, &sandbox, NULL), 0);
	assert_string_equal(sandbox.protect_system, "strict");
	assert_true(sandbox_has(&sandbox, "-/srv/sbx"));
	assert_true(sandbox_has(&sandbox, "/run"));
}

static void a_service_that_is_not_there_has_no_sandbox(void **state)
{
	struct world *world = *state;
	struct bus_sandbox sandbox CLEANUP(bus_sandbox_done) = { 0 };
	struct error error = { 0 };

	assert_int_equal(
		bus_sandbox_get(world->bus, "sbx-none.service", &sandbox, &error), -ENOENT);
	assert_int_equal(error.code, 0);
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
		IN_WORLD(a_mount_is_taken_down_whatever_its_name),
		IN_WORLD(a_mount_in_use_stays_and_is_busy),
		IN_WORLD(a_mount_that_systemd_does_not_know_is_an_error),
		IN_WORLD(where_a_service_may_write_is_told_with_prefixes),
		IN_WORLD(a_service_that_is_not_there_has_no_sandbox),
	};

	return cmocka_run_group_tests_name("bus", tests, NULL, NULL);
}
