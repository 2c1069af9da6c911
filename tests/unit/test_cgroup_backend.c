#include "unit.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "child.h"
#include "group.h"
#include "os/cgroupfs.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 10000 };

struct world {
	struct settings settings;
	void *state;
	struct inventory inventory;
	struct effort effort;
	pid_t child;
};

static const struct backend *const backend = &cgroup_backend;

static void world_open(struct world *world, const char *root)
{
	backend->close(world->state);
	free(world->settings.cgroup_root);
	world->settings.cgroup_root = mem_dup(root);
	world->settings.limits.kill_timeout_ms = PATIENCE_MS;
	assert_int_equal(backend->open(&world->settings, &world->state, NULL), 0);
}

static int world_set_up(void **state)
{
	struct world *world = mem_new(sizeof(*world));

	*state = world;
	if (groups_set_up() < 0)
		return -1;
	world->effort.deadline_ms = deadline_in_ms(PATIENCE_MS);
	world_open(world, groups_root() + 1);
	return 0;
}

static int world_tear_down(void **state)
{
	struct world *world = *state;

	child_end(world->child);
	groups_tear_down();
	backend->close(world->state);
	inventory_done(&world->inventory);
	free(world->settings.cgroup_root);
	free(world);
	return 0;
}

static struct resource group_named(const char *locator)
{
	return (struct resource){ .kind = KIND_CGROUP, .proof = PROOF_ROW, .locator = locator };
}

static struct resource scope_named(const char *unit)
{
	return (struct resource){ .kind = KIND_SCOPE, .proof = PROOF_ROW, .locator = unit };
}

static int identify(struct world *world, struct resource *resource, struct error *error)
{
	return backend->identify(world->state, resource, &world->inventory.arena, error);
}

static void probe(struct world *world, struct resource *resource)
{
	backend->probe(world->state, resource, &world->inventory.arena);
}

static int stop(struct world *world, const struct resource *resource, struct error *error)
{
	return backend->effects->stop(world->state, resource, &world->effort, error);
}

static int remove_it(struct world *world, const struct resource *resource, struct error *error)
{
	return backend->effects->remove(world->state, resource, &world->effort, error);
}

static uint64_t inode_of(const char *name)
{
	int group CLEANUP(fd_done) = group_open(name);
	struct stat found;

	assert_int_equal(fstat(group, &found), 0);
	return found.st_ino;
}

static void registering_accepts_both_forms_of_a_path_and_keeps_the_kernels(void **state)
{
	struct world *world = *state;
	char long_form[600], untidy[600];
	const char *const forms[] = { group_path("r1"), long_form, untidy };

	group_make("r1");
	(void)snprintf(long_form, sizeof(long_form), "%s%s", groups_mount(), group_path("r1"));
	(void)snprintf(untidy, sizeof(untidy), "%s/./x/..//r1/", groups_root());
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct resource resource = group_named(forms[i]);

		assert_int_equal(identify(world, &resource, NULL), 0);
		assert_string_equal(resource.locator, group_path("r1"));
		assert_int_equal(resource.ino, inode_of("r1"));
	}
}

static void a_group_may_be_registered_before_it_is_made(void **state)
{
	struct world *world = *state;
	struct resource resource = group_named(group_path("later"));

	assert_int_equal(identify(world, &resource, NULL), 0);
	assert_int_equal(resource.ino, 0);
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_NO);
	assert_int_equal(resource.alive, TRI_NO);
}

static void what_can_be_no_runs_group_is_refused(void **state)
{
	struct world *world = *state;
	char same_start[128], outside[128];
	const char *const bad[] = { "/", "", "relative", "/system.slice", "/init.scope",
		groups_root(), groups_mount(), same_start, outside, "/a\nb", "/system.slice/x" };

	(void)snprintf(same_start, sizeof(same_start), "%s2/r1", groups_root());
	(void)snprintf(outside, sizeof(outside), "%s/../r1", groups_root());
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct resource resource = group_named(bad[i]);
		struct error error = { 0 };

		assert_int_equal(identify(world, &resource, &error), -EINVAL);
		assert_int_not_equal(error.code, 0);
		assert_int_equal(resource.ino, 0);
	}
}

