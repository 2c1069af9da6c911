#include "apply.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "facts.h"
#include "inventory.h"
#include "os/dir.h"
#include "policy.h"
#include "state/history.h"
#include "state/marker.h"
#include "state/runs.h"

#include <errno.h>

/* One run in the middle of being taken apart. */
struct work_item {
	const struct application *application;
	struct inventory seen; /* the second look, of this run only */
	struct run *run;       /* within it */
	struct effort effort;
	struct error error;  /* the first of a step */
	const char *unsaved; /* why the tree stays; NULL: it may go */
	bool kept_by_hand;   /* a .keep appeared */
};

enum act { ACT_STOP, ACT_REMOVE, ACT_PURGE, ACT_ASK_WORK };

/* What a failed step means for the steps behind it. */
enum failure { FAIL_ENDS, FAIL_GOES_ON };

struct step {
	enum act act;
	enum kind kind;
	enum failure failure;
};

/*
 * Teardown order, DESIGN.md section 3. Stopping what is over its deadline is the first part of it.
 */
static const struct step steps[] = {
	{ ACT_STOP, KIND_CONTAINER, FAIL_ENDS },
	{ ACT_STOP, KIND_SCOPE, FAIL_ENDS },
	{ ACT_STOP, KIND_CGROUP, FAIL_ENDS },
	{ ACT_STOP, KIND_PROCESS, FAIL_ENDS },
	{ ACT_ASK_WORK, KIND_WORKTREE, FAIL_ENDS },
	{ ACT_REMOVE, KIND_CONTAINER, FAIL_ENDS },
	{ ACT_REMOVE, KIND_VOLUME, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_NETWORK, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_SCOPE, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_CGROUP, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_WORKTREE, FAIL_ENDS },
	{ ACT_REMOVE, KIND_BRANCH, FAIL_GOES_ON },
	{ ACT_PURGE, KIND_WORKTREE, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_PATH, FAIL_GOES_ON },
	{ ACT_PURGE, KIND_PATH, FAIL_GOES_ON },
};
enum { STOP_STEPS = 4 };

static bool belongs_to_tree(enum kind kind)
{
	return kind == KIND_WORKTREE || kind == KIND_BRANCH;
}

static int act_on(struct work_item *item, enum act act, const struct resource *resource)
{
	const struct backend *backend = backend_of(resource->kind);
	void *state = world_state(item->application->world, backend);
	const struct backend_effects *effects = backend->effects;
	struct effort *effort = &item->effort;
	struct error *error = &item->error;

	switch (act) {
	case ACT_STOP:
		return effects->stop ? effects->stop(state, resource, effort, error) : 0;
	case ACT_REMOVE:
		return effects->remove ? effects->remove(state, resource, effort, error) : 0;
	case ACT_PURGE:
		return effects->purge ? effects->purge(state, resource, effort, error) : 0;
	case ACT_ASK_WORK:
		break;
	}
	return 0;
}

/* MUST 4: the tree is asked once more, now that nothing of the run writes to it. */
static int ask_work(struct work_item *item)
{
	const struct world *world = item->application->world;
	const char *note = NULL;
	enum work work;

	if (world->settings->policy.unsaved == UNSAVED_DISCARD)
		return 0;
	inventory_probe(&item->seen, world, item->run);
	work = inventory_ask_work(&item->seen, world, item->run, &note);
	switch (work) {
	case WORK_NONE:
	case WORK_CLEAN:
		return 0;
	case WORK_UNKNOWN:
		return error_say(&item->error, EIO, "unsaved work cannot be told: %s",
			note ? note : "no reason given");
	case WORK_DIRTY:
	case WORK_UNPUSHED:
		break;
	}
	item->unsaved = note ? note : work_name(work);
	return 0;
}

/* MUST 6. A root that cannot be read counts as a pin. */
static bool keep_appeared(struct work_item *item)
{
	const struct text_list *roots = &item->application->world->settings->roots;

	for (size_t i = 0; i < roots->count && !item->kept_by_hand; i++)
		item->kept_by_hand =
			keep_holds(roots->items[i], item->run->id, clock_wall_s()) != TRI_NO;
	return item->kept_by_hand;
}

/* Acts on every resource of the step's kind; the first error is kept and the rest goes on. */
static int do_step(struct work_item *item, const struct step *step)
{
	int result = 0;

	if (step->act == ACT_ASK_WORK)
		return ask_work(item);
	if (item->unsaved && belongs_to_tree(step->kind))
		return 0;
	for (size_t i = 0; i < item->run->resource_count; i++) {
		struct resource *resource = &item->run->resources[i];
		int r;

		if (resource->kind != step->kind || !resource_proven(resource)) /* MUST 7 */
			continue;
		r = act_on(item, step->act, resource);
		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}

static int do_steps(struct work_item *item, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count; i++) {
		int r;

		if (keep_appeared(item))
			return result;
		r = do_step(item, &steps[i]);
		if (r < 0 && result == 0)
			result = r;
		if (r < 0 && steps[i].failure == FAIL_ENDS)
			return r;
	}
	return result;
}

