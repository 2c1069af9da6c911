/* Writing and reading back, where the disk fills, a file changes, or an object is not what it was. */
#include "git_fixture.h"
#include "workdir.h"

#include "backend/worktree_salvage_check.h"
#include "backend/worktree_salvage_write.h"
#include "base/clock.h"
#include "os/dir.h"

#include <errno.h>
#include <fcntl.h>

struct written {
	int tree;
	struct salvage_hash hash;
	struct salvage_plan plan;
	struct salvage_scope scope;
	struct salvage_writer writer;
	git_oid id;
	struct error error;
};

static void written_done(struct written *written)
{
	fd_done(&written->tree);
	salvage_plan_done(&written->plan);
	salvage_hash_done(&written->hash);
	git_odb_free(written->writer.odb);
	git_repository_free(written->writer.repository);
}

static void plan(struct git_fixture *fixture, struct written *written)
{
	struct salvage_writer *writer = &written->writer;

	written->tree = dir_open(fixture->tree, NULL);
	writer->deadline_ms = deadline_in_ms(60000);
	assert_int_equal(worktree_git_open(fixture->repo, &writer->repository, NULL), 0);
	assert_int_equal(git_repository_odb(&writer->odb, writer->repository), 0);
	assert_int_equal(salvage_hash_open(&written->hash, NULL), 0);
	written->scope = (struct salvage_scope){
		.hash = &written->hash,
		.repository = writer->repository,
		.odb = writer->odb,
		.path = fixture->tree,
		.file_max = 1 << 30,
		.total_max = 1 << 30,
		.deadline_ms = writer->deadline_ms,
	};
	assert_int_equal(
		salvage_plan_tree(&written->plan, written->tree, &written->scope, &written->error),
		0);
}

static int write_all(struct written *written)
{
	int r = salvage_blobs_write(
		&written->writer, &written->plan, written->tree, &written->error);

	if (r == 0)
		r = salvage_trees_write(
			&written->writer, written->plan.root, &written->id, &written->error);
	return r;
}

static int check(struct git_fixture *fixture, struct written *written)
{
	git_repository *fresh CLEANUP(repository_done) = NULL;

	assert_int_equal(worktree_git_open(fixture->repo, &fresh, NULL), 0);
	return salvage_trees_check(fresh, &written->hash, written->plan.root, &written->id,
		written->writer.deadline_ms, &written->error);
}

static void what_was_written_is_read_back(void **state)
{
	struct git_fixture *fixture = *state;
	struct written written CLEANUP(written_done) = { .tree = -EBADF };

	git_fixture_sh(fixture, "echo x >ws/r1/new; head -c 9000000 /dev/urandom >ws/r1/large");
	plan(fixture, &written);
	assert_int_equal(written.plan.new_files, 2);
	assert_int_equal(write_all(&written), 0);
	assert_int_equal(check(fixture, &written), 0);
}

/* The name of the loose object of a file of the tree. */
#define LOOSE(file) \
	"o=repo/.git/objects/$(git hash-object " file " | sed 's,^..,&/,'); chmod u+w $o; "

static void what_is_damaged_is_not_read_back(void **state)
{
	static const char *const damages[] = {
		LOOSE("ws/r1/new") "rm $o",
		LOOSE("ws/r1/new") "echo other | git hash-object -w --stdin >/dev/null; "
				   "cp repo/.git/objects/$(git -C repo hash-object -w --stdin "
				   "</dev/null | sed 's,^..,&/,') $o",
		LOOSE("ws/r1/large") "truncate -s 5000000 $o",
		LOOSE("ws/r1/large") "printf XXXXXXXX | dd of=$o bs=1 seek=6000000 conv=notrunc "
				     "status=none",
		LOOSE("ws/r1/large") ": >$o",
	};
	struct git_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct written written CLEANUP(written_done) = { .tree = -EBADF };

		git_fixture_sh(
			fixture, "echo x >ws/r1/new; head -c 9000000 /dev/urandom >ws/r1/large");
		plan(fixture, &written);
		assert_int_equal(write_all(&written), 0);
		git_fixture_sh(fixture, "git init -q 2>/dev/null; %s", damages[i]);
		assert_int_equal(check(fixture, &written), -EUCLEAN);
		git_fixture_reset(fixture);
	}
}

static void another_tree_is_not_what_was_written(void **state)
{
	struct git_fixture *fixture = *state;
	struct written written CLEANUP(written_done) = { .tree = -EBADF };
	char *other CLEANUP(mem_done) = NULL;

	git_fixture_sh(fixture, "echo x >ws/r1/new");
	plan(fixture, &written);
	assert_int_equal(write_all(&written), 0);
	/* One file less, and one file more. */
	other = git_fixture_ask(fixture, "git -C repo rev-parse 'main^{tree}'");
	assert_int_equal(git_oid_fromstr(&written.id, other), 0);
	assert_int_equal(check(fixture, &written), -EUCLEAN);
	free(other);
	other = git_fixture_ask(
		fixture, "echo y >ws/r1/more; git -C ws/r1 add -A; git -C ws/r1 write-tree");
	assert_int_equal(git_oid_fromstr(&written.id, other), 0);
	assert_int_equal(check(fixture, &written), -EUCLEAN);
}

static void a_file_that_changes_before_it_is_written_is_refused(void **state)
{
	static const char *const changes[] = { "echo y >ws/r1/new", "echo yy >ws/r1/new",
		": >ws/r1/new", "rm ws/r1/new", "rm ws/r1/new; ln -s a.txt ws/r1/new",
		"rm ws/r1/new; mkfifo ws/r1/new", "rm -r ws/r1/d", "ln -sfn y ws/r1/l" };
	struct git_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct written written CLEANUP(written_done) = { .tree = -EBADF };

		git_fixture_sh(fixture,
			"echo x >ws/r1/new; ln -s x ws/r1/l; mkdir ws/r1/d; echo x2 >ws/r1/d/f");
		plan(fixture, &written);
		git_fixture_sh(fixture, "%s", changes[i]);
		assert_int_equal(write_all(&written), -EBUSY);
		git_fixture_reset(fixture);
	}
}

static void a_disk_that_fills_while_it_is_written_says_so(void **state)
{
	struct git_fixture *fixture = *state;
	struct written written CLEANUP(written_done) = { .tree = -EBADF };

	git_fixture_sh(fixture, "mv repo kept; mkdir repo; mount -t tmpfs -o size=2m none repo; "
				"cp -a kept/. repo; head -c 6000000 /dev/urandom >ws/r1/large");
	plan(fixture, &written);
	assert_int_equal(write_all(&written), -ENOSPC);
	assert_non_null(strstr(written.error.text, "large: "));
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(what_was_written_is_read_back),
		case_of(what_is_damaged_is_not_read_back),
		case_of(another_tree_is_not_what_was_written),
		case_of(a_file_that_changes_before_it_is_written_is_refused),
		case_of(a_disk_that_fills_while_it_is_written_says_so),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
