#include "apply_teardown.h"

#include "apply_marker.h"
#include "backend/effects.h"
#include "base/clock.h"
#include "base/text.h"
#include "facts.h"
#include "inventory.h"
#include "os/answering.h"
#include "os/signals.h"
#include "policy.h"
#include "state/marker.h"
#include "state/salvages.h"

#include <errno.h>

enum act {
	ACT_REVOKE,
	ACT_STOP,
	ACT_LOOK,
	ACT_ASK_WORK,
	ACT_SALVAGE,
	ACT_ASK_PROCESSES,
	ACT_REMOVE,
	ACT_PURGE
};

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
	{ ACT_REVOKE, KIND_PROCESS, FAIL_ENDS }, /* of the database; the hook's is no failure */
	{ ACT_STOP, KIND_CONTAINER, FAIL_ENDS },
	{ ACT_STOP, KIND_SCOPE, FAIL_ENDS },
	{ ACT_STOP, KIND_CGROUP, FAIL_ENDS },
	{ ACT_STOP, KIND_PROCESS, FAIL_ENDS },
	{ ACT_LOOK, KIND_WORKTREE, FAIL_ENDS },
	{ ACT_ASK_WORK, KIND_WORKTREE, FAIL_ENDS },
	{ ACT_SALVAGE, KIND_WORKTREE, FAIL_ENDS },
	{ ACT_REMOVE, KIND_CONTAINER, FAIL_ENDS },
	{ ACT_REMOVE, KIND_VOLUME, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_NETWORK, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_SCOPE, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_CGROUP, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_MOUNT, FAIL_ENDS },
	/* What a mount has covered was not seen before. */
	{ ACT_ASK_WORK, KIND_MOUNT, FAIL_ENDS },
	{ ACT_SALVAGE, KIND_MOUNT, FAIL_ENDS },
	{ ACT_ASK_PROCESSES, KIND_WORKTREE, FAIL_ENDS },
	{ ACT_REMOVE, KIND_WORKTREE, FAIL_ENDS },
	{ ACT_REMOVE, KIND_BRANCH, FAIL_GOES_ON },
	{ ACT_PURGE, KIND_WORKTREE, FAIL_GOES_ON },
	{ ACT_REMOVE, KIND_PATH, FAIL_GOES_ON },
	{ ACT_PURGE, KIND_PATH, FAIL_GOES_ON },
};
enum { STOP_STEPS = 5 };

/* Puts on the books what was salvaged; where it is must not be forgotten. */
static int note_salvaged(struct teardown *teardown, const struct salvage *salvage)
{
	const struct application *application = teardown->application;
	int r = salvages_add(
		application->world->store, application->pass, salvage, &teardown->error);

	if (r < 0)
		return r;
	teardown->salvaged = arena_printf(&teardown->seen.arena, "%s%s%s%s",
		teardown->salvaged ? teardown->salvaged : "",
		teardown->salvaged ? ", " : "salvaged: ",
		salvage->form == SALVAGE_COMMIT ? salvage->ref : salvage->path,
		salvage->form == SALVAGE_COMMIT
			? arena_printf(&teardown->seen.arena, " in %s", salvage->repo)
			: "");
	return 1;
}

/* What cannot be salvaged makes the tree stay, and the next passes know it. */
static int note_unsalvaged(struct teardown *teardown, const char *why)
{
	teardown->unsaved = arena_printf(
		&teardown->seen.arena, "%s; it could not be salvaged: %s", teardown->unsaved, why);
	return salvages_note_failure(teardown->application->world->store, teardown->run->id,
		clock_wall_s(), why, &teardown->error);
}

/*
 * What salvage lacked it may have again soon, as any step may: the tree stays, all else goes as decided,
 * and the run has failed. With "unsaved work", nobody would try for an hour.
 */
static int note_lacking(struct teardown *teardown, int r, const char *why)
{
	teardown->unsaved = arena_printf(&teardown->seen.arena,
		"%s; it could not be salvaged yet: %s", teardown->unsaved, why);
	if (!teardown->lacking)
		teardown->lacking = error_say(&teardown->error, -r,
			"its unsaved work could not be salvaged yet: %s", why);
	return 0;
}

/* A signal or the end of its share broke it off: no failure that a later pass has to know of. */
static bool salvage_broken_off(int r, const struct effort *effort)
{
	return signals_stop_wanted() || r == -ETIME || deadline_left_ms(effort->deadline_ms) == 0;
}

