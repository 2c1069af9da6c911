/*
 * MUSTs of this file:
 *  1 Nothing is touched that container_look() did not prove in the same call; its full id is what
 *    is acted on, never a name (volumes have nothing else).
 *  2 What goes along (a pod's members, containers that share a namespace) is proven the same way;
 *    one that is not keeps the whole.
 *  3 Absence is the engine's own word, asked for after the deed.
 *  4 Nothing is ever pruned, and no waiting is without an end.
 */
#include "base/clock.h"
#include "container.h"
#include "os/signals.h"

#include <errno.h>

enum {
	PAUSE_FIRST_MS = 10,
	PAUSE_LAST_MS = 500,
	IN_PROGRESS_MS = 10 * 1000, /* for a removal that is under way; the next pass asks again */
	FAILURES = 3                /* so often an engine may fail before it is believed */
};

/* Growing pauses up to a deadline. There is no descriptor to poll: engines tell only when asked. */
struct patience {
	int64_t deadline_ms, pause_ms;
};

static struct patience patience_until(int64_t deadline_ms)
{
	return (struct patience){ deadline_ms, PAUSE_FIRST_MS };
}

/* Pauses; false when the deadline has passed, or we are asked to stop. */
static bool patience_wait(struct patience *patience)
{
	if (deadline_left_ms(patience->deadline_ms) == 0 ||
		signals_wait(-EBADF, 0,
			deadline_sooner(
				patience->deadline_ms, deadline_in_ms(patience->pause_ms))) < 0)
		return false;
	patience->pause_ms *= 2;
	if (patience->pause_ms > PAUSE_LAST_MS)
		patience->pause_ms = PAUSE_LAST_MS;
	return true;
}

/* What one call works on. */
struct job {
	struct container_state *state;
	const struct resource *resource;
	struct sight sight;
	struct arena arena;
	int64_t deadline_ms;
};

static void job_done(struct job *job)
{
	arena_done(&job->arena);
}

/* Looks and proves. 1: it is there and ours, 0: it is gone, -errno. */
static int job_begin(struct job *job, void *state, const struct resource *resource,
	const struct effort *effort, struct error *error)
{
	assert(resource->proof != PROOF_NONE);
	job->state = state;
	job->resource = resource;
	job->deadline_ms = effort->deadline_ms;
	container_until(job->state, effort->deadline_ms);
	container_look(job->state, resource, &job->arena, &job->sight);
	if (job->sight.error.code)
		return error_say(error, job->sight.error.code, "%s", job->sight.error.text);
	return job->sight.present == TRI_YES;
}

/* Asks after it again. 1 there, 0 gone, -errno. */
static int job_look(struct job *job, struct engine_item *ret_item, struct error *error)
{
	return engine_find(job->sight.engine, job->resource->kind, job->sight.item.id, &job->arena,
		ret_item, error);
}

static int job_failed(const struct job *job, int code, const char *what, const struct error *why,
	struct error *error)
{
	return error_say(error, code, "%s %.64s %s%s%s", kind_name(job->resource->kind),
		job->sight.item.id, what, why->code ? ": " : "", why->code ? why->text : "");
}

/* ---- containers ---- */

/*
 * One round of stopping. Podman refuses to kill a container whose process died behind its back or
 * whose stop was broken off; a stop without patience sets its books right. 1 there, 0 gone, -errno:
 * it cannot be seen.
 */
static int stop_round(
	struct job *job, struct engine_item *ret_item, struct error *refusal, struct error *blind)
{
	struct engine *engine = job->sight.engine;
	const char *id = job->sight.item.id;
	int r = engine_kill(engine, id, refusal);

	if (r == -EBUSY) {
		*refusal = (struct error){ 0 };
		r = engine_stop(engine, id, refusal);
	}
	return r == 0 ? 0 : job_look(job, ret_item, blind);
}

