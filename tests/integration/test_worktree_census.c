/* Who else names a tree, its repository or its git record: borrowers, rivals, what points into it. */
#include "fuse.h"
#include "git_fixture.h"
#include "workdir.h"

#include "base/clock.h"
#include "os/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD "repo/.git/worktrees/r1"

/* A backend that has seen nothing yet: what it gathers is good for some seconds. */
static void look_anew(struct git_fixture *fixture)
{
	worktree_backend.close(fixture->state);
	assert_int_equal(worktree_backend.open(&fixture->settings, &fixture->state, NULL), 0);
}

static struct resource probe(struct git_fixture *fixture, struct resource resource)
{
	worktree_backend.probe(fixture->state, &resource, &fixture->arena);
	return resource;
}

static int remove_one(
	struct git_fixture *fixture, const struct resource *resource, struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(60000) };

	return worktree_backend.effects->remove(fixture->state, resource, &effort, error);
}

/* The clone ws/c1, as registered. */
static struct resource lender(struct git_fixture *fixture)
{
	return (struct resource){ .run = "c1",
		.generation = 1,
		.kind = KIND_WORKTREE,
		.locator = arena_printf(&fixture->arena, "%s/c1", fixture->root),
		.repo = arena_printf(&fixture->arena, "%s/c1/.git", fixture->root) };
}

static void check_lender(struct git_fixture *fixture, const char *command, const char *borrower)
{
	struct resource resource = lender(fixture);
	struct error error = { 0 };
	const char *note = NULL;
	enum work work;

	git_fixture_sh(fixture, "git clone -q repo ws/c1; %s", command);
	look_anew(fixture);
	work = worktree_backend.work(
		fixture->state, &resource, deadline_in_ms(LOOK_MS), &fixture->arena, &note);
	if (work != (borrower ? WORK_DIRTY : WORK_CLEAN) ||
		(borrower && !(note && strstr(note, borrower))))
		fail_msg("%s: %s (%s)", command, work_name(work), note ? note : "");
	assert_int_equal(remove_one(fixture, &resource, &error), borrower ? -EBUSY : 1);
	assert_int_equal(git_fixture_holds(fixture, "test -e ws/c1/.git"), borrower != NULL);
	git_fixture_reset(fixture);
}

static void what_others_borrow_from_stays(void **state)
{
	struct git_fixture *fixture = *state;

	check_lender(fixture, "git clone -q --shared ws/c1 ws/c2", "ws/c2: it borrows");
	check_lender(fixture, "git clone -q --reference ws/c1 repo ws/c2", "ws/c2: it borrows");
	check_lender(fixture, "git clone -q --bare --shared ws/c1 ws/c2.git", "ws/c2.git: ");
	check_lender(fixture,
		"git clone -q repo ws/c2; echo ../../../c1/.git/objects "
		">ws/c2/.git/objects/info/alternates",
		"ws/c2: it borrows");
	check_lender(fixture,
		"git clone -q repo ws/c2; echo '\"'$PWD/ws/c1/.git/objects'\"' "
		">ws/c2/.git/objects/info/alternates",
		"ws/c2: it borrows");
	check_lender(fixture,
		"git clone -q --shared ws/c1 elsewhere; git clone -q --shared elsewhere ws/c2; "
		"sed -i /elsewhere/!d ws/c2/.git/objects/info/alternates",
		"ws/c2: it borrows");
	check_lender(fixture, "echo $PWD/ws/c1/.git/objects >repo/.git/objects/info/alternates",
		"repo/.git: it borrows");
	check_lender(fixture,
		"git clone -q repo ws/c2; rm -rf ws/c2/.git/objects; "
		"ln -s ../../c1/.git/objects ws/c2/.git/objects",
		"ws/c2: it borrows");
	check_lender(fixture, "git -C ws/c1 worktree add -q --detach ../c2", "ws/c2");
	check_lender(fixture, "git -C ws/c1 worktree add -q --detach ../../c2", "c2: it borrows");
	check_lender(fixture,
		"git init -q ws/c1/.cache/inner; cd ws/c1; git -C .cache/inner commit -qm x "
		"--allow-empty; cd ..; git clone -q --shared c1/.cache/inner c2",
		"ws/c2: it borrows");
}

