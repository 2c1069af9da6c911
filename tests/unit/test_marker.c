#include "unit.h"

#include "base/text.h"
#include "state/marker.h"

#include "small_disk.h"
#include "tracer.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { NOW = 1795966380, STRANGER = 12345 };

#define HEAD "[run]\nid = r1\ncreated = 2026-11-29T15:33:00Z\n"
#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static const struct settings no_owners = { 0 };

static int read_it(struct workdir *workdir, const struct settings *settings, struct arena *arena,
	struct record **ret_record, struct error *error)
{
	return marker_read(workdir->dir, workdir->path, "r1", settings, arena, ret_record, error);
}

static void put(struct workdir *workdir, const char *name, const char *text)
{
	workdir_write(workdir, name, text, strlen(text));
}

/* What reading this text as r1.sbx answers. */
static int answer(struct workdir *workdir, const char *text, size_t length, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record *record = NULL;
	int r;

	workdir_write(workdir, "r1.sbx", text, length);
	r = read_it(workdir, &no_owners, &arena, &record, error);
	assert_true((r == 0) == (record != NULL));
	return r;
}

static const struct resource *resource_of(
	const struct record *record, enum kind kind, const char *locator)
{
	for (size_t i = 0; i < record->resource_count; i++)
		if (record->resources[i].kind == kind &&
			text_equal(record->resources[i].locator, locator))
			return &record->resources[i];
	fail_msg("no %s %s", kind_name(kind), locator);
	return NULL;
}

static void the_least_marker_is_a_record_with_the_default_tree(void **state)
{
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record *record;
	const struct resource *tree;

	put(workdir, "r1.sbx", HEAD);
	assert_int_equal(read_it(workdir, &no_owners, &arena, &record, NULL), 0);
	assert_string_equal(record->run, "r1");
	assert_int_equal(record->created_s, NOW);
	assert_int_equal(record->last_sign_s, NOW);
	assert_int_equal(record->ttl_s, 0);
	assert_int_equal(record->deadline_s, 0);
	assert_int_equal(record->outcome, OUTCOME_NONE);
	assert_int_equal(record->generation, 0);
	assert_int_equal(record->resource_count, 1);
	tree = resource_of(record, KIND_WORKTREE, workdir_path(workdir, "r1"));
	assert_int_equal(tree->proof, PROOF_MARKER);
	assert_int_equal(tree->span_from_s, NOW);
	assert_string_equal(tree->run, "r1");
}

