/*
 * The first turn of rmtree(): several threads take away what simply goes, before the walk, which
 * alone knows of errors, flags, modes, depth and what appears meanwhile, goes through what is left.
 * The MUSTs are in rmtree.h; private to rmtree_wall.c (scripts/lint-symbols) and its tests.
 */
#pragma once

#include "rmtree_walk.h"

/*
 * Removes what is in the directory as far as that is simple, and says nothing of what it leaves: that
 * is for rmtree_walk(), which has to follow. True: nothing was left, as rmdir(2) will confirm (with a
 * spare: all was read), so the walk can be left out. Ends by the deadline. Adds to *report while it
 * works, so that it is right for who reads it after a kill.
 */
bool rmtree_crew(const struct rmtree_top *top, struct rmtree_report *report);
