#include "sweep_world.h"

#include "backend/worktree_git.h"
#include "child.h"
#include "copy.h"
#include "group.h"
#include "unit.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { WORDS_MAX = 32, HOUR_S = 3600 };

static const char *const groups[] = { "all", "overdue", "live" };

static void run_shell(const char *format, ...) PRINTF_LIKE(1, 2);
static void run_shell(const char *format, ...)
{
	char *command CLEANUP(mem_done) = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&command, format, args) < 0)
		abort();
	va_end(args);
	if (system(command) != 0) { /* NOLINT(cert-env33-c): the commands are our own */
		(void)fprintf(stderr, "failed: %s\n", command);
		abort();
	}
}

/* ------------------------------------------------------------------------------- made only once */

static void make_template(const struct sweep_world *world)
{
	run_shell("set -e; export HOME=%s GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null "
		  "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
		  "GIT_COMMITTER_EMAIL=a@b; mkdir -p %s %s %s; "
		  "git init -q --template= -b main %s/seed; cd %s/seed; mkdir src; "
		  "echo a >a.txt; echo b >src/b.c; echo /scratch/ >.gitignore; git add -A; "
		  "git commit -qm one; git clone -q --template= --bare . %s; "
		  "cd %s; for run in all unsaved overdue pinned live fresh; do "
		  "git worktree add -q -b sbx/$run %s/$run; "
		  "[ $run != all ] || git pack-refs --all; done",
		world->base, world->root, world->paths, world->state, world->base, world->base,
		world->repo, world->repo, world->root);
	run_shell("set -e; cd %s; mkdir -p all/scratch/m %s/all/deep foreign; echo o "
		  ">all/scratch/x.o; "
		  "echo p >%s/all/deep/p; echo changed >unsaved/a.txt; echo new >unsaved/new; "
		  "echo theirs >foreign/file; mv %s %s/template",
		world->root, world->paths, world->paths, world->top, world->base);
}

static void write_settings(const struct sweep_world *world)
{
	FILE *file CLEANUP(file_done) = fopen(world->settings, "we");

	assert_non_null(file);
	(void)fprintf(file,
		"[state]\ndatabase = %s/reap.db\n[workspaces]\nroot = %s\nrepo = %s\n"
		"path_root = %s\n[containers]\nengine = %s\n[cgroups]\nroot = %s\n"
		"[disk]\nhigh = 100%%\nlow = 99%%\n",
		world->state, world->root, world->repo, world->paths, world->engine.url,
		group_path(world->group) + 1);
}

/* ------------------------------------------------------------------------------ made each time */

static void clear_groups(const struct sweep_world *world)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		char *name CLEANUP(mem_done) = mem_printf("%s/%s", world->group, groups[i]);

		if (group_exists(name))
			group_unmake(name);
	}
}

static void clear(struct sweep_world *world)
{
	char *mounted CLEANUP(mem_done) = mem_printf("%s/all/scratch/m", world->root);

	for (size_t i = 0; i < PROCESS_COUNT; i++) {
		child_end(world->processes[i]);
		world->processes[i] = 0;
	}
	clear_groups(world);
	if (world->container)
		fake_engine_drop(&world->engine, world->container);
	world->container = NULL;
	(void)umount2(mounted, MNT_DETACH); /* before its tree goes anywhere it is gone */
	if (access(world->top, F_OK) == 0) {
		empty_tree(world->top);
		assert_return_code(rmdir(world->top), errno);
	}
}

void sweep_world_drop(struct sweep_world *world)
{
	clear(world);
	fake_engine_stop(&world->engine);
	group_unmake(world->group);
	free(world->protected_before);
	free(world->base);
	free(world->top);
	free(world->root);
	free(world->repo);
	free(world->paths);
	free(world->state);
	free(world->settings);
}

static void start_processes(struct sweep_world *world)
{
	for (size_t i = 0; i < PROCESS_COUNT; i++) {
		char *name CLEANUP(mem_done) = mem_printf("%s/%s", world->group, groups[i]);

		group_make(name);
		world->processes[i] = child_start(NULL);
		group_put(name, world->processes[i]);
	}
}

static void add_container(struct sweep_world *world)
{
	world->container = fake_engine_add(
		&world->engine, &(struct fake_thing){ .kind = KIND_CONTAINER,
					.run = "all",
					.running = true,
					.created_s = world->made_s - 2 * HOUR_S - HOUR_S / 2 });
}

static char *register_words(
	const struct sweep_world *world, const char *run, const char *more, pid_t pid)
{
	char *process CLEANUP(mem_done) =
		pid ? mem_printf(" --pid %d --cgroup %s/%s", pid, group_path(world->group), run)
		    : mem_dup("");

	return mem_printf(
		"register %s --repo %s --branch sbx/%s%s %s", run, world->repo, run, process, more);
}

/* Each in turn; what fails would make every point of the sweep worthless. */
static void run_each(struct sweep_world *world, char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sweep_world_run(world, words[i]) == 0)
			continue;
		(void)fprintf(stderr, "failed: %s: %s\n", words[i], sweep_world_complaints(world));
		abort();
	}
}

