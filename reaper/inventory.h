/*
 * Joins what was told with what is seen, run by run, and lets the policy say what follows. Changes
 * nothing: the same code serves a dry run and a real one.
 */
#pragma once

#include "base/error.h"
#include "policy.h"
#include "progress.h"
#include "world.h"

enum size_wish { SIZE_SKIP, SIZE_MEASURE };
enum work_wish { WORK_WHERE_IT_DECIDES, WORK_LEAVE };

struct inventory_request {
	const char *only; /* one run; NULL: all */
	const struct text_list
		*early; /* runs that a person asked for with --run … --early; NULL: none */
	const struct text_list
		*chosen; /* the runs that --run chose: no other is looked into; NULL, empty: all */
	int64_t now_s;   /* the moment to decide for; 0: now */
	enum size_wish size;
	enum work_wish work;
	struct progress *progress; /* NULL: nobody wants to know */
	const char *
		explain; /* the run of which everything is asked, also what decides nothing; NULL */
};

/*
 * Gathers into an empty inventory, decides every run and sorts the runs by identifier. Trees are
 * looked into where that decides, unless rule 9 leaves their run alone anyway, and for a quarter of
 * [limits] time_budget: the rest has facts.work_unasked. When we are asked to stop (os/signals.h) it
 * looks at nothing any more, and what is unknown may only be unseen. 0; -errno when the database
 * failed (then nothing may be decided). inventory_done is right in any case.
 */
int inventory_gather(struct inventory *inventory, const struct world *world,
	const struct inventory_request *request, struct error *error);

/*
 * Asks again, for one run, what its trees hold that is saved nowhere else. What is not told by the
 * deadline (boot clock, ms) is unknown.
 */
enum work inventory_ask_work(struct inventory *inventory, const struct world *world,
	const struct run *run, int64_t deadline_ms, const char **ret_note);

/* What the policy is asked of a run of the inventory, at the moment of that. Borrows from all three. */
struct question inventory_question(
	const struct inventory *inventory, const struct world *world, const struct run *run);

/*
 * For a run with facts.work_unasked whose turn has come: looks into its trees until the deadline of
 * that turn, and decides it anew.
 */
void inventory_ask_in_turn(struct inventory *inventory, const struct world *world, struct run *run,
	int64_t deadline_ms);

/*
 * Asks again whether anybody works in the trees of a run who is not the run's own: 0 when nobody
 * does, -EBUSY with an error that names the process, -EIO when it cannot be told.
 */
int inventory_ask_processes(struct inventory *inventory, const struct world *world, struct run *run,
	struct error *error);

/*
 * Looks closer at a run for rule 10: what becomes of it when it is pressed (run->pressed), with its
 * unsaved work asked for if that decides, and what it takes on disk. What is not done by the
 * deadline (boot clock, ms) counts as nothing, and as no reason to go.
 */
void inventory_look_closer(struct inventory *inventory, const struct world *world, struct run *run,
	int64_t deadline_ms);

/* Looks at every resource of a run again. */
void inventory_probe(struct inventory *inventory, const struct world *world, struct run *run);
