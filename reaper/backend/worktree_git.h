/*
 * The library (libgit2 1.5.1) as this backend uses it: object database and references of one common
 * git directory, opened bare. It is never shown a working tree, so it runs nothing, filters nothing
 * and writes no index. The only place that includes git2.h.
 *
 * Set once, before the first use (git2/common.h): GIT_OPT_SET_EXTENSIONS, since 1.5.1 refuses every
 * extensions.* it was not told of, and sparse-checkout, partial clone and relative worktrees set
 * some; GIT_OPT_SET_OWNER_VALIDATION off, since it answers "not found" for another user's
 * repository, exactly as for a missing one (it protects programs that run what a configuration
 * names, which this one does not); GIT_OPT_SET_SEARCH_PATH empty, so that no configuration of the
 * host or of a user is read; GIT_OPT_ENABLE_FSYNC_GITDIR, since what is written there stands for
 * what is removed next; GIT_OPT_ENABLE_STRICT_OBJECT_CREATION off, since a tree of a partial clone
 * names objects that are elsewhere (who makes one sees to it that the rest is there). Caches and open
 * packs are bounded.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <git2.h>

static inline void repository_done(git_repository **repository)
{
	git_repository_free(*repository);
}

static inline void reference_done(git_reference **reference)
{
	git_reference_free(*reference);
}

static inline void commit_done(git_commit **commit)
{
	git_commit_free(*commit);
}

static inline void object_done(git_object **object)
{
	git_object_free(*object);
}

static inline void tree_done(git_tree **tree)
{
	git_tree_free(*tree);
}

static inline void tree_entry_done(git_tree_entry **entry)
{
	git_tree_entry_free(*entry);
}

static inline void ref_iterator_done(git_reference_iterator **iterator)
{
	git_reference_iterator_free(*iterator);
}

static inline void odb_done(git_odb **odb)
{
	git_odb_free(*odb);
}

/* What was short (error_may_pass) when the library's last call failed; `otherwise`: it was nothing such. */
int worktree_git_cause(int otherwise);

/* Records what the library says went wrong, escaped. Returns -worktree_git_cause(code). */
int worktree_git_error(struct error *error, int code, const char *what, const char *which);

/* Prepares the library, for what needs no repository. 0 or -EIO. */
int worktree_git_begin(struct error *error);

/*
 * Opens a common git directory. 0; -ENOENT: it is provably not there (asked of the filesystem, not
 * of the library); -EIO: it is there and the library cannot use it (its format, an extension).
 */
int worktree_git_open(const char *common, git_repository **ret_repository, struct error *error);

/*
 * Repositories held open for the time of a pass: opening one reads its configuration, and in 1.5.1
 * git_regexp_match() loses 20 KB for each line of it that is no extension.
 */
struct worktree_gits {
	struct worktree_git *list;
	size_t count;
};

/* As worktree_git_open(), but the repository is borrowed. One that was replaced is opened anew. */
int worktree_gits_get(struct worktree_gits *gits, const char *common,
	git_repository **ret_repository, struct error *error);
void worktree_gits_done(struct worktree_gits *gits);

/*
 * Which refs an answer counts. What survives is never a per-worktree one (refs/bisect, refs/worktree),
 * notes or the stash.
 */
enum refs_counted {
	REFS_SURVIVING, /* branches, tags, remote-tracking refs, refs/sbx/salvage */
	REFS_REMOTE,    /* remote-tracking refs: what is left when the repository itself goes */
	REFS_OWN,       /* all but those and the stash: what goes with a repository */
	REFS_BRANCHES   /* branches and remote-tracking refs */
};

/* Told of a ref by its whole name; `commit` is NULL when its object is none, or cannot be read. */
typedef void worktree_ref_seen(void *context, const char *name, const git_oid *commit);

/*
 * Tells of each counted ref and the commit that it points at (tags peeled, symbolic refs passed by: what
 * they point at counts itself). 0 or -errno.
 */
int worktree_refs_each(git_repository *repository, enum refs_counted counted,
	worktree_ref_seen *seen, void *context, struct error *error);

struct worktree_commits {
	git_oid *ids; /* without repetition */
	size_t count;
	size_t others; /* refs whose object is no commit, or cannot be read */
};

/*
 * Gathers the commits of the counted refs, without the branch `except` (short name, or NULL). 0 or
 * -errno.
 */
int worktree_commits_gather(git_repository *repository, enum refs_counted counted,
	const char *except, struct worktree_commits *ret_commits, struct error *error);
void worktree_commits_done(struct worktree_commits *commits);

/* Adds one where it belongs. */
void worktree_commits_add(struct worktree_commits *commits, const git_oid *id);

/*
 * Whether a commit is one of those or an ancestor of one. 1, 0, or -errno. In a shallow repository
 * history ends where it was cut off.
 */
int worktree_commit_contained(git_repository *repository, const git_oid *commit,
	const struct worktree_commits *in, struct error *error);

/* The commit of a branch by its short name. 1, 0 when there is no such branch, -errno. */
int worktree_branch_commit(
	git_repository *repository, const char *branch, git_oid *ret_commit, struct error *error);

/*
 * The commit that the content of a HEAD file names: "ref: refs/heads/x" or an id. 1; 0 when it
 * names a ref that is not there; -EINVAL when it names nothing that can be; -errno.
 */
int worktree_head_commit(
	git_repository *repository, const char *head, git_oid *ret_commit, struct error *error);
