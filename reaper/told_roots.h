/*
 * Reads what stands beside the workspaces: the markers and pins of all roots.
 */
#pragma once

#include "model.h"

/*
 * Sets marker, marker_path, keep_path and pin of every run that has such a file (`only`: of one
 * run; NULL: of all). A marker that cannot be trusted refuses its run, a pin that cannot be read
 * makes it unreadable; neither counts as missing. Notes one source "markers" for each root, lost
 * ones too.
 */
void told_read_roots(
	struct inventory *inventory, const struct settings *settings, const char *only);
