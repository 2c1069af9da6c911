/* A look at branches as resources: the half of the worktree backend that asks about them. */
#pragma once

#include "settings.h"
#include "worktree_branch.h"
#include "worktree_memory.h"

/* What is to be asked about one. Borrows from all three. */
struct branch_ask worktree_branch_question(const struct settings *settings,
	const struct worktree_memory *memory, const struct resource *resource);

/* As the backend's probe() of each. Sorts the list by repository. */
void worktree_branches_probe(const struct settings *settings, const struct worktree_memory *memory,
	struct resource **branches, size_t count, struct arena *arena);
