/*
 * The real world of a simulated history: a root, a repository, paths, cgroups and processes of up to
 * OP_RUNS runs, below a directory of its own, and what stands of them at a moment. Git is only needed
 * once, for the repository that each world begins with a copy of.
 */
#pragma once

#include "fake_engine.h"
#include "model_op.h"

#include <sys/types.h>

struct model_world {
	char *path; /* in it, once it is open: repo.git, ws, scratch, outside, reap.ini, reap.db, output */
	int dir;
	char first[41], second[41]; /* commits: of main, and one after it */
	char dirty[41], fresh[41];  /* blobs: what OP_DIRTY and OP_UNTRACKED write */
	pid_t owner[OP_RUNS], guest[OP_RUNS];
	struct fake_engine engine;           /* pid 0: not started */
	bool engaged;                        /* it is in the settings */
	char containers[OP_RUNS][136];       /* ids */
	char unlabelled[136], by_image[136]; /* nobody's */
	unsigned ids;                        /* that were given so far to things that look alike */
};

/* What stands of a run. Numbers are inodes or sums over them; 0: not there. */
struct sight {
	uint64_t tree, tree_sum, scratch, scratch_sum, marker, keep, record, branch, group,
		container;
	bool gitfile, locked, owner, guest, runs; /* runs: the container */
	bool ahead;                               /* the branch has a commit of its own */
	bool dirty, fresh; /* what OP_DIRTY and OP_UNTRACKED wrote is there */
};

/* Makes the repository to copy, once, in a directory; the strings are in `world` then. */
void model_world_prepare(struct model_world *world, const char *path);

/* A directory of that name beside it, for one world after the other. */
void model_world_open(
	struct model_world *world, const struct model_world *prepared, const char *name);
void model_world_done(struct model_world *world);

/* A new world with the settings of its history; the last one is gone. */
void model_world_begin(struct model_world *world, const struct ops *ops);
void model_world_end_processes(struct model_world *world, unsigned run);
void model_world_end_containers(struct model_world *world);
void model_world_engine(struct model_world *world, enum model_engine way);

/* Does what an operation means by hand, if it can be done. What the program does is not done here. */
void model_world_apply(struct model_world *world, const struct op *op, int64_t now_s);

/* Removes the database, but not what says that one has been there. false: there is none. */
bool model_world_lose_books(struct model_world *world);

/* A copy of the database; false: there is none, or one that a dead pass left unfinished. */
bool model_world_save_books(struct model_world *world);

/* The copy takes the place of the database, and the other way round. */
void model_world_swap_books(struct model_world *world);

struct sight model_world_look(const struct model_world *world, unsigned run);
bool sight_equal(const struct sight *a, const struct sight *b);

/* A number that changes when anything in the world does, but what the program prints. */
uint64_t model_world_sum(const struct model_world *world);

/* Whether all that no run owns is as it was; else what is not, for the report. */
const char *model_world_harmed(const struct model_world *world);

/* Whether a blob is reachable from a salvage ref, or an archive was made for the run. */
bool model_world_salvaged(const struct model_world *world, unsigned run, const char *blob);
