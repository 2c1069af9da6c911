#include "errand_parts.h"

#include "base/clock.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	ANSWER_MS = 200, /* for work that sees itself that its time is up: it knows better where */
	DEATH_MS = 1000,
	KEPT_MAX = 16
};

/*
 * Memory that both share, so that a child that was killed leaves behind how far it had come. A pipe
 * brings only what somebody lives to write.
 */
struct answer {
	struct error error;
	int r;
	bool given;
	max_align_t result[];
};

struct child {
	const struct errand *errand;
	struct answer *answer;
	size_t size;
	pid_t pid;
	int pidfd;
};

static void child_done(struct child *child)
{
	fd_done(&child->pidfd);
	if (child->answer)
		(void)munmap(child->answer, child->size);
	child->answer = NULL;
}

static const char *what(const struct child *child)
{
	return child->errand->what ? child->errand->what : "errand";
}

/* ------------------------------------------------------------------------------- in the child */

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int close_between(int first, unsigned last, struct error *error)
{
	if (close_range((unsigned)first, last, 0) != 0)
		return error_set(error, errno, "close the descriptors of the parent");
	return 0;
}

int errand_close_others(const int *keep, size_t count, struct error *error)
{
	int fds[KEPT_MAX], next = STDERR_FILENO + 1, r;

	assert(count <= KEPT_MAX);
	for (size_t i = 0; i < count; i++)
		fds[i] = keep[i];
	qsort(fds, count, sizeof(*fds), compare_fds);
	for (size_t i = 0; i < count; i++) {
		if (fds[i] < next)
			continue;
		r = fds[i] > next ? close_between(next, (unsigned)fds[i] - 1, error) : 0;
		if (r < 0)
			return r;
		next = fds[i] + 1;
	}
	return close_between(next, UINT_MAX, error);
}

/* Nothing is flushed and no exit handler runs: all of that is the parent's. */
static _Noreturn void child_work(const struct child *child, pid_t parent)
{
	const struct errand *errand = child->errand;
	struct answer *answer = child->answer;
	int r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* fails for no signal that there is */
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	r = errand_close_others(errand->keep, errand->keep_count, &answer->error);
	if (r == 0)
		r = errand->work(
			errand->context, errand->result ? answer->result : NULL, &answer->error);
	answer->r = r;
	answer->given = true;
	_exit(EXIT_SUCCESS);
}

/* ------------------------------------------------------------------------------ in the parent */

/* Every signal is blocked in the child from its first instant on, so that no handler of ours runs. */
static pid_t fork_quiet(void)
{
	sigset_t all, before;
	pid_t pid;
	int r;

	(void)sigfillset(&all);
	r = sigprocmask(SIG_SETMASK, &all, &before);
	assert(r == 0);
	pid = fork();
	if (pid != 0) {
		int code = errno;

		(void)sigprocmask(SIG_SETMASK, &before, NULL);
		errno = code;
	}
	return pid;
}

static int child_start(struct child *child, struct error *error)
{
	pid_t parent = getpid();
	int code;

	child->pid = fork_quiet();
	if (child->pid == 0)
		child_work(child, parent);
	if (child->pid < 0)
		return error_set(error, errno, "%s: start a process for it", what(child));
	child->pidfd = pidfd_open(child->pid, 0);
	if (child->pidfd >= 0)
		return 0;
	code = errno; /* it is our child and not waited for, so its number is its own */
	(void)kill(child->pid, SIGKILL);
	(void)waitpid(child->pid, NULL, 0);
	return error_set(error, code, "%s: open its process", what(child));
}

/* Whether it has ended by then. */
static bool child_ended(const struct child *child, int64_t deadline_ms)
{
	struct pollfd ended = { .fd = child->pidfd, .events = POLLIN };
	int64_t left_ms;

	do {
		left_ms = deadline_left_ms(deadline_ms);
		if (poll(&ended, 1, (int)left_ms) > 0)
			return true;
	} while (left_ms > 0);
	return false;
}