static void register_all(struct sweep_world *world)
{
	char *path CLEANUP(mem_done) =
		mem_printf("--created -3h --ttl 1h --path %s/all", world->paths);
	char *words[] = {
		register_words(world, "all", path, world->processes[PROCESS_ALL]),
		register_words(world, "unsaved", "--created -3h --ttl 1h", 0),
		register_words(world, "overdue", "--created -3h --ttl 1h",
			world->processes[PROCESS_OVERDUE]),
		register_words(world, "pinned", "--created -3h --ttl 1h", 0),
		register_words(world, "live", "--ttl 30d", world->processes[PROCESS_LIVE]),
		mem_dup("finish all --ok --at -2h"),
		mem_dup("finish unsaved --ok --at -2h"),
		mem_dup("finish pinned --ok --at -2h"),
		mem_dup("pin pinned --for never"),
	};

	run_each(world, words, ARRAY_SIZE(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		free(words[i]);
}

/* ---------------------------------------------------------------------------- the program in it */

struct running {
	struct sweep_world *world;
	const char *words;
};

static void redirect(const struct sweep_world *world, int stream, const char *name, int flags)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", world->base, name);
	int fd = open(*name == '/' ? name : path, flags, 0600);

	if (fd < 0 || dup2(fd, stream) != stream)
		_exit(99);
	(void)close(fd);
}

static void redirect_all(const struct sweep_world *world)
{
	redirect(world, STDIN_FILENO, "/dev/null", O_RDONLY);
	redirect(world, STDOUT_FILENO, "out", O_WRONLY | O_CREAT | O_TRUNC);
	redirect(world, STDERR_FILENO, "err", O_WRONLY | O_CREAT | O_TRUNC);
}

static int run_program(void *context)
{
	const struct running *run = context;
	char *copy = mem_dup(run->words), *rest = copy, *word;
	char name[] = "sbx-reap", option[] = "--config";
	char *argv[WORDS_MAX + 4] = { name };
	int argc = 1, r;

	while ((word = text_word(&rest)) && argc < WORDS_MAX)
		argv[argc++] = word;
	argv[argc++] = option;
	argv[argc++] = run->world->settings;
	r = run->world->program(argc, argv);
	free(copy);
	return r;
}

/* In a child, and not one of the calls of the program. */
static void prepare_program(void *context)
{
	const struct running *run = context;

	(void)close_range(STDERR_FILENO + 1, UINT32_MAX, 0);
	redirect_all(run->world);
}

int sweep_world_run(struct sweep_world *world, const char *words)
{
	struct running run = { world, words };
	int status;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int r;

		prepare_program(&run);
		r = run_program(&run);
		(void)fflush(NULL);
		_exit(r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int sweep_world_trace(struct sweep_world *world, const char *words, const struct trace *trace)
{
	struct running run = { world, words };
	struct trace mine = *trace;

	mine.prepare = prepare_program;
	mine.program = run_program;
	mine.program_context = &run;
	return tracer_run(&mine);
}

/* ------------------------------------------------------------------------------------ all of it */

/* With mounts and processes, as it was registered; the books know others. */
static void copy_template(struct sweep_world *world)
{
	char *template CLEANUP(mem_done) = mem_printf("%s/template", world->base);
	char *mounted CLEANUP(mem_done) = mem_printf("%s/all/scratch/m", world->root);

	clear(world);
	copy_tree(template, world->top);
	assert_return_code(mount("sbx-test", mounted, "tmpfs", 0, NULL), errno);
	start_processes(world);
	add_container(world);
}

/* What is registered then, with its markers and rows, becomes a part of the template. */
static void make_books(struct sweep_world *world)
{
	copy_template(world);
	register_all(world);
	run_shell("set -e; cd %s; rm -r %s/template/state; cp -a state %s/template; "
		  "cp -a ws/*.sbx ws/*.keep %s/template/ws",
		world->top, world->base, world->base, world->base);
}

/*
 * What is done once a process is done here, so that it need not be done in each child: parsing the
 * certificates of the machine, finding the functions of libraries.
 */
static void warm_up(struct sweep_world *world)
{
	struct running run = { world, "--json" };
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);

	assert_int_equal(
		worktree_git_begin(NULL), 0); /* or its settings would be the default ones */
	assert_int_equal(curl_global_init(CURL_GLOBAL_DEFAULT), 0);
	copy_template(world);
	(void)fflush(NULL);
	redirect_all(world);
	(void)run_program(&run);
	(void)fflush(NULL);
	assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0);
	(void)close(out);
	(void)close(err);
}

void sweep_world_make(struct sweep_world *world, const char *base, const char *group)
{
	world->made_s = time(NULL);
	world->base = mem_dup(base);
	world->top = mem_printf("%s/world", base);
	world->root = mem_printf("%s/ws", world->top);
	world->repo = mem_printf("%s/repo.git", world->top);
	world->paths = mem_printf("%s/paths", world->top);
	world->state = mem_printf("%s/state", world->top);
	world->settings = mem_printf("%s/reap.ini", base);
	(void)snprintf(world->group, sizeof(world->group), "%s", group);
	group_make(world->group);
	make_template(world);
	fake_engine_start(&world->engine);
	write_settings(world);
	warm_up(world);
	make_books(world);
}

void sweep_world_reset(struct sweep_world *world)
{
	copy_template(world);
	sweep_world_rebook(world);
	free(world->protected_before);
	world->protected_before = sweep_world_protected(world);
}
