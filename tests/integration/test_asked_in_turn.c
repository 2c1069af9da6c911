/*
 * Looking into trees is the one long question of a pass. What there is no time for beforehand is asked
 * when its turn comes, and what a pass will not act on is not asked at all.
 */
#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "config.h"
#include "exit_code.h"
#include "fuse.h"
#include "inventory.h"
#include "pass.h"
#include "pass_id.h"
#include "program.h"
#include "state/history.h"
#include "text_list.h"
#include "workdir.h"

#include <errno.h>
#include <sys/mount.h>

enum { LONG_MS = 240 * 1000 };

struct scene {
	struct workdir *workdir;
	struct program program;
	struct session session;
	struct inventory inventory;
	struct plan plan;
	int64_t looking_ms;      /* four times the time for looking beforehand; 0: none */
	struct text_list chosen; /* by --run */
};

static int scene_make(void **state)
{
	static const char settings[] =
		"[state]\ndatabase = %s/reap.db\n[workspaces]\nroot = %s\nroot = %s2\n"
		"[policy]\nkeep_ok = 1h\nunsaved = keep\n";
	struct scene *scene = mem_new(sizeof(*scene));
	void *workdir = NULL;
	const char *roots;
	char *text CLEANUP(mem_done) = NULL;

	if (workdir_setup(&workdir) != 0)
		return -1;
	scene->workdir = workdir;
	workdir_make(scene->workdir, "ws");
	workdir_make(scene->workdir, "ws2");
	roots = workdir_path(scene->workdir, "ws");
	text = mem_printf(settings, scene->workdir->path, roots, roots);
	workdir_write(scene->workdir, "reap.ini", text, strlen(text));
	scene->program.config = workdir_path(scene->workdir, "reap.ini");
	scene->program.output = workdir_path(scene->workdir, "output");
	*state = scene;
	return 0;
}

static void scene_forget(struct scene *scene)
{
	plan_done(&scene->plan);
	inventory_done(&scene->inventory);
	session_close(&scene->session);
	scene->inventory = (struct inventory){ 0 };
}

static int scene_drop(void **state)
{
	struct scene *scene = *state;
	void *workdir = scene->workdir;

	scene_forget(scene);
	text_list_done(&scene->chosen);
	free(scene);
	return workdir_teardown(&workdir);
}

/* A run that ended well long enough ago. */
static void run_make(struct scene *scene, const char *run, bool dirty)
{
	char *tree CLEANUP(mem_done) = mem_printf("ws/%s", run);
	char *file CLEANUP(mem_done) = mem_printf("ws/%s/file", run);

	workdir_make(scene->workdir, tree);
	if (dirty)
		workdir_fill(scene->workdir, file);
	assert_int_equal(program_run(&scene->program,
				 "register %s --created -5h --ttl 1h --no-container", run),
		EXIT_DONE);
	assert_int_equal(program_run(&scene->program, "finish %s --ok --at -4h", run), EXIT_DONE);
}

static bool has_tree(struct scene *scene, const char *run)
{
	char *tree CLEANUP(mem_done) = mem_printf("ws/%s", run);

	return workdir_has(scene->workdir, tree);
}

static void must(int r, const struct error *error)
{
	if (r < 0)
		fail_msg("%s", error->text);
}

static void scene_plan(struct scene *scene)
{
	const struct inventory_request request = { .chosen = &scene->chosen };
	const struct plan_wish wish = { .world = &scene->session.world, .only = &scene->chosen };
	struct settings settings = { 0 };
	struct error error = { 0 };

	must(config_load(scene->program.config, &settings, &error), &error);
	must(session_open(&scene->session, &settings, STORE_WRITE, &error), &error);
	scene->session.settings.limits.time_budget_ms = scene->looking_ms;
	must(inventory_gather(&scene->inventory, &scene->session.world, &request, &error), &error);
	plan_make(&scene->plan, &scene->inventory, &wish);
}