/* MUST 8: 0 when nothing is left, -EBUSY with the first leftover named. */
static int verify_gone(struct work_item *item)
{
	inventory_probe(&item->seen, item->application->world, item->run);
	for (size_t i = 0; i < item->run->resource_count; i++) {
		const struct resource *resource = &item->run->resources[i];

		if (!resource_proven(resource) || !resource_left(resource))
			continue;
		return error_say(&item->error, EBUSY, "%s %s is still there%s%s",
			kind_name(resource->kind), resource->locator, resource->note ? ": " : "",
			resource->note ? resource->note : "");
	}
	return 0;
}

/*
 * The marker as it is now, when it is still that of this run; NULL when it is gone, unreadable, or a
 * harness that uses the name again has written a new one meanwhile.
 */
static const struct record *marker_now(struct work_item *item)
{
	const struct record *seen = item->run->marker;
	char *root CLEANUP(mem_done) = NULL;
	int fd CLEANUP(fd_done) = -EBADF;
	struct record *now;

	if (!seen)
		return NULL;
	root = pathname_parent(item->run->marker_path);
	fd = dir_open(root, NULL);
	if (fd < 0 || marker_read(fd, root, item->run->id, item->application->world->settings,
			      &item->seen.arena, &now, NULL) < 0)
		return NULL;
	return now->created_s == seen->created_s ? now : NULL;
}

static int remove_marker(struct work_item *item)
{
	char *root CLEANUP(mem_done) = NULL;

	if (!marker_now(item))
		return 0;
	root = pathname_parent(item->run->marker_path);
	return marker_remove(root, item->run->id, &item->error);
}

static void tell(struct run *run, struct arena *arena, enum result result, const char *error)
{
	run->result = result;
	run->error = arena_dup(arena, error);
}

/* History of what was not the end of the run; its own failure is the database's. */
static int note_history(const struct work_item *item, const char *action, const struct run *run,
	const char *detail, struct error *error)
{
	const struct history_entry entry = {
		.at_s = clock_wall_s(),
		.pass = item->application->pass,
		.run = run->id,
		.generation = item->run->row ? item->run->row->generation : 0,
		.action = action,
		.reason = reason_name(run->decision.reason),
		.detail = detail,
		.bytes = item->effort.bytes_freed,
	};

	return history_add(item->application->world->store, &entry, error);
}

/* The tree stays: everything else went as decided, and from now on a person is needed. */
static int end_partial(struct work_item *item, struct run *run, struct arena *arena,
	const char *why, struct error *error)
{
	struct store *store = item->application->world->store;
	int r;

	tell(run, arena, RESULT_PARTIAL, why);
	r = note_history(item, "partial", run, why, error);
	if (r < 0 || item->kept_by_hand)
		return r; /* the claim stays begun: when the .keep goes, the rest goes on */
	return runs_release(store, item->application->pass, run->id, error);
}

static int reap_begun(
	struct work_item *item, struct run *run, struct arena *arena, struct error *error)
{
	int r = do_steps(item, ARRAY_SIZE(steps));

	if (item->kept_by_hand)
		return end_partial(
			item, run, arena, "a .keep appeared while it was taken apart", error);
	if (r >= 0 && item->unsaved)
		return end_partial(item, run, arena, item->unsaved, error);
	if (r >= 0)
		r = verify_gone(item);
	if (r >= 0)
		r = remove_marker(item);
	if (r < 0) {
		tell(run, arena, RESULT_FAILED, item->error.text);
		return note_history(item, "failed", run, item->error.text, error);
	}
	run->bytes_freed = item->effort.bytes_freed;
	r = runs_reaped(item->application->world->store, item->application->pass, run,
		clock_wall_s(), error);
	if (r >= 0)
		tell(run, arena, RESULT_REAPED, NULL);
	return r;
}

/* A marker that is the run's only record learns the end too; otherwise the next look forgets it. */
static int mark_stopped(struct work_item *item, int64_t now_s)
{
	const struct record *now = marker_now(item);
	char *root CLEANUP(mem_done) = NULL;
	struct record record;

	if (!now || now->finished_s) /* its harness was faster: what it says holds */
		return 0;
	record = *now;
	record.finished_s = now_s;
	record.outcome = OUTCOME_FAILED;
	root = pathname_parent(item->run->marker_path);
	return marker_write(root, &record, &item->error);
}

static int stop_begun(
	struct work_item *item, struct run *run, struct arena *arena, struct error *error)
{
	int64_t now_s;
	int r = do_steps(item, STOP_STEPS);

	if (item->kept_by_hand)
		return end_partial(
			item, run, arena, "a .keep appeared while it was stopped", error);
	now_s = clock_wall_s();
	if (r >= 0)
		r = mark_stopped(item, now_s);
	if (r < 0) {
		tell(run, arena, RESULT_FAILED, item->error.text);
		return note_history(item, "failed", run, item->error.text, error);
	}
	r = runs_stopped(
		item->application->world->store, item->application->pass, run, now_s, error);
	if (r >= 0)
		tell(run, arena, RESULT_KEPT, NULL);
	return r;
}

