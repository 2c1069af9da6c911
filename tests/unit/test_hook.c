#include "unit.h"

#include "os/hook.h"

#include "base/clock.h"
#include "os/signals.h"
#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { LONG_MS = 60000, PATIENCE_MS = 60000 };

static void hook_write(struct workdir *dir, const char *name, const char *script)
{
	workdir_write(dir, name, script, strlen(script));
	assert_int_equal(fchmodat(dir->dir, name, 0755, 0), 0);
}

/* The only thing that a script of these tests is told: where to write. */
static int run_for(struct workdir *dir, const char *name, int64_t timeout_ms, struct error *error)
{
	char *place CLEANUP(mem_done) = mem_printf("PLACE=%s", dir->path);
	char *environment[] = { place, NULL };
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", dir->path, name);
	const struct hook hook = {
		.path = path,
		.environment = environment,
		.timeout_ms = timeout_ms,
	};

	return hook_run(&hook, error);
}

static int run(struct workdir *dir, const char *name, struct error *error)
{
	return run_for(dir, name, LONG_MS, error);
}

/* What was written there; "" where nothing was. In memory of the program. */
static const char *written(struct workdir *dir, const char *name)
{
	static char bytes[4096];
	int fd CLEANUP(fd_done) = openat(dir->dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes) - 1);

	assert_true(got >= 0);
	for (ssize_t i = 0; i < got; i++)
		if (bytes[i] == 0)
			bytes[i] = '|';
	bytes[got] = 0;
	return bytes;
}

static void assert_gone(struct workdir *dir, const char *name)
{
	int64_t deadline_ms = deadline_in_ms(PATIENCE_MS);
	pid_t pid = atoi(written(dir, name));

	assert_true(pid > 0);
	while (kill(pid, 0) == 0 && deadline_left_ms(deadline_ms) > 0)
		(void)usleep(10000);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

/* ------------------------------------------------------------------------ this program, as a hook */

static void tell_descriptors(FILE *file)
{
	DIR *stream = opendir("/proc/self/fd");

	(void)fputs("fds", file);
	for (struct dirent *entry; (entry = readdir(stream));)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(stream) &&
			atoi(entry->d_name) != fileno(file))
			(void)fprintf(file, " %s", entry->d_name);
	(void)fputc('\n', file);
	(void)closedir(stream);
}

static void tell_signals(FILE *file)
{
	sigset_t blocked;
	int count = 0, ignored = 0;

	(void)sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int number = 1; number < SIGRTMIN; number++) {
		struct sigaction action;

		count += sigismember(&blocked, number) == 1;
		ignored += sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
	}
	(void)fprintf(file, "blocked %d ignored %d\n", count, ignored);
}

