/*
 * Who else names a tree, its repository or its record: what stands directly in the roots, the
 * repositories that are configured or recorded, and git's records in those. Gathered when it is first
 * asked and good for a few seconds, so that a pass over many runs looks once and not once for each.
 * Only ever a reason to keep or to tell: nothing is removed by it.
 */
#pragma once

#include "model.h"
#include "settings.h"
#include "worktree_answers.h"
#include "worktree_record.h"

struct census_claim;
struct census_link;
struct census_record;

struct worktree_census {
	const struct settings *settings;
	struct text_list repos; /* configured ones, and recorded ones as far as they were told */
	struct text_list seen;  /* the common directories whose records were read */
	struct answers answers; /* of what trees and repositories name */
	size_t looked;          /* so many of them were looked at */
	int64_t good_until_ms;  /* boot clock; 0: not taken yet */
	struct arena arena;     /* of what follows */
	struct census_claim *claims;
	struct census_record *records;
	struct census_link *links;
	struct error blind; /* what could not be looked at; code 0: nothing */
};

/* Tells of a repository (a common git directory) that a run has on record. */
void worktree_census_tell(struct worktree_census *census, const char *common);
/* Gathers it now, unless it is good still. */
void worktree_census_look(struct worktree_census *census);
/* The next question looks anew. */
void worktree_census_expire(struct worktree_census *census);
void worktree_census_done(struct worktree_census *census);

/*
 * Whether a repository elsewhere borrows objects (objects/info/alternates, also through others) from
 * what lies at or below `tree`, or a worktree elsewhere belongs to a repository in it. 1 with its path
 * in the arena, 0, -errno when a place where there may be one cannot be read: that is no 0. Seen are
 * the trees directly in the roots and the known repositories; what is on another mount is not. What a
 * tree names on a mount that does not answer counts as what it says and no more, or one tree could
 * keep all others for ever: what remains is a place there that itself leads back to `tree`, by a
 * symlink or by what it borrows.
 */
int worktree_census_borrower(struct worktree_census *census, const char *tree, struct arena *arena,
	const char **ret_borrower, struct error *error);

/* A tree, and the record of `common` that is about to go with it. */
struct census_candidate {
	const char *common, *tree;
	const struct worktree_record *record;
};

/*
 * Whether somebody else claims what the tree is about to take along: another record of the repository
 * that names the tree too, or, of a record that names no tree itself, another tree whose .git names
 * it. *ret_note, in the arena, says who, or what was unseen. A record that names its tree needs but
 * its repository seen; one that does not needs all places seen.
 */
enum tri worktree_census_rival(struct worktree_census *census,
	const struct census_candidate *candidate, struct arena *arena, const char **ret_note);

/*
 * What in the owning repository will point at nothing when the tree is gone: a symlink in its main
 * working tree (two levels deep), a core.worktree of it or of a submodule. A sentence in the arena, or
 * NULL.
 */
const char *worktree_census_inbound(
	struct worktree_census *census, const char *common, const char *tree, struct arena *arena);
