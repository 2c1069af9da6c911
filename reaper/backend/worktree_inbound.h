/*
 * What a repository's main working tree and settings name: symlinks, core.worktree. For a note only;
 * nothing of it is followed or changed.
 */
#pragma once

#include "base/arena.h"
#include "settings.h"

struct census_link {
	const char *common; /* the repository in which it was found */
	const char *place;  /* the link or the file */
	const char *target; /* absolute and clean, as text */
	struct census_link *next;
};

/*
 * Adds what points below one of the roots: symlinks in the main working tree, two levels deep, and
 * core.worktree in the settings of the repository and of its submodules. What cannot be read adds
 * nothing.
 */
void worktree_inbound_look(const char *common, const struct text_list *roots, struct arena *arena,
	struct census_link **links);