/* MUST 4: kept, and read back, before anything goes that cannot be made again. */
static int salvage_tree(struct teardown *teardown, const struct backend *backend,
	const struct resource *resource, struct effort *effort)
{
	void *state = world_state(teardown->application->world, backend);
	struct error why = { 0 };
	struct salvage salvage;
	int r;

	if (!backend->effects->salvage || resource->present == TRI_NO)
		return 0;
	r = backend->effects->salvage(
		state, resource, effort, &teardown->seen.arena, &salvage, &why);
	if (r > 0)
		r = note_salvaged(teardown, &salvage);
	else if (r < 0 && salvage_broken_off(r, effort))
		r = error_say(&teardown->error, ETIME, "salvaging it was broken off: %s", why.text);
	else if (r < 0 && error_may_pass(r))
		r = note_lacking(teardown, r, why.text);
	else if (r < 0)
		r = note_unsalvaged(teardown, why.text);
	return r;
}

static int act_on(struct teardown *teardown, enum act act, const struct resource *resource)
{
	const struct backend *backend = backend_of(resource->kind);
	void *state = world_state(teardown->application->world, backend);
	const struct backend_effects *effects = backend->effects;
	struct effort effort = {
		.deadline_ms = teardown->application->deadline_ms,
		.threads = (unsigned)teardown->application->world->settings->limits.threads,
	};
	struct error *error = &teardown->error;
	int r = 0;

	if (resource->silent)
		return error_say(error, EIO, "%s %s: %s", kind_name(resource->kind),
			resource->locator, resource->silent);
	switch (act) {
	case ACT_STOP:
		r = effects->stop ? effects->stop(state, resource, &effort, error) : 0;
		break;
	case ACT_REMOVE:
		r = effects->remove ? effects->remove(state, resource, &effort, error) : 0;
		break;
	case ACT_PURGE:
		r = effects->purge ? effects->purge(state, resource, &effort, error) : 0;
		break;
	case ACT_SALVAGE:
		r = salvage_tree(teardown, backend, resource, &effort);
		break;
	case ACT_REVOKE:
	case ACT_LOOK:
	case ACT_ASK_WORK:
	case ACT_ASK_PROCESSES:
		break;
	}
	teardown->steps_done += effort.steps;
	teardown->bytes_freed += effort.deleted.bytes_freed;
	teardown->entries_deleted += effort.deleted.entries;
	return r;
}

/* Whatever the error is about, it says of which thing of the run; the first one only is kept. */
static void name_resource(struct teardown *teardown, const struct resource *resource)
{
	char *shown CLEANUP(mem_done) = text_escape(resource->locator);

	if (!strstr(teardown->error.text, shown))
		error_prefix(&teardown->error, "%s %.200s", kind_name(resource->kind), shown);
}

static bool is_acted_on(
	const struct teardown *teardown, const struct step *step, const struct resource *resource)
{
	if (resource->kind != step->kind || !resource_proven(resource)) /* MUST 7 */
		return false;
	return !teardown->unsaved || step->act == ACT_SALVAGE ||
	       !resource_of_tree(teardown->run, resource);
}

/* Where there are several, and a kind can do that: side by side, before it is done to each. */
static void hasten(struct teardown *teardown, const struct step *step)
{
	const struct backend *backend = backend_of(step->kind);
	const struct effort effort = { .deadline_ms = teardown->application->deadline_ms };
	enum haste haste = step->act == ACT_STOP ? HASTE_STOP : HASTE_REMOVE;
	const struct resource **several CLEANUP(mem_done) = NULL;
	size_t count = 0;
	int64_t done;

	if (!backend->effects->hasten || (step->act != ACT_STOP && step->act != ACT_REMOVE))
		return;
	several = mem_new(teardown->run->resource_count * sizeof(*several));
	for (size_t i = 0; i < teardown->run->resource_count; i++)
		if (is_acted_on(teardown, step, &teardown->run->resources[i]))
			several[count++] = &teardown->run->resources[i];
	if (count < 2)
		return;
	done = backend->effects->hasten(
		world_state(teardown->application->world, backend), haste, several, count, &effort);
	teardown->acted |= done > 0;
	teardown->steps_done += done;
}

