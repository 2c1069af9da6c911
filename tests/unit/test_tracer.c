#include "tracer.h"

#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CHILDREN = 20, LIMIT_S = 20 };

/* The call that stops: nobody else makes it. */
static const long calls[] = { SYS_getpgrp };

struct watch {
	pid_t pid; /* who made it last */
	size_t seen;
	size_t kill_at; /* from 1; 0: never */
};

static int count(void *context, const struct tracer_call *call)
{
	struct watch *watch = context;

	watch->pid = call->pid;
	return ++watch->seen == watch->kill_at ? TRACER_KILL_ALL : TRACER_GO_ON;
}

/* Before whoever is not one of these; among them it goes by turns. `flags`: SCHED_RESET_ON_FORK. */
static int go_first(int flags)
{
	const struct sched_param lowest = { .sched_priority = 1 };

	return sched_setscheduler(0, SCHED_FIFO | flags, &lowest);
}

/* Children that end at once. */
static int fork_many(void)
{
	for (size_t i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		(void)syscall(SYS_getpgrp);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

/*
 * By a child, as a shell's are: of the tracer's own child the kernel tells before it tells of any other,
 * and of those the youngest is first. All go before the tracer, on the core that they share: a child
 * that may go on is dead before the tracer looks again.
 */
static int fork_as_a_shell(void *context)
{
	int status;
	pid_t pid;

	(void)context;
	if (go_first(0) != 0)
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(fork_many());
	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

/* Whoever comes after all others: it has not run when its parent dies. */
static _Noreturn void fork_one_that_waits(int go)
{
	char byte;

	if (go_first(SCHED_RESET_ON_FORK) == 0 && read(go, &byte, 1) == 1)
		(void)fork();
	_exit(1);
}

/* In a group of its own. The call is made when the child has forked and not yet told of it. */
static int fork_and_call(void *context)
{
	int go[2];
	pid_t pid;

	(void)context;
	if (setpgid(0, 0) != 0 || go_first(0) != 0 || pipe(go) != 0)
		return 1;
	pid = fork();
	if (pid == 0)
		fork_one_that_waits(go[0]);
	(void)sched_yield(); /* so that it reads */
	if (pid < 0 || write(go[1], "", 1) != 1)
		return 1;
	(void)sched_yield();
	(void)syscall(SYS_getpgrp);
	return 0;
}

static int trace(int (*program)(void *), struct watch *watch)
{
	return tracer_run(&(struct trace){
		.calls = calls,
		.call_count = ARRAY_SIZE(calls),
		.program = program,
		.on_call = count,
		.context = watch,
		.limit_s = LIMIT_S,
	});
}

static bool is_killed(int status)
{
	return status != TRACER_HANGS && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* ------------------------------------------------------------------------------------- what is seen */

struct scene {
	cpu_set_t cpus;
	pid_t stranger;
};

static void stay_on_one_core(const cpu_set_t *cpus)
{
	cpu_set_t one;
	size_t cpu = 0;

	while (!CPU_ISSET(cpu, cpus))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_return_code(sched_setaffinity(0, sizeof(one), &one), errno);
}

/*
 * A child that is not traced, as every world of a sweep has some: without one, who waits for a tracee
 * that is not there is told so.
 */
static int begin(void **state)
{
	static struct scene scene;

	assert_return_code(sched_getaffinity(0, sizeof(scene.cpus), &scene.cpus), errno);
	scene.stranger = fork();
	assert_return_code(scene.stranger, errno);
	if (scene.stranger == 0) {
		(void)pause();
		_exit(0);
	}
	stay_on_one_core(&scene.cpus);
	*state = &scene;
	return 0;
}

static int end(void **state)
{
	const struct scene *scene = *state;

	assert_return_code(sched_setaffinity(0, sizeof(scene->cpus), &scene->cpus), errno);
	assert_return_code(kill(scene->stranger, SIGKILL), errno);
	assert_int_equal(waitpid(scene->stranger, NULL, 0), scene->stranger);
	return 0;
}

/* The order of things is made by scheduling, and that is root's. */
static void skip_unless_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("SKIPPED: who goes first is told by root alone\n");
	skip();
}

static void a_child_that_is_dead_before_its_parent_tells_of_it_is_not_waited_for(void **state)
{
	struct watch watch = { 0 };

	(void)state;
	skip_unless_root();
	assert_int_equal(trace(fork_as_a_shell, &watch), 0);
	assert_int_equal(watch.seen, CHILDREN);
}

static void who_is_killed_amid_its_forks_is_not_waited_for(void **state)
{
	(void)state;
	skip_unless_root();
	for (size_t at = 1; at <= CHILDREN; at++) {
		struct watch watch = { .kill_at = at };

		assert_true(is_killed(trace(fork_as_a_shell, &watch)));
		assert_int_equal(watch.seen, at);
	}
}

static void who_is_born_when_all_are_killed_is_killed_too(void **state)
{
	const struct sched_param none = { 0 };
	struct watch watch = { .kill_at = 1 };
	siginfo_t info;
	int status;

	(void)state;
	skip_unless_root();
	assert_return_code(go_first(0), errno);
	status = trace(fork_and_call, &watch);
	assert_return_code(sched_setscheduler(0, SCHED_OTHER, &none), errno);
	assert_true(is_killed(status));
	assert_int_equal(
		waitid(P_PGID, (id_t)watch.pid, &info, WEXITED | WSTOPPED | WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_child_that_is_dead_before_its_parent_tells_of_it_is_not_waited_for),
		cmocka_unit_test(who_is_killed_amid_its_forks_is_not_waited_for),
		cmocka_unit_test(who_is_born_when_all_are_killed_is_killed_too),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