static void scene_apply_in(struct scene *scene, int64_t budget_ms)
{
	const struct pass_time time = { .start_ms = clock_boot_ms(), .budget_ms = budget_ms };
	struct error error = { 0 };
	char pass[PASS_ID];

	(void)pass_id(pass, clock_wall_s());
	must(pass_open(&scene->session, pass, &scene->inventory, &error), &error);
	must(pass_apply(&scene->session, pass, &time, &scene->plan, &scene->inventory, &error),
		&error);
}

static void scene_apply(struct scene *scene)
{
	scene_apply_in(scene, LONG_MS);
}

static const struct run *run_of(const struct scene *scene, const char *id)
{
	const struct run *run = inventory_find(&scene->inventory, id);

	assert_non_null(run);
	return run;
}

static void expect(const struct scene *scene, const char *id, enum reason reason, enum work work)
{
	const struct run *run = run_of(scene, id);

	assert_string_equal(reason_name(run->decision.reason), reason_name(reason));
	assert_string_equal(work_name(run->facts.work), work_name(work));
}

static void what_was_not_asked_beforehand_is_asked_in_its_turn(void **state)
{
	struct scene *scene = *state;

	run_make(scene, "clean", false);
	run_make(scene, "dirty", true);
	scene->looking_ms = 0;
	scene_plan(scene);
	assert_int_equal(scene->plan.count, 2);
	expect(scene, "clean", REASON_FINISHED_OK, WORK_UNKNOWN);
	expect(scene, "dirty", REASON_FINISHED_OK, WORK_UNKNOWN);
	assert_non_null(strstr(run_of(scene, "dirty")->work_note, "when its turn comes"));

	scene_apply(scene);
	expect(scene, "clean", REASON_FINISHED_OK, WORK_CLEAN);
	assert_int_equal(run_of(scene, "clean")->result, RESULT_REAPED);
	expect(scene, "dirty", REASON_UNSAVED_WORK, WORK_DIRTY);
	assert_int_equal(run_of(scene, "dirty")->result, RESULT_NONE);
	assert_false(has_tree(scene, "clean"));
	assert_true(has_tree(scene, "dirty"));
}

/* A history_each callback. */
static void add_reaped(void *context, const struct history_entry *entry)
{
	if (text_equal(entry->action, "reaped"))
		text_addf(context, "%s ", entry->run);
}

static void what_was_asked_comes_before_what_was_not(void **state)
{
	struct scene *scene = *state;
	struct text reaped CLEANUP(text_done) = { 0 };
	struct run *second;

	run_make(scene, "first", false);
	run_make(scene, "second", false);
	scene->looking_ms = 0;
	scene_plan(scene);
	second = inventory_find(&scene->inventory, "second");
	assert_string_equal(scene->plan.due[0]->id, "first");
	inventory_ask_in_turn(
		&scene->inventory, &scene->session.world, second, deadline_in_ms(LONG_MS));
	scene_apply(scene);
	assert_int_equal(history_each(scene->session.store, NULL, 0, add_reaped, &reaped, NULL), 0);
	assert_string_equal(reaped.data, "second first ");
}

static void what_a_pass_leaves_alone_is_not_asked(void **state)
{
	struct scene *scene = *state;

	run_make(scene, "chosen", true);
	run_make(scene, "other", true);
	scene->looking_ms = LONG_MS;
	text_list_add(&scene->chosen, "chosen");
	scene_plan(scene);
	expect(scene, "chosen", REASON_UNSAVED_WORK, WORK_DIRTY);
	expect(scene, "other", REASON_FILTERED, WORK_UNKNOWN);
	scene_forget(scene);

	text_list_done(&scene->chosen);
	assert_int_equal(program_run(&scene->program, "hold"), EXIT_DONE);
	scene_plan(scene);
	expect(scene, "chosen", REASON_HELD, WORK_UNKNOWN);
	scene_forget(scene);

	assert_int_equal(program_run(&scene->program, "resume"), EXIT_DONE);
	scene_plan(scene);
	expect(scene, "other", REASON_UNSAVED_WORK, WORK_DIRTY);
}

