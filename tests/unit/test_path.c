#include "unit.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "base/text.h"
#include "os/trash.h"
#include "workdir.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The backend opened on a root and a path_root in the test's directory. */
struct fixture {
	char *root, *path_root, *lost;
	struct settings settings;
	struct arena arena;
	void *state;
};

static void fixture_done(struct fixture *fixture)
{
	path_backend.close(fixture->state);
	arena_done(&fixture->arena);
}

static char *locate(struct fixture *fixture, void **state, const char *name)
{
	return arena_dup(&fixture->arena, workdir_path(*state, name));
}

static void fixture_open(struct fixture *fixture, void **state)
{
	workdir_make(*state, "ws");
	workdir_make(*state, "tmp");
	*fixture = (struct fixture){ 0 };
	fixture->root = locate(fixture, state, "ws");
	fixture->path_root = locate(fixture, state, "tmp");
	fixture->lost = locate(fixture, state, "lost");
	fixture->settings.roots = (struct text_list){ &fixture->root, 1 };
	fixture->settings.path_roots = (struct text_list){ &fixture->path_root, 1 };
	fixture->settings.lost_roots = (struct text_list){ &fixture->lost, 1 };
	fixture->settings.database = locate(fixture, state, "tmp/state/state.db");
	assert_int_equal(path_backend.open(&fixture->settings, &fixture->state, NULL), 0);
}

static struct resource told(struct fixture *fixture, void **state, const char *name)
{
	return (struct resource){
		.run = "r1",
		.generation = 2,
		.kind = KIND_PATH,
		.proof = PROOF_ROW,
		.locator = locate(fixture, state, name),
		.bytes = -1,
	};
}

/* Registers it as it stands now. */
static struct resource identified(struct fixture *fixture, void **state, const char *name)
{
	struct resource resource = told(fixture, state, name);
	struct error error = { 0 };

	assert_int_equal(
		path_backend.identify(fixture->state, &resource, &fixture->arena, &error), 0);
	return resource;
}

static void probe(struct fixture *fixture, struct resource *resource)
{
	path_backend.probe(fixture->state, resource, &fixture->arena);
}

static int take(struct fixture *fixture, const struct resource *resource, struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(60000) };

	return path_backend.effects->remove(fixture->state, resource, &effort, error);
}

static int purge(struct fixture *fixture, const struct resource *resource, int64_t *ret_bytes,
	struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(60000) };
	int r = path_backend.effects->purge(fixture->state, resource, &effort, error);

	*ret_bytes = effort.deleted.bytes_freed;
	return r;
}

static void a_registered_path_is_remembered_by_its_inode(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	const char *path = workdir_path(*state, "tmp/a");
	struct resource resource, later;
	struct stat st;

	fixture_open(&fixture, state);
	workdir_make(*state, "tmp/a");
	assert_return_code(lstat(path, &st), errno);
	resource = identified(&fixture, state, "tmp/a");
	assert_int_equal(resource.dev, st.st_dev);
	assert_int_equal(resource.ino, st.st_ino);
	later = identified(&fixture, state, "tmp/not/yet");
	assert_int_equal(later.dev, 0);
	assert_int_equal(later.ino, 0);
}

static void paths_no_run_may_own_are_refused_with_what_would_be_right(void **state)
{
	static const struct {
		const char *name, *word;
	} bad[] = {
		{ "elsewhere", "path_root" },
		{ "ws", "would be removed with it" },
		{ "tmp", "would be removed with it" },
		{ "tmp/state", "state.db" },
		{ "tmp/../elsewhere", "absolute path" },
		{ "tmp/", "absolute path" },
		{ "tmp2/x", "path_root" },
		{ "ws/.sbx-trash/r2:1:0", "trash" },
		{ "ws/.sbx-trash", "trash" },
		{ "ws/r2.keep", "marker or pin" },
		{ "ws/r2.sbx", "marker or pin" },
		{ "tmp/link", "symlink" },
		{ "tmp/link/x", "symlink" },
		{ "tmp/file/x", "a file" },
		{ "tmp/mounted", "mount" },
	};
	struct fixture fixture CLEANUP(fixture_done);
	const char *link = workdir_path(*state, "tmp/link");
	const char *mounted = workdir_path(*state, "tmp/mounted");

	fixture_open(&fixture, state);
	workdir_make(*state, "tmp/state");
	workdir_make(*state, "tmp/mounted");
	workdir_fill(*state, "tmp/file");
	workdir_make(*state, "elsewhere");
	assert_return_code(symlink("../elsewhere", link), errno);
	assert_return_code(mount("t", mounted, "tmpfs", 0, NULL), errno);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct resource resource = told(&fixture, state, bad[i].name);
		struct error error = { 0 };

		assert_int_equal(
			path_backend.identify(fixture.state, &resource, &fixture.arena, &error),
			-EINVAL);
		assert_non_null(strstr(error.text, bad[i].word));
		assert_int_equal(resource.ino, 0);
	}
}