static int as_hook(const char *place)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/told", place), cwd[PATH_MAX];
	FILE *file = fopen(path, "we");
	struct stat in, nothing;
	mode_t mask = umask(0);

	tell_descriptors(file);
	tell_signals(file);
	(void)fprintf(file, "cwd %s umask %o leads %d stdin %d\n", getcwd(cwd, sizeof(cwd)), mask,
		getsid(0) == getpid() && getpgid(0) == getpid(),
		fstat(0, &in) == 0 && stat("/dev/null", &nothing) == 0 &&
			in.st_rdev == nothing.st_rdev);
	for (char **variable = environ; *variable; variable++)
		(void)fprintf(file, "[%s]", *variable);
	return fclose(file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void copy_ourselves(struct workdir *dir, const char *name)
{
	int in CLEANUP(fd_done) = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out CLEANUP(fd_done) = openat(dir->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	while (sendfile(out, in, NULL, 1 << 30) > 0)
		;
	assert_true(lseek(out, 0, SEEK_CUR) > 0);
}

static void a_program_gets_what_is_promised_and_nothing_else(void **state)
{
	struct workdir *dir = *state;
	int open_too CLEANUP(fd_done) = open("/", O_RDONLY); /* without O_CLOEXEC, on purpose */
	struct error error = { 0 };
	char *wanted CLEANUP(mem_done) = mem_printf(
		"fds 0 1 2\nblocked 0 ignored 0\ncwd / umask 22 leads 1 stdin 1\n[PLACE=%s]",
		dir->path);

	copy_ourselves(dir, "hook");
	assert_int_equal(setenv("SECRET", "of ours", 1), 0);
	(void)signal(SIGUSR1, SIG_IGN);
	(void)umask(077);
	assert_int_equal(run(dir, "hook", &error), 0);
	(void)umask(022);
	(void)signal(SIGUSR1, SIG_DFL);
	assert_int_equal(error.code, 0);
	assert_string_equal(written(dir, "told"), wanted);
	assert_true(open_too >= 0);
}

static void a_script_gets_its_environment_and_its_own_path(void **state)
{
	struct workdir *dir = *state;
	struct error error = { 0 };
	char *wanted CLEANUP(mem_done) = mem_printf("PLACE=%s|%s/script 0\n", dir->path, dir->path);

	hook_write(dir, "script",
		"#!/bin/sh\n{ cat /proc/$$/environ; echo \"$0 $#\"; } >\"$PLACE/told\"\n");
	assert_int_equal(run(dir, "script", &error), 0);
	assert_string_equal(written(dir, "told"), wanted);
}

/* ----------------------------------------------------------------------------------- how it ended */

static void an_exit_code_is_told_with_the_end_of_what_was_printed(void **state)
{
	struct workdir *dir = *state;
	struct error error = { 0 };

	hook_write(
		dir, "hook", "#!/bin/sh\necho one; echo two >&2; printf 'a\\000b\\n\\n'; exit 3\n");
	assert_int_equal(run(dir, "hook", &error), -ECHILD);
	assert_non_null(
		strstr(error.text, "/hook: it ended with exit code 3: one\\x0atwo\\x0aa b"));
}

static void hostile_bytes_of_its_output_are_escaped(void **state)
{
	struct workdir *dir = *state;
	struct error error = { 0 };

	hook_write(dir, "hook", "#!/bin/sh\nprintf '\\033[2J\\377\\r\\342\\200\\256x'; exit 1\n");
	assert_int_equal(run(dir, "hook", &error), -ECHILD);
	assert_non_null(strstr(error.text, ": \\x1b[2J\\xff\\x0d\\xe2\\x80\\xaex"));
}

static void much_output_holds_nobody_and_only_its_end_is_told(void **state)
{
	struct workdir *dir = *state;
	struct error error = { 0 };

	hook_write(dir, "hook",
		"#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\necho; echo the end; exit 1\n");
	assert_int_equal(run(dir, "hook", &error), -ECHILD);
	assert_non_null(strstr(error.text, "xxx\\x0athe end"));
	assert_true(strlen(error.text) < 470);
}

static void a_signal_that_ended_it_is_named(void **state)
{
	struct workdir *dir = *state;
	struct error error = { 0 };

	hook_write(dir, "hook", "#!/bin/sh\nkill -SEGV $$\n");
	assert_int_equal(run(dir, "hook", &error), -ECHILD);
	assert_non_null(strstr(error.text, "it was ended by signal 11 (SIGSEGV)"));
}

static void what_cannot_be_run_says_why(void **state)
{
	struct workdir *dir = *state;
	static const struct {
		const char *content, *says;
	} cases[] = {
		{ "echo no interpreter\n", "does not begin with #!" },
		{ "#!/nowhere/at/all\n", "the interpreter that it names is not there" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error = { 0 };

		hook_write(dir, "hook", cases[i].content);
		assert_true(run(dir, "hook", &error) < 0);
		assert_non_null(strstr(error.text, cases[i].says));
		assert_int_equal(unlinkat(dir->dir, "hook", 0), 0);
	}
}

static void an_exit_code_of_1_of_its_own_is_no_failure_to_run(void **state)
{
	struct workdir *dir = *state;
	struct error error = { 0 };

	hook_write(dir, "hook", "#!/bin/sh\nexit 1\n");
	assert_int_equal(run(dir, "hook", &error), -ECHILD);
	assert_non_null(strstr(error.text, "exit code 1"));
}

/* ------------------------------------------------------------------------------------ what it leaves */

#define SCRIPT_LEAVES                                                                            \
	"#!/bin/sh\n"                                                                            \
	"sleep 1000 & echo $! >\"$PLACE/child\"\n"                                               \
	"setsid sh -c 'echo $$ >\"$PLACE/new\"; mv \"$PLACE/new\" \"$PLACE/away\"; sleep 1000' " \
	"&\n"                                                                                    \
	"while [ ! -e \"$PLACE/away\" ]; do sleep 0.01; done\n"

static void at_the_time_limit_all_of_it_is_killed(void **state)
{
	struct workdir *dir = *state;
	struct error error = { 0 };

	hook_write(dir, "hook",
		SCRIPT_LEAVES
		"trap '' TERM INT HUP\necho waiting\n: >\"$PLACE/ready\"\nsleep 1000\n");
	assert_int_equal(run_for(dir, "hook", 3000, &error), -ETIME);
	assert_non_null(strstr(error.text, "it was not done within 3s, and was killed"));
	if (!workdir_has(dir, "away"))
		return; /* the machine is too slow for it to have begun */
	assert_gone(dir, "child");
	assert_gone(dir, "away");
}

static void what_it_leaves_behind_ends_with_it(void **state)
{
	struct workdir *dir = *state;
	struct error error = { 0 };

	hook_write(dir, "hook", SCRIPT_LEAVES "exit 0\n");
	assert_int_equal(run(dir, "hook", &error), 0);
	assert_gone(dir, "child");
	assert_gone(dir, "away");
}

static void whoever_asks_us_to_stop_ends_it(void **state)
{
	struct workdir *dir = *state;
	const struct timespec now = { 0 };
	struct error error = { 0 };
	sigset_t before, stop;

	hook_write(dir, "hook", "#!/bin/sh\nsleep 1000\n");
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, NULL, &before);
	signals_hold();
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(run(dir, "hook", &error), -EINTR);
	assert_int_equal(sigtimedwait(&stop, NULL, &now), SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	assert_non_null(strstr(error.text, "asked to stop"));
}

static int run_in_child(struct workdir *dir, void *context)
{
	(void)context;
	return -run(dir, "hook", NULL);
}

static void when_we_are_killed_nothing_of_it_is_left(void **state)
{
	struct workdir *dir = *state;
	int64_t deadline_ms = deadline_in_ms(PATIENCE_MS);
	pid_t pid;

	hook_write(dir, "hook", SCRIPT_LEAVES ": >\"$PLACE/ready\"\nsleep 1000\n");
	pid = workdir_fork(run_in_child, dir, NULL);
	while (!workdir_has(dir, "ready") && deadline_left_ms(deadline_ms) > 0)
		(void)usleep(10000);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(workdir_wait(pid), 255);
	assert_gone(dir, "child");
	assert_gone(dir, "away");
}

/*
 * Traces what the hook left, and does not take its exit: killed, it stays, as one that the kernel holds
 * does. Until it is killed itself.
 */
static int hold_child(struct workdir *dir, void *context)
{
	int64_t deadline_ms = deadline_in_ms(PATIENCE_MS);

	(void)context;
	while (!workdir_has(dir, "child") && deadline_left_ms(deadline_ms) > 0)
		(void)usleep(10000);
	if (ptrace(PTRACE_SEIZE, (pid_t)atol(written(dir, "child")), NULL, NULL) < 0)
		return errno;
	workdir_write(dir, "held", "", 0);
	(void)sleep(PATIENCE_MS);
	return 0;
}

static void assert_held(struct workdir *dir, int code, const char *end)
{
	char *script CLEANUP(mem_done) =
		mem_printf("#!/bin/sh\nsleep 1000 &\necho $! >\"$PLACE/new\"\nmv \"$PLACE/new\" "
			   "\"$PLACE/child\"\n"
			   "until [ -e \"$PLACE/held\" ]; do sleep 0.01; done\n%s\n",
			end);
	struct error error = { 0 };
	pid_t pid;

	hook_write(dir, "hook", script);
	pid = workdir_fork(hold_child, dir, NULL);
	assert_int_equal(run(dir, "hook", &error), code);
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)workdir_wait(pid);
	assert_true(code > 0 || strstr(error.text, "code 3; what it had started does not die"));
}

static void one_that_did_well_has_done_so_also_when_what_it_left_does_not_die(void **state)
{
	assert_held(*state, 1, "exit 0");
}

static void one_that_failed_says_that_what_it_left_does_not_die(void **state)
{
	assert_held(*state, -ECHILD, "exit 3");
}

/* ------------------------------------------------------------------------------------ which file it is */

enum { SOMEBODY = 54321 };

static void assert_refused(struct workdir *dir, const char *name, int code, const char *says)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", dir->path, name);
	struct error error = { 0 }, again = { 0 };

	assert_int_equal(hook_check(path, &error), -code);
	assert_non_null(strstr(error.text, says));
	assert_int_equal(run(dir, name, &again), -code);
	assert_non_null(strstr(again.text, says));
	assert_false(workdir_has(dir, "ran"));
}

static void write_hook(struct workdir *dir, const char *name)
{
	hook_write(dir, name, "#!/bin/sh\n: >\"$PLACE/ran\"\n");
}

static void assert_runs(struct workdir *dir, const char *name)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", dir->path, name);
	struct error error = { 0 };

	assert_int_equal(hook_check(path, &error), 0);
	assert_int_equal(run(dir, name, &error), 0);
	assert_string_equal(error.text, "");
	assert_true(workdir_has(dir, "ran"));
	assert_int_equal(unlinkat(dir->dir, "ran", 0), 0);
}

