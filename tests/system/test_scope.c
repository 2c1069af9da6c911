/* Needs a booted systemd: tests/system/test-scope.sh runs it in one. */
#include "unit.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "child.h"
#include "os/cgroupfs.h"
#include "transient.h"

#include <errno.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 10000 };

static const char unit[] = "sbx-test.scope";
static const char nested[] = "sbx-test-nested.scope";
static const char service[] = "sbx-test.service";
static const struct backend *const backend = &cgroup_backend;

struct world {
	struct settings settings;
	void *state;
	struct inventory inventory;
	struct effort effort;
	pid_t child;
};

static int world_set_up(void **state)
{
	struct world *world = mem_new(sizeof(*world));

	*state = world;
	world->settings.cgroup_root = mem_dup("sbx.slice");
	world->settings.limits.kill_timeout_ms = PATIENCE_MS;
	world->effort.deadline_ms = deadline_in_ms(PATIENCE_MS);
	return backend->open(&world->settings, &world->state, NULL);
}

static int world_tear_down(void **state)
{
	struct world *world = *state;

	transient_end(unit);
	transient_end(nested);
	transient_end(service);
	child_end(world->child);
	backend->close(world->state);
	inventory_done(&world->inventory);
	free(world->settings.cgroup_root);
	free(world);
	return 0;
}

static struct resource scope_named(const char *name)
{
	return (struct resource){ .kind = KIND_SCOPE, .proof = PROOF_ROW, .locator = name };
}

static int identify(struct world *world, struct resource *resource, struct error *error)
{
	return backend->identify(world->state, resource, &world->inventory.arena, error);
}

static void probe(struct world *world, struct resource *resource)
{
	backend->probe(world->state, resource, &world->inventory.arena);
}

static int stop(struct world *world, const struct resource *resource)
{
	return backend->effects->stop(world->state, resource, &world->effort, NULL);
}

static int remove_it(struct world *world, const struct resource *resource)
{
	return backend->effects->remove(world->state, resource, &world->effort, NULL);
}

static void a_scope_goes_from_registration_to_removal(void **state)
{
	struct world *world = *state;
	struct resource resource = scope_named(unit);

	world->child = transient_scope(unit, "sbx.slice");
	assert_int_equal(identify(world, &resource, NULL), 0);
	assert_int_equal(strlen(resource.token), 32);
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_YES);
	assert_int_equal(resource.alive, TRI_YES);
	assert_false(resource.contradicts);
	assert_int_equal(stop(world, &resource), 1);
	assert_int_equal(remove_it(world, &resource), 0);
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_NO);
	assert_int_equal(resource.alive, TRI_NO);
}

static void a_scope_may_be_registered_before_it_is_made(void **state)
{
	struct world *world = *state;
	struct resource resource = scope_named(unit);

	assert_int_equal(identify(world, &resource, NULL), 0);
	assert_null(resource.token);
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_NO);
	assert_int_equal(remove_it(world, &resource), 0);
}

static void a_later_scope_of_the_same_name_contradicts_and_is_not_touched(void **state)
{
	struct world *world = *state;
	struct resource resource = scope_named(unit);

	world->child = transient_scope(unit, "sbx.slice");
	assert_int_equal(identify(world, &resource, NULL), 0);
	transient_end(unit);
	child_end(world->child);
	world->child = transient_scope(unit, "sbx.slice");
	probe(world, &resource);
	assert_true(resource.contradicts);
	assert_non_null(strstr(resource.note, "another invocation"));
	assert_int_equal(stop(world, &resource), -ESTALE);
	assert_int_equal(remove_it(world, &resource), -ESTALE);
	assert_true(transient_is(unit, "active"));
}

static void units_outside_the_slice_are_refused(void **state)
{
	struct world *world = *state;
	struct resource resource = scope_named(service);
	struct error error = { 0 };

	transient_service(service, "--slice=system.slice", "sleep 600");
	assert_int_equal(identify(world, &resource, &error), -EINVAL);
	assert_non_null(strstr(error.text, "/sbx.slice"));
	probe(world, &resource);
	assert_true(resource.contradicts);
	assert_int_equal(stop(world, &resource), -EPERM);
	assert_int_equal(remove_it(world, &resource), -EPERM);
	assert_true(transient_is(service, "active"));
}

static void our_own_unit_is_refused(void **state)
{
	struct world *world = *state;
	char *own CLEANUP(mem_done) = NULL;
	const char *end;
	struct resource resource;

	assert_int_equal(cgroupfs_own(&own, NULL), 0);
	end = strstr(own, ".service");
	assert_non_null(end);
	own[end - own + 8] = 0;
	backend->close(world->state);
	free(world->settings.cgroup_root);
	world->settings.cgroup_root = mem_dup("system.slice");
	assert_int_equal(backend->open(&world->settings, &world->state, NULL), 0);
	resource = scope_named(strrchr(own, '/') + 1);
	assert_int_equal(identify(world, &resource, NULL), -EINVAL);
	assert_int_equal(stop(world, &resource), -EPERM);
}

static void a_failed_unit_is_present_and_dead_until_it_is_removed(void **state)
{
	struct world *world = *state;
	struct resource resource = scope_named(service);

	transient_service(service, "--slice=sbx.slice", "false");
	transient_wait(service, "failed");
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_YES);
	assert_int_equal(resource.alive, TRI_NO);
	assert_false(resource.contradicts);
	assert_int_equal(remove_it(world, &resource), 1);
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_NO);
}

static void told_scopes_are_not_foreign_in_a_nested_slice_either(void **state)
{
	struct world *world = *state;
	struct resource told = scope_named(nested);
	pid_t other;

	world->child = transient_scope(nested, "sbx-ci.slice");
	assert_int_equal(identify(world, &told, NULL), 0);
	(void)run_add_resource(&world->inventory, inventory_run(&world->inventory, "r1"), &told);
	other = transient_scope(unit, "sbx-ci.slice");
	backend->discover(world->state, &world->inventory, NULL);
	child_end(other);
	assert_null(inventory_find(&world->inventory, nested));
	assert_null(inventory_find(&world->inventory, "sbx-ci.slice"));
	assert_non_null(inventory_find(&world->inventory, unit));
	assert_int_equal(world->inventory.sources[0].ok, TRI_YES);
	assert_string_equal(world->inventory.sources[0].at, "/sys/fs/cgroup/sbx.slice");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
		IN_WORLD(a_scope_goes_from_registration_to_removal),
		IN_WORLD(a_scope_may_be_registered_before_it_is_made),
		IN_WORLD(a_later_scope_of_the_same_name_contradicts_and_is_not_touched),
		IN_WORLD(units_outside_the_slice_are_refused),
		IN_WORLD(our_own_unit_is_refused),
		IN_WORLD(a_failed_unit_is_present_and_dead_until_it_is_removed),
		IN_WORLD(told_scopes_are_not_foreign_in_a_nested_slice_either),
	};

	return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
