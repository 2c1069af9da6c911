#include "hook_keeper.h"

#include "base/clock.h"
#include "hook_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { DEATH_MS = 1000, ROUNDS = 64 /* more than a pipe holds */ };

struct keeping {
	const struct hook *hook;
	struct hook_file file;
	struct hook_answer *answer;
	int life, output, failed; /* the ends that are read */
	int pidfd;
	pid_t pid;
};

static void keeping_done(struct keeping *keeping)
{
	hook_file_done(&keeping->file);
	fd_done(&keeping->output);
	fd_done(&keeping->failed);
	fd_done(&keeping->pidfd);
}

/* -------------------------------------------------------------------------------- in the hook's process */

static void signals_default(void)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int number = 1; number <= SIGRTMAX; number++)
		(void)sigaction(number, &action, NULL); /* not of two, and of those of the libc */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool set_up(int output)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)setsid(); /* a new process leads no group, so it succeeds */
	(void)umask(S_IWGRP | S_IWOTH);
	return nothing >= 0 && chdir("/") == 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
	       dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 &&
	       close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0;
}

/*
 * What was proved is run by its descriptor. An interpreter is given a path to open, and that of a
 * descriptor would be gone by then (ENOENT, execveat(2)); so a script is run by its own, which leads only
 * where root or we lead it, and still to the same file.
 */
static _Noreturn void become(const struct keeping *keeping, int output, int failed)
{
	const struct hook *hook = keeping->hook;
	char *arguments[] = { keeping->file.path, NULL };
	int code;

	signals_default();
	if (set_up(output)) {
		(void)execveat(keeping->file.fd, "", arguments, hook->environment, AT_EMPTY_PATH);
		if (errno == ENOENT && !hook_file_stands(&keeping->file))
			errno = ESTALE;
		else if (errno == ENOENT)
			(void)execve(keeping->file.path, arguments, hook->environment);
	}
	code = errno;
	(void)!write(failed, &code, sizeof(code));
	_exit(EXIT_FAILURE);
}

/* ------------------------------------------------------------------------------------- in the keeper */

/* 0 it is on its way, or -errno. */
static int start(struct keeping *keeping, struct error *error)
{
	int output[2] = { -EBADF, -EBADF }, failed[2] = { -EBADF, -EBADF };

	if (pipe2(output, O_CLOEXEC) == 0) {
		keeping->output = output[0];
		(void)fcntl(output[0], F_SETFL, O_NONBLOCK);
	}
	if (output[0] < 0 || pipe2(failed, O_CLOEXEC) < 0)
		return error_set(error, errno, "make a pipe for it");
	keeping->failed = failed[0];
	keeping->pid = fork();
	if (keeping->pid == 0)
		become(keeping, output[1], failed[1]);
	if (keeping->pid < 0)
		return error_set(error, errno, "start it");
	fd_done(&output[1]);
	fd_done(&failed[1]);
	keeping->pidfd = pidfd_open(keeping->pid, 0);
	return keeping->pidfd < 0 ? error_set(error, errno, "open its process") : 0;
}

/* Keeps the end of what it prints; the rest is read, so that nobody is held by a full pipe. */
static bool hear(struct keeping *keeping)
{
	struct hook_answer *answer = keeping->answer;
	char bytes[4096];
	ssize_t got = read(keeping->output, bytes, sizeof(bytes));
	size_t fresh = got > 0 ? (size_t)got : 0, stays;

	if (fresh > HOOK_OUTPUT) {
		memcpy(answer->output, bytes + fresh - HOOK_OUTPUT, HOOK_OUTPUT);
		answer->length = HOOK_OUTPUT;
		return true;
	}
	stays = answer->length + fresh > HOOK_OUTPUT ? HOOK_OUTPUT - fresh : answer->length;
	memmove(answer->output, answer->output + answer->length - stays, stays);
	memcpy(answer->output + stays, bytes, fresh);
	answer->length = stays + fresh;
	return got > 0 || (got < 0 && errno == EINTR);
}

/* Until it ends, or must. */
static enum hook_end attend(struct keeping *keeping, int64_t deadline_ms)
{
	struct pollfd waits[] = { { keeping->pidfd, POLLIN, 0 }, { keeping->life, 0, 0 },
		{ keeping->output, POLLIN, 0 } };
	int64_t left_ms;

