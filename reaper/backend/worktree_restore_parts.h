/*
 * Private to worktree_restore*.c: the steps of bringing a worktree back.
 */
#pragma once

#include "worktree_git.h"
#include "worktree_restore.h"
#include "worktree_salvaged.h"

#include <sys/stat.h>

struct restoring {
	const struct salvage *salvage;
	const char *directory;
	struct arena *arena;
	struct worktree_restored *restored;
	struct error *error;
	struct error unsaid; /* of what an archive can do without */

	int parent, dir; /* of the directory, and itself */
	bool dir_made;

	git_repository *repository; /* NULL: none that can be used */
	int common;                 /* its common git directory */
	struct stat owner;          /* its */

	git_commit *commit; /* NULL: an archive without one */
	struct salvage_trailers trailers;
	git_oid head;
	bool has_head; /* false: HEAD was at no commit yet */

	char *record_name; /* made below "worktrees"; NULL: not yet */
	int record;
	bool branch_made;
};

/* Says what is not as it was. */
void restoring_note(struct restoring *restoring, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Writes the entries of a tree into an open, empty directory. `skip` may be NULL: names of the top
 * that are left out, NULL at its end. 0 or -errno.
 */
int restore_tree(git_repository *repository, const git_oid *tree, int dir, const char *const *skip,
	struct error *error);

/* Makes an empty record of the worktree, locked as git does while it is made. 0 or -errno. */
int restore_record_make(struct restoring *restoring);

/* Says that it is being made, as git does; also again, after something was unpacked into it. */
int restore_record_lock(struct restoring *restoring);

/* HEAD, index and what was in progress, as the commit says. 0 or -errno. */
int restore_record_fill(struct restoring *restoring);

/* HEAD of a record that came from an archive, as far as it can stay. 0 or -errno. */
int restore_record_head(struct restoring *restoring);

/* Joins record and directory, gives both away and unlocks: the last step. 0 or -errno. */
int restore_record_finish(struct restoring *restoring);

/* Gives the directory to the owner of the repository. 0 or -errno. */
int restore_give_directory(struct restoring *restoring);

/* Removes the record, and a branch that was made. */
void restore_record_undo(struct restoring *restoring);
