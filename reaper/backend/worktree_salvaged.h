/*
 * What was salvaged before, as it is found now: in a repository, or in the directory of archives.
 * Read only.
 */
#pragma once

#include "backend.h"

#define SALVAGE_REFS "refs/sbx/salvage/"

/*
 * Whether all of it is where the books say: its ref at its commit, its archive a file (whose content
 * is not read). With no or unknown *ret_note, in the arena, says what is amiss.
 */
enum tri worktree_salvaged_present(
	const struct salvage *salvage, struct arena *arena, const char **ret_note);

/*
 * Calls back for each salvage that the refs of a repository (as configured) tell of, and for each of
 * an open directory of archives, known as `path`; strings are good for the call. What does not say
 * whose it is (no run, another one than its name does) is passed by, and so is what cannot be read:
 * `odd` is called with the reason. A negative answer ends it and is returned. 0; -ENOENT no such
 * repository; -errno.
 */
struct salvaged_finder {
	int (*found)(void *context, const struct salvage *salvage);
	void (*odd)(void *context, const char *where, const char *why);
	void *context;
};

int worktree_salvaged_refs(
	const char *repo, const struct salvaged_finder *finder, struct error *error);
int worktree_salvaged_archives(
	int dir, const char *path, const struct salvaged_finder *finder, struct error *error);

/* What the message of a salvage's commit says (worktree_salvage.h); NULL or 0: nothing. */
struct salvage_trailers {
	const char *run, *tree, *branch, *index, *tip, *state;
	int64_t generation;
};

/* Strings in the arena. Escapes of tree and branch are undone. */
void worktree_salvage_trailers(
	const char *message, struct arena *arena, struct salvage_trailers *ret_trailers);

/* Where archives are: "salvage" beside the database. The caller owns it. */
char *worktree_salvage_directory(const struct settings *settings);

/* Whether a name ("r1", "r1,7.2", "r1,7.tar.zst") of a ref or an archive is one of this run's. */
bool worktree_salvage_name_is_of(const char *name, const char *run);
