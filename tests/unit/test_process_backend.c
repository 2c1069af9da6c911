#include "unit.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "child.h"
#include "group.h"
#include "os/processes.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 60000 };

struct world {
	struct settings settings;
	void *state;
	struct inventory inventory;
	struct effort effort;
	char directory[64]; /* a temporary one with trees "r1" and "r10" */
	pid_t child, other;
};

static const struct backend *const backend = &process_backend;

static const char *tree(const struct world *world, const char *name)
{
	static char paths[4][128];
	static unsigned turn;
	char *path = paths[turn++ % ARRAY_SIZE(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", world->directory, name);
	return path;
}

static int world_set_up(void **state)
{
	struct world *world = mem_new(sizeof(*world));
	const char *base = getenv("TMPDIR");

	*state = world;
	(void)snprintf(world->directory, sizeof(world->directory), "%s/sbx-test-XXXXXX",
		base && strlen(base) < 40 ? base : "/tmp");
	assert_non_null(mkdtemp(world->directory));
	assert_int_equal(mkdir(tree(world, "r1"), 0755), 0);
	assert_int_equal(mkdir(tree(world, "r10"), 0755), 0);
	world->settings.limits.kill_timeout_ms = PATIENCE_MS;
	world->effort.deadline_ms = deadline_in_ms(PATIENCE_MS);
	return backend->open(&world->settings, &world->state, NULL);
}

static int world_tear_down(void **state)
{
	struct world *world = *state;

	child_end(world->child);
	child_end(world->other);
	(void)rmdir(tree(world, "r1"));
	(void)rmdir(tree(world, "r10"));
	(void)rmdir(world->directory);
	backend->close(world->state);
	inventory_done(&world->inventory);
	free(world);
	return 0;
}

/* With cgroups on top. */
static int world_set_up_groups(void **state)
{
	return groups_set_up() < 0 ? -1 : world_set_up(state);
}

static int world_tear_down_groups(void **state)
{
	int r = world_tear_down(state);

	groups_tear_down();
	return r;
}

/* The resource that registering this pid makes; the test goes on only if that works. */
static struct resource registered(struct world *world, pid_t pid)
{
	char number[16];
	struct resource resource = { .kind = KIND_PROCESS, .proof = PROOF_ROW };

	(void)snprintf(number, sizeof(number), "%d", pid);
	resource.locator = arena_dup(&world->inventory.arena, number);
	assert_int_equal(
		backend->identify(world->state, &resource, &world->inventory.arena, NULL), 0);
	return resource;
}

static int end(struct world *world, const struct resource *resource, struct error *error)
{
	int stopped = backend->effects->stop(world->state, resource, &world->effort, error);
	int removed = backend->effects->remove(world->state, resource, &world->effort, NULL);

	assert_true(stopped < 0 ? removed == stopped : removed == 0);
	return stopped;
}

static void tell(struct world *world, const char *run, struct resource resource)
{
	(void)run_add_resource(&world->inventory, inventory_run(&world->inventory, run), &resource);
}

static void tell_tree(struct world *world, const char *run)
{
	tell(world, run,
		(struct resource){
			.kind = KIND_WORKTREE, .proof = PROOF_ROW, .locator = tree(world, run) });
}

static void discover(struct world *world, const char *only)
{
	backend->discover(world->state, &world->inventory, only);
	assert_int_equal(world->inventory.source_count, 1);
	assert_string_equal(world->inventory.sources[0].name, "processes");
	assert_int_equal(world->inventory.sources[0].ok, TRI_YES);
}

/* The stranger listed for a run, or NULL. */
static const struct resource *stranger(const struct world *world, const char *run)
{
	const struct run *found = inventory_find(&world->inventory, run);

	assert_non_null(found);
	for (size_t i = 0; i < found->resource_count; i++)
		if (found->resources[i].kind == KIND_PROCESS &&
			found->resources[i].proof == PROOF_NONE)
			return &found->resources[i];
	return NULL;
}

static void registering_records_who_the_process_is(void **state)
{
	struct world *world = *state;
	char token[PROCESS_TOKEN];
	struct resource resource;

	world->child = child_start(NULL);
	resource = registered(world, world->child);
	assert_int_equal(process_token(world->child, token, NULL), 0);
	assert_string_equal(resource.token, token);
}

static void what_can_be_no_runs_process_is_refused(void **state)
{
	static const char *const bad[] = { "", "0", "1", "-5", "x", "12x", "4194304", "4194305",
		"99999999999999999999", "1:2" };
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct resource resource = {
			.kind = KIND_PROCESS, .proof = PROOF_ROW, .locator = bad[i]
		};
		struct error error = { 0 };

		assert_int_equal(
			backend->identify(world->state, &resource, &world->inventory.arena, &error),
			-EINVAL);
		assert_int_not_equal(error.code, 0);
		assert_null(resource.token);
	}
}

static void the_registered_process_is_alive_until_it_ends(void **state)
{
	struct world *world = *state;
	struct resource resource;

	world->child = child_start(NULL);
	resource = registered(world, world->child);
	backend->probe(world->state, &resource, &world->inventory.arena);
	assert_int_equal(resource.present, TRI_YES);
	assert_int_equal(resource.alive, TRI_YES);
	assert_int_equal(end(world, &resource, NULL), 1);
	backend->probe(world->state, &resource, &world->inventory.arena);
	assert_int_equal(resource.present, TRI_NO);
	assert_int_equal(resource.alive, TRI_NO);
	assert_int_equal(end(world, &resource, NULL), 0);
}

static void a_recycled_pid_is_dead_and_not_signalled(void **state)
{
	struct world *world = *state;
	struct resource resource;
	char boot_id[37];

	world->child = child_start(NULL);
	resource = registered(world, world->child);
	assert_int_equal(process_boot_id(boot_id, NULL), 0);
	resource.token = arena_printf(&world->inventory.arena, "%s:7", boot_id);
	backend->probe(world->state, &resource, &world->inventory.arena);
	assert_int_equal(resource.alive, TRI_NO);
	assert_int_equal(end(world, &resource, NULL), 0);
	assert_int_equal(waitpid(world->child, NULL, WNOHANG), 0);
}

static void a_pid_without_its_start_is_unknown_and_not_signalled(void **state)
{
	struct world *world = *state;
	struct resource resource;

	world->child = child_start(NULL);
	resource = registered(world, world->child);
	resource.token = NULL;
	backend->probe(world->state, &resource, &world->inventory.arena);
	assert_int_equal(resource.alive, TRI_UNKNOWN);
	assert_non_null(resource.note);
	assert_int_equal(end(world, &resource, NULL), -EPERM);
	assert_int_equal(waitpid(world->child, NULL, WNOHANG), 0);
}

static void a_process_of_another_boot_is_dead(void **state)
{
	struct world *world = *state;
	struct resource resource;

	world->child = child_start(NULL);
	resource = registered(world, world->child);
	resource.token = "00000000-0000-0000-0000-000000000000:7";
	backend->probe(world->state, &resource, &world->inventory.arena);
	assert_int_equal(resource.alive, TRI_NO);
	assert_int_equal(end(world, &resource, NULL), 0);
}

static void neither_we_nor_our_parents_are_killed(void **state)
{
	struct world *world = *state;
	const pid_t pids[] = { getpid(), getppid() };

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		struct resource resource;
		struct error error = { 0 };

		if (pids[i] == 1)
			continue;
		resource = registered(world, pids[i]);
		assert_int_equal(end(world, &resource, &error), -EPERM);
		assert_int_equal(error.code, EPERM);
	}
}

