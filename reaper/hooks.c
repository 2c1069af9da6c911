#include "hooks.h"

#include "base/clock.h"
#include "inventory.h"
#include "os/hook.h"
#include "os/signals.h"
#include "pass_hold.h"
#include "plan.h"
#include "policy.h"
#include "policy_limit.h"
#include "state/duties.h"
#include "state/runs.h"

#include <errno.h>

/* The last wait between two tries is that after so many: 40 minutes. A credential is alive meanwhile. */
enum { RETRIES_COUNTED = 5 };

void hooks_begin(struct hooks *hooks, int64_t time_ms)
{
	if (hooks)
		hooks->left_ms = time_ms;
}

const char *revocation_name(enum revocation revocation)
{
	static const char *const names[] = {
		[REVOCATION_NONE] = "none",
		[REVOCATION_PENDING] = "pending",
		[REVOCATION_REVOKED] = "revoked",
		[REVOCATION_FAILED] = "failed",
	};

	return names[revocation];
}

int64_t hooks_retry_s(const struct duty *duty, int64_t now_s)
{
	int64_t count = duty->count < RETRIES_COUNTED ? duty->count : RETRIES_COUNTED;

	return duty->state == DUTY_FAILED ? policy_retry_s(count, duty->last_s, now_s) : 0;
}

/* ------------------------------------------------------------------------------------ what is owed */

/* A run that is kept though its time is over. What nobody can be sure of, or may act on, is left out. */
static bool kept_for_good_reason(enum reason reason)
{
	switch (reason) {
	case REASON_PINNED:
	case REASON_PIN_UNKNOWN:
	case REASON_LOCKED:
	case REASON_LIVE:
	case REASON_RETAINED:
	case REASON_UNKNOWN:
	case REASON_UNSAVED_WORK:
	case REASON_BACKOFF:
	case REASON_DEFERRED:
		return true;
	case REASON_FOREIGN:
	case REASON_REFUSED:
	case REASON_CLOCK:
	case REASON_HELD:
	case REASON_BRAKE:
	case REASON_CHANGED:
	case REASON_FILTERED:
	case REASON_OVER_DEADLINE:
	case REASON_FINISHED_OK:
	case REASON_FINISHED_FAILED:
	case REASON_ABANDONED:
	case REASON_ORPHAN:
	case REASON_PRESSURE:
	case REASON_REQUESTED:
	case REASON_RESUMED:
	case REASON_COUNT:
		break;
	}
	return false;
}

static bool credentials_end(
	const struct settings *settings, const struct inventory *inventory, const struct run *run)
{
	const struct question question = {
		.facts = &run->facts,
		.host = &inventory->host,
		.settings = &settings->policy,
		.now_s = inventory->now_s,
	};

	return policy_credentials_end(&question);
}

/* Of a run that only a marker tells of, each claim makes another row: it waits for that. */
static bool is_over(
	const struct settings *settings, const struct inventory *inventory, const struct run *run)
{
	return run->row && run->row->registered && kept_for_good_reason(run->decision.reason) &&
	       credentials_end(settings, inventory, run);
}

const char *hooks_program(const struct settings *settings, enum duty_kind kind)
{
	return kind == DUTY_REVOKE ? settings->hooks.revoke : settings->hooks.after;
}

/* The run on record that has its name; NULL: none. */
static const struct run *bearer_of(const struct inventory *inventory, const struct duty *duty)
{
	const struct run *run = inventory_find(inventory, duty->run);

	return run && run->result != RESULT_REAPED && (run->row || run->facts.recorded) ? run
											: NULL;
}

static bool is_of(const struct duty *duty, const struct run *run)
{
	return run->row && run->row->generation == duty->generation;
}

enum duty_wait hooks_waits_for(
	const struct settings *settings, const struct inventory *inventory, const struct duty *duty)
{
	const struct run *run = bearer_of(inventory, duty);

	if (!hooks_program(settings, duty->kind))
		return DUTY_WAITS_HOOK;
	if (duty->kind != DUTY_REVOKE || !run)
		return DUTY_WAITS_PASS;
	if (!is_of(duty, run))
		return DUTY_WAITS_NAME;
	return run->decision.verdict != VERDICT_KEEP || credentials_end(settings, inventory, run)
		       ? DUTY_WAITS_PASS
		       : DUTY_WAITS_END;
}

