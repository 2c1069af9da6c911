#include "fleet.h"

#include "unit.h"

#include "child.h"
#include "group.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { DAY_S = 86400, SICK_S = 900, NAMES = 12 };

static uint64_t fleet_random(struct fleet *fleet)
{
	uint64_t x = fleet->random += 0x9e3779b97f4a7c15U;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
	return x ^ (x >> 31);
}

static unsigned fleet_below(struct fleet *fleet, unsigned bound)
{
	return (unsigned)(fleet_random(fleet) % bound);
}

static bool fleet_chance(struct fleet *fleet, unsigned in_a_thousand)
{
	return fleet_below(fleet, 1000) < in_a_thousand;
}

static const char *name(const char *format, ...) PRINTF_LIKE(1, 2);
static const char *name(const char *format, ...)
{
	static char names[8][256];
	static unsigned turn;
	char *buffer = names[turn++ % ARRAY_SIZE(names)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(buffer, sizeof(names[0]), format, args);
	va_end(args);
	return buffer;
}

static void fleet_sh(const struct fleet *fleet, const char *format, ...) PRINTF_LIKE(2, 3);
static void fleet_sh(const struct fleet *fleet, const char *format, ...)
{
	char *wanted CLEANUP(mem_done) = NULL, *command CLEANUP(mem_done) = NULL;
	va_list args;

	va_start(args, format);
	assert_true(vasprintf(&wanted, format, args) >= 0);
	va_end(args);
	command = mem_printf("cd '%s' && export HOME=\"$PWD\" GIT_CONFIG_GLOBAL=/dev/null "
			     "GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
			     "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b && set -e && %s",
		fleet->workdir->path, wanted);
	if (system(command) != 0) /* NOLINT(cert-env33-c): the commands are our own */
		fail_msg("failed: %s", command);
}

static void fleet_say(struct fleet *fleet, const char *format, ...) PRINTF_LIKE(2, 3);
static void fleet_say(struct fleet *fleet, const char *format, ...)
{
	char words[512];
	va_list args;
	int code;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	code = program_run(&fleet->program, "%s", words);
	if (code != 0) {
		char *said CLEANUP(mem_done) = program_said(&fleet->program);

		fail_msg("%s: exit %d: %s", words, code, said);
	}
}

/* ---- the world ---- */

static void fleet_settings(struct fleet *fleet)
{
	const char *path = fleet->workdir->path;
	char *text CLEANUP(mem_done) = mem_printf(
		"[state]\ndatabase = %s/state/reap.db\n"
		"[workspaces]\nroot = %s/ws\npath_root = %s/scratch\nrepo = %s/repo/.git\n"
		"[policy]\nttl = 1h\nlease = 15m\ndeadline_grace = 5m\nkeep_ok = 10m\n"
		"keep_failed = 1h\nkeep_abandoned = 1h\nkeep_orphan = 1h\nhistory = 90m\n"
		"salvage_keep = 90m\nunsaved = salvage\nbranch = merged\n"
		"[containers]\nengine = %s\n[cgroups]\nroot = %s\n"
		"[limits]\nengine_timeout = 1s\nkill_timeout = 10s\nbrake_runs = 10000\n",
		path, path, path, path, fleet->engine.url, groups_root() + 1);

	workdir_write(fleet->workdir, "reap.ini", text, strlen(text));
}

void fleet_open(struct fleet *fleet, struct workdir *workdir, uint64_t seed)
{
	*fleet = (struct fleet){ .workdir = workdir, .random = seed };
	fake_engine_start(&fleet->engine);
	workdir_make(workdir, "ws");
	workdir_make(workdir, "scratch");
	workdir_make(workdir, "state");
	fleet_sh(fleet, "git init -q -b main repo && cd repo && mkdir src && echo a >src/a && "
			"echo b >README && git add -A && git commit -qm one");
	fleet_settings(fleet);
	fleet->program = (struct program){
		.config = workdir_path(workdir, "reap.ini"),
		.output = workdir_path(workdir, "output"),
		.limit_s = 600,
	};
}

void fleet_close(struct fleet *fleet)
{
	for (size_t i = 0; i < FLEET_MAX; i++)
		child_end(fleet->runs[i].worker);
	fake_engine_stop(&fleet->engine);
}

/* ---- the life of a run ---- */

static bool fleet_knows(const struct fleet *fleet, const char *wanted)
{
	for (size_t i = 0; i < FLEET_MAX; i++)
		if (text_equal(fleet->runs[i].name, wanted))
			return true;
	return false;
}

static void fleet_name(struct fleet *fleet, struct fleet_run *run)
{
	const char *old = name("nightly-%u", fleet_below(fleet, NAMES));

	if (fleet_chance(fleet, FLEET_REUSE) && !fleet_knows(fleet, old)) {
		(void)snprintf(run->name, sizeof(run->name), "%s", old);
		fleet->reused++;
	} else {
		(void)snprintf(run->name, sizeof(run->name), "run-%u", fleet->begun);
	}
}

/* What kind of run it will be. Each kind of misfortune is drawn by itself. */
static void fleet_draw(struct fleet *fleet, struct fleet_run *run, int64_t now_s)
{
	fleet_name(fleet, run);
	run->ends_s = now_s + 300 + fleet_below(fleet, 3000);
	run->git = fleet_chance(fleet, FLEET_GIT);
	run->leaking = fleet_chance(fleet, FLEET_LEAKING);
	run->overrun = !run->leaking && fleet_chance(fleet, FLEET_OVERRUN);
	run->pinned = fleet_chance(fleet, FLEET_PINNED);
	run->dirty = run->git && fleet_chance(fleet, FLEET_DIRTY);
	run->half = fleet_chance(fleet, FLEET_HALF);
	run->failed = fleet_chance(fleet, FLEET_FAILED);
	run->mounted = fleet_chance(fleet, FLEET_MOUNT);
	run->path = fleet_chance(fleet, FLEET_PATH);
	fleet->begun++;
	fleet->leaking += run->leaking;
	fleet->overrun += run->overrun;
	fleet->pinned += run->pinned;
	fleet->dirty += run->dirty;
	fleet->half += run->half;
}

static void run_make_tree(struct fleet *fleet, const struct fleet_run *run)
{
	const char *tree = name("ws/%s", run->name);

	if (run->git) {
		fleet_sh(fleet, "git -C repo worktree add -q -b sbx/%s ../%s", run->name, tree);
		return;
	}
	workdir_make(fleet->workdir, tree);
	workdir_make(fleet->workdir, name("%s/src", tree));
	workdir_fill(fleet->workdir, name("%s/src/a", tree));
	workdir_fill(fleet->workdir, name("%s/README", tree));
}

static void run_make_more(struct fleet *fleet, struct fleet_run *run, int64_t now_s)
{
	const struct fake_thing container = {
		.kind = KIND_CONTAINER, .run = run->name, .running = true, .created_s = now_s
	};

	if (run->path) {
		workdir_make(fleet->workdir, name("scratch/%s", run->name));
		workdir_fill(fleet->workdir, name("scratch/%s/file", run->name));
	}
	if (run->mounted) {
		workdir_make(fleet->workdir, name("ws/%s/cache", run->name));
		assert_return_code(
			mount("cache", workdir_path(fleet->workdir, name("ws/%s/cache", run->name)),
				"tmpfs", 0, "size=64k"),
			errno);
	}
	if (fleet_chance(fleet, FLEET_CONTAINER))
		(void)snprintf(run->container, sizeof(run->container), "%s",
			fake_engine_add(&fleet->engine, &container));
	if (run->leaking || run->overrun || fleet_chance(fleet, FLEET_PROCESS)) {
		run->worker = child_start(workdir_path(fleet->workdir, name("ws/%s", run->name)));
		group_put(run->name, run->worker);
	}
}

static void fleet_begin(struct fleet *fleet, int64_t now_s)
{
	const char *path = fleet->workdir->path;
	struct fleet_run *run = fleet->runs;

	while (run->name[0])
		if (++run == fleet->runs + FLEET_MAX)
			fail_msg("%d runs and none of them goes", FLEET_MAX);
	*run = (struct fleet_run){ 0 };
	fleet_draw(fleet, run, now_s);
	group_make(run->name);
	run_make_tree(fleet, run);
	run_make_more(fleet, run, now_s);
	fleet_say(fleet, "register %s --ttl 1h --cgroup %s%s%s%s%s", run->name,
		group_path(run->name), run->git ? " --repo " : "",
		run->git ? name("%s/repo/.git", path) : "", run->path ? " --path " : "",
		run->path ? name("%s/scratch/%s", path, run->name) : "");
}

static void run_end_worker(struct fleet_run *run)
{
	child_end(run->worker);
	run->worker = 0;
}

static void fleet_finish(struct fleet *fleet, struct fleet_run *run)
{
	run->over = true;
	fleet->ended++;
	if (run->dirty)
		workdir_fill(fleet->workdir, name("ws/%s/work", run->name));
	if (run->half)
		(void)unlinkat(fleet->workdir->dir, name("ws/%s/README", run->name), 0);
	if (run->pinned)
		fleet_say(fleet, "pin %s --for 2h", run->name);
	/* What leaks has no harness any more; half of it goes on for ever, as what overruns does. */
	if (run->leaking && fleet_chance(fleet, 500))
		run_end_worker(run);
	if (run->leaking || run->overrun)
		return;
	run_end_worker(run);
	fleet_say(fleet, "finish %s --%s", run->name, run->failed ? "failed" : "ok");
}

static void fleet_engine(struct fleet *fleet, int64_t now_s, int64_t step_s)
{
	if (fleet->sick_s && now_s >= fleet->sick_s) {
		fake_engine_behave(&fleet->engine, FAKE_ENGINE_WELL, "");
		fleet->sick_s = 0;
		fleet->well_s = now_s;
	}
	/* The chance that it begins now, so that it is sick for FLEET_ENGINE of the time. */
	if (!fleet->sick_s && fleet_below(fleet, 1000000) < FLEET_ENGINE * 1000 * step_s / SICK_S) {
		if (fleet_chance(fleet, 500))
			fake_engine_behave(&fleet->engine, FAKE_ENGINE_HANG, "");
		else
			fake_engine_behave(&fleet->engine, FAKE_ENGINE_FAIL, "DELETE /containers/");
		fleet->sick_s = now_s + SICK_S;
		fleet->sick++;
	}
}

void fleet_step(struct fleet *fleet, int64_t now_s, int64_t step_s)
{
	fleet_engine(fleet, now_s, step_s);
	for (size_t i = 0; i < FLEET_MAX; i++)
		if (fleet->runs[i].name[0] && !fleet->runs[i].over &&
			fleet->runs[i].ends_s <= now_s)
			fleet_finish(fleet, &fleet->runs[i]);
	fleet->owed += FLEET_RUNS_A_DAY * step_s;
	for (; fleet->owed >= DAY_S; fleet->owed -= DAY_S)
		fleet_begin(fleet, now_s);
}

void fleet_end(struct fleet *fleet, int64_t now_s)
{
	if (fleet->sick_s)
		fake_engine_behave(&fleet->engine, FAKE_ENGINE_WELL, "");
	fleet->sick_s = 0;
	fleet->well_s = now_s;
	for (size_t i = 0; i < FLEET_MAX; i++)
		if (fleet->runs[i].name[0] && !fleet->runs[i].over)
			fleet_finish(fleet, &fleet->runs[i]);
}

static bool run_is_gone(struct fleet *fleet, const struct fleet_run *run)
{
	return !workdir_has(fleet->workdir, name("ws/%s", run->name)) &&
	       !workdir_has(fleet->workdir, name("ws/%s.sbx", run->name)) &&
	       !workdir_has(fleet->workdir, name("scratch/%s", run->name)) &&
	       !group_exists(run->name) &&
	       !(run->container[0] && fake_engine_has(&fleet->engine, run->container));
}

void fleet_collect(struct fleet *fleet)
{
	for (size_t i = 0; i < FLEET_MAX; i++) {
		struct fleet_run *run = &fleet->runs[i];

		if (run->worker > 0 && waitpid(run->worker, NULL, WNOHANG) == run->worker)
			run->worker = 0;
		if (!run->name[0] || !run_is_gone(fleet, run))
			continue;
		if (!run->over)
			fail_msg("%s is gone, and has not ended", run->name);
		run->name[0] = 0;
		fleet->gone++;
	}
}

size_t fleet_present(const struct fleet *fleet)
{
	size_t count = 0;

	for (size_t i = 0; i < FLEET_MAX; i++)
		count += fleet->runs[i].name[0] != 0;
	return count;
}

size_t fleet_processes(const struct fleet *fleet)
{
	size_t count = 0;

	for (size_t i = 0; i < FLEET_MAX; i++)
		count += fleet->runs[i].worker > 0;
	return count;
}
