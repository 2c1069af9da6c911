/*
 * What was told of that lies where nobody answers (os/answering.h).
 */
#pragma once

#include "model.h"

/*
 * Sets `silent` of every told resource whose place, or whose repository, does not answer: of those in
 * configured places by what was found when the settings were read, of other repositories by asking.
 * Notes those as the source "worktrees". To be called before any of it is touched.
 */
void told_silence(struct inventory *inventory, const struct settings *settings);
