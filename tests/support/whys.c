#include "whys.h"

#include "unit.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

static const struct policy_settings policy = {
	.ttl_s = DAY,
	.lease_s = 15 * MINUTE,
	.deadline_grace_s = 5 * MINUTE,
	.keep_ok_s = 10 * MINUTE,
	.keep_failed_s = DAY,
	.keep_abandoned_s = DAY,
	.keep_orphan_s = DAY,
	.pin_for_s = 14 * DAY,
	.unsaved = UNSAVED_SALVAGE,
	.salvage_keep_s = 30 * DAY,
};

/* One that is registered, quiet, and long past its deadline: `abandoned` unless something else holds. */
static void fill_abandoned(struct whys *whys)
{
	struct facts *facts = &whys->run->facts;
	const struct resource tree = {
		.kind = KIND_WORKTREE,
		.proof = PROOF_ROW,
		.locator = "/srv/sbx/workspaces/r1",
		.repo = "/srv/git/app.git",
		.record = "/srv/git/app.git/worktrees/r1",
	};

	whys->row = (struct record){ .run = "r1", .registered = true };
	whys->run->row = &whys->row;
	whys->run->root = "/srv/sbx/workspaces";
	facts->recorded = facts->proven = true;
	facts->created_s = facts->last_sign_s = WHYS_NOW_S - 9 * DAY;
	facts->deadline_s = WHYS_NOW_S - 8 * DAY;
	facts->live = TRI_NO;
	facts->work = WORK_CLEAN;
	whys->row.created_s = whys->row.last_sign_s = facts->created_s;
	whys->row.deadline_s = facts->deadline_s;
	whys->run->age_from = "row";
	whys->run->age_since_s = facts->created_s;
	run_add_resource(&whys->inventory, whys->run, &tree)->present = TRI_YES;
}

static struct resource *add_process(struct whys *whys, unsigned proof)
{
	const struct resource process = {
		.kind = KIND_PROCESS,
		.proof = proof,
		.locator = "4711",
		.note = proof ? NULL : "node server.js: working directory in its tree",
	};
	struct resource *added = run_add_resource(&whys->inventory, whys->run, &process);

	added->alive = added->present = TRI_YES;
	return added;
}

static void fill_kept_by_person(struct whys *whys, enum reason reason)
{
	struct run *run = whys->run;

	if (reason == REASON_PINNED) {
		whys->noted = (struct size_note){ .bytes = 812 << 20, .at_s = WHYS_NOW_S - MINUTE };
		run->noted = &whys->noted;
		whys->pin =
			(struct pin){ .run = "r1", .by = "anna", .until_s = WHYS_NOW_S + 3 * DAY };
		run->pin = &whys->pin;
		run->facts.pin = PIN_HELD;
	} else if (reason == REASON_PIN_UNKNOWN) {
		run->keep_path = "/srv/sbx/workspaces/r1.keep";
		run->facts.pin = PIN_UNREADABLE;
	} else {
		run->resources[0].lock = LOCK_HELD;
		run->facts.locked = true;
	}
}

static void fill_alive(struct whys *whys, int64_t deadline_s, unsigned proof)
{
	struct facts *facts = &whys->run->facts;

	facts->last_sign_s = WHYS_NOW_S - MINUTE;
	facts->deadline_s = deadline_s;
	facts->live = TRI_YES;
	facts->live_is_own = true;
	whys->row.last_sign_s = facts->last_sign_s;
	whys->row.deadline_s = deadline_s;
	facts->occupied = proof == PROOF_NONE;
	(void)add_process(whys, proof);
}

static void fill_finished(struct whys *whys, enum outcome outcome, int64_t ago_s)
{
	whys->run->facts.finished_s = WHYS_NOW_S - ago_s;
	whys->run->facts.outcome = outcome;
	whys->run->bytes = outcome == OUTCOME_OK ? 4096 : -1;
	whys->run->bytes_least = outcome == OUTCOME_OK ? 0 : 1 << 30;
	whys->row.finished_s = whys->run->facts.finished_s;
	whys->row.outcome = outcome;
}

static void fill_unsaved(struct whys *whys)
{
	whys->run->facts.work = WORK_DIRTY;
	whys->run->facts.salvage_failed_s = WHYS_NOW_S - MINUTE;
	whys->run->work_note = "2 files are changed: src/parse.c, src/lex.c";
}

