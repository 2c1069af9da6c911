/*
 * A pass that acts: what it leaves in the database before and after the runs themselves.
 */
#pragma once

#include "apply.h"
#include "report.h"
#include "session.h"

/*
 * The beginning: records the pass and its clocks, voids claims that were not begun, ends pins whose
 * time is up (with their mirrors) and a hold that has ended, notes what was seen for the first time
 * and whether the brake tripped. Of a pass that is asked to stop only what needs no look at the world.
 * Needs the pass lock.
 * 0, -errno.
 */
int pass_open(const struct session *session, const char *pass, const struct inventory *inventory,
	struct error *error);

/* The time of a pass: when it began (boot clock), and how much it has. */
struct pass_time {
	int64_t start_ms, budget_ms;
	struct progress *progress; /* that is told how far it is; NULL: none */
};

/*
 * Applies the plan until it is done, the deadline passes or a signal asks to stop; what is not
 * reached is deferred. When somebody holds all passes meanwhile, the rest is held. Each run has its
 * share of the time, those that had trouble before come after the others, those whose trees nobody has
 * looked into last, and what is left of the time goes, in more rounds, to those that need it. Puts
 * failures on the books; that a run had too little time is none. 0; -errno when the database failed,
 * after which nothing more is begun.
 */
int pass_apply(const struct session *session, const char *pass, const struct pass_time *time,
	const struct plan *plan, struct inventory *inventory, struct error *error);

/*
 * Ends what was salvaged longer than [policy] salvage_keep ago, and sweeps unfinished archives. Not
 * what is pinned, or whose tree is still there, nor anything while passes are held, or in one that
 * cannot see every .keep, or whose clock was stepped. One that cannot be ended is told to `failed`
 * and waits for the next pass. Needs the pass lock. 0; -errno when the database failed.
 */
int pass_end_salvages(const struct session *session, struct inventory *inventory,
	void (*failed)(void *context, const struct salvage *salvage, const struct error *error),
	void *context, struct error *error);

/*
 * The end: totals, exit code and blind sources; notes the sizes that were measured, and trims the
 * history. 0, -errno.
 */
int pass_close(const struct session *session, const struct report *report, enum exit_code code,
	struct error *error);
