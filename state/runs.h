/*
 * The rows of runs and their resources. All functions return -EBUSY when the database stayed
 * locked, -EIO, -ENOSPC, -EROFS, -EUCLEAN as SQLite reports them; only other answers are named.
 */
#pragma once

#include "model.h"
#include "store.h"

/*
 * Loads all rows: each becomes run->row of the inventory's run of that name, in its arena. `only`:
 * one run, or NULL for all. 0 or -errno.
 */
int runs_load(
	struct store *store, struct inventory *inventory, const char *only, struct error *error);

/* Notes when an unrecorded run (valid identifier) was first seen; keeps an older moment. 0. */
int runs_note_sighting(struct store *store, const char *run, int64_t now_s, struct error *error);

/* Fills facts.first_seen_s of all runs that were sighted. 0. */
int runs_load_sightings(struct store *store, struct inventory *inventory, struct error *error);

/* Forgets when a run was first seen. 0. */
int runs_drop_sighting(struct store *store, const char *run, struct error *error);

/* Forgets sightings of runs that the inventory does not show any more. 0. */
int runs_drop_sightings(
	struct store *store, const struct inventory *inventory, struct error *error);

/*
 * Registers a run, or adds resources to it. A new row gets the generation after the run's last
 * tombstone. Returns 1 registered or added, 0 the same was there already (or more), -EEXIST when it
 * contradicts the row (another creation time, time budget, tree, repository, branch, or finished
 * already; the error names both values), -EBUSY when the run is being taken apart, -EADDRINUSE when
 * another run has registered that resource (names it), -EINVAL. created_s and ttl_s 0: not given,
 * which is now and default_ttl_s for a new row, unchanged for an old one. Adding is a sign of life
 * at created_s where that is given, else now. Voids a claim that has not begun.
 */
int runs_register(struct store *store, const struct record *record, int64_t default_ttl_s,
	int64_t now_s, struct error *error);

/*
 * Sign of life now; ttl_s > 0: deadline = now + ttl. Voids a claim that has not begun. 1, -ENOENT,
 * -EALREADY finished, -EBUSY begun to be taken apart.
 */
int runs_renew(
	struct store *store, const char *run, int64_t now_s, int64_t ttl_s, struct error *error);

/*
 * Records the end; at_s 0: now. 1, 0 the same outcome is recorded already, -EEXIST another outcome
 * is, or another time than an at_s that is neither 0 nor now_s, -ENOENT no such run, -EBUSY begun
 * to be taken apart. Voids a claim that has not begun.
 */
int runs_finish(struct store *store, const char *run, enum outcome outcome, int64_t at_s,
	int64_t now_s, struct error *error);

/*
 * Drops the row with all its resources (locator NULL), or one resource. A tombstone "forgotten" is
 * written. Voids a claim that has not begun. 1, 0 there was none, -EBUSY begun to be taken apart.
 */
int runs_forget(struct store *store, const char *run, enum kind kind, const char *locator,
	int64_t now_s, struct error *error);

/* Notes that every engine answered and showed no container since the run's end. 0. */
int runs_note_engine_clear(
	struct store *store, const char *run, int64_t now_s, struct error *error);

/*
 * Claims. A pass claims a run before it proves the facts again; the claim is begun before the first
 * step that cannot be taken back. Each is one IMMEDIATE transaction that checks for a pin.
 *
 * runs_claim: 1; 1 also for a begun claim that a dead pass left, which becomes ours (the caller
 * holds the pass lock). -EPERM: pinned. -ESTALE: generation or row changed since it was loaded, or
 * the run was renewed or finished meanwhile. -EADDRINUSE: another run has registered what this one
 * without a row seems to own. A run without a row gets one, marked unregistered, with the proven
 * resources of the inventory's run, so that the next pass still knows what was claimed. A begun
 * claim to reap stays one, also when the goal is to stop.
 */
int runs_claim(struct store *store, const char *pass, const struct run *run, enum claim goal,
	int64_t now_s, struct error *error);

/*
 * 1; -EPERM pinned meanwhile, -ESTALE the claim is not ours any more (voided by a pin, a renewal),
 * or another run was registered meanwhile whose tree or path is, holds, or lies in one of this run's.
 */
int runs_begin(struct store *store, const char *pass, const char *run, enum claim goal,
	int64_t now_s, struct error *error);

/* Gives a claim back, begun or not; a row that runs_claim made goes. 0. */
int runs_release(struct store *store, const char *pass, const char *run, struct error *error);

/* Voids all claims that were not begun; called at the start of a pass, under its lock. 0. */
int runs_void_claims(struct store *store, struct error *error);

/*
 * Ends a claim, begun or not; a row that a claim made stays until the next pass opens. The caller
 * holds the pass lock, so that no pass works on the run. 0.
 */
int runs_end_claim(struct store *store, const char *run, struct error *error);

/* Drops a row that a claim made, begun or not, and its failures; a registered one stays. 1, 0 there
 * was none. */
int runs_drop_claimed(struct store *store, const char *run, struct error *error);

/*
 * The end of a run, in one transaction with its entry in the history: reaped (row, resources and
 * sighting go, the tombstone remains, and what was salvaged from it counts as made now), or stopped
 * (recorded as failed at now, the claim ends). 0; -ESTALE the claim is not this pass's.
 */
int runs_reaped(struct store *store, const char *pass, const struct run *run, int64_t now_s,
	struct error *error);
int runs_stopped(struct store *store, const char *pass, const struct run *run, int64_t now_s,
	struct error *error);