/* Acts on every resource of the step's kind; the first error is kept and the rest goes on. */
static int act_on_each(struct teardown *teardown, const struct step *step)
{
	int result = 0;

	hasten(teardown, step);
	for (size_t i = 0; i < teardown->run->resource_count; i++) {
		struct resource *resource = &teardown->run->resources[i];
		bool first;
		int r;

		if (!is_acted_on(teardown, step, resource))
			continue;
		first = !teardown->error.code;
		r = act_on(teardown, step->act, resource);
		if (r < 0 && first)
			name_resource(teardown, resource);
		teardown->acted |= r != 0;
		teardown->steps_done += r > 0 && step->act != ACT_SALVAGE;
		teardown->uncovered |= r > 0 && step->kind == KIND_MOUNT;
		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}

static int ask_processes(struct teardown *teardown)
{
	return inventory_ask_processes(
		&teardown->seen, teardown->application->world, teardown->run, &teardown->error);
}

/* What was stopped, and systemd has started again meanwhile. */
static bool runs_again(const struct resource *resource)
{
	return (resource->kind == KIND_SCOPE || resource->kind == KIND_CGROUP) &&
	       resource->alive == TRI_YES;
}

/* MUST 11: stopping takes its time, and after it comes what cannot be taken back. */
static int look_last(struct teardown *teardown)
{
	inventory_probe(&teardown->seen, teardown->application->world, teardown->run);
	for (size_t i = 0; i < teardown->run->resource_count; i++) {
		const struct resource *resource = &teardown->run->resources[i];

		if (!resource_proven(resource))
			continue;
		if (resource->contradicts)
			return error_say(&teardown->error, ESTALE, "%s %s: %s",
				kind_name(resource->kind), resource->locator,
				resource->note ? resource->note : "it is another one now");
		if (runs_again(resource))
			return error_say(&teardown->error, EBUSY,
				"%s %s was stopped and runs again%s%s", kind_name(resource->kind),
				resource->locator, resource->note ? ": " : "",
				resource->note ? resource->note : "");
	}
	return ask_processes(teardown);
}

/* MUST 4: the trees are asked once more, now that nothing of the run writes to them. */
static int ask_work(struct teardown *teardown)
{
	const struct world *world = teardown->application->world;
	struct facts *facts = &teardown->run->facts;
	int64_t deadline_ms = teardown->application->deadline_ms;
	const char *note = NULL;

	if (world->settings->policy.unsaved == UNSAVED_DISCARD)
		return 0;
	facts->work = inventory_ask_work(&teardown->seen, world, teardown->run, deadline_ms, &note);
	switch (facts->work) {
	case WORK_NONE:
	case WORK_CLEAN:
		return 0;
	case WORK_UNKNOWN:
		return error_say(&teardown->error, deadline_left_ms(deadline_ms) ? EIO : ETIME,
			"unsaved work cannot be told: %s", note ? note : "no reason given");
	case WORK_DIRTY:
	case WORK_UNPUSHED:
		break;
	}
	teardown->unsaved = note ? note : work_name(facts->work);
	return 0;
}

static enum fate fate_of(const struct teardown *teardown)
{
	const struct question question =
		inventory_question(&teardown->seen, teardown->application->world, teardown->run);

	return policy_fate(&question);
}

/* A tree is saved when all that was asked of it was: then nothing is unsaved any more. */
static int salvage(struct teardown *teardown)
{
	static const struct step step = { ACT_SALVAGE, KIND_WORKTREE, FAIL_ENDS };
	const char *unsaved = teardown->unsaved;
	int r;

	if (!unsaved || fate_of(teardown) != FATE_SALVAGED)
		return 0;
	r = act_on_each(teardown, &step);
	if (r >= 0 && teardown->salvaged && teardown->unsaved == unsaved)
		teardown->unsaved = NULL;
	return r;
}

/* Asked again, and salvaged again, only when a mount went that covered a part of the tree. */
static bool is_asked(const struct teardown *teardown, const struct step *step)
{
	return step->kind != KIND_MOUNT || teardown->uncovered;
}

/* MUST 6. A root that cannot be read counts as a pin. */
static bool keep_appeared(struct teardown *teardown)
{
	const struct text_list *roots = &teardown->application->world->settings->roots;

	for (size_t i = 0; i < roots->count && !teardown->kept_by_hand; i++) {
		enum tri holds = keep_holds(roots->items[i], teardown->run->id, clock_wall_s());

		teardown->kept_by_hand = holds != TRI_NO;
		teardown->unread = holds == TRI_UNKNOWN;
	}
	return teardown->kept_by_hand;
}

/*
 * Whatever comes of it, the run goes on; and it gets back the time that the hook took, which is every
 * run's. Nothing was changed that a pin would keep, so that a claim may still be given back.
 */
static int revoke_credentials(struct teardown *teardown)
{
	struct application *application = teardown->application;
	struct hooks *hooks = application->world->hooks;
	int64_t began_ms = clock_boot_ms();
	int r = hooks_revoke(hooks, teardown->run, &teardown->error);

	application->deadline_ms += clock_boot_ms() - began_ms;
	if (r < 0 || teardown->run->decision.verdict != VERDICT_REAP)
		return r;
	return hooks_expect_after(hooks, teardown->run, &teardown->error);
}

static int do_step(struct teardown *teardown, const struct step *step)
{
	switch (step->act) {
	case ACT_REVOKE:
		return revoke_credentials(teardown);
	case ACT_LOOK:
		return look_last(teardown);
	case ACT_ASK_WORK:
		return is_asked(teardown, step) ? ask_work(teardown) : 0;
	case ACT_SALVAGE:
		return is_asked(teardown, step) ? salvage(teardown) : 0;
	case ACT_ASK_PROCESSES: /* saving took its time; a tree that stays needs no question */
		return teardown->unsaved ? 0 : ask_processes(teardown);
	case ACT_STOP:
	case ACT_REMOVE:
	case ACT_PURGE:
		break;
	}
	return act_on_each(teardown, step);
}

/*
 * Whether nothing is to be begun any more, because of a signal or of what a person or a harness wrote
 * meanwhile.
 */
static bool must_end(struct teardown *teardown)
{
	const struct record *row = teardown->run->row;
	enum tri changed;

	teardown->stopped = signals_stop_wanted();
	if (teardown->stopped)
		return true;
	if (keep_appeared(teardown))
		return true;
	changed = row && row->registered ? TRI_NO : marker_changed(teardown);
	teardown->marker_changed = changed != TRI_NO;
	teardown->unread = changed == TRI_UNKNOWN;
	return teardown->marker_changed;
}

/* Before anything is touched: what has fallen silent would hold us, the other roots included. */
static int still_answers(struct teardown *teardown)
{
	const struct world *world = teardown->application->world;
	const char *place;

	(void)roots_watch_look(world->watch);
	place = roots_watch_silent(world->settings, teardown->run);
	if (!place)
		return 0;
	return error_say(&teardown->error, EIO, "%s: %s", place,
		answering_words(place, &teardown->seen.arena));
}

/* For whoever watches. */
static const char *words_of(enum act act)
{
	switch (act) {
	case ACT_REVOKE:
		return "revoking its credentials";
	case ACT_STOP:
		return "stopping what runs";
	case ACT_LOOK:
	case ACT_ASK_PROCESSES:
		return "looking a last time";
	case ACT_ASK_WORK:
		return "looking for unsaved work";
	case ACT_SALVAGE:
		return "salvaging";
	case ACT_REMOVE:
		return "removing";
	case ACT_PURGE:
		return "deleting";
	}
	return NULL;
}

static int do_steps(struct teardown *teardown, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count; i++) {
		int r = still_answers(teardown);

		if (r < 0)
			return r;
		if (must_end(teardown))
			return result;
		progress_doing(teardown->application->progress, words_of(steps[i].act));
		r = do_step(teardown, &steps[i]);
		teardown->ran_out |=
			r == -ETIME && deadline_left_ms(teardown->application->deadline_ms) == 0;
		if (r < 0 && result == 0)
			result = r;
		teardown->stopped = r < 0 && signals_stop_wanted();
		if (teardown->stopped || (r < 0 && steps[i].failure == FAIL_ENDS))
			return r;
	}
	return result;
}

int teardown_stop(struct teardown *teardown)
{
	return do_steps(teardown, STOP_STEPS);
}

int teardown_all(struct teardown *teardown)
{
	return do_steps(teardown, ARRAY_SIZE(steps));
}

int teardown_verify(struct teardown *teardown)
{
	inventory_probe(&teardown->seen, teardown->application->world, teardown->run);
	for (size_t i = 0; i < teardown->run->resource_count; i++) {
		const struct resource *resource = &teardown->run->resources[i];

		if (!resource_proven(resource) || !resource_left(resource))
			continue;
		teardown->stopped = signals_stop_wanted(); /* then it may only be unseen */
		return error_say(&teardown->error, EBUSY, "%s %s is still there%s%s",
			kind_name(resource->kind), resource->locator, resource->note ? ": " : "",
			resource->note ? resource->note : "");
	}
	return 0;
}