static void fill_unrecorded(struct whys *whys, bool proven)
{
	struct facts *facts = &whys->run->facts;

	whys->run->row = NULL;
	whys->run->resources[0].proof = proven ? PROOF_ADOPTED : PROOF_NONE;
	whys->run->age_from = "first seen";
	whys->run->age_since_s = WHYS_NOW_S - 2 * DAY;
	*facts = (struct facts){ .proven = proven, .live = TRI_NO, .work = WORK_CLEAN };
	facts->first_seen_s = WHYS_NOW_S - 2 * DAY;
}

/* By rules 9 to 11: what an own decision becomes. */
static void fill_limits(struct whys *whys, enum reason reason)
{
	struct run *run = whys->run;

	whys->hold = (struct hold){
		.by = "ada", .since_s = WHYS_NOW_S - MINUTE, .until_s = WHYS_NOW_S + HOUR
	};
	if (reason == REASON_HELD)
		whys->inventory.hold = &whys->hold;
	if (reason == REASON_BRAKE)
		whys->inventory.brake =
			(struct brake){ .state = BRAKE_HOLDS, .until_s = WHYS_NOW_S + 15 * MINUTE };
	whys->failures =
		(struct failures){ WHYS_NOW_S - HOUR, 2, WHYS_NOW_S, "device or resource busy" };
	if (reason == REASON_BACKOFF) {
		run->failures = &whys->failures;
		run->decision.due_s = WHYS_NOW_S + 5 * MINUTE;
	}
	run->decision.verdict = reason >= REASON_OVER_DEADLINE ? VERDICT_REAP : VERDICT_KEEP;
	run->decision.reason = reason;
	run->decision.rule = 9;
}

static void fill(struct whys *whys, enum reason reason)
{
	struct facts *facts = &whys->run->facts;

	switch (reason) {
	case REASON_PINNED:
	case REASON_PIN_UNKNOWN:
	case REASON_LOCKED:
		fill_kept_by_person(whys, reason);
		break;
	case REASON_LIVE:
		fill_alive(whys, WHYS_NOW_S + HOUR, PROOF_NONE);
		break;
	case REASON_OVER_DEADLINE:
		fill_alive(whys, WHYS_NOW_S - HOUR, PROOF_ROW);
		break;
	case REASON_RETAINED:
		fill_finished(whys, OUTCOME_FAILED, HOUR);
		break;
	case REASON_FINISHED_OK:
	case REASON_PRESSURE:
		fill_finished(whys, OUTCOME_OK, HOUR);
		break;
	case REASON_FINISHED_FAILED:
		fill_finished(whys, OUTCOME_FAILED, 2 * DAY);
		break;
	case REASON_REQUESTED:
		fill_finished(whys, OUTCOME_FAILED, HOUR);
		facts->requested = true;
		break;
	case REASON_UNKNOWN:
		facts->blind = true;
		whys->run->fault = "containers at unix:///run/podman/podman.sock: refused";
		break;
	case REASON_UNSAVED_WORK:
		fill_unsaved(whys);
		break;
	case REASON_FOREIGN:
	case REASON_ORPHAN:
		fill_unrecorded(whys, reason == REASON_ORPHAN);
		break;
	case REASON_REFUSED:
		facts->refused = true;
		whys->run->fault = "its tree is not the one that was registered";
		break;
	case REASON_CLOCK:
		facts->created_s = WHYS_NOW_S + HOUR;
		break;
	case REASON_RESUMED:
		facts->claim = CLAIM_BEGUN_REAP;
		break;
	case REASON_HELD:
	case REASON_BRAKE:
	case REASON_BACKOFF:
	case REASON_CHANGED:
	case REASON_FILTERED:
	case REASON_DEFERRED:
	case REASON_ABANDONED:
	case REASON_COUNT:
		break;
	}
}

struct why_subject whys_subject(const struct whys *whys)
{
	return (struct why_subject){ whys->run, &whys->inventory, &whys->settings, "" };
}

void whys_make(struct whys *ret_whys, enum reason reason)
{
	struct question question;
	struct why_subject subject;

	*ret_whys = (struct whys){ .inventory.now_s = WHYS_NOW_S, .settings.policy = policy };
	ret_whys->settings.disk = (struct disk_settings){ 85, 75 };
	ret_whys->run = inventory_run(&ret_whys->inventory, "r1");
	fill_abandoned(ret_whys);
	fill(ret_whys, reason);
	subject = whys_subject(ret_whys);
	question = why_question(&subject);
	ret_whys->run->decision = policy_decide(&question);
	if (ret_whys->run->decision.reason != reason)
		fill_limits(ret_whys, reason);
	/* What the policy alone decides must have come from it. */
	if (reason <= REASON_CLOCK || (reason >= REASON_OVER_DEADLINE && reason != REASON_PRESSURE))
		assert_int_not_equal(ret_whys->run->decision.rule, 9);
}
