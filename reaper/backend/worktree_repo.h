/*
 * Where git repositories are, found as files: what a tree has as its .git, and the common git
 * directory of a repository. Layout: gitrepository-layout(5), git-worktree(1). A linked worktree
 * has an admin directory "<repo>/worktrees/NAME"; the tree's file `.git` names it, and its file
 * `gitdir` names "<tree>/.git".
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <sys/stat.h>

/* What stands at "<tree>/.git". */
enum pointer_kind {
	POINTER_NONE,      /* nothing */
	POINTER_FILE,      /* a link to a git directory: `target` */
	POINTER_DIRECTORY, /* a repository of its own */
	POINTER_JUNK       /* something else: a symlink, a file that is no link */
};

struct worktree_pointer {
	enum pointer_kind kind;
	const char *target; /* absolute and clean; what the tree says, so never proof by itself */
};

/*
 * Reads what an open tree, known as `path`, has as its .git. Strings in the arena. 0, or -errno
 * when it cannot be told.
 */
int worktree_pointer_read(int tree, const char *path, struct arena *arena,
	struct worktree_pointer *ret_pointer, struct error *error);

/*
 * Finds the common git directory of the repository at `path`: a working tree, linked or not, a
 * linked worktree's admin directory, or a git directory. *ret_common has no symlink in it and is
 * the caller's. 0; -ENOENT: there is provably none (nothing there, or a directory with nothing of a
 * repository in it); -errno: it cannot be told.
 */
int worktree_repo_resolve(const char *path, char **ret_common, struct error *error);

/* Whether two absolute paths name one tree: the same text, or the same name in one directory. */
bool worktree_path_same(const char *a, const char *b);

/*
 * The name of the record of `repo` (a common git directory) that a pointer's target is, or NULL
 * when the target is not directly in that repository's "worktrees". Points into target.
 */
const char *worktree_target_name(const char *repo, const char *target);

/*
 * Reads a small file of a git directory ("HEAD", "locked"), its end of line cut off. *ret_text is
 * in the arena; *ret_changed_s, which may be NULL, is when it was written. 1, 0 when it is not
 * there, -errno.
 */
int worktree_gitfile_read(const char *gitdir, const char *name, struct arena *arena,
	const char **ret_text, int64_t *ret_changed_s, struct error *error);

/* The same below an open directory; *ret_stat may be NULL. */
int worktree_line_read(int dir, const char *name, struct arena *arena, const char **ret_line,
	struct stat *ret_stat, struct error *error);
