/*
 * What stands beside the workspaces of all roots: markers (<root>/<run>.sbx) and pins
 * (<root>/<run>.keep). state/marker.h reads and writes one of them; here is where they are.
 */
#pragma once

#include "base/error.h"
#include "model.h"

/*
 * The trusted marker of a run, in whichever root it lies. 1, 0 there is none; -EEXIST there is more
 * than one; any other answer: one is there and cannot be trusted. Points into settings and arena.
 */
int beside_find_marker(const struct settings *settings, const char *run, struct arena *arena,
	const char **ret_root, struct record **ret_record, struct error *error);

/*
 * The root that a run's marker and pin belong to: that of its registered worktree, else that of its
 * marker, else one that has a directory of its name, else the first. `row` may be NULL. NULL: there
 * is no root at all, or it may be one that cannot be opened now: a marker in another one would be
 * the second of its run. Points into settings.
 */
const char *beside_root(const struct settings *settings, const char *run, const struct record *row);

/*
 * Writes what a row says as the marker of its run. A marker has no deadline of its own, so its ttl
 * says it; where the marker that was there (or NULL) ends later, it goes on doing so. 0 or -errno.
 */
int beside_write_marker(const char *root_path, const struct record *row,
	const struct record *marker, struct error *error);

/* Whether anything of that name stands in a root: a marker, or the workspace itself. */
bool beside_known(const struct settings *settings, const char *run);

/*
 * Calls back for each entry of a root that ends so (".sbx", ".keep"), with what stands before it,
 * which need not be a valid identifier. A negative answer ends it and is returned. 0 or -errno.
 */
typedef int beside_entry(void *context, int root, const char *root_path, const char *run);
int beside_each(const char *root_path, const char *ending, beside_entry *each, void *context,
	struct error *error);

/* Removes <root>/<run>.sbx, or .keep, in every root. The number removed, or -errno: the first
 * error, after having tried them all. */
int beside_remove_markers(const struct settings *settings, const char *run, struct error *error);
int beside_remove_keeps(const struct settings *settings, const char *run, struct error *error);
