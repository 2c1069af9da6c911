/* What is salvaged, before it is written: caps, deadline, and that a change does not go unseen. */
#include "unit.h"
#include "workdir.h"

#include "backend/worktree_salvage_plan.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct planned {
	struct salvage_hash hash;
	struct salvage_plan plan;
	struct salvage_scope scope;
	struct error error;
};

static void planned_done(struct planned *planned)
{
	salvage_plan_done(&planned->plan);
	salvage_hash_done(&planned->hash);
}

static int plan(struct workdir *workdir, struct planned *planned)
{
	if (!planned->hash.odb)
		assert_int_equal(salvage_hash_open(&planned->hash, &planned->error), 0);
	planned->error = (struct error){ 0 };
	planned->scope.hash = &planned->hash;
	planned->scope.path = workdir->path;
	if (!planned->scope.file_max)
		planned->scope.file_max = planned->scope.total_max = 1 << 20;
	if (!planned->scope.deadline_ms)
		planned->scope.deadline_ms = deadline_in_ms(60000);
	return salvage_plan_tree(&planned->plan, workdir->dir, &planned->scope, &planned->error);
}

static void the_hash_of_a_file_is_that_of_its_blob(void **state)
{
	struct planned planned CLEANUP(planned_done) = { 0 };
	char bytes[8192];
	git_oid id;

	workdir_fill(*state, "f"); /* 8192 bytes 'x' */
	assert_int_equal(plan(*state, &planned), 0);
	assert_int_equal(planned.plan.root->count, 1);
	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(git_odb_hash(&id, bytes, sizeof(bytes), GIT_OBJECT_BLOB), 0);
	assert_true(git_oid_equal(&id, &planned.plan.root->sorted[0]->id));
}

static void caps_name_the_file_or_what_is_too_much_in_all(void **state)
{
	struct planned one CLEANUP(
		planned_done) = { .scope = { .file_max = 8191, .total_max = 100000 } };
	struct planned all CLEANUP(
		planned_done) = { .scope = { .file_max = 8192, .total_max = 3 * 8192 - 1 } };
	struct planned enough CLEANUP(
		planned_done) = { .scope = { .file_max = 8192, .total_max = 3 * 8192 } };

	workdir_fill(*state, "a");
	assert_int_equal(plan(*state, &one), -EFBIG);
	assert_non_null(strstr(one.error.text, "a: 8192 bytes"));
	workdir_fill(*state, "b");
	workdir_fill(*state, "c");
	assert_int_equal(plan(*state, &all), -EFBIG);
	assert_non_null(strstr(all.error.text, "24575 bytes"));
	assert_int_equal(plan(*state, &enough), 0);
	assert_int_equal(enough.plan.bytes, 3 * 8192);
}

static void a_deadline_ends_it(void **state)
{
	struct planned planned CLEANUP(planned_done) = { .scope = { .deadline_ms = 1 } };

	workdir_fill(*state, "a");
	assert_int_equal(plan(*state, &planned), -ETIME);
}

static void a_tree_too_deep_is_refused(void **state)
{
	struct planned planned CLEANUP(planned_done) = { 0 };
	struct workdir *workdir = *state;
	int dir = workdir_open(workdir);

	for (int i = 0; i < SALVAGE_DEPTH_MAX + 2; i++) {
		int below;

		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		below = openat(dir, "d", O_RDONLY | O_DIRECTORY);
		(void)close(dir);
		dir = below;
	}
	(void)close(dir);
	assert_int_equal(plan(workdir, &planned), -EFBIG);
	assert_non_null(strstr(planned.error.text, "deeper"));
}

/* Each way in which somebody who still writes would show. */
static void what_changes_between_two_looks_is_seen(void **state)
{
	static const char *const changes[] = { "echo y >f", "echo x >g", "rm f", "chmod +x f",
		"ln -sfn b link", "mkdir new", "rm -r d", "rm f; mkdir f", "echo z >d/f" };
	struct workdir *workdir = *state;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct planned before CLEANUP(planned_done) = { 0 };
		struct planned after CLEANUP(planned_done) = { 0 };
		char *command CLEANUP(mem_done) = mem_printf(
			"cd '%s' && rm -rf * && echo x >f && ln -s a link && mkdir d && echo y "
			">d/f",
			workdir->path);
		char *change CLEANUP(mem_done) =
			mem_printf("cd '%s' && %s", workdir->path, changes[i]);

		assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
		assert_int_equal(plan(workdir, &before), 0);
		assert_int_equal(plan(workdir, &after), 0);
		assert_int_equal(salvage_plan_same(&before.plan, &after.plan, &after.error), 0);
		salvage_plan_done(&after.plan);
		assert_int_equal(system(change), 0); /* NOLINT(cert-env33-c) */
		assert_int_equal(plan(workdir, &after), 0);
		assert_int_equal(
			salvage_plan_same(&before.plan, &after.plan, &after.error), -EBUSY);
	}
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(the_hash_of_a_file_is_that_of_its_blob),
		case_of(caps_name_the_file_or_what_is_too_much_in_all),
		case_of(a_deadline_ends_it),
		case_of(a_tree_too_deep_is_refused),
		case_of(what_changes_between_two_looks_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