static void a_stranger_in_a_tree_is_listed_for_that_run_only(void **state)
{
	struct world *world = *state;
	const struct resource *found;
	char number[16];

	tell_tree(world, "r1");
	tell_tree(world, "r10");
	world->child = child_start(tree(world, "r10"));
	discover(world, NULL);
	assert_null(stranger(world, "r1"));
	found = stranger(world, "r10");
	assert_non_null(found);
	(void)snprintf(number, sizeof(number), "%d", world->child);
	assert_string_equal(found->locator, number);
	assert_int_equal(found->present, TRI_YES);
	assert_int_equal(found->alive, TRI_YES);
	assert_string_equal(found->note, "test_process_ba: working directory in its tree");
}

static void a_registered_path_is_a_tree_too(void **state)
{
	struct world *world = *state;

	tell(world, "r1",
		(struct resource){
			.kind = KIND_PATH, .proof = PROOF_MARKER, .locator = tree(world, "r1") });
	world->child = child_start(tree(world, "r1"));
	discover(world, NULL);
	assert_non_null(stranger(world, "r1"));
}

static void the_registered_process_is_no_stranger(void **state)
{
	struct world *world = *state;

	tell_tree(world, "r1");
	world->child = child_start(tree(world, "r1"));
	tell(world, "r1", registered(world, world->child));
	discover(world, NULL);
	assert_null(stranger(world, "r1"));
}