/* From inside: every one of the verbs refuses, and whoever asks survives. */
static void a_group_that_we_are_in_is_refused_by_everything(void **state)
{
	struct world *world = *state;
	int status;
	pid_t pid;

	group_make("r1/inner");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct resource resource = group_named(group_path("r1"));

		group_put("r1/inner", getpid());
		world_open(world, groups_root() + 1);
		if (identify(world, &resource, NULL) != -EINVAL)
			_exit(1);
		probe(world, &resource);
		if (!resource.contradicts)
			_exit(2);
		if (stop(world, &resource, NULL) != -EPERM)
			_exit(3);
		_exit(remove_it(world, &resource, NULL) == -EPERM ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_root_of_several_components_is_obeyed(void **state)
{
	struct world *world = *state;
	struct resource inside = group_named(group_path("ci/r1"));
	struct resource outside = group_named(group_path("r1"));
	char root[128];

	(void)snprintf(root, sizeof(root), "%s/ci", groups_root() + 1);
	world_open(world, root);
	assert_int_equal(identify(world, &inside, NULL), 0);
	assert_int_equal(identify(world, &outside, NULL), -EINVAL);
}

static void populated_is_alive(void **state)
{
	struct world *world = *state;
	struct resource resource = group_named(group_path("r1"));

	group_make("r1/deep");
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_YES);
	assert_int_equal(resource.alive, TRI_NO);
	world->child = child_start(NULL);
	group_put("r1/deep", world->child);
	probe(world, &resource);
	assert_int_equal(resource.alive, TRI_YES);
	assert_false(resource.contradicts);
	assert_null(resource.note);
}

static void a_group_made_anew_contradicts_and_is_not_touched(void **state)
{
	struct world *world = *state;
	struct resource resource = group_named(group_path("r1"));
	struct error error = { 0 };

	group_make("r1");
	assert_int_equal(identify(world, &resource, NULL), 0);
	group_unmake("r1");
	group_make("r1");
	world->child = child_start(NULL);
	group_put("r1", world->child);

	probe(world, &resource);
	assert_true(resource.contradicts);
	assert_non_null(strstr(resource.note, "another group"));
	assert_int_equal(stop(world, &resource, &error), -ESTALE);
	assert_int_equal(remove_it(world, &resource, NULL), -ESTALE);
	assert_int_equal(waitpid(world->child, NULL, WNOHANG), 0);
	assert_true(group_exists("r1"));
}

static void a_record_that_points_outside_the_root_contradicts(void **state)
{
	struct world *world = *state;
	struct resource resource = group_named("/");

	probe(world, &resource);
	assert_true(resource.contradicts);
	assert_int_equal(resource.present, TRI_YES);
	assert_int_equal(stop(world, &resource, NULL), -EPERM);
	assert_int_equal(remove_it(world, &resource, NULL), -EPERM);
}

static void a_group_is_stopped_and_removed_and_both_may_be_repeated(void **state)
{
	struct world *world = *state;
	struct resource resource = group_named(group_path("r1"));
	struct error error = { 0 };

	group_make("r1/a/b");
	assert_int_equal(identify(world, &resource, NULL), 0);
	world->child = child_start(NULL);
	group_put("r1/a/b", world->child);

	assert_int_equal(remove_it(world, &resource, &error), -EBUSY);
	assert_non_null(strstr(error.text, "pid "));
	assert_int_equal(stop(world, &resource, NULL), 1);
	assert_int_equal(stop(world, &resource, NULL), 0);
	assert_int_equal(remove_it(world, &resource, NULL), 1);
	assert_false(group_exists("r1"));
	assert_int_equal(stop(world, &resource, NULL), 0);
	assert_int_equal(remove_it(world, &resource, NULL), 0);
}

static void without_systemd_the_group_of_a_scopes_name_serves(void **state)
{
	struct world *world = *state;
	struct resource resource = scope_named("sbx-r1.scope");

	if (access("/run/systemd/system", F_OK) == 0) {
		print_message("SKIPPED: systemd runs here, see tests/system/test-scope.sh\n");
		skip();
	}
	group_make("sbx-r1.scope/deep");
	assert_int_equal(identify(world, &resource, NULL), 0);
	assert_int_equal(resource.ino, inode_of("sbx-r1.scope"));
	assert_null(resource.token);
	world->child = child_start(NULL);
	group_put("sbx-r1.scope/deep", world->child);
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_YES);
	assert_int_equal(resource.alive, TRI_YES);
	assert_int_equal(stop(world, &resource, NULL), 1);
	assert_int_equal(remove_it(world, &resource, NULL), 1);
	probe(world, &resource);
	assert_int_equal(resource.present, TRI_NO);
	assert_int_equal(remove_it(world, &resource, NULL), 0);
}

