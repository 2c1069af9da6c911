/*
 * Questions that the library answers, asked in an errand (os/errand.h): a repository may be hung,
 * endless or cut under our feet, and a library that is shown one may crash. Then the answer is
 * unknown, with a note that says so, and the pass goes on. Nothing of the library is open in the pass
 * itself.
 */
#pragma once

#include "worktree_branch.h"
#include "worktree_work.h"

/*
 * What is asked of one repository gets a part of a pass's time, so that it cannot take all of it from
 * the others.
 */
int64_t worktree_ask_ms(const struct settings *settings);

/*
 * As worktree_work_judge(), of a place that need have neither `gits` nor `mounts`, and a deadline.
 * Its census is brought up to date first, so that it is gathered once and not once for each tree.
 */
void worktree_ask_work(const struct worktree_place *place, struct arena *arena,
	struct worktree_judgement *ret_judgement);

/*
 * As worktree_branch_look() of each, without `gits` and `peers`, in one child as long as that comes back:
 * one at which it hangs or dies is unseen, and the rest is asked by another. Those of one repository
 * are best asked in a row. So long each may take, a quarter less when it follows slow ones.
 */
void worktree_ask_branches(const struct branch_ask *asks, size_t count, int64_t each_ms,
	struct arena *arena, struct branch_view *ret_views);

/*
 * worktree_identify() (worktree_identify.h): where the .git of a tree leads is the run's word, and
 * nobody may answer there. 0, -errno of it, -ETIME.
 */
int worktree_ask_identity(const struct settings *settings, int64_t deadline_ms,
	struct resource *resource, struct arena *arena, struct error *error);
