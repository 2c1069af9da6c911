/*
 * The programs of the site in a pass: which run is owed one, when it is run, and what is written down of
 * it. Its failure is the site's to mend, and keeps nothing from being killed or removed.
 *
 * MUST 1  A revocation is tried before anything of a run is touched, and never again once it is done for
 * the deadline that the run has: a run that was given more time was trusted with something anew.
 * MUST 2  What was tried is written down before anything else is begun; a hook that was run and not
 * written down is run again. MUST 3  While another run of that name is on record, nothing is revoked for
 * an earlier one: it would be the living one's.
 */
#pragma once

#include "base/error.h"
#include "model.h"
#include "settings.h"
#include "state/store.h"

struct hooks {
	const struct settings *settings;
	struct store *store;
	const char *pass;
	/* What hooks may still take of this part of a pass: one that hangs does so for every run. */
	int64_t left_ms;
	size_t leaving; /* did well, and left something behind that cannot be killed */
};

/* A part of a pass begins, with this much time for hooks. */
void hooks_begin(struct hooks *hooks, int64_t time_ms);

enum revocation { REVOCATION_NONE, REVOCATION_PENDING, REVOCATION_REVOKED, REVOCATION_FAILED };
const char *revocation_name(enum revocation revocation); /* "none" "pending" "revoked" "failed" */

/* How it stands with the credentials of a run; pending: the next pass that may act revokes them. */
enum revocation hooks_revocation(
	const struct settings *settings, const struct inventory *inventory, const struct run *run);

/* NULL: none is set. */
const char *hooks_program(const struct settings *settings, enum duty_kind kind);

/*
 * What a duty that is not done waits for: a pass that may act and has time; a person, since no hook is
 * set any more; the end of another run that has the name now (MUST 3); the end of its own run, which was
 * given more time since.
 */
enum duty_wait { DUTY_WAITS_PASS, DUTY_WAITS_HOOK, DUTY_WAITS_NAME, DUTY_WAITS_END, DUTY_WAITS };
enum duty_wait hooks_waits_for(const struct settings *settings, const struct inventory *inventory,
	const struct duty *duty);

/* When what failed is tried again; 0: at once. */
int64_t hooks_retry_s(const struct duty *duty, int64_t now_s);

/*
 * Revokes what a run was trusted with, by the row that was loaded, unless that is done, was tried a short
 * while ago or there is no time: then it stays owed. 1 tried, 0, -errno of the database.
 */
int hooks_revoke(struct hooks *hooks, const struct run *run, struct error *error);

/* When it is gone, a hook is to be run. 0, -errno of the database. */
int hooks_expect_after(struct hooks *hooks, const struct run *run, struct error *error);

/*
 * Before anything is taken apart: revokes for all whose time is over and that are kept, and what failed
 * before; nothing more once passes are held, which the inventory says then. 0, -errno of the database.
 */
int hooks_revoke_all(struct hooks *hooks, struct inventory *inventory, struct error *error);

/*
 * At the end: what is to be run for runs that are gone; `only` those that this pass was to take apart,
 * NULL: all. The inventory shows then what is left. 0, -errno of the database.
 */
struct plan;
int hooks_run_after(struct hooks *hooks, struct inventory *inventory, const struct plan *only,
	struct error *error);
