/* What a look at a tree found: counts, and the first of each sort in words. */
#pragma once

#include "base/text.h"
#include "model.h"

/* Why a commit in the owning repository cannot hold all that is unsaved. */
enum work_beyond {
	BEYOND_NESTED = 1 << 0, /* a repository within the tree, or of a submodule, goes with it */
	BEYOND_STATE =
		1 << 1,      /* git is in the middle of something, or refs of the worktree's own */
	BEYOND_LENT = 1 << 2 /* others borrow from it, so nothing can stand for it: it must stay */
};

struct findings {
	uint64_t unsaved; /* things whose content is nowhere else */
	char *first;      /* the first of them, escaped; NULL: none */
	uint64_t unpushed;
	char *first_unpushed;
	char *unknown;    /* the first thing that could not be told; NULL: none */
	int unknown_code; /* and its errno */
	unsigned beyond;  /* a set of enum work_beyond */
};

/* `path` is bytes of the run and is escaped here; `what` is ours, `code` a positive errno. */
void findings_unsaved(struct findings *findings, const char *path, const char *what);
void findings_unpushed(struct findings *findings, const char *path, const char *what);
void findings_unknown(struct findings *findings, int code, const char *what);

/* The answer, and a sentence for it in the arena; NULL when there is nothing to say. */
enum work findings_work(
	const struct findings *findings, struct arena *arena, const char **ret_note);
void findings_done(struct findings *findings);
