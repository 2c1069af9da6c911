/* What is recorded about a worktree when its run is registered, before the run can touch it. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model.h"

/* As backend.h says of identify(), for worktrees and branches. */
int worktree_identify(const struct settings *settings, struct resource *resource,
	struct arena *arena, struct error *error);