static void what_somebody_else_could_write_is_refused(void **state)
{
	struct workdir *dir = *state;

	workdir_make(dir, "d");
	write_hook(dir, "d/hook");
	assert_runs(dir, "d/hook");
	assert_int_equal(fchmodat(dir->dir, "d/hook", 0775, 0), 0);
	assert_refused(dir, "d/hook", EPERM, "hook can be written by group or others: chmod go-w");
	assert_int_equal(fchmodat(dir->dir, "d/hook", 0757, 0), 0);
	assert_refused(dir, "d/hook", EPERM, "chmod go-w");
	assert_int_equal(fchmodat(dir->dir, "d/hook", 0755, 0), 0);
	assert_int_equal(fchownat(dir->dir, "d/hook", SOMEBODY, 0, 0), 0);
	assert_refused(dir, "d/hook", EPERM, "hook belongs to uid 54321");
	assert_int_equal(fchownat(dir->dir, "d/hook", 0, 0, 0), 0);
	assert_int_equal(fchmodat(dir->dir, "d", 0775, 0), 0);
	assert_refused(dir, "d/hook", EPERM, "/d can be written by group or others");
	assert_int_equal(fchmodat(dir->dir, "d", 01777, 0), 0);
	assert_refused(dir, "d/hook", EPERM, "others can make files");
	assert_int_equal(fchmodat(dir->dir, "d", 0755, 0), 0);
	assert_int_equal(fchownat(dir->dir, "d", SOMEBODY, 0, 0), 0);
	assert_refused(dir, "d/hook", EPERM, "/d belongs to uid 54321");
	assert_int_equal(fchownat(dir->dir, "d", 0, 0, 0), 0);
	assert_runs(dir, "d/hook");
}

