/*
 * All processes at one moment, as far as is needed to tell which of them, and which mounts and network
 * namespaces, nobody looks after any more. From /proc alone: no file of theirs is touched.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <sys/types.h>

struct census_process {
	pid_t pid, parent;    /* parent 0: none in our pid namespace */
	uint64_t start_ticks; /* field 22 of proc_pid_stat(5) */
	int64_t age_s;        /* since it began */
	const char *comm;     /* escaped */
	const char *cgroups;  /* content of /proc/PID/cgroup, bounded; "" when unreadable */
	uint64_t net;         /* inode of its network namespace; 0: it cannot be told */
	uint64_t root_dev;    /* of the filesystem that is its "/"; 0: it cannot be told */
};

struct census {
	struct arena arena;
	struct census_process *processes; /* by pid */
	size_t count;
	/* Processes of which something cannot be told: what none of the others has may be theirs. */
	size_t unseen;
};

/* Everybody who is alive, ourselves too. 0 or -errno; census_done() in any case. */
int census_take(struct census *ret_census, struct error *error);
void census_done(struct census *census);

/* NULL: there was none of that number. */
const struct census_process *census_find(const struct census *census, pid_t pid);

/* Whether any process is the parent's child. */
bool census_has_child(const struct census *census, pid_t parent);
