/*
 * Salvage as a commit in the owning repository (worktree_salvage.h says what is in it).
 *
 * MUST 1  Nothing that is there is changed: objects are added, and one ref that was free.
 * MUST 2  What was written is read back before it is answered for, and the tree is looked at once
 *         more: what changed meanwhile was not salvaged.
 * MUST 3  The ref is made last: an attempt that is killed before leaves unreferenced objects, one
 *         that is killed afterwards is taken over.
 * MUST 4  Everything written belongs to the owner of the repository.
 */
#pragma once

#include "settings.h"
#include "worktree_salvage_ref.h"
#include "worktree_sight.h"

struct salvage_ask {
	const struct sight *sight;
	const struct resource *resource;
	const struct settings *settings;
	int64_t file_max, total_max, deadline_ms;
	unsigned beyond; /* why a commit cannot hold it (enum work_beyond), as it was judged */
};

enum { SALVAGE_BRANCH_MAX = 512, SALVAGE_APART_MAX = 256 };

/* Flat, so that a child process can hand it over. */
struct salvage_committed {
	char ref[SALVAGE_REF_MAX], commit[GIT_OID_HEXSZ + 1];
	char branch[SALVAGE_BRANCH_MAX]; /* "": none */
	char apart[SALVAGE_APART_MAX];   /* what only an archive can hold; "": nothing */
	int64_t bytes;
	bool unwritable; /* it failed, and only because the repository cannot be used: the tree can */
};

/* 0 or -errno. */
int salvage_commit_make(
	const struct salvage_ask *ask, struct salvage_committed *committed, struct error *error);