static void a_sticky_directory_may_lie_above(void **state)
{
	struct workdir *dir = *state;

	workdir_make(dir, "sticky");
	workdir_make(dir, "sticky/d");
	write_hook(dir, "sticky/d/hook");
	assert_int_equal(fchmodat(dir->dir, "sticky", 01777, 0), 0);
	assert_runs(dir, "sticky/d/hook");
}

static void symlinks_are_followed_where_only_we_can_make_them(void **state)
{
	struct workdir *dir = *state;
	char *away CLEANUP(mem_done) = mem_printf("%s/d/../link", dir->path);

	workdir_make(dir, "d");
	workdir_make(dir, "sticky");
	write_hook(dir, "d/hook");
	assert_int_equal(symlinkat("./d//hook", dir->dir, "link"), 0);
	assert_int_equal(symlinkat(away, dir->dir, "far"), 0);
	assert_int_equal(symlinkat("d", dir->dir, "dlink"), 0);
	assert_runs(dir, "link");
	assert_runs(dir, "far");
	assert_runs(dir, "dlink/hook");
	assert_int_equal(symlinkat("../d/hook", dir->dir, "sticky/link"), 0);
	assert_runs(dir, "sticky/link");
	assert_int_equal(fchmodat(dir->dir, "sticky", 01777, 0), 0);
	assert_refused(dir, "sticky/link", EPERM, "others can make files");
	assert_int_equal(fchownat(dir->dir, "link", SOMEBODY, 0, AT_SYMLINK_NOFOLLOW), 0);
	assert_refused(dir, "link", EPERM, "link belongs to uid 54321");
	assert_int_equal(symlinkat("loop", dir->dir, "loop"), 0);
	assert_refused(dir, "loop", ELOOP, "loop");
}