/* Kills until it does not run: a restart policy may have started it anew in between. */
static int container_stop(
	void *state, const struct resource *resource, struct effort *effort, struct error *error)
{
	struct patience patience = patience_until(effort->deadline_ms);
	struct job job CLEANUP(job_done) = { 0 };
	struct engine_item item;
	int r = job_begin(&job, state, resource, effort, error);

	if (r <= 0 || resource->kind != KIND_CONTAINER || job.sight.item.alive == TRI_NO)
		return r < 0 ? r : 0;
	for (;;) {
		struct error refusal = { 0 }, blind = { 0 };

		r = stop_round(&job, &item, &refusal, &blind);
		if (r == 0 || (r == 1 && !item.running))
			return 1;
		if (r < 0)
			return job_failed(&job, -r, "may run still", &blind, error);
		if (!patience_wait(&patience))
			return job_failed(&job, ETIME, "still runs", &refusal, error);
	}
}

/* Kills and deletes a container that has to go before the one of the job. */
static int remove_companion(struct job *job, const struct engine_item *item, struct error *error)
{
	const char *why =
		container_doubt(job->sight.engine, KIND_CONTAINER, item, job->resource, &job->arena)
			.why;
	int r;

	if (!why && container_disowned(job->state, item->id))
		why = "it is another run's";
	if (why)
		return error_say(error, EBUSY, "container %s depends on it, and %s", item->id, why);
	(void)engine_kill(job->sight.engine, item->id, NULL);
	r = engine_delete(job->sight.engine, KIND_CONTAINER, item->id, error);
	return r < 0 ? r : 0;
}

/* Podman: containers that share a namespace with this one; its refusal lists them. */
static int remove_dependents(struct job *job, const struct error *refusal, struct error *error)
{
	struct engine_list list = { 0 };
	int r = engine_list(
		job->sight.engine, KIND_CONTAINER, job->resource->run, &job->arena, &list, error);

	for (size_t i = 0; r >= 0 && i < list.count; i++)
		if (!text_equal(list.items[i].id, job->sight.item.id) &&
			strstr(refusal->text, list.items[i].id))
			r = remove_companion(job, &list.items[i], error);
	return r;
}

/* The members of the pod whose own container this is, and then the pod: they go together only. */
static int remove_pod(struct job *job, const struct engine_pod *pod, struct error *error)
{
	struct engine *engine = job->sight.engine;
	int r = 0;

	if (!text_equal(pod->run, job->resource->run))
		return error_say(
			error, EBUSY, "it is part of pod %s, which is not the run's", pod->id);
	for (size_t i = 0; r >= 0 && i < pod->member_count; i++) {
		struct engine_item member = { 0 };

		if (text_equal(pod->members[i], job->sight.item.id))
			continue;
		r = engine_find(
			engine, KIND_CONTAINER, pod->members[i], &job->arena, &member, error);
		if (r == 1)
			r = remove_companion(job, &member, error);
	}
	if (r < 0)
		return r;
	r = engine_delete_pod(engine, pod->id, error);
	return r < 0 ? r : 0;
}

/* Podman refused: takes away what stands in the way, as far as it is the run's. */
static int clear_the_way(struct job *job, const struct error *refusal, struct error *error)
{
	struct engine_pod pod = { 0 };
	int r = engine_pod(job->sight.engine, job->sight.item.id, &job->arena, &pod, NULL);

	if (r == -EOPNOTSUPP)
		return 0;
	if (r >= 0 && pod.infra)
		return remove_pod(job, &pod, error);
	return remove_dependents(job, refusal, error);
}

/* One order to delete, and what stands in its way. 1 or 0 as engine_delete(); -errno. */
static int delete_round(struct job *job, unsigned *failures, struct error *refusal)
{
	struct error obstacle = { 0 };
	int r = engine_delete(job->sight.engine, KIND_CONTAINER, job->sight.item.id, refusal);

	if (r != -EIO)
		return r;
	(*failures)++;
	if (clear_the_way(job, refusal, &obstacle) < 0) {
		*refusal = obstacle;
		return -obstacle.code;
	}
	return r;
}

/*
 * Deletes until the engine knows it no more. A removal that is under way (ours too, when it took
 * longer than a request may) is waited for; an engine that fails is asked a few times.
 */