static void every_key_has_its_place(void **state)
{
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record *record;
	const struct resource *tree;

	put(workdir, "r1.sbx",
		"; a comment\n" HEAD "ttl = 2h\nrepo = /srv/git/app/\nworktree = /ws/x\n"
		"branch = sbx/r1\nbase = " COMMIT "\ncontainer = c1\ncontainer = c2\n"
		"cgroup = /sbx.slice/r1\nscope = sbx-r1.scope\npath = /var/tmp/sbx/a b\n"
		"finished = @1795966390\noutcome = failed\nno_container = no\n");
	assert_int_equal(read_it(workdir, &no_owners, &arena, &record, NULL), 0);
	assert_int_equal(record->ttl_s, 7200);
	assert_int_equal(record->deadline_s, NOW + 7200);
	assert_int_equal(record->finished_s, NOW + 10);
	assert_int_equal(record->outcome, OUTCOME_FAILED);
	assert_int_equal(record->resource_count, 7);
	tree = resource_of(record, KIND_WORKTREE, "/ws/x");
	assert_string_equal(tree->repo, "/srv/git/app");
	assert_string_equal(tree->branch, "sbx/r1");
	assert_string_equal(tree->base, COMMIT);
	assert_int_equal(tree->span_to_s, NOW + 10);
	assert_string_equal(resource_of(record, KIND_BRANCH, "sbx/r1")->repo, "/srv/git/app");
	resource_of(record, KIND_CONTAINER, "c1");
	resource_of(record, KIND_CONTAINER, "c2");
	resource_of(record, KIND_CGROUP, "/sbx.slice/r1");
	resource_of(record, KIND_SCOPE, "sbx-r1.scope");
	resource_of(record, KIND_PATH, "/var/tmp/sbx/a b");
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	static const struct {
		const char *text, *names;
	} bad[] = {
		{ "", "empty" },
		{ "\n", "'id' is missing" },
		{ "[run]\nid = r1\n", "'created' is missing" },
		{ "[run]\ncreated = @1\n", "'id' is missing" },
		{ "[run]\nid = r2\n", "r1.sbx:2: id: 'r2'" },
		{ "[other]\nid = r1\n", "r1.sbx:2: 'other'" },
		{ "id = r1\n", "r1.sbx:1: ''" },
		{ HEAD "colour = red\n", ":4: 'colour'" },
		{ HEAD "ttl = 1h\nttl = 2h\n", ":5: 'ttl'" },
		{ HEAD "id = r1\n", ":4: 'id'" },
		{ HEAD "ttl = soon\n", ":4: ttl: 'soon'" },
		{ HEAD "ttl = 0\n", ":4: ttl: '0'" },
		{ "[run]\nid = r1\ncreated = -2h\n", ":3: created: '-2h'" },
		{ "[run]\nid = r1\ncreated = yesterday\n", ":3: created: 'yesterday'" },
		{ HEAD "repo = git/app\n", ":4: repo: 'git/app'" },
		{ HEAD "worktree = \n", ":4: worktree: ''" },
		{ HEAD "worktree = /ws/../etc\n", ":4: worktree:" },
		{ HEAD "path = /ws/..\n", ":4: path:" },
		{ HEAD "cgroup = sbx.slice\n", ":4: cgroup:" },
		{ HEAD "scope = a/b\n", ":4: scope:" },
		{ HEAD "container = -f\n", ":4: container:" },
		{ HEAD "container = a b\n", ":4: container:" },
		{ HEAD "branch = refs/heads/x\n", ":4: branch:" },
		{ HEAD "base = 0123\n", ":4: base:" },
		{ HEAD "outcome = ok\n", "finished and outcome" },
		{ HEAD "finished = @5\n", "finished and outcome" },
		{ HEAD "finished = @0\noutcome = ok\n", ":4: finished:" },
		{ HEAD "outcome = good\n", ":4: outcome:" },
		{ HEAD "no_container = maybe\n", ":4: no_container:" },
		{ HEAD "no_container = yes\ncontainer = c\n", "one of them is wrong" },
		{ HEAD "ttl = 1d", "not whole" },
		{ HEAD "rubbish\n", ":4: neither" },
	};
	struct workdir *workdir = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = { 0 };
		int r = answer(workdir, bad[i].text, strlen(bad[i].text), &error);

		assert_int_equal(r, -EINVAL);
		if (!strstr(error.text, bad[i].names) || !strstr(error.text, "r1.sbx"))
			fail_msg("%zu: %s", i, error.text);
	}
}

/* "Corrupt is not missing": no cut of a marker, and no other byte in it, reads as ENOENT. */
static void a_damaged_marker_is_never_a_missing_one(void **state)
{
	static const char whole[] = HEAD "ttl = 2h\nrepo = /srv/git/app\nbranch = b\n";
	struct workdir *workdir = *state;
	char text[sizeof(whole)];

	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		int r = answer(workdir, whole, i, NULL);

		assert_true(r == -EINVAL || (r == 0 && i > 0 && whole[i - 1] == '\n'));
		memcpy(text, whole, sizeof(text));
		text[i] = 0;
		assert_int_equal(answer(workdir, text, sizeof(text) - 1, NULL), -EINVAL);
		text[i] = '\xff';
		assert_int_not_equal(answer(workdir, text, sizeof(text) - 1, NULL), -ENOENT);
	}
}

static void only_a_trusted_owner_is_believed(void **state)
{
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	uid_t owners[] = { 5, STRANGER };
	struct settings settings = { .owners = owners, .owner_count = 2 };
	struct record *record;
	struct error error = { 0 };

	put(workdir, "r1.sbx", HEAD);
	assert_int_equal(fchownat(workdir->dir, "r1.sbx", STRANGER, STRANGER, 0), 0);
	assert_int_equal(read_it(workdir, &no_owners, &arena, &record, &error), -EPERM);
	assert_non_null(strstr(error.text, "uid 12345"));
	assert_int_equal(read_it(workdir, &settings, &arena, &record, NULL), 0);
}

