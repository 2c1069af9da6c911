/*
 * Salvaged work, brought back as a git worktree. What was salvaged stays where it is.
 *
 * MUST 1  Nothing that is there is written to: the directory is new or empty, git's record is a new
 *         one, a branch is made only where there is none.
 * MUST 2  Files are written as the bytes that were salvaged: no filter, no hook, and nothing that the
 *         repository's configuration names ever runs.
 * MUST 3  Everything is made by descriptor, without following a symlink.
 * MUST 4  When it fails, or a signal asks to stop, everything that was made is removed again. Killed
 *         in the middle, it leaves a directory that is no worktree yet, or one that git calls
 *         "initializing", as its own command does.
 */
#pragma once

#include "backend.h"

struct worktree_restored {
	const char *record; /* git's record of it; NULL: it has none */
	const char *beside; /* where that record was put, since its repository is gone; NULL */
	const char *branch; /* that is checked out, short; NULL: none */
	bool branch_made;
	const char *head;     /* the commit that HEAD is at; NULL: none, or it was not looked at */
	const char *notes[8]; /* what is not as it was, in words, escaped */
	size_t note_count;
};

/*
 * Restores to `directory` (absolute, clean), which is given to the owner of the repository where there
 * is one. Strings of *ret_restored are in the arena. 0; -EEXIST the directory is there and not empty;
 * -ENOENT the repository, commit or archive is gone (the error says which); -EUCLEAN it is damaged;
 * -EINTR a signal; -errno.
 */
int worktree_restore(const struct salvage *salvage, const char *directory, struct arena *arena,
	struct worktree_restored *ret_restored, struct error *error);