static void names_that_no_unit_has_are_refused(void **state)
{
	struct world *world = *state;
	char long_name[300];
	const char *const bad[] = { "", ".scope", "a", "a.slice", "a.mount", "../x.scope",
		"a/b.scope", "a b.scope", "a\n.scope", "x*.scope", "t@.service", "@x.service",
		"\xc3\xa4.scope", long_name };

	(void)memset(long_name, 'a', sizeof(long_name));
	(void)memcpy(long_name + 250, ".scope", sizeof(".scope"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct resource resource = scope_named(bad[i]);
		struct error error = { 0 };

		assert_int_equal(identify(world, &resource, &error), -EINVAL);
		assert_int_not_equal(error.code, 0);
		assert_int_equal(stop(world, &resource, NULL), -EINVAL);
		assert_int_equal(remove_it(world, &resource, NULL), -EINVAL);
		probe(world, &resource);
		assert_true(resource.contradicts);
	}
}

static void names_that_units_have_are_accepted(void **state)
{
	struct world *world = *state;
	static const char *const good[] = { "sbx-r1.scope", "sbx-r1.service", "run@r1.service",
		"a\\x2db:c_d.e.scope" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct resource resource = scope_named(good[i]);

		assert_int_equal(identify(world, &resource, NULL), 0);
	}
}

static void tell(struct world *world, const char *run, struct resource resource)
{
	(void)run_add_resource(&world->inventory, inventory_run(&world->inventory, run), &resource);
}

static const struct source *only_source(const struct world *world)
{
	assert_int_equal(world->inventory.source_count, 1);
	assert_string_equal(world->inventory.sources[0].name, "cgroups");
	return &world->inventory.sources[0];
}

static void groups_that_nobody_told_are_foreign(void **state)
{
	struct world *world = *state;
	const struct source *source;
	const struct run *run;
	char at[600];

	group_make("r1");
	group_make("stray");
	group_make("sbx-r2.scope");
	group_make("ci/r3");
	group_make("ci/r4");
	group_make("sbx-test.slice/r5");
	tell(world, "r1", group_named(group_path("r1")));
	tell(world, "r2", scope_named("sbx-r2.scope"));
	tell(world, "r3", group_named(group_path("ci/r3")));
	world->child = child_start(NULL);
	group_put("stray", world->child);

	backend->discover(world->state, &world->inventory, NULL);
	assert_null(inventory_find(&world->inventory, "sbx-r2.scope"));
	assert_null(inventory_find(&world->inventory, "ci"));
	assert_null(inventory_find(&world->inventory, "sbx-test.slice"));
	assert_non_null(inventory_find(&world->inventory, "r4"));
	assert_non_null(inventory_find(&world->inventory, "r5"));
	assert_int_equal(inventory_find(&world->inventory, "r1")->resource_count, 1);
	run = inventory_find(&world->inventory, "stray");
	assert_non_null(run);
	assert_int_equal(run->resource_count, 1);
	assert_int_equal(run->resources[0].kind, KIND_CGROUP);
	assert_int_equal(run->resources[0].proof, PROOF_NONE);
	assert_string_equal(run->resources[0].locator, group_path("stray"));
	assert_int_equal(run->resources[0].present, TRI_YES);
	assert_int_equal(run->resources[0].alive, TRI_YES);
	source = only_source(world);
	assert_int_equal(source->ok, TRI_YES);
	(void)snprintf(at, sizeof(at), "%s%s", groups_mount(), groups_root());
	assert_string_equal(source->at, at);
}

static void groups_of_told_containers_are_not_foreign(void **state)
{
	static const char id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	struct world *world = *state;
	struct resource container = { .kind = KIND_CONTAINER, .proof = PROOF_LABEL, .locator = id };
	char name[100];

	(void)snprintf(name, sizeof(name), "libpod-%s.scope", id);
	group_make(name);
	tell(world, "r1", container);
	backend->discover(world->state, &world->inventory, NULL);
	assert_null(inventory_find(&world->inventory, name));
}

static void only_one_run_may_be_asked_for(void **state)
{
	struct world *world = *state;

	group_make("stray");
	group_make("stray2");
	backend->discover(world->state, &world->inventory, "stray");
	assert_non_null(inventory_find(&world->inventory, "stray"));
	assert_null(inventory_find(&world->inventory, "stray2"));
}

static void a_root_that_is_not_there_yet_is_empty(void **state)
{
	struct world *world = *state;
	char root[128];

	(void)snprintf(root, sizeof(root), "%s/later", groups_root() + 1);
	world_open(world, root);
	backend->discover(world->state, &world->inventory, NULL);
	assert_int_equal(only_source(world)->ok, TRI_YES);
	assert_int_equal(world->inventory.run_count, 0);
}

/* In a child with its own mounts: 0, or the number of the step that went wrong. */
static int check_without_cgroups(struct world *world)
{
	struct resource told = group_named(group_path("r1"));

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		umount2(groups_mount(), MNT_DETACH) < 0)
		return 1;
	world_open(world, groups_root() + 1);
	backend->discover(world->state, &world->inventory, NULL);
	if (world->inventory.sources[0].ok != TRI_UNKNOWN)
		return 2;
	if (identify(world, &told, NULL) >= 0)
		return 3;
	probe(world, &told);
	if (told.present != TRI_UNKNOWN || told.alive != TRI_UNKNOWN || !told.note)
		return 4;
	if (stop(world, &told, NULL) >= 0 || remove_it(world, &told, NULL) >= 0)
		return 5;
	tell(world, "r1", told);
	backend->discover(world->state, &world->inventory, NULL);
	return world->inventory.sources[1].ok == TRI_NO ? 0 : 6;
}