static void probe_tells_here_from_gone_and_another(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	const char *path = workdir_path(*state, "tmp/a");
	const char *away = workdir_path(*state, "tmp/b");
	struct resource resource;

	fixture_open(&fixture, state);
	workdir_make(*state, "tmp/a");
	resource = identified(&fixture, state, "tmp/a");
	probe(&fixture, &resource);
	assert_int_equal(resource.present, TRI_YES);
	assert_false(resource.contradicts);
	assert_return_code(rename(path, away), errno);
	probe(&fixture, &resource);
	assert_int_equal(resource.present, TRI_NO);
	assert_false(resource.contradicts);
	workdir_make(*state, "tmp/a");
	probe(&fixture, &resource);
	assert_int_equal(resource.present, TRI_YES);
	assert_true(resource.contradicts);
	assert_non_null(resource.note);
	resource = identified(&fixture, state, "tmp/a");
	resource.token = "1.000000000"; /* the number of one that is gone, given out again */
	probe(&fixture, &resource);
	assert_true(resource.contradicts);
	assert_non_null(strstr(resource.note, "younger"));
	resource = told(&fixture, state, "tmp/a");
	probe(&fixture, &resource);
	assert_false(resource.contradicts);
}

static void probe_contradicts_links_and_places_outside(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	const char *link = workdir_path(*state, "tmp/a");
	struct resource resource, outside;

	fixture_open(&fixture, state);
	assert_return_code(symlink("b", link), errno);
	resource = told(&fixture, state, "tmp/a");
	probe(&fixture, &resource);
	assert_true(resource.contradicts);
	assert_non_null(strstr(resource.note, "symlink"));
	outside = told(&fixture, state, "elsewhere");
	probe(&fixture, &outside);
	assert_true(outside.contradicts);
	assert_int_equal(outside.present, TRI_UNKNOWN);
}

static void a_root_that_is_not_there_makes_its_paths_unknown(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	const char *away = workdir_path(*state, "away");
	struct resource lost, resource;

	fixture_open(&fixture, state);
	lost = told(&fixture, state, "lost/a");
	probe(&fixture, &lost);
	assert_int_equal(lost.present, TRI_UNKNOWN);
	assert_false(lost.contradicts);
	assert_non_null(lost.note);
	assert_return_code(rename(fixture.path_root, away), errno);
	resource = told(&fixture, state, "tmp/a");
	probe(&fixture, &resource);
	assert_int_equal(resource.present, TRI_UNKNOWN);
	assert_non_null(resource.note);
	assert_true(path_backend.identify(fixture.state, &resource, &fixture.arena, NULL) < 0);
}

static void removal_sets_aside_and_purge_deletes(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct resource resource;
	int64_t bytes;

	fixture_open(&fixture, state);
	workdir_make(*state, "tmp/a");
	workdir_make(*state, "tmp/a/b");
	workdir_fill(*state, "tmp/a/b/f");
	resource = identified(&fixture, state, "tmp/a/b");
	assert_int_equal(take(&fixture, &resource, NULL), 1);
	assert_true(workdir_has(*state, "tmp/.sbx-trash/r1:2:0/f"));
	probe(&fixture, &resource);
	assert_int_equal(resource.present, TRI_NO);
	assert_true(text_ends(resource.set_aside, "/tmp/.sbx-trash/r1:2:0"));
	assert_int_equal(take(&fixture, &resource, NULL), 0);
	assert_int_equal(purge(&fixture, &resource, &bytes, NULL), 1);
	assert_int_equal(bytes, 8192);
	assert_int_equal(purge(&fixture, &resource, &bytes, NULL), 0);
	probe(&fixture, &resource);
	assert_null(resource.set_aside);
	assert_true(workdir_has(*state, "tmp/a"));
}

static void removal_proves_the_inode_once_more(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct resource resource, outside;

	fixture_open(&fixture, state);
	workdir_make(*state, "tmp/a");
	workdir_make(*state, "elsewhere");
	resource = identified(&fixture, state, "tmp/a");
	resource.ino++;
	assert_int_equal(take(&fixture, &resource, NULL), -ESTALE);
	assert_true(workdir_has(*state, "tmp/a"));
	outside = told(&fixture, state, "elsewhere");
	assert_int_equal(take(&fixture, &outside, NULL), -EINVAL);
	assert_true(workdir_has(*state, "elsewhere"));
}