static void what_is_no_program_is_refused(void **state)
{
	struct workdir *dir = *state;

	assert_refused(dir, "missing", ENOENT, "missing");
	assert_refused(dir, "missing/hook", ENOENT, "missing");
	workdir_make(dir, "d");
	assert_refused(dir, "d", EPERM, "not a regular file");
	write_hook(dir, "hook");
	assert_refused(dir, "hook/more", ENOTDIR, "hook");
	assert_int_equal(fchmodat(dir->dir, "hook", 0644, 0), 0);
	assert_refused(dir, "hook", EPERM, "not executable: chmod +x");
	assert_int_equal(mkfifoat(dir->dir, "fifo", 0755), 0);
	assert_refused(dir, "fifo", EPERM, "not a regular file");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_program_gets_what_is_promised_and_nothing_else),
		TEST(a_script_gets_its_environment_and_its_own_path),
		TEST(an_exit_code_is_told_with_the_end_of_what_was_printed),
		TEST(hostile_bytes_of_its_output_are_escaped),
		TEST(much_output_holds_nobody_and_only_its_end_is_told),
		TEST(a_signal_that_ended_it_is_named),
		TEST(what_cannot_be_run_says_why),
		TEST(an_exit_code_of_1_of_its_own_is_no_failure_to_run),
		TEST(at_the_time_limit_all_of_it_is_killed),
		TEST(what_it_leaves_behind_ends_with_it),
		TEST(whoever_asks_us_to_stop_ends_it),
		TEST(one_that_did_well_has_done_so_also_when_what_it_left_does_not_die),
		TEST(one_that_failed_says_that_what_it_left_does_not_die),
		TEST(when_we_are_killed_nothing_of_it_is_left),
		TEST(what_somebody_else_could_write_is_refused),
		TEST(a_sticky_directory_may_lie_above),
		TEST(symlinks_are_followed_where_only_we_can_make_them),
		TEST(what_is_no_program_is_refused),
	};

	if (getenv("PLACE"))
		return as_hook(getenv("PLACE"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
