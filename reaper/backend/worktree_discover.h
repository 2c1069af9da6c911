/* Worktrees that nobody told us of: entries of the roots, records of the repositories. */
#pragma once

#include "model.h"

/* As backend.h says of discover(). */
void worktree_discover(
	const struct settings *settings, struct inventory *inventory, const char *only);
