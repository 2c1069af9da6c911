/*
 * Processes by identity: a pid is a number that is used again, so a process is boot id + pid +
 * start time (field 22 of proc_pid_stat(5)), checked and signalled through one pidfd. A zombie is
 * not alive. cmdline is never read: that can hang on a stuck process; comm does not.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model.h"

enum { PROCESS_TOKEN = 96 };

/*
 * Our boot id (/proc/sys/kernel/random/boot_id), 36 characters, as PID 1 sees it where we may look:
 * systemd-nspawn mounts one of its own over the kernel's, which a unit with a new /proc
 * (ProtectKernelTunables=) does not have, and by it every process would seem to be of another boot.
 * 0 or -errno.
 */
int process_boot_id(char ret_boot_id[37], struct error *error);

/* "BOOTID:STARTTICKS" of a living process. 0, -ESRCH when there is none, -EINVAL for the number of
 * a thread, -EACCES when /proc hides it from us (hidepid), -errno. */
int process_token(pid_t pid, char ret_token[PROCESS_TOKEN], struct error *error);

/* When a process began. */
struct process_start {
	int64_t ticks; /* field 22 of proc_pid_stat(5) */
	int64_t age_s; /* so long ago, with the time suspended */
};

/* 0, -ESRCH when there is none, or it has ended; -errno as process_token(). */
int process_start(pid_t pid, struct process_start *ret_start);

/* Whether the process of that pid and token is alive. A token of another boot is "no"; a living
 * process that cannot be looked at, or one without a token to compare, is "unknown". */
enum tri process_alive(pid_t pid, const char *token);

/* Its command name (comm), escaped; "?" when it cannot be read. */
void process_comm(pid_t pid, char *ret_comm, size_t size);

/* Whether it is ourselves or one of our parents, up to the top. 1, 0, -errno: it cannot be told. */
int process_above_us(pid_t pid);

/* Kills (SIGKILL) exactly that process and waits for its end. 1, 0 gone, -ETIME, -errno. */
int process_kill(pid_t pid, const char *token, int64_t deadline_ms, struct error *error);

/*
 * A directory in which processes are looked for.
 *
 * Who is not root may not see where others work (ptrace(2), PTRACE_MODE_READ), and what follows from
 * that an absence proves nothing. That strangers may not enter a directory (dir_closed()) is no proof
 * either: whoever was in it before it was closed is, and so is a program of another user that was
 * started from within (sudo(8), cron(8), a descriptor that was handed over), and root goes anywhere. So
 * `closed` is somebody's word, never our guess. With it, processes that cannot be looked at are taken
 * to work elsewhere, but those whose real user we are: a program of ours that shields itself
 * (ssh-agent(1), a set-user-ID program that has not changed its user yet) may well be there.
 */
struct process_place {
	uint64_t dev, ino;
	void *context; /* the caller's */
	bool closed;
};

struct process_seen {
	pid_t pid;
	const char *token;
	const char *comm;    /* escaped */
	const char *cgroups; /* content of /proc/PID/cgroup; "" when unreadable */
	const char *how;     /* "working directory", "root" or "open directory" */
};

/*
 * Looks at every process but ourselves: calls back for each that has its working directory or root
 * at or below one of the places, found by comparing device and inode from there up to "/", never by
 * path text; once for its working directory and once for its root, and so for each of its threads
 * that has directories of its own. Not seen: what was bound into another mount namespace from below
 * a place (its parents there are others), and pid 1 where it is shielded from us: no run starts it.
 * 0; -EACCES when some processes
 * could not be looked at (then an absence proves nothing; the error says how many), unless every
 * place is closed and all of them are other users'; -errno. A
 * process that ends meanwhile is not there.
 */
int processes_in(const struct process_place *places, size_t count,
	void (*seen)(void *context, const struct process_place *place,
		const struct process_seen *process),
	void *context, struct error *error);

/*
 * The same, and for each directory that a process has open there: who can still make entries in it
 * whatever it is named by now. Looks at every descriptor of every process, so only for errors.
 */
int processes_holding(const struct process_place *places, size_t count,
	void (*seen)(void *context, const struct process_place *place,
		const struct process_seen *process),
	void *context, struct error *error);
