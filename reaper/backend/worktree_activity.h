/*
 * Signs of life that git's own record of a worktree or branch shows: when its files were last written.
 * Evidence of life only: that there is none proves nothing. Births are not asked: a copied or restored
 * repository has new ones, and what they could show the times of change show as well.
 */
#pragma once

#include "base/base.h"

/* Of a linked worktree, by its admin directory ("<repo>/worktrees/NAME"). 0: nothing can be told. */
int64_t worktree_record_active_s(const char *record);

/* Of a branch (short name) of a common git directory. 0: nothing can be told. */
int64_t worktree_branch_active_s(const char *common, const char *branch);
