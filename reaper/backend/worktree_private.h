/*
 * What git keeps for one worktree alone, beside its HEAD and index (gitrepository-layout(5)): it goes
 * with the worktree. Everything is a run's word: bounded, and no link in it is followed.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* Whether git is in the middle of something. 1, *ret_sign is what shows it; 0; -errno. */
int worktree_private_progress(int gitdir, const char **ret_sign, struct error *error);

/* Called with a ref's name ("refs/worktree/x") and what stands in its file; a negative answer ends it. */
typedef int worktree_private_ref(
	void *context, const char *name, const char *text, struct error *error);

/* The refs that only this worktree has: refs/bisect, refs/rewritten, refs/worktree. 0 or -errno. */
int worktree_private_refs(
	int gitdir, worktree_private_ref *each, void *context, struct error *error);

/* Called with the absolute path of a submodule's repository. */
typedef void worktree_private_module(void *context, const char *path);

/*
 * The repositories of its submodules, also of those that are not checked out any more; not those
 * within them. `path`: of gitdir. 0 or -errno.
 */
int worktree_private_modules(int gitdir, const char *path, worktree_private_module *each,
	void *context, struct error *error);