/* Takes its exit; -EIO with how it died. */
static int child_reap(const struct child *child, struct error *error)
{
	siginfo_t info = { 0 };

	while (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED) != 0)
		if (errno != EINTR)
			return error_set(error, errno, "%s: wait for its process %d", what(child),
				child->pid);
	if (info.si_code == CLD_EXITED)
		return error_say(error, EIO,
			"%s: its process %d ended with code %d and without an answer", what(child),
			child->pid, info.si_status);
	return error_say(error, EIO, "%s: its process %d was ended by signal %d (SIG%s)",
		what(child), child->pid, info.si_status, sigabbrev_np(info.si_status));
}

static int child_answer(const struct child *child, struct error *error)
{
	const struct answer *answer = child->answer;

	if (answer->r < 0 && answer->error.code && error && !error->code)
		*error = answer->error;
	return answer->r;
}

/* Ends it by force. `why` is -ETIME or -EINTR. */
static int child_end(const struct child *child, int why, struct error *error)
{
	const char *words =
		why == -EINTR ? "not done when we were asked to stop" : "not done in time";

	(void)pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0);
	if (!child_ended(child, deadline_in_ms(DEATH_MS)))
		return error_say(error, -why,
			"%s: %s, and its process %d does not die: it is stuck in the kernel, and "
			"was left behind",
			what(child), words, child->pid);
	(void)child_reap(child, NULL);
	if (child->answer->given)
		return child_answer(child, error);
	return error_say(
		error, -why, "%s: %s; its process %d was killed", what(child), words, child->pid);
}

/* 0 when it has ended by itself, -ETIME, -EINTR. */
static int child_wait_for(const struct child *child)
{
	const struct errand *errand = child->errand;
	int r;

	if (errand->steadfast)
		return child_ended(child, errand->deadline_ms) ? 0 : -ETIME;
	r = signals_wait(child->pidfd, POLLIN, errand->deadline_ms);
	return r > 0 ? 0 : r < 0 ? r : -ETIME;
}

static int child_wait(const struct child *child, struct error *error)
{
	struct error fate = { 0 };
	int r = child_wait_for(child);

	if (r < 0 && !child_ended(child, deadline_in_ms(ANSWER_MS)))
		return child_end(child, r == -EINTR ? r : -ETIME, error);
	r = child_reap(child, &fate);
	if (child->answer->given)
		return child_answer(child, error);
	return error_say(error, -r, "%s", fate.text);
}

static int child_share(struct child *child, struct error *error)
{
	const struct errand *errand = child->errand;
	void *shared =
		mmap(NULL, child->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return error_set(error, errno, "%s: share memory with its process", what(child));
	child->answer = shared;
	if (errand->result)
		memcpy(child->answer->result, errand->result, errand->result_size);
	return 0;
}

int errand_start(const struct errand *errand, struct child **ret_child, struct error *error)
{
	struct child *child = mem_new(sizeof(*child));
	int r;

	*child = (struct child){
		.errand = errand,
		.size = sizeof(*child->answer) + errand->result_size,
		.pidfd = -EBADF,
	};
	r = child_share(child, error);
	if (r == 0)
		r = child_start(child, error);
	if (r < 0) {
		child_done(child);
		free(child);
		return r;
	}
	*ret_child = child;
	return 0;
}

int errand_descriptor(const struct child *child)
{
	return child->pidfd;
}

int errand_finish(struct child *child, struct error *error)
{
	const struct errand *errand = child->errand;
	int r = child_wait(child, error);

	if (errand->result)
		memcpy(errand->result, child->answer->result, errand->result_size);
	child_done(child);
	free(child);
	return r;
}

int errand_run(const struct errand *errand, struct error *error)
{
	struct child *child = NULL;
	int r = errand_start(errand, &child, error);

	return r < 0 ? r : errand_finish(child, error);
}
