/*
 * The other refs and worktrees of a repository, by which each of its branches is judged: read once for
 * all branches that are asked about together, since each of them is judged by all.
 */
#pragma once

#include "worktree_git.h"
#include "worktree_record.h"

struct branch_use;
struct branch_fault;
struct branch_tip;

struct branch_peers {
	char *common; /* whose they are; NULL: none were read yet */
	struct arena arena;
	struct worktree_records records;
	struct error unread;     /* why the records could not be listed; code 0: they were */
	struct branch_use *uses; /* by name, then in the order in which they were read */
	size_t use_count;
	struct branch_fault *faults; /* in the order in which they were read */
	size_t fault_count;
	struct branch_tip *tips; /* by commit; read when first asked for */
	size_t tip_count;
	bool tips_read;
};

/* Makes them those of `common`, unless they are. */
void branch_peers_look(struct branch_peers *peers, const char *common);
void branch_peers_done(struct branch_peers *peers);

/* Whose use of a branch is no obstacle: the record of the run's own tree. */
typedef bool branch_own(void *context, const struct worktree_record *record);

/*
 * Who has the branch (short name) in use: 1 with *ret_other, in the arena, when anybody but the own
 * worktree has, or when that cannot be told of somebody; else 0, with *ret_held when the own one has.
 * -errno: of the repository itself it cannot be told.
 */
int branch_peers_users(const struct branch_peers *peers, const char *branch, branch_own *own,
	void *context, struct arena *arena, const char **ret_other, const char **ret_held,
	struct error *error);

/* Whether another surviving ref than the branch contains the commit: 1, 0, -errno. */
int branch_peers_contain(struct branch_peers *peers, git_repository *repository, const char *branch,
	const git_oid *commit, struct error *error);