static void what_others_can_write_is_not_believed(void **state)
{
	static const mode_t modes[] = { 0664, 0646, 0666, 0777 };
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record *record;

	put(workdir, "r1.sbx", HEAD);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct error error = { 0 };

		assert_int_equal(fchmodat(workdir->dir, "r1.sbx", modes[i], 0), 0);
		assert_int_equal(read_it(workdir, &no_owners, &arena, &record, &error), -EPERM);
		assert_non_null(strstr(error.text, "mode"));
	}
	assert_int_equal(fchmodat(workdir->dir, "r1.sbx", 0644, 0), 0);
	assert_int_equal(linkat(workdir->dir, "r1.sbx", workdir->dir, "second", 0), 0);
	assert_int_equal(read_it(workdir, &no_owners, &arena, &record, NULL), -EPERM);
}

static void what_is_no_file_is_no_marker_and_not_missing(void **state)
{
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *large CLEANUP(mem_done) = mem_new(MARKER_MAX + 2);
	struct record *record;

	assert_int_equal(read_it(workdir, &no_owners, &arena, &record, NULL), -ENOENT);
	put(workdir, "target", HEAD);
	assert_int_equal(symlinkat("target", workdir->dir, "r1.sbx"), 0);
	assert_int_equal(read_it(workdir, &no_owners, &arena, &record, NULL), -ELOOP);
	assert_int_equal(unlinkat(workdir->dir, "r1.sbx", 0), 0);
	assert_int_equal(mkfifoat(workdir->dir, "r1.sbx", 0644), 0);
	assert_int_equal(read_it(workdir, &no_owners, &arena, &record, NULL), -EINVAL);
	assert_int_equal(unlinkat(workdir->dir, "r1.sbx", 0), 0);
	memset(large, '\n', MARKER_MAX + 1);
	assert_int_equal(answer(workdir, large, MARKER_MAX + 1, NULL), -EFBIG);
}

static void what_was_written_is_read_back(void **state)
{
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct resource resources[] = {
		{ .kind = KIND_WORKTREE,
			.locator = "/ws/x",
			.repo = "/git/app/.git",
			.base = COMMIT,
			.branch = "sbx/\xc3\xa4" },
		{ .kind = KIND_BRANCH, .locator = "sbx/\xc3\xa4", .repo = "/git/app/.git" },
		{ .kind = KIND_CONTAINER, .locator = "c1" },
		{ .kind = KIND_CONTAINER, .locator = "c2" },
		{ .kind = KIND_CGROUP, .locator = "/sbx.slice/r1" },
		{ .kind = KIND_SCOPE, .locator = "sbx-r1.scope" },
		{ .kind = KIND_PATH, .locator = "/tmp/a = b # c" },
		{ .kind = KIND_PROCESS, .locator = "77" },
	};
	const struct record told = { .run = "r1",
		.created_s = NOW,
		.ttl_s = 60,
		.deadline_s = NOW + 7265,
		.finished_s = NOW + 5,
		.outcome = OUTCOME_OK,
		.resources = resources,
		.resource_count = ARRAY_SIZE(resources) };
	struct record *record;

	assert_int_equal(marker_write(workdir->path, &told, NULL), 0);
	assert_int_equal(read_it(workdir, &no_owners, &arena, &record, NULL), 0);
	assert_int_equal(record->created_s, NOW);
	assert_int_equal(record->deadline_s, NOW + 7265);
	assert_int_equal(record->finished_s, NOW + 5);
	assert_int_equal(record->outcome, OUTCOME_OK);
	assert_int_equal(record->resource_count, ARRAY_SIZE(resources) - 1);
	for (size_t i = 0; i + 1 < ARRAY_SIZE(resources); i++) {
		const struct resource *was = &resources[i];
		const struct resource *is = resource_of(record, was->kind, was->locator);

		assert_true(text_equal(is->repo, was->repo));
		assert_true(text_equal(is->base, was->base));
		assert_true(text_equal(is->branch, was->branch));
	}
}

static void a_value_that_would_not_come_back_is_refused(void **state)
{
	static const char *const bad[] = { "/a;b", "/a\nid = r2", "/a\x01", " /a", "/a " };
	struct workdir *workdir = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct resource path = { .kind = KIND_PATH, .locator = bad[i] };
		const struct record record = {
			.run = "r1", .created_s = NOW, .resources = &path, .resource_count = 1
		};
		struct error error = { 0 };

		assert_int_equal(marker_write(workdir->path, &record, &error), -EINVAL);
		assert_non_null(strstr(error.text, "path"));
		assert_int_equal(faccessat(workdir->dir, "r1.sbx", F_OK, 0), -1);
	}
	assert_int_equal(
		marker_write(workdir->path, &(struct record){ .run = "../r1" }, NULL), -EINVAL);
}