static bool run_has_proven(const struct run *run, const struct resource *resource)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].kind == resource->kind &&
			text_equal(run->resources[i].locator, resource->locator))
			return resource_proven(&run->resources[i]);
	return false;
}

/*
 * MUST 9. A tree that only its place proves is left alone; anything else that is new is a reason to
 * come back: it may be alive in the tree. The text says what it is; NULL: nothing.
 */
static const char *leave_unplanned(struct work_item *item, const struct run *planned)
{
	for (size_t i = 0; i < item->run->resource_count; i++) {
		struct resource *resource = &item->run->resources[i];

		if (!resource_proven(resource) || run_has_proven(planned, resource))
			continue;
		if (resource->proof != PROOF_ADOPTED)
			return arena_printf(&item->seen.arena, "it has a new %s, %s",
				kind_name(resource->kind), resource->locator);
		resource->proof = PROOF_NONE;
	}
	return NULL;
}

/* MUST 1: looks again at this run alone. What is unsaved is asked after everything is stopped. */
static int look_again(struct work_item *item, const struct run *planned, struct error *error)
{
	const struct world *world = item->application->world;
	char *id = arena_dup(&item->seen.arena, planned->id);
	const struct text_list early = { .items = &id, .count = planned->facts.requested };
	const struct inventory_request request = {
		.only = planned->id,
		.early = &early,
		.work = WORK_LEAVE,
	};
	int r = inventory_gather(&item->seen, world, &request, error);

	if (r < 0)
		return r;
	item->run = inventory_run(&item->seen, planned->id);
	item->run->facts.work = planned->facts.work;
	item->run->decision = policy_decide(&(struct question){
		.facts = &item->run->facts,
		.host = &item->seen.host,
		.settings = &world->settings->policy,
		.now_s = item->seen.now_s,
	});
	return 0;
}

/* The run is not what the plan saw. A claim that an earlier pass had begun stays what it is. */
static int keep_changed(struct work_item *item, struct run *run, struct arena *arena,
	enum reason reason, const char *why, struct error *error)
{
	run->decision.verdict = VERDICT_KEEP;
	run->decision.reason = reason;
	tell(run, arena, RESULT_KEPT, why);
	if (run->facts.claim == CLAIM_BEGUN_REAP || run->facts.claim == CLAIM_BEGUN_STOP)
		return 0;
	return runs_release(
		item->application->world->store, item->application->pass, run->id, error);
}

/* What the second look said, in words. */
static const char *changed_text(struct work_item *item)
{
	const struct run *run = item->run;
	const char *why = run->fault ? run->fault : run->live_note;

	return arena_printf(&item->seen.arena, "now it is %s, %s%s%s",
		verdict_name(run->decision.verdict), reason_name(run->decision.reason),
		why ? ": " : "", why ? why : "");
}

static enum claim goal_of(const struct run *run)
{
	return run->decision.verdict == VERDICT_STOP ? CLAIM_BEGUN_STOP : CLAIM_BEGUN_REAP;
}

static int apply_claimed(
	struct work_item *item, struct run *run, struct arena *arena, struct error *error)
{
	const struct application *application = item->application;
	int r = look_again(item, run, error);
	const char *unplanned = r < 0 ? NULL : leave_unplanned(item, run);

	if (r < 0)
		return r;
	if (unplanned)
		return keep_changed(item, run, arena, REASON_CHANGED, unplanned, error);
	if (item->run->decision.verdict != run->decision.verdict)
		return keep_changed(item, run, arena, REASON_CHANGED, changed_text(item), error);
	r = runs_begin(application->world->store, application->pass, run->id, goal_of(run),
		clock_wall_s(), error); /* MUST 2 */
	if (r == -EPERM || r == -ESTALE) {
		*error = (struct error){ 0 };
		return keep_changed(item, run, arena, r == -EPERM ? REASON_PINNED : REASON_CHANGED,
			NULL, error);
	}
	if (r < 0)
		return r;
	return run->decision.verdict == VERDICT_STOP ? stop_begun(item, run, arena, error)
						     : reap_begun(item, run, arena, error);
}

int apply_run(const struct application *application, struct run *run, struct arena *arena,
	struct error *error)
{
	struct work_item item = {
		.application = application,
		.effort = { .deadline_ms = application->deadline_ms },
	};
	int r = runs_claim(application->world->store, application->pass, run, goal_of(run),
		clock_wall_s(), error);

	if (r == -EPERM || r == -ESTALE) {
		tell(run, arena, RESULT_KEPT, error->text);
		*error = (struct error){ 0 };
		run->decision.verdict = VERDICT_KEEP;
		run->decision.reason = r == -EPERM ? REASON_PINNED : REASON_CHANGED;
		return 0;
	}
	if (r < 0)
		return r;
	r = apply_claimed(&item, run, arena, error);
	run->bytes_freed = item.effort.bytes_freed;
	inventory_done(&item.seen);
	return r;
}