	do {
		left_ms = deadline_left_ms(deadline_ms);
		if (poll(waits, ARRAY_SIZE(waits), (int)left_ms) < 0)
			continue;
		if (waits[0].revents)
			return HOOK_EXITED;
		if (waits[1].revents)
			return HOOK_UNWANTED;
		if (waits[2].revents && !hear(keeping))
			waits[2].fd = -1; /* it has closed both */
	} while (left_ms > 0);
	return HOOK_TIMED_OUT;
}

/* Of our own children only, whose numbers are theirs until we have waited for them. */
static bool kill_child(pid_t pid, int64_t deadline_ms)
{
	struct pollfd dead = { .fd = pidfd_open(pid, 0), .events = POLLIN };
	int fd CLEANUP(fd_done) = dead.fd;

	if (fd >= 0) {
		(void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
		if (poll(&dead, 1, (int)deadline_left_ms(deadline_ms)) <= 0)
			return false;
	}
	return waitpid(pid, NULL, WNOHANG) == pid;
}

/* One of ours; 0: none. proc(5): needs CONFIG_PROC_CHILDREN, which distributions have. */
static pid_t some_child(void)
{
	FILE *file CLEANUP(file_done) = fopen("/proc/thread-self/children", "re");
	int pid = 0;

	return file && fscanf(file, "%d", &pid) == 1 ? pid : 0;
}

/* What a child leaves comes to us, so at last there is none. Whether that is so. */
static bool end_the_rest(void)
{
	int64_t deadline_ms = deadline_in_ms(DEATH_MS);
	pid_t pid;

	do {
		pid = some_child();
		if (pid > 0 && !kill_child(pid, deadline_ms))
			return false;
	} while (pid > 0 && deadline_left_ms(deadline_ms) > 0);
	return waitpid(-1, NULL, WNOHANG) < 0;
}

static void take_exit(struct keeping *keeping, enum hook_end end)
{
	struct hook_answer *answer = keeping->answer;
	siginfo_t info = { 0 };

	(void)kill(-keeping->pid, SIGKILL); /* not waited for yet, so the number is its group's */
	answer->end = end;
	if (end != HOOK_EXITED)
		return;
	if (waitid(P_PID, (id_t)keeping->pid, &info, WEXITED) < 0)
		return;
	answer->end = info.si_code == CLD_EXITED ? HOOK_EXITED : HOOK_SIGNALLED;
	answer->code = info.si_status;
}

/* Whether it was never run. */
static bool could_not_run(struct keeping *keeping)
{
	struct error *error = &keeping->answer->error;
	int code;

	if (read(keeping->failed, &code, sizeof(code)) != (ssize_t)sizeof(code))
		return false;
	keeping->answer->end = HOOK_REFUSED;
	if (code == ENOEXEC)
		(void)error_say(error, code,
			"it cannot be run: it is no program for this machine, and does not begin "
			"with #!");
	else if (code == ENOENT)
		(void)error_say(error, code,
			"it cannot be run: the interpreter that it names is not there");
	else
		(void)error_set(error, code, "it cannot be run");
	return true;
}

void hook_keep(const struct hook *hook, int life, struct hook_answer *answer)
{
	int64_t deadline_ms = deadline_in_ms(hook->timeout_ms);
	struct keeping keeping CLEANUP(keeping_done) = {
		.hook = hook,
		.file = { .fd = -EBADF },
		.answer = answer,
		.life = life,
		.output = -EBADF,
		.failed = -EBADF,
		.pidfd = -EBADF,
	};

	answer->end = HOOK_REFUSED;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
		(void)error_set(&answer->error, errno, "become the reaper of what it leaves");
		return;
	}
	if (hook_file_open(hook->path, &keeping.file, &answer->error) < 0)
		return;
	if (start(&keeping, &answer->error) == 0)
		take_exit(&keeping, attend(&keeping, deadline_ms));
	answer->left = !end_the_rest();
	for (int left = ROUNDS; left > 0 && hear(&keeping); left--)
		;
	if (answer->end == HOOK_EXITED && answer->code == EXIT_FAILURE)
		(void)could_not_run(&keeping);
}
