/*
 * A simulated fleet of coding-agent runs on one host: 400 a day, each with a tree (a git worktree
 * or a mere directory) and a cgroup, some with a process, a container, a path, a mount; most end
 * well and say so. The others do not: FLEET_* below. All of it is real but the engine and the time.
 */
#pragma once

#include "fake_engine.h"
#include "program.h"
#include "workdir.h"

enum {
	FLEET_RUNS_A_DAY = 400,
	/* in a thousand */
	FLEET_LEAKING = 60, /* the harness never finishes: half of them with a process left */
	FLEET_OVERRUN = 30, /* the harness is killed on its budget; the run goes on */
	FLEET_ENGINE = 10,  /* of the engine's time it hangs, or cannot delete */
	FLEET_PINNED = 30,  /* at its end, for two hours */
	FLEET_DIRTY = 80,   /* of the git worktrees: unsaved work is left in them */
	FLEET_HALF = 20,    /* somebody begins to delete the tree by hand */
	FLEET_REUSE = 100,  /* under a name that was used before */
	FLEET_GIT = 350,
	FLEET_CONTAINER = 250,
	FLEET_PATH = 200,
	FLEET_MOUNT = 30,
	FLEET_PROCESS = 300, /* of those that end well */
	FLEET_FAILED = 150,  /* of those that end: their outcome */
	FLEET_MAX = 512
};

struct fleet_run {
	char name[32]; /* "": the place is free */
	int64_t ends_s;
	bool over; /* it ended, or died */
	bool git, leaking, overrun, pinned, dirty, half, failed, mounted, path;
	pid_t worker; /* 0: none */
	char container[72];
};

struct fleet {
	struct workdir *workdir;
	struct fake_engine engine;
	struct program program;
	struct fleet_run runs[FLEET_MAX];
	uint64_t random;
	int64_t owed;   /* runs that are to begin, times the seconds of a day */
	int64_t sick_s; /* the engine is, until then */
	int64_t well_s; /* it is well since */
	unsigned begun, ended, gone, leaking, overrun, pinned, dirty, half, reused, sick;
};

/*
 * Makes the world in an empty workdir and the test's group (support/group.h): settings with short
 * times, so that all that ages has come and gone within four hours.
 */
void fleet_open(struct fleet *fleet, struct workdir *workdir, uint64_t seed);
void fleet_close(struct fleet *fleet);

/* So much time has gone by: begins and ends what is to begin and end by `now_s`. */
void fleet_step(struct fleet *fleet, int64_t now_s, int64_t step_s);

/* No run begins any more, all that run end, and the engine is well. */
void fleet_end(struct fleet *fleet, int64_t now_s);

/* Behind a pass: forgets the runs that are gone as a whole, and takes the exits of processes. */
void fleet_collect(struct fleet *fleet);

/* How many there are now. */
size_t fleet_present(const struct fleet *fleet);
size_t fleet_processes(const struct fleet *fleet);
