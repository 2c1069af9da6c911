#include "tracer.h"

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#ifndef __x86_64__
/* cppcheck-suppress preprocessorErrorDirective */
#error "how a call is made to fail is known for x86-64 only"
#endif

enum { TRACEES_MAX = 64, FILTER_MAX = 160, NOT_TRACEABLE = 97, STACK_WIPED = 1 << 20 };

struct tracees {
	const struct trace *trace;
	pid_t first;
	pid_t pids[TRACEES_MAX];
	size_t count;
	bool killed; /* and so is whatever appears */
	int status;  /* of the first */
	uint64_t stack_end;
};

static volatile sig_atomic_t time_is_up;

/* ------------------------------------------------------------------------------- in the child */

static void require(bool condition)
{
	if (!condition)
		_exit(NOT_TRACEABLE);
}

static void filter_add(struct sock_fprog *filter, struct sock_filter instruction)
{
	assert(filter->len < FILTER_MAX);
	filter->filter[filter->len++] = instruction;
}

static void filter_load(struct sock_fprog *filter, size_t offset)
{
	filter_add(
		filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void filter_answer(struct sock_fprog *filter, uint32_t answer)
{
	filter_add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/* Private memory of no file is malloc's and the sanitizer's, and how often depends on them. */
static void filter_mmap(struct sock_fprog *filter)
{
	filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5));
	filter_load(filter, offsetof(struct seccomp_data, args[3]));
	filter_add(
		filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 1, 0));
	filter_add(filter,
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 1, 0));
	filter_answer(filter, SECCOMP_RET_TRACE);
	filter_answer(filter, SECCOMP_RET_ALLOW);
}

static void filter_install(const struct trace *trace)
{
	struct sock_filter room[FILTER_MAX];
	struct sock_fprog filter = { .filter = room };

	filter_load(&filter, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < trace->call_count; i++) {
		if (trace->calls[i] == SYS_mmap)
			continue;
		filter_add(&filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					    (uint32_t)trace->calls[i], 0, 1));
		filter_answer(&filter, SECCOMP_RET_TRACE);
	}
	for (size_t i = 0; i < trace->call_count; i++)
		if (trace->calls[i] == SYS_mmap)
			filter_mmap(&filter);
	filter_answer(&filter, SECCOMP_RET_ALLOW);
	require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0);
}

/*
 * What the parent has left there would be taken for the program's: see place.h. The room that is wiped
 * is more than a pass uses.
 */
static __attribute__((noinline)) void stack_wipe(void)
{
	char room[STACK_WIPED];

	explicit_bzero(room, sizeof(room));
}

/* The byte comes when we are traced. Exit handlers are the parent's. */
static _Noreturn void child_run(const struct trace *trace, const int ready[2])
{
	char byte;
	int r;

	require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	(void)close(ready[1]);
	require(read(ready[0], &byte, 1) == 1);
	(void)close(ready[0]);
	if (trace->prepare)
		trace->prepare(trace->program_context);
	filter_install(trace);
	stack_wipe();
	r = trace->program(trace->program_context);
	(void)fflush(stdout);
	(void)fflush(stderr);
	_exit(r);
}

/* ------------------------------------------------------------------------------ in the parent */

static void tracees_add(struct tracees *tracees, pid_t pid)
{
	for (size_t i = 0; i < tracees->count; i++)
		if (tracees->pids[i] == pid)
			return;
	assert(tracees->count < TRACEES_MAX);
	tracees->pids[tracees->count++] = pid;
	if (tracees->killed)
		(void)kill(pid, SIGKILL);
}

static void tracees_drop(struct tracees *tracees, pid_t pid)
{
	for (size_t i = 0; i < tracees->count; i++)
		if (tracees->pids[i] == pid)
			tracees->pids[i] = tracees->pids[--tracees->count];
}

static void tracees_kill(struct tracees *tracees)
{
	tracees->killed = true;
	for (size_t i = 0; i < tracees->count; i++)
		(void)kill(tracees->pids[i], SIGKILL);
}

/* As the kernel skips a call and answers in its place: number -1, seccomp(2), SECCOMP_RET_TRACE. */
static void call_fail(pid_t pid, int code)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &registers) != 0)
		return; /* it was killed meanwhile */
	registers.orig_rax = UINT64_MAX;
	registers.rax = (uint64_t)(int64_t)code;
	(void)ptrace(PTRACE_SETREGS, pid, NULL, &registers);
}

static void on_call(struct tracees *tracees, pid_t pid)
{
	struct __ptrace_syscall_info info;
	struct tracer_call call = { .pid = pid, .of_child = pid != tracees->first };
	int act;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		return;
	call.number = (long)info.seccomp.nr;
	call.stack = info.stack_pointer;
	call.stack_end = tracees->stack_end;
	for (size_t i = 0; i < ARRAY_SIZE(call.args); i++)
		call.args[i] = info.seccomp.args[i];
	act = tracees->trace->on_call(tracees->trace->context, &call);
	if (act < 0)
		call_fail(pid, act);
	else if (act == TRACER_KILL_ALL)
		tracees_kill(tracees);
	else if (act == TRACER_KILL_ONE)
		(void)kill(pid, SIGKILL);
	else if (act == TRACER_TERMINATE)
		(void)kill(tracees->first, SIGTERM);
}

