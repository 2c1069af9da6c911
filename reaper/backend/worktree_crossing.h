/*
 * What is mounted in a tree: whether its content is the tree's to lose. A bind, a disk, FUSE and the
 * network have theirs elsewhere, and unmounting leaves it there. What vanishes with the mount (a
 * tmpfs, a bind of what was deleted, an overlay that writes into the tree) is work like any file.
 * What a mount covers cannot be seen while it is there: it is asked about when it is gone.
 */
#pragma once

#include "base/arena.h"
#include "os/mount_view.h"

enum crossing {
	CROSSING_UNKNOWN,   /* it cannot be told, or not without a question that may hang */
	CROSSING_ELSEWHERE, /* nothing is lost with it, or it holds no file */
	CROSSING_HOLDS      /* it holds files that vanish with it */
};

/* A tree that is looked through, and the mounts around it. */
struct crossing_tree {
	struct mount_view *view; /* NULL: nothing is known about mounts */
	int tree;                /* open */
	const char *path;        /* of the tree, absolute */
};

struct crossing_finding {
	const char *note; /* NULL: nothing to say */
	int code;         /* of CROSSING_UNKNOWN: what was short (error_may_pass), else EIO */
};

/*
 * Judges what is mounted at or below a path (relative to the tree) at which a walk that enters no
 * mount came to an end with EXDEV. The finding's note, in the arena, says what it is.
 */
enum crossing worktree_crossing(const struct crossing_tree *tree, const char *path,
	struct arena *arena, struct crossing_finding *ret_finding);

/*
 * The same for what only PID 1 has mounted in the tree: a walk does not meet it. CROSSING_ELSEWHERE
 * when there is nothing.
 */
enum crossing worktree_crossing_unseen(const struct crossing_tree *tree, struct arena *arena,
	struct crossing_finding *ret_finding);
