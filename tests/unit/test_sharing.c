/*
 * Two runs that claim one thing, by whatever names: both are refused, and nobody else.
 */
#include "unit.h"

#include "sharing.h"
#include "workdir.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* r1 and r2, with what each claims. */
struct claims {
	struct workdir *workdir;
	struct inventory inventory;
	struct settings settings;
	char *roots[2];
};

static void claims_start(struct claims *claims, void **state)
{
	*claims = (struct claims){ .workdir = *state };
	workdir_make(claims->workdir, "ws");
	workdir_make(claims->workdir, "ws/a");
	workdir_make(claims->workdir, "ws/a/deep");
	workdir_make(claims->workdir, "ws/ab");
	workdir_make(claims->workdir, "bound");
	claims->roots[0] = mem_printf("%s/ws", claims->workdir->path);
	claims->roots[1] = mem_printf("%s/bound", claims->workdir->path);
	claims->settings.roots = (struct text_list){ claims->roots, 2 };
	assert_int_equal(mount(claims->roots[0], claims->roots[1], NULL, MS_BIND, NULL), 0);
}

static void claims_done(struct claims *claims)
{
	(void)umount2(claims->roots[1], MNT_DETACH);
	free(claims->roots[0]);
	free(claims->roots[1]);
	inventory_done(&claims->inventory);
}

static void claim(struct claims *claims, const char *run, const struct resource *resource)
{
	struct resource told = *resource, *added;

	told.proof = told.proof ? told.proof : PROOF_ROW;
	added = run_add_resource(&claims->inventory, inventory_run(&claims->inventory, run), &told);
	added->group = resource->group;
}

static struct resource place(struct claims *claims, enum kind kind, const char *name)
{
	return (struct resource){
		.kind = kind,
		.locator = arena_printf(
			&claims->inventory.arena, "%s/%s", claims->workdir->path, name),
		.present = TRI_YES,
	};
}

static bool refused(const struct claims *claims, const char *run)
{
	return inventory_find(&claims->inventory, run)->facts.refused;
}