static void a_run_can_end_on_a_full_disk(void **state)
{
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record told = { .run = "r1", .created_s = NOW, .ttl_s = 60 }, *read = NULL;

	small_disk(workdir);
	assert_int_equal(marker_write(workdir->path, &told, NULL), 0);
	small_disk_fill_bytes(workdir);
	small_disk_fill_inodes(workdir);
	told.finished_s = NOW + 30;
	told.outcome = OUTCOME_FAILED;
	assert_int_equal(marker_write(workdir->path, &told, NULL), -ENOSPC);
	assert_int_equal(marker_write_end(workdir->path, &told, NULL), 0);
	assert_int_equal(read_it(workdir, &no_owners, &arena, &read, NULL), 0);
	assert_int_equal(read->created_s, NOW);
	assert_int_equal(read->ttl_s, 60);
	assert_int_equal(read->finished_s, NOW + 30);
	assert_int_equal(read->outcome, OUTCOME_FAILED);
}

static int write_end(void *path)
{
	const struct record told = {
		.run = "r1",
		.created_s = NOW,
		.ttl_s = 60,
		.finished_s = NOW + 30,
		.outcome = OUTCOME_FAILED,
	};

	return marker_write_end(path, &told, NULL) == 0 ? 0 : 1;
}

/* The first is that of the new file. */
static int fail_to_sync_the_directory(void *calls, const struct tracer_call *call)
{
	(void)call;
	return ++*(int *)calls == 2 ? -ENOSPC : TRACER_GO_ON;
}

static void an_end_that_is_in_place_is_not_added_once_more(void **state)
{
	static const long calls[] = { SYS_fsync };
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct error error = { 0 };
	struct record *read = NULL;
	int syncs = 0, status;

	put(workdir, "r1.sbx", HEAD);
	status = tracer_run(&(struct trace){
		.calls = calls,
		.call_count = 1,
		.program = write_end,
		.program_context = workdir->path,
		.on_call = fail_to_sync_the_directory,
		.context = &syncs,
		.limit_s = 300,
	});
	assert_int_equal(syncs, 2);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(read_it(workdir, &no_owners, &arena, &read, &error), 0);
	assert_int_equal(read->finished_s, NOW + 30);
}

static void removing_a_marker_or_pin_is_idempotent(void **state)
{
	struct workdir *workdir = *state;

	put(workdir, "r1.sbx", HEAD);
	put(workdir, "r1.keep", "");
	assert_int_equal(marker_remove(workdir->path, "r1", NULL), 1);
	assert_int_equal(marker_remove(workdir->path, "r1", NULL), 0);
	assert_int_equal(keep_remove(workdir->path, "r1", NULL), 1);
	assert_int_equal(keep_remove(workdir->path, "r1", NULL), 0);
	assert_int_equal(marker_remove(workdir->path, "../r1", NULL), -EINVAL);
	assert_true(keep_remove(workdir_path(workdir, "no"), "r1", NULL) < 0);
}

static int keep_answer(
	struct workdir *workdir, struct arena *arena, const char *text, struct pin **ret_pin)
{
	put(workdir, "r1.keep", text);
	assert_int_equal(fchownat(workdir->dir, "r1.keep", STRANGER, STRANGER, 0), 0);
	return keep_read(workdir->dir, "r1", arena, ret_pin, NULL);
}

static void a_pin_made_by_hand_keeps_whoever_owns_it(void **state)
{
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct pin *pin;

	assert_int_equal(keep_answer(workdir, &arena, "", &pin), 0);
	assert_string_equal(pin->run, "r1");
	assert_null(pin->by);
	assert_int_equal(pin->until_s, 0);
	assert_int_equal(keep_answer(workdir, &arena, "\n; why\n", &pin), 0);
	assert_int_equal(keep_answer(workdir, &arena,
				 "[pin]\nby = anna\nreason = look\nsince = @5\n"
				 "until = 2026-11-29T15:33:00Z",
				 &pin),
		0);
	assert_string_equal(pin->by, "anna");
	assert_string_equal(pin->reason, "look");
	assert_int_equal(pin->since_s, 5);
	assert_int_equal(pin->until_s, NOW);
	assert_int_equal(keep_answer(workdir, &arena, "[pin]\nuntil = never\n", &pin), 0);
	assert_int_equal(pin->until_s, 0);
}