static void a_stranger_with_the_number_of_the_registered_process_is_one(void **state)
{
	struct world *world = *state;
	const struct resource *found;
	struct resource told, seen;

	tell_tree(world, "r1");
	world->child = child_start(tree(world, "r1"));
	told = registered(world, world->child);
	told.token = "00000000-0000-0000-0000-000000000000:7";
	tell(world, "r1", told);
	discover(world, NULL);
	found = stranger(world, "r1");
	assert_non_null(found);
	seen = *found;
	backend->probe(world->state, &seen, &world->inventory.arena);
	assert_int_equal(seen.alive, TRI_YES);
	assert_false(seen.contradicts);
}

static void members_of_the_runs_cgroup_are_no_strangers(void **state)
{
	struct world *world = *state;

	tell_tree(world, "r1");
	group_make("r1/deep");
	group_make("r10");
	tell(world, "r1",
		(struct resource){
			.kind = KIND_CGROUP, .proof = PROOF_ROW, .locator = group_path("r1") });
	world->child = child_start(tree(world, "r1"));
	group_put("r1/deep", world->child);
	discover(world, NULL);
	assert_null(stranger(world, "r1"));

	world->inventory.source_count = 0;
	group_put("r10", world->child);
	discover(world, NULL);
	assert_non_null(stranger(world, "r1"));
}