static int remove_container(struct job *job, struct error *error)
{
	struct patience patience =
		patience_until(deadline_sooner(job->deadline_ms, deadline_in_ms(IN_PROGRESS_MS)));
	unsigned failures = 0;

	/* Or podman first waits for the stop time-out of the container. */
	(void)engine_kill(job->sight.engine, job->sight.item.id, NULL);
	for (;;) {
		struct error refusal = { 0 }, blind = { 0 };
		struct engine_item item;
		int r = delete_round(job, &failures, &refusal);
		int there;

		if (r == -EBUSY)
			return job_failed(job, EBUSY, "stays", &refusal, error);
		there = job_look(job, &item, &blind);
		if (there == 0)
			return 1;
		if (there < 0)
			return job_failed(job, -there, "may be there still", &blind, error);
		if (r < 0 && r != -EIO && r != -ETIME && r != -EINPROGRESS)
			return job_failed(job, -r, "is there still", &refusal, error);
		if (failures >= FAILURES)
			return job_failed(job, EIO, "cannot be removed", &refusal, error);
		if (!patience_wait(&patience))
			return job_failed(job, ETIME, "is still being removed", &refusal, error);
	}
}

/* ---- volumes and networks ---- */

/* Takes from a network the endpoints of containers that are no more. */
static int disconnect_stale(struct job *job, struct error *error)
{
	struct engine *engine = job->sight.engine;
	struct engine_endpoint *held = NULL;
	size_t count = 0;
	int r = engine_endpoints(engine, job->sight.item.id, &job->arena, &held, &count, error);

	for (size_t i = 0; r >= 0 && i < count; i++) {
		const char *ref =
			engine_id_valid(held[i].container) ? held[i].container : held[i].name;
		struct engine_item item;

		if (!engine_ref_valid(ref))
			continue;
		r = engine_find(engine, KIND_CONTAINER, ref, &job->arena, &item, error);
		if (r == 1)
			return error_say(error, EBUSY, "container %s uses it", item.id);
		if (r == 0)
			r = engine_disconnect(engine, job->sight.item.id, ref, error);
	}
	return r < 0 ? r : 0;
}

/* One order to delete a volume or network. As engine_delete(). */
static int thing_round(struct job *job, struct error *refusal)
{
	enum kind kind = job->resource->kind;
	int r = 0;

	/* Podman 4.3 refuses to delete a network in use when named, and not when given its id. */
	if (kind == KIND_NETWORK)
		r = disconnect_stale(job, refusal);
	return r < 0 ? r : engine_delete(job->sight.engine, kind, job->sight.item.id, refusal);
}

static int remove_thing(struct job *job, struct error *error)
{
	struct patience patience = patience_until(job->deadline_ms);
	bool network = job->resource->kind == KIND_NETWORK;
	struct engine_item item;
	int r;

	for (unsigned failures = 0;;) {
		struct error refusal = { 0 };

		r = thing_round(job, &refusal);
		if (r >= 0)
			break;
		/* Docker's networks have endpoints for a moment after the container is gone. */
		if (r != -EIO && r != -ETIME && (r != -EBUSY || !network))
			return job_failed(job, -r, "stays", &refusal, error);
		if (++failures >= FAILURES || !patience_wait(&patience))
			return job_failed(job, -r, "stays", &refusal, error);
	}
	r = job_look(job, &item, error);
	if (r == 1 && network)
		return error_say(error, EIO, "network %s is there still", job->sight.item.id);
	return r < 0 ? r : 1;
}

static int container_remove(
	void *state, const struct resource *resource, struct effort *effort, struct error *error)
{
	struct job job CLEANUP(job_done) = { 0 };
	int r = job_begin(&job, state, resource, effort, error);

	if (r <= 0)
		return r;
	return resource->kind == KIND_CONTAINER ? remove_container(&job, error)
						: remove_thing(&job, error);
}

const struct backend_effects container_effects = {
	.stop = container_stop,
	.remove = container_remove,
	.hasten = container_hasten,
};
