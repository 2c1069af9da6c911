/*
 * MUSTs of apply.h and promise P2 at every moment of a pass. The pass runs in a child, through the
 * same functions as the real program, and halts wherever it reads the wall clock (before it claims,
 * before it looks again, before it begins, before each step), or before each call that changes
 * something; meanwhile something else happens to the run.
 */
#include "unit.h"

#include "base/text.h"
#include "child.h"
#include "group.h"
#include "program.h"
#include "state/runs.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { TEST_IS_GONE = 200, HALTS_MAX = 1000, EACH = 3 };

/* ---- halting ---- */

enum gate_kind { GATE_CLOCK = 't', GATE_CALL = 'c' };
enum gate_answer { GATE_GO = 'g', GATE_DIE = 'k' };

/* Open in the child that passes only: see gate_open(). */
static struct {
	int ask, answer;
	bool calls;
	pid_t pid; /* not its errands, which have none of its descriptors */
} gate = { -EBADF, -EBADF, false, 0 };

static void gate_open(void)
{
	gate.pid = getpid();
}

static void gate_wait(enum gate_kind kind)
{
	char byte = (char)kind;

	if (gate.pid != getpid() || (kind == GATE_CALL && !gate.calls))
		return;
	if (write(gate.ask, &byte, 1) != 1 || read(gate.answer, &byte, 1) != 1)
		_exit(TEST_IS_GONE);
	if (byte == GATE_DIE)
		(void)raise(SIGKILL);
}

/* These stand in front of libc's in this program. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): names without underscores */
int clock_gettime(clockid_t id, struct timespec *now)
{
	if (id == CLOCK_REALTIME)
		gate_wait(GATE_CLOCK);
	return (int)syscall(SYS_clock_gettime, id, now);
}

