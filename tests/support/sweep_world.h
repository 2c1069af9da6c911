/*
 * A small world for a sweep, on a tmpfs of its own, that can be made again in milliseconds. A pass
 * over it has to do with every kind of resource and outcome:
 *
 *   all        finished: tree with a mount, git record, packed branch, cgroup with a process, path,
 *              container
 *   unsaved    finished, with work that has to be salvaged first
 *   overdue    over its deadline: its process and cgroup are stopped, its tree stays
 *   pinned · live · foreign    not to be touched; nor is fresh, a worktree that nobody registered
 */
#pragma once

#include "fake_engine.h"
#include "tracer.h"

typedef int sweep_world_program(int argc, char **argv);

/* In the order of the cgroups of the same names. */
enum sweep_process { PROCESS_ALL, PROCESS_OVERDUE, PROCESS_LIVE, PROCESS_COUNT };

struct sweep_world {
	sweep_world_program *program; /* main() of the program, called in a child */
	char *base, *top;             /* the tmpfs; in it what is made anew each time */
	char *root, *repo, *paths, *state, *settings;
	char group[32]; /* name of its cgroup, group.h */
	struct fake_engine engine;
	const char *container;
	int64_t made_s; /* what is registered keeps the times of then, however long a sweep takes */
	pid_t processes[PROCESS_COUNT];
	char *protected_before; /* sweep_world_protected() as it was made */
};

void sweep_world_make(struct sweep_world *world, const char *base, const char *group);
void sweep_world_drop(struct sweep_world *world);

/* As it was made, with everything registered. */
void sweep_world_reset(struct sweep_world *world);

/* Tells the books which inodes and processes are the registered ones now. */
void sweep_world_rebook(const struct sweep_world *world);

/* Runs the program with these words and the world's settings; its exit code, 128 after a signal. */
int sweep_world_run(struct sweep_world *world, const char *words);

/* The same under a tracer (`program` and `context` of which are set here): see tracer_run(). */
int sweep_world_trace(struct sweep_world *world, const char *words, const struct trace *trace);

/* What the last of them wrote; the caller frees it. */
char *sweep_world_output(const struct sweep_world *world);
char *sweep_world_complaints(const struct sweep_world *world);

/* All that a pass can have changed, in words that are the same after each: for the caller to free. */
char *sweep_world_describe(const struct sweep_world *world);

/* What no pass may change, exactly. */
char *sweep_world_protected(const struct sweep_world *world);

/* Whether nothing is left of run "all", "unsaved", or of what had to stop of "overdue". */
bool sweep_world_is_done(const struct sweep_world *world, const char *run);

/* Whether its marker is there for as long as anything else that it has to prove. */
bool sweep_world_is_proven(const struct sweep_world *world, const char *run);

/* Whether git's record of its tree is there for as long as the tree is in its place. */
bool sweep_world_is_recorded(const struct sweep_world *world, const char *run);

/* Whether nothing of run "all", "unsaved" or "overdue" is stopped or gone yet. */
bool sweep_world_is_whole(const struct sweep_world *world, const char *run);

/* Whether the unsaved work of "unsaved" is in its tree, a salvage ref or an archive. */
bool sweep_world_holds_unsaved(const struct sweep_world *world);

/* The first line in which two descriptions differ, "a | b"; NULL: none. The caller frees it. */
char *sweep_world_difference(const char *a, const char *b);