static void a_mount_inside_stops_removal_and_purge_before_anything_goes(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	const char *point = workdir_path(*state, "tmp/a/m");
	const char *late = workdir_path(*state, "tmp/.sbx-trash/r1:2:0/m");
	struct error error = { 0 }, again = { 0 };
	struct resource resource;
	int64_t bytes;

	fixture_open(&fixture, state);
	workdir_make(*state, "tmp/a");
	workdir_make(*state, "tmp/a/m");
	workdir_fill(*state, "tmp/a/f");
	resource = identified(&fixture, state, "tmp/a");
	assert_return_code(mount("t", point, "tmpfs", 0, NULL), errno);
	assert_int_equal(take(&fixture, &resource, &error), -EBUSY);
	assert_non_null(strstr(error.text, point));
	assert_true(workdir_has(*state, "tmp/a/f"));
	assert_return_code(umount(point), errno);
	assert_int_equal(take(&fixture, &resource, NULL), 1);
	assert_return_code(mount("t", late, "tmpfs", 0, NULL), errno);
	assert_int_equal(purge(&fixture, &resource, &bytes, &again), -EBUSY);
	assert_non_null(strstr(again.text, late));
	assert_true(workdir_has(*state, "tmp/.sbx-trash/r1:2:0/f"));
}

static void a_trash_entry_is_found_as_proven_property_of_its_run(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct inventory filtered CLEANUP(inventory_done) = { 0 };
	const struct run *run;
	struct resource resource;
	int64_t bytes;

	fixture_open(&fixture, state);
	workdir_make(*state, "ws/.sbx-trash");
	workdir_make(*state, "ws/.sbx-trash/r1:2:0");
	workdir_make(*state, "ws/.sbx-trash/odd");
	workdir_make(*state, "tmp/.sbx-trash");
	workdir_make(*state, "tmp/.sbx-trash/r2:0:0");
	path_backend.discover(fixture.state, &inventory, NULL);
	assert_int_equal(inventory.run_count, 2);
	assert_int_equal(inventory.source_count, 0);
	run = inventory_find(&inventory, "r1");
	assert_int_equal(run->resource_count, 1);
	resource = run->resources[0];
	assert_int_equal(resource.kind, KIND_PATH);
	assert_int_equal(resource.proof, PROOF_TRASH);
	assert_int_equal(resource.generation, 2);
	assert_int_equal(resource.present, TRI_YES);
	assert_true(text_ends(resource.locator, "/ws/.sbx-trash/r1:2:0"));
	assert_string_equal(resource.set_aside, resource.locator);
	probe(&fixture, &resource);
	assert_int_equal(resource.present, TRI_YES);
	assert_false(resource.contradicts);
	assert_int_equal(take(&fixture, &resource, NULL), 0);
	assert_int_equal(purge(&fixture, &resource, &bytes, NULL), 1);
	assert_false(workdir_has(*state, "ws/.sbx-trash/r1:2:0"));
	probe(&fixture, &resource);
	assert_int_equal(resource.present, TRI_NO);
	assert_null(resource.set_aside);
	path_backend.discover(fixture.state, &filtered, "r1");
	assert_int_equal(filtered.run_count, 0);
}

static void an_unreadable_trash_is_noted_and_proves_nothing(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct resource resource;

	fixture_open(&fixture, state);
	workdir_fill(*state, "tmp/.sbx-trash");
	path_backend.discover(fixture.state, &inventory, NULL);
	assert_int_equal(inventory.source_count, 1);
	assert_string_equal(inventory.sources[0].name, "worktrees");
	assert_string_equal(inventory.sources[0].at, fixture.path_root);
	assert_int_equal(inventory.sources[0].ok, TRI_NO);
	assert_non_null(strstr(inventory.sources[0].error, ".sbx-trash"));
	resource = told(&fixture, state, "tmp/a");
	probe(&fixture, &resource);
	assert_int_equal(resource.present, TRI_UNKNOWN);
	assert_non_null(resource.note);
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(a_registered_path_is_remembered_by_its_inode),
		workdir_test(paths_no_run_may_own_are_refused_with_what_would_be_right),
		workdir_test(probe_tells_here_from_gone_and_another),
		workdir_test(probe_contradicts_links_and_places_outside),
		workdir_test(a_root_that_is_not_there_makes_its_paths_unknown),
		workdir_test(removal_sets_aside_and_purge_deletes),
		workdir_test(removal_proves_the_inode_once_more),
		workdir_test(a_mount_inside_stops_removal_and_purge_before_anything_goes),
		workdir_test(a_trash_entry_is_found_as_proven_property_of_its_run),
		workdir_test(an_unreadable_trash_is_noted_and_proves_nothing),
	};

	return cmocka_run_group_tests_name("path", tests, workdir_own_mounts, NULL);
}
