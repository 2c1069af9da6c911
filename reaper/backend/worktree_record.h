/*
 * git's own bookkeeping of linked worktrees, read and dropped as files: the library omits damaged
 * records, and prunes by whatever path a record names. Layout: gitrepository-layout(5),
 * git-worktree(1). A repository has, for each linked worktree, an admin directory
 * "<repo>/worktrees/NAME" whose file `gitdir` names "<tree>/.git"; the tree's file `.git` names the
 * admin directory. NAME is a basename with a number behind, so it proves nothing.
 */
#pragma once

#include "os/rmtree.h"
#include "worktree_repo.h"

struct worktree_record {
	const char *name;  /* of the admin directory */
	const char *path;  /* "<repo>/worktrees/NAME" */
	const char *tree;  /* where it says that its tree is, absolute and clean; NULL: it says
			      nothing (the file is missing or no path) */
	uint64_t dev, ino; /* of the admin directory */
};

struct worktree_records {
	struct arena arena;
	struct worktree_record *list;
	size_t count;
};

/*
 * Lists all records of a repository, the damaged ones too. 0; -ENOENT: the repository is gone; or
 * -errno.
 */
int worktree_records_read(
	const char *repo, struct worktree_records *ret_records, struct error *error);
void worktree_records_done(struct worktree_records *records);

/* Copies a record with its strings, into the arena. */
void worktree_record_copy(struct arena *arena, const struct worktree_record *from,
	struct worktree_record *ret_record);

/* Reads one record by its name. 1, 0 when it is not there, -errno. Strings in the arena. */
int worktree_record_read(const char *repo, const char *name, struct arena *arena,
	struct worktree_record *ret_record, struct error *error);

/*
 * Finds the record of a tree: the one that names it, and else the one called `pointed` (what the
 * tree's .git names; may be NULL) when that says nothing about any tree. 1, 0 when there is none,
 * -errno. Strings in the arena.
 */
int worktree_record_find(const char *repo, const char *tree, const char *pointed,
	struct arena *arena, struct worktree_record *ret_record, struct error *error);

/*
 * Drops exactly this record: its admin directory, when it is the one that was read (device and
 * inode), and then "worktrees" when it is empty, as git does. Adds to *report in any case. 1, 0 gone
 * already, -ESTALE: another one stands there, -errno.
 */
int worktree_record_drop(const char *repo, const struct worktree_record *record,
	int64_t deadline_ms, struct rmtree_report *report, struct error *error);
