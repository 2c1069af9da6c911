/*
 * Whether the content of a file is in a commit: the candidates are the commits with which a tree is
 * compared, path by path. Content is compared by its object id, so no object is read and a partial
 * clone needs none.
 */
#pragma once

#include "worktree_git.h"

enum { CANDIDATES_MAX = 64 };
#define CONTENT_MAX (INT64_C(1) << 30) /* what is larger is not compared: it is not saved */

/* Ordered: the best answer of all candidates counts. */
enum saved {
	SAVED_NOWHERE,  /* no candidate has this content at this path */
	SAVED_UNPUSHED, /* one has, but no surviving ref contains it */
	SAVED           /* a surviving ref contains one that has */
};

struct candidate {
	git_tree *root;
	bool contained;  /* in a surviving ref */
	bool tracks;     /* the run's own: what it has is tracked, whatever .gitignore says */
	char *directory; /* the last one looked into, and its tree (NULL: it has none) */
	git_tree *tree;
	bool unreadable; /* it has one, or may have, that cannot be read */
};

struct candidates {
	git_repository *repository; /* borrowed */
	struct candidate list[CANDIDATES_MAX];
	size_t count;
};

/* Adds a commit; more than fit, or one that is no commit, are passed by. 1 added, 0 not. */
int candidates_add(
	struct candidates *candidates, const git_oid *commit, bool contained, bool tracks);
void candidates_done(struct candidates *candidates);

/*
 * Whether the run's own commits have a file or submodule `name` in `directory` ("" for the tree), or
 * may have: what cannot be read may have anything, and what is tracked is never ignored.
 */
bool candidates_track(struct candidates *candidates, const char *directory, const char *name);

/* The mode that the first candidate with that entry has for it, 0 when none has. */
git_filemode_t candidates_mode(
	struct candidates *candidates, const char *directory, const char *name);

/* The id that the first candidate with that entry has for it; false: none has. */
bool candidates_id(struct candidates *candidates, const char *directory, const char *name,
	unsigned char *ret_id);

/* Whether a candidate has this object at this path (relative to the tree). */
bool candidates_have(struct candidates *candidates, const char *path, const unsigned char *id);

/* Whether the regular file (or, where `link` is given, the symlink with that target) is saved. */
enum saved candidates_compare_file(
	struct candidates *candidates, const char *directory, const char *name, int file);
enum saved candidates_compare_link(
	struct candidates *candidates, const char *directory, const char *name, const char *link);

/* Whether an object id (of an index entry) is saved at that path. */
enum saved candidates_compare_id(struct candidates *candidates, const char *directory,
	const char *name, const unsigned char *id);
