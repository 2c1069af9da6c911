/*
 * One process as an open directory of /proc, and the small files in it. The descriptor stays with
 * that process: once it has ended, every read through it fails (ESRCH or ENOENT), also when its
 * number is in use again. For the files of os/ only.
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

enum { PROC_COMM = 257, PROC_TEXT = 320 };

/* Fields of proc_pid_stat(5). */
struct proc_stat {
	char state;           /* 'R' 'S' 'D' 'Z' … */
	pid_t parent;         /* 0: none in our pid namespace */
	int64_t threads;      /* a dead leader counts itself */
	uint64_t start_ticks; /* field 22: since boot */
};

/* The open /proc/PID (of a thread too). A descriptor, -ESRCH when there is none, -errno. */
int proc_open(pid_t pid);

/*
 * Reads a small file of an entry (or, with AT_FDCWD, of any path) into the buffer and adds a NUL;
 * what does not fit is left out. The length, -ESRCH when the process has ended, -errno.
 */
ssize_t proc_read(int entry, const char *name, char *buffer, size_t size);

/* 0, -ESRCH when the process has ended, -EPROTO when the kernel writes something else, -errno. */
int proc_stat_read(int entry, struct proc_stat *ret_stat);

/* The process (thread group) that a thread belongs to; a leader is its own. -ESRCH, -errno. */
pid_t proc_leader(pid_t thread);

/*
 * Whether it has ended and only waits to be reaped. The state of a leader that ended before its
 * threads is 'Z' as well, and such a process lives on (and holds its directories).
 */
bool proc_stat_ended(const struct proc_stat *stat);

/*
 * "BOOTID:STARTTICKS", the token of processes.h, which has room for it; -ESRCH when it has ended.
 */
int process_entry_token(int entry, char *ret_token);

/* Its command name, escaped and cut to size; "?" when it cannot be read. */
void proc_comm(int entry, char *ret_comm, size_t size);

/*
 * The id of the mount that an open file lies in, from "fdinfo/N" of an entry (or, with AT_FDCWD,
 * from any such path); 0 when it cannot be read. The filesystem itself is not asked.
 */
uint64_t proc_mount_id(int entry, const char *fdinfo);

/* "pid 12 (sleep) in state D", for errors. Returns buffer. */
const char *proc_describe(char buffer[PROC_TEXT], pid_t pid);
