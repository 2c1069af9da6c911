/*
 * What there is to salvage, before anything is written: a tree as nodes, each with its mode, its
 * content's id as a blob, and where it goes. Two plans of one tree made one after the other are the
 * same, or somebody writes to it.
 */
#pragma once

#include "base/arena.h"
#include "worktree_salvage_blob.h"
#include "worktree_salvage_node.h"
#include "worktree_saved.h"

struct mount_view;
struct salvage_index;

enum { SALVAGE_DEPTH_MAX = 256, SALVAGE_ENTRIES_MAX = 1000000 };

struct salvage_scope {
	const struct salvage_hash *hash;
	git_repository *repository;        /* NULL: there is none, or it cannot be used */
	git_odb *odb;                      /* its */
	const struct salvage_index *index; /* NULL: none */
	struct candidates *head;           /* what is tracked there is never ignored; NULL */
	bool whole;                        /* everything, as in a repository that goes along */
	bool own;                          /* the tree's repository lies in it: ".git" goes along */
	const char *path;                  /* of the tree, absolute */
	struct mount_view *mounts;         /* NULL: nothing may be mounted in it */
	int64_t file_max, total_max, deadline_ms;
	/*
	 * Asked for a populated submodule: 1, with the commit it is at, when all of it is saved; 0 when
	 * it has to go along; -errno. NULL: it goes along.
	 */
	int (*submodule)(void *context, int directory, const char *path, git_oid *ret_commit,
		struct error *error);
	/* Which entries of the top are looked at; NULL: all, but ".git". */
	bool (*wants)(void *context, const char *name);
	void *context;
};

struct salvage_plan {
	struct arena arena;
	struct salvage_node *root;
	uint64_t entries;
	int64_t bytes;     /* of all files */
	int64_t new_bytes; /* of those that the repository has not */
	uint64_t new_files;
	const char *apart; /* the first thing that a commit cannot hold, escaped; NULL */
};

/*
 * Looks through an open tree, without what is mounted in it and has its content elsewhere. 0;
 * -EFBIG: more than the caps (named); -EXDEV: what is mounted there would be lost (named); -ETIME;
 * -EBUSY: it changes; -errno. Nothing is written.
 */
int salvage_plan_tree(struct salvage_plan *plan, int tree, const struct salvage_scope *scope,
	struct error *error);
void salvage_plan_done(struct salvage_plan *plan);

/* 0, or -EBUSY with the first path that differs. */
int salvage_plan_same(
	const struct salvage_plan *a, const struct salvage_plan *b, struct error *error);
