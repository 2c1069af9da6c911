/*
 * The index of a tree that is salvaged: what is staged, what a sparse checkout leaves out, and the
 * sides of conflicts, as nodes. What it names and the repository does not have (anybody may write
 * anything into an index) is left out, so that what is made of it is whole, except where HEAD lacks
 * the same (a partial clone).
 */
#pragma once

#include "worktree_salvage_plan.h"

struct salvage_staged {
	const char *path; /* a sparse directory with its slash */
	git_filemode_t mode;
	git_oid id;
	unsigned stage;
	bool intent_to_add, skip_worktree;
};

struct salvage_index {
	struct arena arena;
	struct salvage_staged *list; /* by path, then stage */
	size_t count, room;
	bool conflicts;
};

/*
 * Reads the index in a git directory; none is an empty one. 0, or -errno: it cannot be read (the
 * error says why).
 */
int salvage_index_read(struct salvage_index *index, const char *gitdir, struct error *error);
void salvage_index_done(struct salvage_index *index);

/* Whether something is staged there; a submodule's id is *ret_commit then, which may be NULL. */
bool salvage_index_has(const struct salvage_index *index, const char *path);
bool salvage_index_submodule(
	const struct salvage_index *index, const char *path, git_oid *ret_commit);

/*
 * Adds what is not checked out on purpose to the nodes of a directory ("" or "a/b"), which were
 * read from the file system: they keep the object that the index has for them.
 */
int salvage_index_keep(const struct salvage_scope *scope, struct arena *arena,
	struct salvage_node *node, const char *directory, struct error *error);

/* All that is staged at one stage (0: what the next commit would hold), below a new node. */
int salvage_index_nodes(const struct salvage_scope *scope, struct arena *arena, unsigned stage,
	struct salvage_node *ret_node, struct error *error);