/*
 * A child may stop, go on and end before the event that tells of it is heard: of several processes that
 * have something to tell the kernel names the youngest first. Who has been waited for is not there.
 */
static bool is_there(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ==
	       0;
}

static void on_stop(struct tracees *tracees, pid_t pid, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);
	unsigned long child;

	tracees_add(tracees, pid);
	if (event == PTRACE_EVENT_SECCOMP)
		on_call(tracees, pid);
	else if ((event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
			 event == PTRACE_EVENT_CLONE) &&
		 ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0 && is_there((pid_t)child))
		tracees_add(tracees, (pid_t)child);
	(void)ptrace(PTRACE_CONT, pid, NULL, event ? 0 : signal);
}

static pid_t tracer_of(const char *pid)
{
	char path[64], line[256];
	FILE *file CLEANUP(file_done) = NULL;
	int tracer = 0;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	return tracer;
}

/*
 * Who is killed amid a fork does not tell of it, and may be waited for before the child has run at all:
 * proc(5) has it then, stopped or about to. Whether there is one.
 */
static bool tracees_find(struct tracees *tracees)
{
	DIR *processes = opendir("/proc");

	assert_non_null(processes);
	for (const struct dirent *entry; (entry = readdir(processes));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			tracer_of(entry->d_name) == getpid())
			tracees_add(tracees, (pid_t)strtol(entry->d_name, NULL, 10));
	(void)closedir(processes);
	return tracees->count > 0;
}

/* Children of the test that are not traced may end meanwhile; theirs is not our business. */
static void tracees_follow(struct tracees *tracees)
{
	while (tracees->count || tracees_find(tracees)) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR) {
			tracees_kill(tracees);
			continue;
		}
		assert(pid > 0);
		if (WIFSTOPPED(status)) {
			on_stop(tracees, pid, status);
			continue;
		}
		if (pid == tracees->first)
			tracees->status = status;
		tracees_drop(tracees, pid);
	}
}

static void on_alarm(int signal)
{
	(void)signal;
	time_is_up = 1;
}

/* Rings again and again, so that none is missed between two waits. */
static void alarm_set(int seconds)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval timer = {
		.it_value.tv_sec = seconds,
		.it_interval.tv_sec = seconds ? 1 : 0,
	};

	time_is_up = 0;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

int tracer_run(const struct trace *trace)
{
	const unsigned long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP |
				      PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
				      PTRACE_O_TRACECLONE;
	struct tracees tracees = {
		.trace = trace,
		.stack_end = (uint64_t)(uintptr_t)__builtin_frame_address(0),
	};
	int ready[2];

	assert_int_equal(pipe(ready), 0);
	(void)fflush(NULL); /* or the child would print it once more */
	tracees.first = fork();
	assert_true(tracees.first >= 0);
	if (tracees.first == 0)
		child_run(trace, ready);
	tracees_add(&tracees, tracees.first);
	(void)close(ready[0]);
	assert_int_equal(ptrace(PTRACE_SEIZE, tracees.first, NULL, options), 0);
	alarm_set(trace->limit_s);
	assert_int_equal(write(ready[1], "", 1), 1);
	(void)close(ready[1]);
	tracees_follow(&tracees);
	alarm_set(0);
	return time_is_up ? TRACER_HANGS : tracees.status;
}

/* ------------------------------------------------------------------------------- what a call is */

