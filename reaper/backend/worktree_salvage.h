/*
 * Unsaved work, kept before its tree goes (DESIGN.md, section 6).
 *
 * As a commit in the owning repository, under refs/sbx/salvage/<run>: its tree is the files as they
 * are, byte for byte, without what the tree's .gitignore files ignore; its first parent is HEAD. Its
 * message is "Salvaged from <tree>", and then one line each of
 *	Sbx-Run: <run>            Sbx-Generation: <n>         Sbx-Tree: <tree, escaped>
 *	Sbx-Branch: <name>        the branch that HEAD was on, when there was one
 *	Sbx-Index: <commit>       a further parent: a commit of the index, whose parent is HEAD; when the
 *	                          index holds what neither HEAD nor the files do, or is staged otherwise
 *	Sbx-Tip: <commit>         a further parent: where the run's branch stands, when HEAD has not all
 *	                          of it
 *	Sbx-State: <commit>       a further parent, while a merge, rebase, bisect or the like is in
 *	                          progress, or paths conflict: below "state/" what git keeps of it
 *	                          beside HEAD, below "stages/1/" to "stages/3/" the sides of conflicts;
 *	                          its parents are the commits that it names and nothing else has
 * Where that ref is taken by something else (an earlier run of that name) it is
 * refs/sbx/salvage/<run>,<generation>, then ….2, ….3: a comma cannot stand in a run identifier. The
 * newest is the highest.
 *
 * As an archive, <directory of the database>/salvage/<run>,<generation>.tar.zst (os/archive.h),
 * where there is no repository, the library cannot write to it, or repositories are nested in the
 * tree: below "tree/" the files (nested repositories with all that is in their .git, also in ignored
 * directories), below "record/" git's record of a linked worktree, with its index and the
 * repositories of its submodules. Where repositories are nested in a worktree of a repository that
 * can be written, both are made: the commit holds HEAD, index and files, the archive all files and
 * the nested repositories; the form is "archive" then, and ref and commit are given as well.
 *
 * The owner of the common git directory owns what is written into it, its directories have the
 * permissions of "objects". Nothing is run, and nothing in the workspace is written.
 */
#pragma once

#include "effects.h"

struct sight;
struct worktree_judgement;

#define SALVAGE_FILE_MAX (INT64_C(1) << 30)  /* bytes of one file */
#define SALVAGE_TOTAL_MAX (INT64_C(4) << 30) /* bytes of all that is salvaged from one tree */

/*
 * The effect (effects.h) of one tree that was looked at and judged. The caller holds no repository
 * open: a child closes what it did not open, also the packs of one that is held.
 */
int worktree_salvage(const struct sight *sight, const struct worktree_judgement *judgement,
	const struct resource *resource, const struct settings *settings, struct effort *effort,
	struct arena *arena, struct salvage *ret_salvage, struct error *error);
