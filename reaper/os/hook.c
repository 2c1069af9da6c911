/*
 * Three processes: ours, which waits; a keeper, which holds nothing of ours but two pipes, and is there to
 * end all that the hook leaves; and the hook. The keeper is the subreaper of whatever the hook starts
 * (PR_SET_CHILD_SUBREAPER, prctl(2)), so that what leaves the group comes to it too; and it sees by a
 * pipe that we want an end, or are dead.
 */
#include "hook.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/timespan.h"
#include "errand.h"
#include "hook_file.h"
#include "hook_keeper.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

/* For a keeper to kill what is left, to answer, and to die. */
enum { ANSWER_MS = 3000 };

struct keeper {
	pid_t pid;
	int life;   /* ours, the end that is written: it is closed when the keeper is to end it */
	int answer; /* ours, the end that is read */
};

static void keeper_done(struct keeper *keeper)
{
	fd_done(&keeper->life);
	fd_done(&keeper->answer);
}

static int pipe_open(int ret_ends[2], struct error *error)
{
	if (pipe2(ret_ends, O_CLOEXEC) < 0)
		return error_set(error, errno, "make a pipe for a hook");
	return 0;
}

static _Noreturn void keep(const struct hook *hook, int life, int answer)
{
	const int kept[] = { life, answer };
	struct hook_answer said = { .end = HOOK_REFUSED };

	if (errand_close_others(kept, ARRAY_SIZE(kept), &said.error) == 0)
		hook_keep(hook, life, &said);
	(void)!write(answer, &said, sizeof(said)); /* less than PIPE_BUF: whole, or not at all */
	_exit(EXIT_SUCCESS);
}

/* Every signal is blocked in the child from its first instant on, so that no handler of ours runs. */
static pid_t fork_quiet(void)
{
	sigset_t all, before;
	pid_t pid;
	int code;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	code = errno;
	if (pid != 0)
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return pid;
}

static int keeper_start(struct keeper *keeper, const struct hook *hook, struct error *error)
{
	int life[2] = { -EBADF, -EBADF }, answer[2] = { -EBADF, -EBADF };
	int r = pipe_open(life, error);

	keeper->life = life[1];
	if (r == 0)
		r = pipe_open(answer, error);
	keeper->answer = answer[0];
	keeper->pid = r < 0 ? -1 : fork_quiet();
	if (keeper->pid == 0)
		keep(hook, life[0], answer[1]);
	if (r == 0 && keeper->pid < 0)
		r = error_set(error, errno, "start a process for a hook");
	fd_done(&life[0]);
	fd_done(&answer[1]);
	return r;
}

/* Takes its exit; one that is stuck in the kernel is left behind, as os/errand.h does. */
static void keeper_end(const struct keeper *keeper)
{
	struct pollfd gone = { .fd = keeper->answer };

	if (poll(&gone, 1, ANSWER_MS) <= 0) /* POLLHUP: its end is closed */
		(void)kill(keeper->pid, SIGKILL);
	while (waitpid(keeper->pid, NULL, gone.revents ? 0 : WNOHANG) < 0 && errno == EINTR)
		;
}

/* What it says; it is told to end it when its time is over or ours is. 0, or -errno. */
static int keeper_hear(struct keeper *keeper, int64_t timeout_ms, struct hook_answer *ret_answer)
{
	int64_t deadline_ms = deadline_in_ms(timeout_ms + ANSWER_MS);
	struct pollfd said = { .fd = keeper->answer, .events = POLLIN };
	ssize_t got;

	if (signals_wait(keeper->answer, POLLIN, deadline_ms) <= 0) {
		fd_done(&keeper->life);
		if (poll(&said, 1, ANSWER_MS) <= 0)
			return -ETIME;
	}
	got = read(keeper->answer, ret_answer, sizeof(*ret_answer));
	return got == (ssize_t)sizeof(*ret_answer) ? 0 : -EIO;
}

/* The end of what it printed says most; blank lines say nothing. */
static char *output_shown(const struct hook_answer *answer)
{
	char bytes[HOOK_OUTPUT + 1] = { 0 };
	size_t length = answer->length < HOOK_OUTPUT ? answer->length : HOOK_OUTPUT;

	for (size_t i = 0; i < length; i++)
		bytes[i] = answer->output[i] ? answer->output[i] : ' '; /* a text ends at a NUL */
	while (length > 0 && strchr(" \t\r\n", bytes[length - 1]))
		length--;
	bytes[length] = 0;
	return text_escape(bytes);
}

static int failed(const struct hook_answer *answer, int code, const char *how, struct error *error)
{
	char *output CLEANUP(mem_done) = output_shown(answer);

	return error_say(error, code, "%s%s%s%s", how, answer->left ? "; " HOOK_LEFT : "",
		*output ? ": " : "", output);
}

static const char *limit_format(char buffer[TIMESPAN_TEXT], int64_t limit_ms)
{
	if (limit_ms % 1000 == 0)
		return timespan_format(buffer, limit_ms / 1000);
	(void)snprintf(buffer, TIMESPAN_TEXT, "%lld ms", (long long)limit_ms);
	return buffer;
}

static int judge(const struct hook *hook, const struct hook_answer *answer, struct error *error)
{
	char how[160], limit[TIMESPAN_TEXT];

	switch (answer->end) {
	case HOOK_EXITED:
		if (answer->code == 0)
			return answer->left;
		(void)snprintf(how, sizeof(how), "it ended with exit code %d", answer->code);
		return failed(answer, ECHILD, how, error);
	case HOOK_SIGNALLED:
		(void)snprintf(how, sizeof(how), "it was ended by signal %d (SIG%s)", answer->code,
			sigabbrev_np(answer->code));
		return failed(answer, ECHILD, how, error);
	case HOOK_TIMED_OUT:
		(void)snprintf(how, sizeof(how), "it was not done within %s, and was killed",
			limit_format(limit, hook->timeout_ms));
		return failed(answer, ETIME, how, error);
	case HOOK_UNWANTED:
		if (!signals_stop_wanted()) /* we had waited for long enough */
			return error_say(error, ETIME, "it began too late, and was killed");
		return error_say(error, EINTR, "it was killed, since we are asked to stop");
	case HOOK_REFUSED:
		break;
	}
	return error_say(error, answer->error.code, "%s", answer->error.text);
}

int hook_run(const struct hook *hook, struct error *error)
{
	struct keeper keeper CLEANUP(keeper_done) = { .life = -EBADF, .answer = -EBADF };
	struct hook_answer answer = { 0 };
	struct error why = { 0 };
	char *shown CLEANUP(mem_done) = text_escape(hook->path);
	int r = keeper_start(&keeper, hook, &why);

	if (r == 0) {
		r = keeper_hear(&keeper, hook->timeout_ms, &answer);
		keeper_end(&keeper);
		r = r < 0 ? error_set(&why, -r, "the process that keeps it did not answer")
			  : judge(hook, &answer, &why);
	}
	return r < 0 ? error_say(error, -r, "%.120s: %s", shown, why.text) : r;
}