static void a_pin_that_cannot_be_read_is_not_a_missing_one(void **state)
{
	static const char *const bad[] = { "please keep", "[pin]\nuntil = soon\n",
		"[pin]\nuntil = +2h\n", "[pin]\nuntil = @1\nuntil = @2\n", "[pin]\nfor = 2h\n",
		"until = @1\n", "\x01\x02" };
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct pin *pin = NULL;

	assert_int_equal(keep_read(workdir->dir, "r1", &arena, &pin, NULL), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(keep_answer(workdir, &arena, bad[i], &pin), -EINVAL);
	assert_int_equal(unlinkat(workdir->dir, "r1.keep", 0), 0);
	assert_int_equal(symlinkat("nowhere", workdir->dir, "r1.keep"), 0);
	assert_int_equal(keep_read(workdir->dir, "r1", &arena, &pin, NULL), -ELOOP);
	assert_int_equal(unlinkat(workdir->dir, "r1.keep", 0), 0);
	assert_int_equal(mkdirat(workdir->dir, "r1.keep", 0755), 0);
	assert_int_equal(keep_read(workdir->dir, "r1", &arena, &pin, NULL), -EINVAL);
	assert_null(pin);
}

static void the_mirror_of_a_pin_carries_its_end(void **state)
{
	struct workdir *workdir = *state;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct pin *pin;

	assert_int_equal(keep_write(workdir->path,
				 &(struct pin){ .run = "r1",
					 .by = "anna",
					 .reason = "disk ; look\nuntil = @1",
					 .since_s = NOW,
					 .until_s = NOW + 60 },
				 NULL),
		0);
	assert_int_equal(keep_read(workdir->dir, "r1", &arena, &pin, NULL), 0);
	assert_string_equal(pin->by, "anna");
	assert_string_equal(pin->reason, "disk , look until = @1");
	assert_int_equal(pin->since_s, NOW);
	assert_int_equal(pin->until_s, NOW + 60);
	assert_int_equal(keep_write(workdir->path, &(struct pin){ .run = "r1" }, NULL), 0);
	assert_int_equal(keep_read(workdir->dir, "r1", &arena, &pin, NULL), 0);
	assert_int_equal(pin->until_s, 0);
}

static void a_keep_holds_until_its_end_and_unknown_where_it_cannot_be_read(void **state)
{
	static const char ends[] = "[pin]\nuntil = @1000\n", rubbish[] = "rubbish";
	struct workdir *workdir = *state;

	assert_int_equal(keep_holds(workdir->path, "r1", 999), TRI_NO);
	workdir_write(workdir, "r1.keep", "", 0);
	assert_int_equal(keep_holds(workdir->path, "r1", 999), TRI_YES);
	workdir_write(workdir, "r2.keep", ends, strlen(ends));
	assert_int_equal(keep_holds(workdir->path, "r2", 999), TRI_YES);
	assert_int_equal(keep_holds(workdir->path, "r2", 1000), TRI_NO);
	workdir_write(workdir, "r3.keep", rubbish, strlen(rubbish));
	assert_int_equal(keep_holds(workdir->path, "r3", 999), TRI_UNKNOWN);
	assert_int_equal(symlinkat("nowhere", workdir->dir, "r4.keep"), 0);
	assert_int_equal(keep_holds(workdir->path, "r4", 999), TRI_UNKNOWN);
	assert_int_equal(keep_holds(workdir_path(workdir, "gone"), "r1", 999), TRI_UNKNOWN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_least_marker_is_a_record_with_the_default_tree),
		TEST(every_key_has_its_place),
		TEST(what_is_wrong_is_named_with_its_line),
		TEST(a_damaged_marker_is_never_a_missing_one),
		TEST(only_a_trusted_owner_is_believed),
		TEST(what_others_can_write_is_not_believed),
		TEST(what_is_no_file_is_no_marker_and_not_missing),
		TEST(what_was_written_is_read_back),
		TEST(a_value_that_would_not_come_back_is_refused),
		TEST(a_run_can_end_on_a_full_disk),
		TEST(an_end_that_is_in_place_is_not_added_once_more),
		TEST(removing_a_marker_or_pin_is_idempotent),
		TEST(a_pin_made_by_hand_keeps_whoever_owns_it),
		TEST(a_pin_that_cannot_be_read_is_not_a_missing_one),
		TEST(the_mirror_of_a_pin_carries_its_end),
		TEST(a_keep_holds_until_its_end_and_unknown_where_it_cannot_be_read),
	};

	return cmocka_run_group_tests_name("marker", tests, workdir_own_mounts, NULL);
}
