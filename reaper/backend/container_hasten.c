/*
 * Many containers of one run, a few at a time: an engine needs a good part of a second for each, and
 * serves several at once. Here nothing is waited for, and no failure told: container_effects.c goes
 * over each of them afterwards. Its MUST 1 holds here as well.
 */
#include "container.h"

#include "base/clock.h"
#include "os/signals.h"

/* Some that one engine has, proven just now. */
struct batch {
	struct engine *engine;
	const char *ids[ENGINE_SIDE_BY_SIDE], *running[ENGINE_SIDE_BY_SIDE];
	size_t count, running_count;
};

static void batch_add(struct batch *batch, const struct sight *sight)
{
	batch->engine = sight->engine;
	batch->ids[batch->count++] = sight->item.id;
	if (sight->item.running)
		batch->running[batch->running_count++] = sight->item.id;
}

/* Killed also before removing: podman would wait for the stop time-out of each. */
static int64_t batch_act(const struct batch *batch, enum haste haste)
{
	size_t done = 0;

	if (batch->running_count)
		done = engine_kill_all(batch->engine, batch->running, batch->running_count);
	if (haste == HASTE_REMOVE && batch->count)
		done += engine_delete_all(batch->engine, batch->ids, batch->count);
	return (int64_t)done;
}

static bool may_go_on(const struct effort *effort)
{
	return !signals_stop_wanted() && deadline_left_ms(effort->deadline_ms) > 0;
}

int64_t container_hasten(void *opaque, enum haste haste, const struct resource *const *resources,
	size_t count, const struct effort *effort)
{
	struct container_state *state = opaque;
	int64_t done = 0;

	container_until(state, effort->deadline_ms);
	for (size_t i = 0; i < count && may_go_on(effort);) {
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct batch batch = { 0 };

		for (; i < count && batch.count < ENGINE_SIDE_BY_SIDE; i++) {
			struct sight sight;

			assert(resources[i]->proof != PROOF_NONE);
			if (resources[i]->kind != KIND_CONTAINER)
				continue;
			container_look(state, resources[i], &arena, &sight);
			if (sight.error.code || sight.present != TRI_YES)
				continue;
			if (batch.engine && sight.engine != batch.engine)
				break; /* the next batch is that engine's */
			batch_add(&batch, &sight);
		}
		done += batch_act(&batch, haste);
	}
	return done;
}