static void a_borrower_that_came_since_the_look_is_seen_at_the_removal(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = lender(fixture);
	const char *note = NULL;

	git_fixture_sh(fixture, "git clone -q repo ws/c1");
	assert_int_equal(worktree_backend.work(fixture->state, &resource, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_CLEAN);
	git_fixture_sh(fixture, "git clone -q --shared ws/c1 ws/c2");
	assert_int_equal(remove_one(fixture, &resource, NULL), -EBUSY);
}

static void who_does_not_borrow_keeps_nothing(void **state)
{
	struct git_fixture *fixture = *state;

	check_lender(fixture, "git clone -q repo ws/c2; git clone -q --shared repo ws/c3", NULL);
	check_lender(fixture, "git clone -q repo ws/c10; git clone -q --shared ws/c10 ws/c2", NULL);
	check_lender(fixture, "git clone -q --shared ws/c1 ws/c2; rm -rf ws/c2", NULL);
	check_lender(fixture,
		"git clone -q repo ws/c2; i=ws/c2/.git/objects/info; mkfifo $i/alternates", NULL);
	check_lender(fixture,
		"git clone -q repo ws/c2; echo $PWD/ws/c2/.git/objects "
		">ws/c2/.git/objects/info/alternates",
		NULL);
}

static void where_borrowers_cannot_be_seen_is_unknown(void **state)
{
	struct git_fixture *fixture = *state;
	char *lost[] = { fixture->base };
	struct resource resource = lender(fixture);
	const char *note = NULL;

	git_fixture_sh(fixture, "git clone -q repo ws/c1");
	fixture->settings.lost_roots = (struct text_list){ lost, 1 };
	look_anew(fixture);
	assert_int_equal(worktree_backend.work(fixture->state, &resource, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_UNKNOWN);
	assert_non_null(strstr(note, "look for borrowers"));
	resource = git_fixture_r1(fixture); /* which holds no object store */
	assert_int_equal(worktree_backend.work(fixture->state, &resource, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_CLEAN);
}

/* Asked to remove it, without a judgement before: it stays. */
static void check_stays_unseen(struct git_fixture *fixture, const struct resource *resource)
{
	struct error error = { 0 };

	look_anew(fixture);
	assert_int_equal(remove_one(fixture, resource, &error), -EIO);
	if (!strstr(error.text, "who borrows from it is unseen: look for"))
		fail_msg("%s", error.text);
	assert_true(git_fixture_holds(fixture, "test -e %s/.git", resource->locator));
}

static void where_borrowers_cannot_be_seen_nothing_that_may_be_lent_goes(void **state)
{
	struct git_fixture *fixture = *state;
	char *lost[] = { fixture->base };
	struct resource clone = lender(fixture), linked = git_fixture_r1(fixture);

	git_fixture_sh(fixture, "git clone -q repo ws/c1");
	fixture->settings.lost_roots = (struct text_list){ lost, 1 };
	check_stays_unseen(fixture, &clone);
	fixture->settings.policy.unsaved = UNSAVED_DISCARD;
	check_stays_unseen(fixture, &clone);
	check_stays_unseen(fixture, &linked);
	fixture->settings.policy.unsaved = UNSAVED_SALVAGE; /* what is in it was judged then */
	look_anew(fixture);
	assert_int_equal(remove_one(fixture, &linked, NULL), 1);
}

static struct fuse mount_fuse(struct git_fixture *fixture)
{
	char *point CLEANUP(mem_done) = mem_printf("%s/fuse", fixture->base);

	git_fixture_sh(fixture, "mkdir fuse");
	return fuse_mount(point);
}

/* A child, or the signal would be pending for the tests that follow. */
static void remove_when_stopped(struct git_fixture *fixture)
{
	struct resource clone = lender(fixture);
	struct error error = { 0 };

	signals_hold();
	(void)raise(SIGTERM);
	if (remove_one(fixture, &clone, &error) != -EIO)
		_exit(1);
	_exit(strstr(error.text, "who borrows from it is unseen") ? 0 : 2);
}

static void a_look_that_is_ended_by_a_signal_sees_nothing(void **state)
{
	struct git_fixture *fixture = *state;
	struct fuse fuse;
	int status = 0;
	pid_t child;

	git_fixture_sh(fixture, "git clone -q repo ws/c1; git clone -q repo ws/c3");
	fuse = mount_fuse(fixture);
	git_fixture_sh(fixture, "echo $PWD/fuse >ws/c3/.git/objects/info/alternates");
	child = fork();
	if (child == 0)
		remove_when_stopped(fixture);
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_int_equal(status, 0);
	assert_true(git_fixture_holds(fixture, "test -e ws/c1/.git"));
	fuse_kill(&fuse);
	git_fixture_sh(fixture, "umount -l fuse");
}

/* One that answered at the start of the pass, and then no more. */
static void a_repository_that_falls_silent_makes_unknown_who_else_claims_a_record(void **state)
{
	struct git_fixture *fixture = *state;
	char *point CLEANUP(mem_done) = mem_printf("%s/fuse", fixture->base);
	char *repos[] = { fixture->repos[0], point };
	struct fuse fuse = mount_fuse(fixture);
	struct resource seen;

	fixture->settings.repos = (struct text_list){ repos, 2 };
	look_anew(fixture);
	seen = probe(fixture, git_fixture_r1(fixture));
	assert_int_equal(seen.present, TRI_UNKNOWN);
	assert_non_null(strstr(seen.note, "whether another one claims its git record is unseen"));
	fuse_kill(&fuse);
	git_fixture_sh(fixture, "umount -l fuse");
}

/* How the trees of others lead to where nobody answers. */
static void check_silent(struct git_fixture *fixture, const char *command)
{
	struct resource resource = lender(fixture);
	struct error error = { 0 };
	struct fuse fuse;

	git_fixture_sh(fixture, "git clone -q repo ws/c1; git clone -q --shared ws/c1 ws/c2; "
				"for n in 3 4 5 6; do git clone -q repo ws/c$n; done");
	fuse = mount_fuse(fixture);
	git_fixture_sh(fixture, "F=$PWD/fuse; %s", command);
	look_anew(fixture);
	if (remove_one(fixture, &resource, &error) != -EBUSY || !strstr(error.text, "ws/c2"))
		fail_msg("%s: %s", command, error.text);
	git_fixture_sh(fixture, "rm -rf ws/c2");
	error = (struct error){ 0 };
	if (remove_one(fixture, &resource, &error) != 1)
		fail_msg("%s: %s", command, error.text);
	fuse_kill(&fuse);
	git_fixture_sh(fixture, "umount -l fuse");
	git_fixture_reset(fixture);
}

static void what_a_tree_names_where_nobody_answers_hides_nobody_and_keeps_nobody(void **state)
{
	struct git_fixture *fixture = *state;

	check_silent(fixture, "echo $F/o >ws/c3/.git/objects/info/alternates; "
			      "rm -rf ws/c4/.git; echo gitdir: $F/g >ws/c4/.git; "
			      "rm -rf ws/c5/.git/objects; ln -s $F ws/c5/.git/objects; "
			      "git -C ws/c6 worktree add -q --detach ../../elsewhere; "
			      "echo $F/.git >ws/c6/.git/worktrees/elsewhere/gitdir");
	check_silent(fixture,
		"ln -s $F ws/c3/l; for i in 1 2 3 4 5 6 7 8 9; do "
		"echo $PWD/ws/c3/l/$i; done >ws/c3/.git/objects/info/alternates; "
		"git init -q --bare between.git; echo $F >between.git/objects/info/alternates; "
		"echo $PWD/between.git/objects >ws/c4/.git/objects/info/alternates");
}

/* A mount whose server died answers, and nothing of it can be read: also no reason to keep others. */
static void what_a_tree_names_and_cannot_be_read_keeps_nobody(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = lender(fixture);
	struct error error = { 0 };
	struct fuse fuse;

	git_fixture_sh(fixture, "git clone -q repo ws/c1; git clone -q repo ws/c3");
	fuse = mount_fuse(fixture);
	fuse_kill(&fuse);
	git_fixture_sh(fixture, "echo $PWD/fuse >ws/c3/.git/objects/info/alternates");
	look_anew(fixture);
	if (remove_one(fixture, &resource, &error) != 1)
		fail_msg("%s", error.text);
	git_fixture_sh(fixture, "umount -l fuse");
}

static void a_borrower_of_a_borrower_can_be_judged(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = lender(fixture);
	const char *note = NULL;

	git_fixture_sh(fixture, "git clone -q repo ws/c2; git clone -q --shared ws/c2 ws/c1");
	assert_int_equal(worktree_backend.work(fixture->state, &resource, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_CLEAN);
}

/* Refused, and everything is as it was. */
static void check_rival(struct git_fixture *fixture, const char *command, const char *said)
{
	static const char list[] = "find ws repo/.git/worktrees | sort | sha256sum";
	struct resource resource = git_fixture_r1(fixture), seen;
	struct error error = { 0 };
	char *before CLEANUP(mem_done) = NULL, *after CLEANUP(mem_done) = NULL;

	git_fixture_sh(fixture, "git -C repo worktree add -q ../ws/r10; %s", command);
	look_anew(fixture);
	before = git_fixture_ask(fixture, list);
	seen = probe(fixture, resource);
	if (!seen.contradicts || !strstr(seen.note, said))
		fail_msg("%s: %s", command, seen.note ? seen.note : "fine");
	assert_int_equal(remove_one(fixture, &resource, &error), -ESTALE);
	after = git_fixture_ask(fixture, list);
	assert_string_equal(before, after);
	git_fixture_reset(fixture);
}

static void a_record_that_may_be_anothers_is_not_dropped(void **state)
{
	struct git_fixture *fixture = *state;

	check_rival(fixture, "echo $PWD/ws/r1/.git >repo/.git/worktrees/r10/gitdir",
		"two git records name it");
	check_rival(fixture, "echo $PWD/ws/r1/.git >repo/.git/worktrees/r10/gitdir; rm -rf ws/r1",
		"two git records name it");
	check_rival(fixture,
		"rm repo/.git/worktrees/r10/gitdir; rm -rf " RECORD "; "
		"echo gitdir: $PWD/repo/.git/worktrees/r10 >ws/r1/.git",
		"is also that of");
	check_rival(fixture,
		"rm repo/.git/worktrees/r10/gitdir ws/r10/.git; rm -rf " RECORD "; "
		"echo gitdir: $PWD/repo/.git/worktrees/r10 >ws/r1/.git",
		"may be that of");
	check_rival(
		fixture, "cp -a ws/r1/.git ws/r10/.git; rm " RECORD "/gitdir", "is also that of");
	check_rival(fixture, "cp ws/r10/.git ws/r1/.git", "record of another tree");
}

static void a_record_of_its_own_that_names_nothing_goes_with_it(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct error error = { 0 };

	git_fixture_sh(fixture, "git -C repo worktree add -q ../ws/r10; rm " RECORD "/gitdir");
	assert_int_equal(remove_one(fixture, &resource, &error), 1);
	assert_true(git_fixture_holds(fixture, "test -e repo/.git/worktrees/r10"));
	assert_false(git_fixture_holds(fixture, "test -e " RECORD));
}

static void check_inbound(struct git_fixture *fixture, const char *command, const char *said)
{
	static const char list[] = "find repo -ls | sort | sha256sum";
	struct resource resource = git_fixture_r1(fixture), seen;
	char *before CLEANUP(mem_done) = NULL, *after CLEANUP(mem_done) = NULL;
	const char *note = NULL;
	struct error error = { 0 };

	git_fixture_sh(fixture, "git -C repo worktree add -q ../ws/r10; %s", command);
	look_anew(fixture);
	before = git_fixture_ask(fixture, list);
	seen = probe(fixture, resource);
	assert_false(seen.contradicts);
	assert_int_equal(worktree_backend.work(fixture->state, &resource, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_CLEAN);
	if (said ? !seen.note || !strstr(seen.note, said) || !text_equal(seen.note, note)
		 : seen.note || note)
		fail_msg("%s: %s, %s", command, seen.note ? seen.note : "none",
			note ? note : "none");
	after = git_fixture_ask(fixture, list);
	assert_string_equal(before, after);
	assert_int_equal(remove_one(fixture, &resource, &error), 1);
	git_fixture_reset(fixture);
}

static void what_will_point_at_nothing_is_told_and_not_changed(void **state)
{
	struct git_fixture *fixture = *state;

	check_inbound(fixture, "ln -s $PWD/ws/r1/dir repo/lib", "repo/lib names it");
	check_inbound(fixture, "mkdir repo/node_modules; ln -s ../../ws/r1 repo/node_modules/x",
		"repo/node_modules/x names it");
	check_inbound(fixture,
		"mkdir -p repo/.git/modules/deep/sub; cd repo/.git/modules/deep/sub; cp "
		"../../../HEAD "
		".; git config -f config core.worktree ../../../../../ws/r1/sub",
		"repo/.git/modules/deep/sub/config names it");
	check_inbound(fixture, "ln -s $PWD/ws/r10/dir repo/lib; ln -s nowhere repo/x", NULL);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(what_others_borrow_from_stays),
		case_of(a_borrower_that_came_since_the_look_is_seen_at_the_removal),
		case_of(who_does_not_borrow_keeps_nothing),
		case_of(where_borrowers_cannot_be_seen_is_unknown),
		case_of(where_borrowers_cannot_be_seen_nothing_that_may_be_lent_goes),
		case_of(a_look_that_is_ended_by_a_signal_sees_nothing),
		case_of(a_repository_that_falls_silent_makes_unknown_who_else_claims_a_record),
		case_of(what_a_tree_names_where_nobody_answers_hides_nobody_and_keeps_nobody),
		case_of(what_a_tree_names_and_cannot_be_read_keeps_nobody),
		case_of(a_borrower_of_a_borrower_can_be_judged),
		case_of(a_record_that_may_be_anothers_is_not_dropped),
		case_of(a_record_of_its_own_that_names_nothing_goes_with_it),
		case_of(what_will_point_at_nothing_is_told_and_not_changed),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