static void without_cgroup_v2_groups_are_unknown_and_not_gone(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check_without_cgroups(*state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
		IN_WORLD(registering_accepts_both_forms_of_a_path_and_keeps_the_kernels),
		IN_WORLD(a_group_may_be_registered_before_it_is_made),
		IN_WORLD(what_can_be_no_runs_group_is_refused),
		IN_WORLD(a_group_that_we_are_in_is_refused_by_everything),
		IN_WORLD(a_root_of_several_components_is_obeyed),
		IN_WORLD(populated_is_alive),
		IN_WORLD(a_group_made_anew_contradicts_and_is_not_touched),
		IN_WORLD(a_record_that_points_outside_the_root_contradicts),
		IN_WORLD(a_group_is_stopped_and_removed_and_both_may_be_repeated),
		IN_WORLD(without_systemd_the_group_of_a_scopes_name_serves),
		IN_WORLD(names_that_no_unit_has_are_refused),
		IN_WORLD(names_that_units_have_are_accepted),
		IN_WORLD(groups_that_nobody_told_are_foreign),
		IN_WORLD(groups_of_told_containers_are_not_foreign),
		IN_WORLD(only_one_run_may_be_asked_for),
		IN_WORLD(a_root_that_is_not_there_yet_is_empty),
		IN_WORLD(without_cgroup_v2_groups_are_unknown_and_not_gone),
	};

	return cmocka_run_group_tests_name("cgroup_backend", tests, NULL, NULL);
}