int unlinkat(int dir, const char *name, int flags)
{
	gate_wait(GATE_CALL);
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

int renameat2(int old_dir, const char *old_name, int new_dir, const char *new_name, unsigned flags)
{
	gate_wait(GATE_CALL);
	return (int)syscall(SYS_renameat2, old_dir, old_name, new_dir, new_name, flags);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	gate_wait(GATE_CALL);
	return (int)syscall(SYS_mkdirat, dir, name, mode);
}

int fdatasync(int fd)
{
	gate_wait(GATE_CALL);
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	gate_wait(GATE_CALL);
	return (int)syscall(SYS_fsync, fd);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* ---- the world ---- */

struct world {
	struct workdir *workdir;
	char *config, *output;
	struct program program;
	unsigned count; /* of runs so far: each has a name of its own */
	char run[16];   /* the one that is being taken apart */
	bool registered;
	pid_t worker;
	int code;     /* what the last verb of a change answered */
	bool unknown; /* a pin said that there is no such run */
};

/* What the last verb said; good until the next call. What comes before the verdict does not matter. */
static const char *said(struct world *world)
{
	static char *text;
	const char *verdict;

	free(text);
	text = program_said(&world->program);
	verdict = strstr(text, "\"verdict\"");
	return verdict ? verdict : text;
}

/* A name in the world, in one of a few buffers that are used in turn. */
static const char *name(const char *format, ...) PRINTF_LIKE(1, 2);
static const char *name(const char *format, ...)
{
	static char names[4][128];
	static unsigned turn;
	char *buffer = names[turn++ % ARRAY_SIZE(names)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(buffer, sizeof(names[0]), format, args);
	va_end(args);
	return buffer;
}

static void settings_write(struct world *world)
{
	const char *path = world->workdir->path;
	char *text CLEANUP(mem_done) =
		mem_printf("[state]\ndatabase = %s/reap.db\n"
			   "[workspaces]\nroot = %s/ws\npath_root = %s/scratch\n"
			   "[policy]\nkeep_ok = 1h\nkeep_abandoned = 0s\ndeadline_grace = 0s\n"
			   "unsaved = discard\n"
			   "[cgroups]\nroot = %s\n[limits]\nkill_timeout = 2s\n",
			path, path, path, groups_root() + 1);

	workdir_write(world->workdir, "reap.ini", text, strlen(text));
}

static int world_make(void **state)
{
	struct world *world = mem_new(sizeof(*world));
	void *workdir = NULL;

	if (workdir_own_mounts(NULL) != 0 || groups_set_up() != 0 || workdir_setup(&workdir) != 0)
		return -1;
	world->workdir = workdir;
	workdir_in_memory(world->workdir); /* where a sync costs nothing */
	workdir_make(world->workdir, "ws");
	workdir_make(world->workdir, "scratch");
	workdir_make(world->workdir, "victim");
	workdir_fill(world->workdir, "victim/file");
	world->output = mem_dup(workdir_path(world->workdir, "output"));
	world->config = mem_dup(workdir_path(world->workdir, "reap.ini"));
	world->program = (struct program){ .config = world->config, .output = world->output };
	settings_write(world);
	*state = world;
	return 0;
}

static int world_drop(void **state)
{
	struct world *world = *state;
	void *workdir = world->workdir;

	groups_tear_down();
	free(world->output);
	free(world->config);
	free(world);
	return workdir_teardown(&workdir);
}

/* ---- its runs ---- */

#define LONG_AGO "created = 2020-01-01T00:00:00Z\nttl = 1h\n"

static void mark(struct world *world, const char *times)
{
	char *text CLEANUP(mem_done) =
		mem_printf("[run]\nid = %s\n%scgroup = %s\npath = %s/scratch/%s\n", world->run,
			times, group_path(world->run), world->workdir->path, world->run);

	workdir_write(world->workdir, name("ws/%s.sbx", world->run), text, strlen(text));
}

/* A run that is due, with a tree, a path and a cgroup: on record by its row, or by its marker. */
static void run_make(struct world *world, bool registered)
{
	(void)snprintf(world->run, sizeof(world->run), "r%u", world->count++);
	world->registered = registered;
	workdir_make(world->workdir, name("ws/%s", world->run));
	workdir_fill(world->workdir, name("ws/%s/file", world->run));
	workdir_make(world->workdir, name("scratch/%s", world->run));
	workdir_fill(world->workdir, name("scratch/%s/file", world->run));
	group_make(world->run);
	if (!registered)
		mark(world, LONG_AGO);
	else if (program_run(&world->program,
			 "register %s --created -3h --ttl 1h --cgroup %s --path %s/scratch/%s",
			 world->run, group_path(world->run), world->workdir->path, world->run))
		fail_msg("%s", said(world));
}

static bool run_is_whole(struct world *world)
{
	return workdir_has(world->workdir, name("ws/%s/file", world->run)) &&
	       workdir_has(world->workdir, name("scratch/%s/file", world->run)) &&
	       group_exists(world->run);
}

static bool run_is_gone(struct world *world)
{
	return !workdir_has(world->workdir, name("ws/%s", world->run)) &&
	       !workdir_has(world->workdir, name("scratch/%s", world->run)) &&
	       !workdir_has(world->workdir, name("ws/%s.sbx", world->run)) &&
	       !group_exists(world->run);
}

/* Whatever is left of it goes, the database too, so that the next case has a world of its own. */
static void run_clear(struct world *world)
{
	char *command CLEANUP(mem_done) =
		mem_printf("cd '%s' && rm -rf ws/* ws/.sbx-trash scratch/* aside reap.db*",
			world->workdir->path);

	child_end(world->worker);
	world->worker = 0;
	assert_int_equal(system(command), 0);
	if (group_exists(world->run))
		group_unmake(world->run);
}

/* ---- a pass that halts ---- */

struct pass {
	struct world *world;
	pid_t pid;
	int ask, answer;
	enum gate_kind kind; /* where it halts now */
};

/* `calls`: whether it halts before calls that change something, too. */
static struct pass pass_start(struct world *world, bool calls)
{
	struct program program = world->program;
	struct pass pass = { .world = world };
	int ask[2], answer[2];

	assert_int_equal(pipe2(ask, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
	gate.ask = ask[1];
	gate.answer = answer[0];
	gate.calls = calls;
	program.prepare = gate_open;
	pass.pid = program_start(&program, name("--json --run %s", world->run));
	(void)close(ask[1]);
	(void)close(answer[0]);
	pass.ask = ask[0];
	pass.answer = answer[1];
	return pass;
}

/* Waits until it halts; false: it has ended. */
static bool pass_halts(struct pass *pass)
{
	char byte;

	if (read(pass->ask, &byte, 1) != 1)
		return false;
	pass->kind = (enum gate_kind)byte;
	return true;
}

static void pass_answer(struct pass *pass, enum gate_answer answer)
{
	char byte = (char)answer;

	assert_int_equal(write(pass->answer, &byte, 1), 1);
}

/* Its exit code, or minus the signal that ended it. */
static int pass_end(struct pass *pass)
{
	while (pass_halts(pass))
		pass_answer(pass, GATE_GO);
	(void)close(pass->ask);
	(void)close(pass->answer);
	return program_end(pass->pid);
}

/* How far it is: the claim on the run, by the database. */
static enum claim pass_phase(const struct pass *pass)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct error error = { 0 };
	struct store *store = NULL;
	const struct run *run;
	int r = store_open(
		workdir_path(pass->world->workdir, "reap.db"), STORE_READ, &store, &error);

	if (r == -ENOENT)
		return CLAIM_NONE;
	if (r == 0) {
		r = runs_load(store, &inventory, pass->world->run, &error);
		store_close(store);
	}
	if (r < 0)
		fail_msg("%s", error.text);
	run = inventory_find(&inventory, pass->world->run);
	return run && run->row ? run->row->claim : CLAIM_NONE;
}

/* ---- what may happen meanwhile ---- */

static void nothing(struct world *world)
{
	(void)world;
}

static void pin(struct world *world)
{
	world->code = program_run(&world->program, "pin %s", world->run);
	world->unknown = strstr(said(world), "no such run is known") != NULL;
}

static void keep_by_hand(struct world *world)
{
	workdir_write(world->workdir, name("ws/%s.keep", world->run), "", 0);
}

static void renew(struct world *world)
{
	world->code = program_run(&world->program, "renew %s --ttl 1h", world->run);
}

static void finish(struct world *world)
{
	world->code = program_run(&world->program, "finish %s --ok", world->run);
}

static void forget(struct world *world)
{
	world->code = program_run(&world->program, "forget %s", world->run);
}

static void register_anew(struct world *world)
{
	forget(world);
	if (world->code == 0)
		world->code = program_run(&world->program, "register %s", world->run);
}

static void register_more(struct world *world)
{
	world->code = program_run(&world->program, "register %s --path %s/scratch/%s.more",
		world->run, world->workdir->path, world->run);
}

static void enter_tree(struct world *world)
{
	world->worker = child_start(workdir_path(world->workdir, name("ws/%s", world->run)));
}

/* The run's name, below `where`, is given to another thing. */
static void replace(struct world *world, const char *where)
{
	const char *path = name("%s/%s", where, world->run);

	assert_int_equal(renameat(world->workdir->dir, path, world->workdir->dir, "aside"), 0);
	workdir_make(world->workdir, path);
	workdir_fill(world->workdir, name("%s/%s/file", where, world->run));
}

static void replace_tree(struct world *world)
{
	replace(world, "ws");
}

static void replace_path(struct world *world)
{
	replace(world, "scratch");
}

static void link_tree(struct world *world)
{
	const char *path = name("ws/%s", world->run);

	assert_int_equal(renameat(world->workdir->dir, path, world->workdir->dir, "aside"), 0);
	assert_int_equal(
		symlinkat(workdir_path(world->workdir, "victim"), world->workdir->dir, path), 0);
}

static void replace_group(struct world *world)
{
	group_unmake(world->run);
	group_make(world->run);
	world->worker = child_start(NULL);
	group_put(world->run, world->worker);
}

static void mark_anew(struct world *world)
{
	mark(world, "created = 2021-01-01T00:00:00Z\nttl = 1h\n");
}

static void mark_longer(struct world *world)
{
	mark(world, "created = 2020-01-01T00:00:00Z\nttl = 5000w\n");
}

static void unmark(struct world *world)
{
	assert_int_equal(unlinkat(world->workdir->dir, name("ws/%s.sbx", world->run), 0), 0);
}

/* ---- what must follow ---- */

enum moment { BEFORE_LOOK, BEFORE_BEGIN, BEFORE_STEP, MOMENTS };

struct change {
	const char *text;
	void (*make)(struct world *world);
	bool marker; /* the run is on record by its marker alone */
	struct {
		int code;           /* of the verb */
		const char *result; /* "reaped": gone; anything else: whole */
		const char *reason;
	} then[MOMENTS];
};

static const struct change changes[] = {
	{ "nothing", nothing, false,
		{ { 0, "reaped", "abandoned" }, { 0, "reaped", "abandoned" },
			{ 0, "reaped", "abandoned" } } },
	{ "nothing, marker", nothing, true,
		{ { 0, "reaped", "abandoned" }, { 0, "reaped", "abandoned" },
			{ 0, "reaped", "abandoned" } } },
	{ "a pin", pin, false,
		{ { 0, "kept", "changed" }, { 0, "kept", "pinned" },
			{ 1, "reaped", "abandoned" } } },
	{ "a pin, marker", pin, true,
		{ { 0, "kept", "changed" }, { 0, "kept", "pinned" },
			{ 1, "reaped", "abandoned" } } },
	{ "a .keep", keep_by_hand, false,
		{ { 0, "kept", "changed" }, { 0, "kept", "pinned" }, { 0, "kept", "pinned" } } },
	{ "a .keep, marker", keep_by_hand, true,
		{ { 0, "kept", "changed" }, { 0, "kept", "pinned" }, { 0, "kept", "pinned" } } },
	{ "a renewal", renew, false,
		{ { 0, "kept", "changed" }, { 0, "kept", "changed" },
			{ 1, "reaped", "abandoned" } } },
	{ "an end", finish, false,
		{ { 0, "kept", "changed" }, { 0, "kept", "changed" },
			{ 1, "reaped", "abandoned" } } },
	{ "a forgotten row", forget, false,
		{ { 0, "kept", "changed" }, { 0, "kept", "changed" },
			{ 1, "reaped", "abandoned" } } },
	{ "a row made anew", register_anew, false,
		{ { 0, "kept", "changed" }, { 0, "kept", "changed" },
			{ 1, "reaped", "abandoned" } } },
	{ "one more path", register_more, false,
		{ { 0, "kept", "changed" }, { 0, "kept", "changed" },
			{ 1, "reaped", "abandoned" } } },
	{ "a process in the tree", enter_tree, false,
		{ { 0, "kept", "changed" }, { 0, "failed", "abandoned" },
			{ 0, "failed", "abandoned" } } },
	{ "another tree", replace_tree, false,
		{ { 0, "kept", "refused" }, { 0, "failed", "abandoned" },
			{ 0, "failed", "abandoned" } } },
	{ "another tree, marker", replace_tree, true,
		{ { 0, "kept", "refused" }, { 0, "failed", "abandoned" },
			{ 0, "failed", "abandoned" } } },
	{ "a link for a tree", link_tree, false,
		{ { 0, "kept", "refused" }, { 0, "failed", "abandoned" },
			{ 0, "failed", "abandoned" } } },
	{ "a link for a tree, marker", link_tree, true,
		{ { 0, "kept", "refused" }, { 0, "failed", "abandoned" },
			{ 0, "failed", "abandoned" } } },
	{ "another group", replace_group, false,
		{ { 0, "kept", "refused" }, { 0, "failed", "abandoned" },
			{ 0, "failed", "abandoned" } } },
	{ "another group, marker", replace_group, true,
		{ { 0, "kept", "refused" }, { 0, "failed", "abandoned" },
			{ 0, "failed", "abandoned" } } },
	{ "another marker", mark_anew, true,
		{ { 0, "kept", "changed" }, { 0, "kept", "changed" }, { 0, "kept", "changed" } } },
	{ "a longer time", mark_longer, true,
		{ { 0, "kept", "changed" }, { 0, "kept", "changed" }, { 0, "kept", "changed" } } },
	{ "no marker", unmark, true,
		{ { 0, "kept", "changed" }, { 0, "kept", "changed" }, { 0, "kept", "changed" } } },
};

/* Halts the pass at that moment; `open_halts`: how often it halts while its claim is open. */
static void pass_reach(struct pass *pass, enum moment moment, unsigned open_halts)
{
	unsigned halts = 0;

	for (; pass_halts(pass); pass_answer(pass, GATE_GO)) {
		enum claim phase = pass_phase(pass);

		halts += phase == CLAIM_OPEN;
		if (phase == CLAIM_OPEN && moment == BEFORE_LOOK)
			return;
		if (phase == CLAIM_OPEN && moment == BEFORE_BEGIN && halts == open_halts)
			return;
		if (phase == CLAIM_BEGUN_REAP && moment == BEFORE_STEP)
			return;
	}
	fail_msg("the pass never came to moment %d: %s", moment, said(pass->world));
}

static unsigned count_open_halts(struct world *world, bool registered)
{
	struct pass pass;
	unsigned halts = 0;

	run_make(world, registered);
	for (pass = pass_start(world, false); pass_halts(&pass); pass_answer(&pass, GATE_GO))
		halts += pass_phase(&pass) == CLAIM_OPEN;
	assert_int_equal(pass_end(&pass), 0);
	assert_true(run_is_gone(world));
	assert_true(halts >= 2);
	run_clear(world);
	return halts;
}

static bool says(struct world *world, const char *key, const char *value)
{
	char *text CLEANUP(mem_done) = mem_printf("\"%s\": \"%s\"", key, value);

	return strstr(said(world), text) != NULL;
}

static void change_check(
	struct world *world, const struct change *change, enum moment moment, unsigned open_halts)
{
	const char *result = change->then[moment].result;
	bool gone = text_equal(result, "reaped");
	struct pass pass;
	int code;

	run_make(world, !change->marker);
	pass = pass_start(world, false);
	pass_reach(&pass, moment, open_halts);
	world->code = 0;
	change->make(world);
	if (world->code != change->then[moment].code)
		fail_msg("%s, moment %d: the verb answers %d: %s", change->text, moment,
			world->code, said(world));
	pass_answer(&pass, GATE_GO);
	code = pass_end(&pass);
	if (code < 0 || code > 1 || !says(world, "result", result) ||
		!says(world, "reason", change->then[moment].reason))
		fail_msg("%s, moment %d: not %s, %s, but %d: %s", change->text, moment, result,
			change->then[moment].reason, code, said(world));
	if (gone ? !run_is_gone(world) : !run_is_whole(world))
		fail_msg("%s, moment %d: the run is not %s", change->text, moment,
			gone ? "gone" : "whole");
	if (world->worker)
		assert_int_equal(waitpid(world->worker, NULL, WNOHANG), 0);
	assert_true(workdir_has(world->workdir, "victim/file"));
	run_clear(world);
}

static const char *only; /* NULL: all changes */

static void what_changes_under_a_claim_is_not_removed(void **state)
{
	struct world *world = *state;
	unsigned open_halts[2] = { count_open_halts(world, false), count_open_halts(world, true) };

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		for (enum moment moment = 0; moment < MOMENTS; moment++)
			change_check(world, &changes[i], moment, open_halts[!changes[i].marker]);
}

/*
 * Where it is stopped after that it goes, and where everything was looked at before that, it is ended with
 * the group; in between the tree is about to be taken from under it.
 */
static void what_runs_again_after_it_was_stopped_keeps_the_tree(void **state)
{
	enum { STEPS_MAX = 30 };
	struct world *world = *state;
	bool seen = false;

	for (unsigned halt = 0; halt < STEPS_MAX && !seen; halt++) {
		struct pass pass;
		int code;

		run_make(world, true);
		pass = pass_start(world, false);
		pass_reach(&pass, BEFORE_STEP, 0);
		for (unsigned i = 0; i < halt; i++) {
			pass_answer(&pass, GATE_GO);
			assert_true(pass_halts(&pass));
		}
		world->worker = child_start(NULL);
		group_put(world->run, world->worker);
		pass_answer(&pass, GATE_GO);
		code = pass_end(&pass);
		seen = strstr(said(world), "was stopped and runs again") != NULL;
		assert_int_equal(seen, code == 1);
		assert_int_equal(seen, run_is_whole(world));
		if (seen)
			assert_int_equal(waitpid(world->worker, NULL, WNOHANG), 0);
		run_clear(world);
	}
	assert_true(seen);
}

/* The tree of that run goes, since it is what it was; what stands at its path is another's. */
static void another_thing_at_a_path_stays(void **state)
{
	struct world *world = *state;

	for (int registered = 0; registered < 2; registered++) {
		unsigned open_halts = count_open_halts(world, registered);
		struct pass pass;

		run_make(world, registered);
		pass = pass_start(world, false);
		pass_reach(&pass, BEFORE_BEGIN, open_halts);
		replace_path(world);
		pass_answer(&pass, GATE_GO);
		assert_int_equal(pass_end(&pass), 1);
		assert_true(says(world, "result", "failed"));
		assert_true(workdir_has(world->workdir, name("scratch/%s/file", world->run)));
		assert_true(workdir_has(world->workdir, "aside/file"));
		run_clear(world);
	}
}

enum meeting { PIN_MEANWHILE, PIN_AFTER_DEATH };

/* Halts the pass for the nth time. False: it ends before that. */
static bool pass_reach_halt(struct pass *pass, unsigned n)
{
	for (unsigned i = 1; pass_halts(pass); pass_answer(pass, GATE_GO))
		if (i++ == n)
			return true;
	return false;
}

/* What the pin answered must be so when the next pass has ended. */
static void pin_check(struct world *world, unsigned n, enum meeting meeting, unsigned *ret_refused)
{
	bool gone = world->code == 1 || world->unknown;
	const char *how = meeting == PIN_MEANWHILE ? "halted" : "killed";

	if (world->code != 0 && world->code != 1)
		fail_msg("halt %u, %s: pin answers %d: %s", n, how, world->code, said(world));
	*ret_refused += world->code == 1;
	if (program_run(&world->program, "--json --run %s", world->run) != 0)
		fail_msg("halt %u, %s: after pin answered %d, the next pass fails: %s", n, how,
			world->code, said(world));
	if (gone ? !run_is_gone(world) : !run_is_whole(world))
		fail_msg("halt %u, %s: pin answered %d, and the run is not %s: %s", n, how,
			world->code, gone ? "gone" : "whole", said(world));
}

static void pin_at(struct world *world, unsigned n, enum meeting meeting, unsigned *ret_refused)
{
	struct pass pass;

	run_make(world, true);
	pass = pass_start(world, true);
	if (!pass_reach_halt(&pass, n))
		fail_msg("there is no halt %u", n);
	if (meeting == PIN_MEANWHILE)
		pin(world);
	pass_answer(&pass, meeting == PIN_MEANWHILE ? GATE_GO : GATE_DIE);
	(void)pass_end(&pass);
	if (meeting == PIN_AFTER_DEATH)
		pin(world);
	pin_check(world, n, meeting, ret_refused);
	run_clear(world);
}

/* What each halt of an undisturbed pass is: clock or call. The number of them. */
static unsigned halts_list(struct world *world, enum gate_kind kinds[HALTS_MAX])
{
	struct pass pass;
	unsigned count = 0;

	run_make(world, true);
	for (pass = pass_start(world, true); pass_halts(&pass); pass_answer(&pass, GATE_GO)) {
		assert_true(count < HALTS_MAX);
		kinds[count++] = pass.kind;
	}
	if (pass_end(&pass) != 0)
		fail_msg("a pass that halts fails: %s", said(world));
	run_clear(world);
	return count;
}

/*
 * In the middle of a transaction of the pass a pin would only wait for its end, so meanwhile it comes
 * where the clock is read. Not at each halt, for the time that takes: test_killed_everywhere.c is
 * killed at each.
 */
static void a_pin_in_any_phase_of_a_pass_keeps_whole_or_is_refused(void **state)
{
	struct world *world = *state;
	enum gate_kind kinds[HALTS_MAX];
	unsigned count = halts_list(world, kinds);
	unsigned tried = 0, refused = 0, deaths_refused = 0, clocks = 0;

	for (unsigned n = 1; n <= count; n++) {
		if (kinds[n - 1] == GATE_CLOCK && clocks++ % EACH == 0) {
			tried++;
			pin_at(world, n, PIN_MEANWHILE, &refused);
		}
		if (n % EACH == 0)
			pin_at(world, n, PIN_AFTER_DEATH, &deaths_refused);
	}
	print_message("# %u halts; too late at %u of %u, and after %u deaths\n", count, refused,
		tried, deaths_refused);
	assert_true(refused > 2 && refused + 2 < tried && deaths_refused > 2);
}

/* With an argument only the changes whose text holds it are tried. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_changes_under_a_claim_is_not_removed),
		cmocka_unit_test(what_runs_again_after_it_was_stopped_keeps_the_tree),
		cmocka_unit_test(another_thing_at_a_path_stays),
		cmocka_unit_test(a_pin_in_any_phase_of_a_pass_keeps_whole_or_is_refused),
	};

	only = argc > 1 ? argv[1] : NULL;
	return cmocka_run_group_tests_name("claims", tests, world_make, world_drop);
}