static void one_directory_by_two_paths_refuses_both(void **state)
{
	static const struct {
		const char *first, *second;
		bool shared;
	} cases[] = {
		{ "ws/a", "bound/a", true },
		{ "ws/a", "bound/a/deep", true },
		{ "bound/a", "ws/a/deep", true },
		{ "ws/a", "ws/ab", false },
		{ "ws/a", "bound/ab", false },
		{ "ws/a/deep", "bound/ab", false },
		{ "ws/a", "bound/missing", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int kind = 0; kind < 2; kind++) {
			struct claims claims CLEANUP(claims_done);
			struct resource first, second;

			if (i || kind)
				assert_int_equal(workdir_teardown(state), 0);
			if (i || kind)
				assert_int_equal(workdir_setup(state), 0);
			claims_start(&claims, state);
			first = place(&claims, KIND_WORKTREE, cases[i].first);
			second = place(&claims, kind ? KIND_PATH : KIND_WORKTREE, cases[i].second);
			claim(&claims, "r1", &first);
			claim(&claims, "r2", &second);
			sharing_check(&claims.inventory, &claims.settings);
			assert_int_equal(refused(&claims, "r1"), cases[i].shared);
			assert_int_equal(refused(&claims, "r2"), cases[i].shared);
		}
}

/* Or a run could have another one refused by giving its file a second name. */
static void a_second_name_of_a_file_shares_nothing(void **state)
{
	struct claims claims CLEANUP(claims_done);
	struct resource first, second;

	claims_start(&claims, state);
	workdir_fill(claims.workdir, "ws/file");
	assert_int_equal(
		linkat(claims.workdir->dir, "ws/file", claims.workdir->dir, "ws/name", 0), 0);
	first = place(&claims, KIND_PATH, "ws/file");
	second = place(&claims, KIND_PATH, "ws/name");
	claim(&claims, "r1", &first);
	claim(&claims, "r2", &second);
	sharing_check(&claims.inventory, &claims.settings);
	assert_false(refused(&claims, "r1"));
}

static void groups_containers_and_processes_are_one_by_what_they_are(void **state)
{
	static const struct {
		struct resource first, second;
		bool shared;
	} cases[] = {
		{ { .kind = KIND_CGROUP, .locator = "/s/a" },
			{ .kind = KIND_CGROUP, .locator = "/s/a/b" }, true },
		{ { .kind = KIND_CGROUP, .locator = "/s/a" },
			{ .kind = KIND_CGROUP, .locator = "/s/ab" }, false },
		{ { .kind = KIND_CGROUP, .locator = "/s/a" },
			{ .kind = KIND_SCOPE, .locator = "a.scope", .group = "/s/a/a.scope" },
			true },
		{ { .kind = KIND_SCOPE, .locator = "a.scope", .group = "/s/a.scope" },
			{ .kind = KIND_CGROUP, .locator = "/s/a.scope" }, true },
		{ { .kind = KIND_CGROUP, .locator = "/s/a" },
			{ .kind = KIND_SCOPE, .locator = "a.scope" }, false },
		{ { .kind = KIND_CGROUP, .locator = "/s/a" },
			{ .kind = KIND_CGROUP, .locator = "/s/a/b", .proof = PROOF_LABEL }, false },
		{ { .kind = KIND_CGROUP, .locator = "/s/a" },
			{ .kind = KIND_CGROUP, .locator = "/s/a/b", .present = TRI_NO }, false },
		{ { .kind = KIND_CONTAINER, .locator = "web", .token = "abc" },
			{ .kind = KIND_CONTAINER, .locator = "abc", .token = "abc" }, true },
		{ { .kind = KIND_CONTAINER, .locator = "web", .token = "abc" },
			{ .kind = KIND_CONTAINER, .locator = "web", .token = "abcd" }, false },
		{ { .kind = KIND_PROCESS, .locator = "7", .token = "b:1", .alive = TRI_YES },
			{ .kind = KIND_PROCESS, .locator = "7", .token = "b:1", .alive = TRI_YES },
			true },
		{ { .kind = KIND_PROCESS, .locator = "7", .token = "b:1", .alive = TRI_NO },
			{ .kind = KIND_PROCESS, .locator = "7", .token = "b:1", .alive = TRI_NO },
			false },
		{ { .kind = KIND_PROCESS, .locator = "7", .token = "b:1", .alive = TRI_YES },
			{ .kind = KIND_PROCESS, .locator = "7", .token = "b:2", .alive = TRI_YES },
			false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int turned = 0; turned < 2; turned++) {
			struct claims claims = { 0 };

			claim(&claims, turned ? "r2" : "r1", &cases[i].first);
			claim(&claims, turned ? "r1" : "r2", &cases[i].second);
			sharing_check(&claims.inventory, &claims.settings);
			if (refused(&claims, "r1") != cases[i].shared ||
				refused(&claims, "r2") != cases[i].shared)
				fail_msg("case %zu", i);
			inventory_done(&claims.inventory);
		}
}

static void one_run_may_say_a_thing_twice(void **state)
{
	struct claims claims = { 0 };

	(void)state;
	claim(&claims, "r1", &(struct resource){ .kind = KIND_CGROUP, .locator = "/s/a" });
	claim(&claims, "r1", &(struct resource){ .kind = KIND_CGROUP, .locator = "/s/a/b" });
	sharing_check(&claims.inventory, &claims.settings);
	assert_false(refused(&claims, "r1"));
	inventory_done(&claims.inventory);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_directory_by_two_paths_refuses_both),
		TEST(a_second_name_of_a_file_shares_nothing),
		cmocka_unit_test(groups_containers_and_processes_are_one_by_what_they_are),
		cmocka_unit_test(one_run_may_say_a_thing_twice),
	};

	return cmocka_run_group_tests_name("sharing", tests, workdir_own_mounts, NULL);
}
