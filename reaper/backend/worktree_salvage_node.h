/*
 * What is to be salvaged of one file or directory, and what is below it.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "worktree_git.h"

struct salvage_node {
	const char *name;
	git_filemode_t mode; /* a directory is GIT_FILEMODE_TREE, a submodule GIT_FILEMODE_COMMIT */
	unsigned permissions; /* of the file system */
	git_oid id;           /* directories: only where kept */
	int64_t size;
	bool apart;  /* not in a commit: only an archive can hold it */
	bool kept;   /* there is no file for it: the index's object stands for it */
	bool stored; /* the repository had its content before */
	struct salvage_node *first, *next; /* in order of discovery */
	struct salvage_node **sorted;      /* the same by name */
	size_t count;
};

static inline bool salvage_node_is_file(const struct salvage_node *node)
{
	return node->mode != GIT_FILEMODE_TREE && node->mode != GIT_FILEMODE_COMMIT;
}

/* One whose entries go into a tree of their own. */
static inline bool salvage_node_is_directory(const struct salvage_node *node)
{
	return node->mode == GIT_FILEMODE_TREE && !node->kept && !node->apart;
}

/* What is at a path below a node; NULL: nothing. */
const struct salvage_node *salvage_node_below(const struct salvage_node *node, const char *path);

/* Whether only the index has it: no file, and no directory that it alone does not know. */
bool salvage_node_is_unmade(const struct salvage_node *node);

/* For building nodes by hand. */
struct salvage_node *salvage_node_add(
	struct arena *arena, struct salvage_node *parent, const char *name, git_filemode_t mode);
void salvage_node_sort(struct arena *arena, struct salvage_node *node);
struct salvage_node *salvage_node_find(const struct salvage_node *node, const char *name);

/*
 * Whether two are the same, and all below them. `path` is their parent's ({ 0 } for roots), and is
 * so again when they are. 0, or -EBUSY with the first path that differs.
 */
int salvage_node_same(const struct salvage_node *a, const struct salvage_node *b, struct text *path,
	struct error *error);