/* A run whose repository gives no answer when it is asked for its branches. */
static struct fuse run_hangs(struct scene *scene, const char *run)
{
	const char *path = scene->workdir->path;
	char *command CLEANUP(mem_done) =
		mem_printf("cd '%s' && git init -q repo && git -C repo -c user.name=t "
			   "-c user.email=t@t commit -q --allow-empty -m base && "
			   "git -C repo worktree add -q --detach ../ws/%s && "
			   "git -C repo pack-refs --all && mkdir -p repo/.git/refs/heads",
			path, run);

	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the command is our own */
	assert_int_equal(program_run(&scene->program,
				 "register %s --created -5h --ttl 1h --no-container", run),
		EXIT_DONE);
	assert_int_equal(program_run(&scene->program, "finish %s --ok --at -4h", run), EXIT_DONE);
	return fuse_mount(workdir_path(scene->workdir, "repo/.git/refs/heads"));
}

/* Its share is half of the time; the limit of a look that is no turn, 30 seconds, is more than all. */
static void one_that_hangs_in_its_turn_has_its_share_and_no_more(void **state)
{
	enum { BUDGET_MS = 16 * 1000 };
	struct scene *scene = *state;
	struct fuse fuse = run_hangs(scene, "hangs");
	int64_t start_ms;

	run_make(scene, "waits", false);
	scene->looking_ms = 0;
	scene_plan(scene);
	assert_string_equal(scene->plan.due[0]->id, "hangs");
	start_ms = clock_boot_ms();
	scene_apply_in(scene, BUDGET_MS);
	expect(scene, "hangs", REASON_UNKNOWN, WORK_UNKNOWN);
	assert_non_null(strstr(run_of(scene, "hangs")->work_note, "not done in time"));
	assert_int_not_equal(run_of(scene, "waits")->result, RESULT_NONE); /* it had its turn */
	assert_true(clock_boot_ms() - start_ms >= BUDGET_MS / 2 - 1000);
	fuse_kill(&fuse);
	assert_return_code(
		umount2(workdir_path(scene->workdir, "repo/.git/refs/heads"), MNT_DETACH), errno);
}

/* Each step touches every root for a .keep; who touches this one waits for ever, and alarm(2) ends us. */
static void a_root_that_dies_in_the_middle_of_a_pass_keeps_its_runs_and_holds_up_no_other(
	void **state)
{
	enum { FOR_EVER_S = 120 };
	struct scene *scene = *state;
	const char *far = workdir_path(scene->workdir, "ws2");
	struct fuse fuse;
	const struct source *source;

	run_make(scene, "near", false);
	workdir_make(scene->workdir, "ws2/far");
	assert_int_equal(program_run(&scene->program,
				 "register far --worktree %s/far --created -5h --ttl 1h "
				 "--no-container",
				 far),
		EXIT_DONE);
	assert_int_equal(program_run(&scene->program, "finish far --ok --at -4h"), EXIT_DONE);
	scene->looking_ms = LONG_MS;
	scene_plan(scene);
	assert_int_equal(scene->plan.count, 2);
	fuse = fuse_mount(far);
	(void)alarm(FOR_EVER_S);
	scene_apply(scene);
	(void)alarm(0);
	assert_return_code(umount2(far, MNT_DETACH), errno);
	fuse_kill(&fuse);

	assert_int_equal(run_of(scene, "near")->result, RESULT_REAPED);
	expect(scene, "far", REASON_UNKNOWN, WORK_CLEAN);
	assert_non_null(strstr(run_of(scene, "far")->fault, "does not answer"));
	source = inventory_failed_source(&scene->inventory, "markers");
	assert_non_null(source);
	assert_string_equal(source->at, far);
	assert_true(workdir_has(scene->workdir, "ws2/far"));
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, scene_make, scene_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(what_was_not_asked_beforehand_is_asked_in_its_turn),
		case_of(what_was_asked_comes_before_what_was_not),
		case_of(what_a_pass_leaves_alone_is_not_asked),
		case_of(one_that_hangs_in_its_turn_has_its_share_and_no_more),
		case_of(a_root_that_dies_in_the_middle_of_a_pass_keeps_its_runs_and_holds_up_no_other),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