enum revocation hooks_revocation(
	const struct settings *settings, const struct inventory *inventory, const struct run *run)
{
	if (run->revocation && run->revocation->state == DUTY_DONE)
		return REVOCATION_REVOKED;
	if (run->revocation && run->revocation->state == DUTY_FAILED)
		return REVOCATION_FAILED;
	if (run->revocation)
		return REVOCATION_PENDING;
	if (!settings->hooks.revoke || run->result == RESULT_REAPED)
		return REVOCATION_NONE;
	return run->decision.verdict != VERDICT_KEEP || is_over(settings, inventory, run)
		       ? REVOCATION_PENDING
		       : REVOCATION_NONE;
}

static struct duty duty_of(const struct run *run, enum duty_kind kind, int64_t now_s)
{
	return (struct duty){
		.run = run->id,
		.generation = run->row->generation,
		.deadline_s = kind == DUTY_REVOKE ? run->facts.deadline_s : 0,
		.kind = kind,
		.since_s = now_s,
		.reason = reason_name(run->decision.reason),
		.outcome = run->facts.outcome,
		.root = run->root,
	};
}

/* -------------------------------------------------------------------------------------- running one */

enum { VARIABLES = 8 };

/* All that it gets. What is not known is left out. In the arena. */
static void environment_fill(
	char *environment[VARIABLES + 1], const struct duty *duty, struct arena *arena)
{
	const char *outcome = outcome_name(duty->outcome);
	size_t count = 0;

	environment[count++] = arena_dup(
		arena, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	environment[count++] = arena_printf(arena, "SBX_HOOK=%s", duty_name(duty->kind));
	environment[count++] = arena_printf(arena, "SBX_RUN=%s", duty->run);
	environment[count++] =
		arena_printf(arena, "SBX_GENERATION=%lld", (long long)duty->generation);
	environment[count++] = arena_printf(arena, "SBX_REASON=%s", duty->reason);
	environment[count++] = arena_printf(arena, "SBX_TRY=%lld", (long long)duty->count + 1);
	if (outcome)
		environment[count++] = arena_printf(arena, "SBX_OUTCOME=%s", outcome);
	if (duty->root)
		environment[count++] = arena_printf(arena, "SBX_ROOT=%s", duty->root);
	assert(count <= VARIABLES);
}

static int run_program(struct hooks *hooks, const struct duty *duty, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *environment[VARIABLES + 1] = { NULL };
	int64_t limit_ms = hooks->settings->limits.hook_timeout_ms;
	const struct hook hook = {
		.path = hooks_program(hooks->settings, duty->kind),
		.environment = environment,
		.timeout_ms = limit_ms < hooks->left_ms ? limit_ms : hooks->left_ms,
	};
	int64_t began_ms = clock_boot_ms();
	int r;

	environment_fill(environment, duty, &arena);
	r = hook_run(&hook, error);
	hooks->leaving += r > 0;
	hooks->left_ms -= clock_boot_ms() - began_ms;
	return r;
}

/* Runs it and writes down what came of it (MUST 2). 1 tried, 0 it is owed still, -errno. */
static int do_duty(struct hooks *hooks, const struct duty *owed, struct error *error)
{
	struct duty duty = *owed;
	struct error why = { 0 };
	int r = -EINTR;

	if (hooks->left_ms > 0 && !signals_stop_wanted())
		r = run_program(hooks, &duty, &why);
	if (r == -EINTR)
		return duties_expect(hooks->store, &duty, error);
	duty.state = r < 0 ? DUTY_FAILED : DUTY_DONE;
	duty.count = r < 0 ? duty.count + 1 : 0;
	duty.last_s = clock_wall_s();
	duty.error = r < 0 ? why.text : r > 0 ? HOOK_LEFT : NULL;
	r = duties_set(hooks->store, &duty, hooks->pass, error);
	return r < 0 ? r : 1;
}

int hooks_revoke(struct hooks *hooks, const struct run *run, struct error *error)
{
	const struct duty *known = run->revocation;
	int64_t now_s = clock_wall_s();
	struct duty duty;

	if (!hooks || !hooks->settings->hooks.revoke || !run->row)
		return 0;
	if (known && (known->state == DUTY_DONE || hooks_retry_s(known, now_s) > now_s))
		return 0;
	duty = known ? *known : duty_of(run, DUTY_REVOKE, now_s);
	return do_duty(hooks, &duty, error);
}

int hooks_expect_after(struct hooks *hooks, const struct run *run, struct error *error)
{
	struct duty duty;

	if (!hooks || !hooks->settings->hooks.after || !run->row)
		return 0;
	duty = duty_of(run, DUTY_AFTER, clock_wall_s());
	return duties_expect(hooks->store, &duty, error);
}

/* ---------------------------------------------------------------------------------- all in their turn */

/*
 * MUST 3. One that is there is revoked here only when it is kept though it is over: what is due is
 * revoked when it is taken apart, and what was renewed since is alive.
 */
static bool may_revoke(
	const struct hooks *hooks, const struct inventory *inventory, const struct duty *duty)
{
	const struct run *run = bearer_of(inventory, duty);

	return !run || (is_of(duty, run) && is_over(hooks->settings, inventory, run));
}

static bool is_same(const struct record *now, const struct record *then)
{
	if (!now || !then)
		return now == then;
	return now->generation == then->generation && now->finished_s == then->finished_s &&
	       now->deadline_s == then->deadline_s;
}

/* All was looked at a while ago, and each hook takes its time. 1, 0, -errno. */
static int is_held(struct hooks *hooks, struct inventory *inventory, struct error *error)
{
	int r = pass_look_for_hold(hooks->store, inventory, error);

	return r < 0 ? r : inventory->hold != NULL;
}

/*
 * Whether the books say of it what they said when all was looked at, and no hold: there is no claim that
 * would keep others from renewing it. 1, 0, -errno.
 */
static int is_unchanged(
	struct hooks *hooks, struct inventory *inventory, const char *id, struct error *error)
{
	struct inventory now CLEANUP(inventory_done) = { 0 };
	const struct run *run = inventory_find(inventory, id), *seen;
	int r = is_held(hooks, inventory, error);

	if (r != 0)
		return r < 0 ? r : 0;
	r = runs_load(hooks->store, &now, id, error);
	seen = r < 0 ? NULL : inventory_find(&now, id);
	return r < 0 ? r : is_same(seen ? seen->row : NULL, run ? run->row : NULL);
}

static bool is_planned(const struct plan *plan, const char *run)
{
	for (size_t i = 0; i < plan->count; i++)
		if (text_equal(plan->due[i]->id, run))
			return true;
	return false;
}

static int revoke_again(struct hooks *hooks, struct inventory *inventory, struct error *error)
{
	for (size_t i = 0; i < inventory->duty_count && hooks->left_ms > 0; i++) {
		const struct duty *duty = &inventory->duties[i];
		int64_t now_s = clock_wall_s();
		int r;

		if (duty->kind != DUTY_REVOKE || hooks_retry_s(duty, now_s) > now_s ||
			!may_revoke(hooks, inventory, duty))
			continue;
		r = is_unchanged(hooks, inventory, duty->run, error);
		if (r > 0)
			r = do_duty(hooks, duty, error);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What is on the books already comes with the rest, the longest untried first. */
static int revoke_kept(struct hooks *hooks, struct inventory *inventory, struct error *error)
{
	for (size_t i = 0; i < inventory->run_count && !signals_stop_wanted(); i++) {
		const struct run *run = inventory->runs[i];
		int r;

		if (run->revocation || !is_over(hooks->settings, inventory, run))
			continue;
		r = is_unchanged(hooks, inventory, run->id, error);
		if (r > 0)
			r = hooks_revoke(hooks, run, error);
		if (r < 0)
			return r;
	}
	return 0;
}

int hooks_revoke_all(struct hooks *hooks, struct inventory *inventory, struct error *error)
{
	int r;

	if (!hooks || !hooks->settings->hooks.revoke)
		return 0;
	r = revoke_kept(hooks, inventory, error);
	return r < 0 ? r : revoke_again(hooks, inventory, error);
}

static int run_each_after(struct hooks *hooks, struct inventory *inventory, const struct plan *only,
	struct error *error)
{
	for (size_t i = 0; i < inventory->duty_count && hooks->left_ms > 0; i++) {
		const struct duty *duty = &inventory->duties[i];
		int64_t now_s = clock_wall_s();
		int r;

		if (duty->kind != DUTY_AFTER || !duty->ripe || hooks_retry_s(duty, now_s) > now_s ||
			(only && !is_planned(only, duty->run)))
			continue;
		r = is_held(hooks, inventory, error);
		if (r != 0)
			return r < 0 ? r : 0;
		r = do_duty(hooks, duty, error);
		if (r < 0)
			return r;
	}
	return 0;
}

int hooks_run_after(struct hooks *hooks, struct inventory *inventory, const struct plan *only,
	struct error *error)
{
	int r;

	if (!hooks)
		return 0;
	r = duties_load(hooks->store, inventory, error);
	if (r < 0 || !hooks->settings->hooks.after)
		return r;
	r = run_each_after(hooks, inventory, only, error);
	return r < 0 ? r : duties_load(hooks->store, inventory, error);
}
