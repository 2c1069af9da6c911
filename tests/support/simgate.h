/*
 * A process that halts until it is told to go on at its nth look at the wall clock (before each decision
 * and step), or is killed at the nth of those and of the calls that change something. To be included
 * by exactly one file of a test program, after simclock.h: its functions stand in front of libc's.
 */
#pragma once

#include "simclock.h"

#include <signal.h>
#include <sys/stat.h>

enum simgate_end { SIMGATE_DIES, SIMGATE_HALTS };

/* Of this process alone, not of what it forks. */
static struct {
	pid_t pid; /* 0: no gates */
	unsigned left;
	enum simgate_end end;
	int reached, go; /* pipes: written to when halted, read from until it goes on */
} simgate;

static inline void simgate_pass(bool call)
{
	char byte = 0;

	/* In the middle of a transaction whatever else comes would only wait for its end. */
	if (call && simgate.end == SIMGATE_HALTS)
		return;
	if (simgate.pid != getpid() || simgate.left == 0 || --simgate.left > 0)
		return;
	if (simgate.end == SIMGATE_DIES)
		(void)raise(SIGKILL);
	if (write(simgate.reached, &byte, 1) != 1 || read(simgate.go, &byte, 1) != 1)
		_exit(200); /* the test is gone */
}

static inline void simgate_look(void)
{
	simgate_pass(false);
}

static inline void simgate_set(unsigned nth, enum simgate_end end, int reached, int go)
{
	simgate.pid = getpid();
	simgate.left = nth;
	simgate.end = end;
	simgate.reached = reached;
	simgate.go = go;
	simclock_looked = simgate_look;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): names without underscores */
int unlinkat(int dir, const char *name, int flags)
{
	simgate_pass(true);
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

int renameat2(int old_dir, const char *old_name, int new_dir, const char *new_name, unsigned flags)
{
	simgate_pass(true);
	return (int)syscall(SYS_renameat2, old_dir, old_name, new_dir, new_name, flags);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	simgate_pass(true);
	return (int)syscall(SYS_mkdirat, dir, name, mode);
}

int fdatasync(int fd)
{
	simgate_pass(true);
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	simgate_pass(true);
	return (int)syscall(SYS_fsync, fd);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
