#include "child.h"
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CHILD_FAILED = 99 };

static void child_require(int condition)
{
	if (!condition)
		_exit(CHILD_FAILED);
}

/* Forks; the parent goes on when the child calls child_ready(). 0 in the child. */
static pid_t child_fork(int ready[2])
{
	pid_t pid, parent = getpid();
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		child_require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent);
		(void)close(ready[0]);
		return 0;
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void child_ready(const int ready[2])
{
	child_require(write(ready[1], "", 1) == 1);
	(void)close(ready[1]);
}

static _Noreturn void child_sleep(void)
{
	for (;;)
		(void)pause();
}

pid_t child_start(const char *directory)
{
	int ready[2];
	pid_t pid = child_fork(ready);

	if (pid)
		return pid;
	child_require(!directory || chdir(directory) == 0);
	child_ready(ready);
	child_sleep();
}

pid_t child_start_below(const char *directory, unsigned levels)
{
	int ready[2];
	pid_t pid = child_fork(ready);

	if (pid)
		return pid;
	child_require(chdir(directory) == 0);
	for (unsigned i = 0; i < levels; i++)
		child_require(mkdir("d", 0755) == 0 && chdir("d") == 0);
	child_ready(ready);
	child_sleep();
}

pid_t child_start_in_root(const char *root)
{
	int ready[2];
	pid_t pid = child_fork(ready);

	if (pid)
		return pid;
	child_require(chdir("/") == 0 && chroot(root) == 0);
	child_ready(ready);
	child_sleep();
}

static void *child_second_thread(void *unused)
{
	(void)unused;
	child_sleep();
}

/* The leader says that it is ready before it ends. */
static void wait_leader_ended(pid_t pid)
{
	char path[32], line[256];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int step = 0; step < 1000; step++) {
		FILE *stat CLEANUP(file_done) = fopen(path, "re");

		assert_non_null(stat);
		assert_non_null(fgets(line, sizeof(line), stat));
		if (strstr(line, ") Z "))
			return;
		(void)poll(NULL, 0, 5);
	}
	fail_msg("the leader of process %d has not ended", pid);
}

pid_t child_start_leaderless(const char *directory)
{
	pthread_t thread;
	int ready[2];
	pid_t pid = child_fork(ready);

	if (pid) {
		wait_leader_ended(pid);
		return pid;
	}
	child_require(chdir(directory) == 0);
	child_require(pthread_create(&thread, NULL, child_second_thread, NULL) == 0);
	child_ready(ready);
	pthread_exit(NULL);
}

struct child_elsewhere {
	const char *directory;
	const int *ready;
};

static void *child_unshared_thread(void *context)
{
	const struct child_elsewhere *elsewhere = context;

	child_require(unshare(CLONE_FS) == 0 && chdir(elsewhere->directory) == 0);
	child_ready(elsewhere->ready);
	child_sleep();
}

pid_t child_start_unshared(const char *directory)
{
	struct child_elsewhere elsewhere = { .directory = directory };
	pthread_t thread;
	int ready[2];
	pid_t pid = child_fork(ready);

	if (pid)
		return pid;
	elsewhere.ready = ready;
	child_require(pthread_create(&thread, NULL, child_unshared_thread, &elsewhere) == 0);
	child_sleep();
}

void child_end(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

void child_wait_zombie(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}