static void members_of_the_runs_scope_are_no_strangers(void **state)
{
	struct world *world = *state;

	tell_tree(world, "r1");
	group_make("r1.scope/deep");
	group_make("xr1.scope");
	tell(world, "r1",
		(struct resource){ .kind = KIND_SCOPE, .proof = PROOF_ROW, .locator = "r1.scope" });
	world->child = child_start(tree(world, "r1"));
	group_put("r1.scope/deep", world->child);
	discover(world, NULL);
	assert_null(stranger(world, "r1"));

	world->inventory.source_count = 0;
	group_put("xr1.scope", world->child);
	discover(world, NULL);
	assert_non_null(stranger(world, "r1"));
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void processes_of_the_runs_containers_are_no_strangers(void **state)
{
	static const char *const names[] = { ID, "libpod-" ID ".scope", "docker-" ID ".scope",
		"a/" ID "/init" };
	struct world *world = *state;

	tell_tree(world, "r1");
	tell(world, "r1",
		(struct resource){ .kind = KIND_CONTAINER,
			.proof = PROOF_LABEL,
			.locator = "mine",
			.token = ID });
	world->child = child_start(tree(world, "r1"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		group_make(names[i]);
		group_put(names[i], world->child);
		world->inventory.source_count = 0;
		discover(world, NULL);
		assert_null(stranger(world, "r1"));
	}
}

/* What was merely seen does not say whose a process is. */
static void a_foreign_cgroup_makes_nobody_the_runs_own(void **state)
{
	struct world *world = *state;

	tell_tree(world, "r1");
	group_make("r1");
	tell(world, "r1",
		(struct resource){
			.kind = KIND_CGROUP, .proof = PROOF_NONE, .locator = group_path("r1") });
	world->child = child_start(tree(world, "r1"));
	group_put("r1", world->child);
	discover(world, NULL);
	assert_non_null(stranger(world, "r1"));
}

static void only_one_run_may_be_asked_for(void **state)
{
	struct world *world = *state;

	tell_tree(world, "r1");
	tell_tree(world, "r10");
	world->child = child_start(tree(world, "r1"));
	world->other = child_start(tree(world, "r10"));
	discover(world, "r10");
	assert_null(stranger(world, "r1"));
	assert_non_null(stranger(world, "r10"));
}

/* In a child, as "nobody": then a process may be in the tree and we would not know. */
static void what_cannot_be_seen_makes_the_source_not_ok(void **state)
{
	struct world *world = *state;
	int status;
	pid_t pid;

	tell_tree(world, "r1");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct source *source;

		if (chmod(world->directory, 0755) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		backend->discover(world->state, &world->inventory, NULL);
		source = &world->inventory.sources[0];
		_exit(source->ok == TRI_NO && source->error ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Exits with 0 when it is said that it was not seen. */
static void discover_and_exit(struct world *world, const char *only)
{
	const struct source *source;

	backend->discover(world->state, &world->inventory, only);
	source = &world->inventory.sources[0];
	_exit(source->ok == TRI_NO && strstr(source->error, "look who works in") ? 0 : 3);
}

static void a_tree_that_cannot_be_looked_at_for_want_of_ours_is_not_seen_empty(void **state)
{
	static const char *const only[] = { NULL, "r1" };
	struct world *world = *state;

	tell_tree(world, "r1");
	for (size_t i = 0; i < ARRAY_SIZE(only); i++) {
		int status = 0;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, 3 }) < 0)
				_exit(2);
			discover_and_exit(world, only[i]);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* The others are seen all the same; asked for that run it is an error. */
static void a_tree_that_cannot_be_looked_at_is_unseen_for_its_own_run(void **state)
{
	struct world *world = *state;
	int status = 0;
	pid_t pid;

	tell_tree(world, "r1/below");
	tell_tree(world, "r10");
	assert_int_equal(rmdir(tree(world, "r1")), 0);
	assert_int_equal(symlink("r1", tree(world, "r1")), 0);
	discover(world, NULL);
	assert_int_equal(world->inventory.sources[0].ok, TRI_YES);
	world->inventory.source_count = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		discover_and_exit(world, "r1/below");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(unlink(tree(world, "r1")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
#define IN_GROUPS(test) \
	cmocka_unit_test_setup_teardown(test, world_set_up_groups, world_tear_down_groups)
		IN_WORLD(registering_records_who_the_process_is),
		IN_WORLD(what_can_be_no_runs_process_is_refused),
		IN_WORLD(the_registered_process_is_alive_until_it_ends),
		IN_WORLD(a_recycled_pid_is_dead_and_not_signalled),
		IN_WORLD(a_pid_without_its_start_is_unknown_and_not_signalled),
		IN_WORLD(a_process_of_another_boot_is_dead),
		IN_WORLD(neither_we_nor_our_parents_are_killed),
		IN_WORLD(a_stranger_in_a_tree_is_listed_for_that_run_only),
		IN_WORLD(a_registered_path_is_a_tree_too),
		IN_WORLD(the_registered_process_is_no_stranger),
		IN_WORLD(a_stranger_with_the_number_of_the_registered_process_is_one),
		IN_GROUPS(members_of_the_runs_cgroup_are_no_strangers),
		IN_GROUPS(members_of_the_runs_scope_are_no_strangers),
		IN_GROUPS(processes_of_the_runs_containers_are_no_strangers),
		IN_GROUPS(a_foreign_cgroup_makes_nobody_the_runs_own),
		IN_WORLD(only_one_run_may_be_asked_for),
		IN_WORLD(what_cannot_be_seen_makes_the_source_not_ok),
		IN_WORLD(a_tree_that_cannot_be_looked_at_for_want_of_ours_is_not_seen_empty),
		IN_WORLD(a_tree_that_cannot_be_looked_at_is_unseen_for_its_own_run),
	};

	return cmocka_run_group_tests_name("process_backend", tests, NULL, NULL);
}