static const struct name {
	long number;
	const char *name;
	int path; /* the argument that is one, from 1; 0: none */
} names[] = {
	{ SYS_accept4, "accept4", 0 },
	{ SYS_bind, "bind", 0 },
	{ SYS_chdir, "chdir", 1 },
	{ SYS_chmod, "chmod", 1 },
	{ SYS_clone, "clone", 0 },
	{ SYS_clone3, "clone3", 0 },
	{ SYS_close_range, "close_range", 0 },
	{ SYS_connect, "connect", 0 },
	{ SYS_copy_file_range, "copy_file_range", 0 },
	{ SYS_dup, "dup", 0 },
	{ SYS_faccessat, "faccessat", 2 },
	{ SYS_faccessat2, "faccessat2", 2 },
	{ SYS_access, "access", 1 },
	{ SYS_fchmod, "fchmod", 0 },
	{ SYS_fchmodat, "fchmodat", 2 },
	{ SYS_fchown, "fchown", 0 },
	{ SYS_fchownat, "fchownat", 2 },
	{ SYS_fcntl, "fcntl", 0 },
	{ SYS_fdatasync, "fdatasync", 0 },
	{ SYS_flock, "flock", 0 },
	{ SYS_fsetxattr, "fsetxattr", 2 },
	{ SYS_fstat, "fstat", 0 },
	{ SYS_fstatfs, "fstatfs", 0 },
	{ SYS_fsync, "fsync", 0 },
	{ SYS_ftruncate, "ftruncate", 0 },
	{ SYS_getcwd, "getcwd", 0 },
	{ SYS_getdents64, "getdents64", 0 },
	{ SYS_ioctl, "ioctl", 0 },
	{ SYS_kill, "kill", 0 },
	{ SYS_landlock_add_rule, "landlock_add_rule", 0 },
	{ SYS_landlock_create_ruleset, "landlock_create_ruleset", 0 },
	{ SYS_landlock_restrict_self, "landlock_restrict_self", 0 },
	{ SYS_link, "link", 2 },
	{ SYS_linkat, "linkat", 4 },
	{ SYS_lseek, "lseek", 0 },
	{ SYS_lstat, "lstat", 1 },
	{ SYS_mkdir, "mkdir", 1 },
	{ SYS_mkdirat, "mkdirat", 2 },
	{ SYS_mmap, "mmap", 0 },
	{ SYS_newfstatat, "newfstatat", 2 },
	{ SYS_open, "open", 1 },
	{ SYS_openat, "openat", 2 },
	{ SYS_openat2, "openat2", 2 },
	{ SYS_pidfd_open, "pidfd_open", 0 },
	{ SYS_pidfd_send_signal, "pidfd_send_signal", 0 },
	{ SYS_pipe2, "pipe2", 0 },
	{ SYS_poll, "poll", 0 },
	{ SYS_ppoll, "ppoll", 0 },
	{ SYS_prctl, "prctl", 0 },
	{ SYS_pread64, "pread64", 0 },
	{ SYS_pwrite64, "pwrite64", 0 },
	{ SYS_read, "read", 0 },
	{ SYS_readlink, "readlink", 1 },
	{ SYS_readlinkat, "readlinkat", 2 },
	{ SYS_recvfrom, "recvfrom", 0 },
	{ SYS_recvmsg, "recvmsg", 0 },
	{ SYS_rename, "rename", 1 },
	{ SYS_renameat, "renameat", 2 },
	{ SYS_renameat2, "renameat2", 2 },
	{ SYS_rmdir, "rmdir", 1 },
	{ SYS_sendmsg, "sendmsg", 0 },
	{ SYS_sendto, "sendto", 0 },
	{ SYS_setsockopt, "setsockopt", 0 },
	{ SYS_socket, "socket", 0 },
	{ SYS_socketpair, "socketpair", 0 },
	{ SYS_stat, "stat", 1 },
	{ SYS_statfs, "statfs", 1 },
	{ SYS_statx, "statx", 2 },
	{ SYS_symlink, "symlink", 2 },
	{ SYS_symlinkat, "symlinkat", 3 },
	{ SYS_truncate, "truncate", 1 },
	{ SYS_umount2, "umount2", 1 },
	{ SYS_unlink, "unlink", 1 },
	{ SYS_unlinkat, "unlinkat", 2 },
	{ SYS_utimensat, "utimensat", 2 },
	{ SYS_wait4, "wait4", 0 },
	{ SYS_waitid, "waitid", 0 },
	{ SYS_write, "write", 0 },
	{ SYS_writev, "writev", 0 },
};

void tracer_read_text(pid_t pid, uint64_t address, char *room, size_t size)
{
	struct iovec here = { room, size - 1 };
	/* An address of the other process. NOLINTNEXTLINE(performance-no-int-to-ptr) */
	struct iovec there = { (void *)(uintptr_t)address, size - 1 };
	ssize_t length = process_vm_readv(pid, &here, 1, &there, 1, 0);

	/* A text near the end of its page: what is behind that cannot be read. */
	if (length < 0 && address) {
		there.iov_len = here.iov_len = 4096 - (address & 4095);
		if (there.iov_len < size)
			length = process_vm_readv(pid, &here, 1, &there, 1, 0);
	}
	room[length > 0 ? length : 0] = 0;
}

static void describe_fd(struct text *text, const struct tracer_call *call)
{
	char link[64], target[256];
	ssize_t length;

	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->pid, (int)call->args[0]);
	length = readlink(link, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = 0;
	text_addf(text, "%d%s%s", (int)call->args[0], length > 0 ? " " : "", target);
}

void tracer_describe(struct text *text, const struct tracer_call *call)
{
	const struct name *name = NULL;
	char path[256] = "";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].number == call->number)
			name = &names[i];
	if (name && name->path)
		tracer_read_text(call->pid, call->args[name->path - 1], path, sizeof(path));
	text_addf(text, "%s(", name ? name->name : "call");
	if (!name)
		text_addf(text, "%ld", call->number);
	else if (name->path)
		text_addf(text, "\"%s\"", path);
	else
		describe_fd(text, call);
	text_addf(text, ")%s", call->of_child ? " of a child" : "");
}
