#include "container.h"
#include "base/runid.h"

#include <errno.h>

enum { SPAN_SLACK_S = 300 }; /* a harness may register late, and an engine has its own clock */

static void container_close(void *opaque)
{
	struct container_state *state = opaque;

	if (!state)
		return;
	for (size_t i = 0; i < state->engine_count; i++)
		engine_close(state->engines[i]);
	for (size_t i = 0; i < state->disowned_count; i++)
		free(state->disowned[i]);
	free(state->engines);
	free(state->disowned);
	free(state);
}

static int container_open(const struct settings *settings, void **ret_state, struct error *error)
{
	struct container_state *state = mem_new(sizeof(*state));
	int r = 0;

	state->engines = mem_new(settings->engines.count * sizeof(*state->engines));
	for (size_t i = 0; r == 0 && i < settings->engines.count; i++) {
		r = engine_open(settings->engines.items[i], settings->label,
			settings->limits.engine_timeout_ms, &state->engines[i], error);
		if (r == 0)
			state->engine_count++;
	}
	if (r < 0) {
		container_close(state);
		return r;
	}
	*ret_state = state;
	return 0;
}

void container_until(struct container_state *state, int64_t deadline_ms)
{
	for (size_t i = 0; i < state->engine_count; i++)
		engine_until(state->engines[i], deadline_ms);
}

bool container_disowned(const struct container_state *state, const char *id)
{
	for (size_t i = 0; i < state->disowned_count; i++)
		if (text_equal(state->disowned[i], id))
			return true;
	return false;
}

/* Why a thing was not made within the span of the run, or NULL; an open end (0) is no limit. */
static const char *outside_of_span(const struct engine_item *item, const struct resource *owner)
{
	if (!owner->span_from_s && !owner->span_to_s && !owner->begun_s)
		return NULL;
	if (!item->made_s)
		return "when it was made cannot be told";
	/* No slack: it is this host's engine, and within one second a later run's is spared. */
	if (owner->begun_s && item->made_s >= owner->begun_s)
		return "it was made after the removal of the run had begun";
	if (item->made_s < owner->span_from_s - SPAN_SLACK_S ||
		(owner->span_to_s && item->made_s > owner->span_to_s + SPAN_SLACK_S))
		return "it was made outside of the run's span";
	return NULL;
}

static const char *label_contradiction(const struct engine_item *item, const struct resource *owner)
{
	if (!text_equal(item->run, owner->run))
		return "it does not carry the run's label";
	if (!runid_valid(owner->run))
		return "its label is no run identifier";
	if (!engine_ref_valid(item->id))
		return "its name is not one that engines give";
	return outside_of_span(item, owner);
}

/* Of an image that is gone it will never be told: that is an answer. */
static struct container_doubt image_doubt(
	struct engine *engine, const struct engine_item *item, struct arena *arena)
{
	struct error error = { 0 };
	int r = engine_image_labelled(engine, item->image, &error);

	if (r == 0)
		return (struct container_doubt){ 0 };
	if (r == 1)
		return (struct container_doubt){ .why = "its image carries the label" };
	return (struct container_doubt){
		.why = arena_printf(arena, "whether its image carries the label cannot be told: %s",
			error.text),
		.unknown = r != -ENODATA,
	};
}

struct container_doubt container_doubt(struct engine *engine, enum kind kind,
	const struct engine_item *item, const struct resource *owner, struct arena *arena)
{
	const char *why = label_contradiction(item, owner);

	if (why || kind != KIND_CONTAINER)
		return (struct container_doubt){ .why = why };
	return image_doubt(engine, item, arena);
}

bool container_told(const struct resource *resource)
{
	return resource->proof & (PROOF_ROW | PROOF_MARKER);
}

/* Whether what an engine found is what was asked for, and not something with that name. */
static bool is_the_one(const struct resource *resource, const struct engine_item *item)
{
	if (resource->token)
		return text_equal(item->id, resource->token);
	return text_equal(item->id, resource->locator) ||
	       text_equal(item->name, resource->locator) ||
	       (resource->kind == KIND_CONTAINER && text_starts(item->id, resource->locator));
}

/* Whether a container says by its own label, not its image's, that it is another run's. */
static bool is_another_runs(
	struct engine *engine, const struct resource *resource, const struct engine_item *item)
{
	return item->run && !text_equal(item->run, resource->run) &&
	       engine_image_labelled(engine, item->image, NULL) != 1;
}

/* A container that was told to us: by full id it is proven; by a name, only in the run's span. */
static const char *told_contradiction(
	struct engine *engine, const struct resource *resource, const struct engine_item *item)
{
	if (resource->kind != KIND_CONTAINER)
		return text_equal(item->run, resource->run) ? NULL
							    : "it does not carry the run's label";
	if (is_another_runs(engine, resource, item))
		return "its label names another run";
	if (resource->token || text_equal(resource->locator, item->id))
		return NULL;
	if (!resource->span_from_s)
		return "it is known by name only, and when its run began is not known";
	return outside_of_span(item, resource);
}

/* Compares what was found with what the resource says, once more at each look. */
static void sight_judge(struct sight *sight, const struct resource *resource, struct arena *arena)
{
	struct container_doubt doubt = { 0 };

	if (container_told(resource))
		doubt.why = told_contradiction(sight->engine, resource, &sight->item);
	else if (resource->proof & PROOF_LABEL)
		doubt = container_doubt(
			sight->engine, resource->kind, &sight->item, resource, arena);
	if (!doubt.why)
		return;
	if (doubt.unknown)
		sight->present = TRI_UNKNOWN;
	else
		sight->contradicts = true;
	(void)error_say(&sight->error, doubt.unknown ? EIO : ESTALE, "%s %.128s on %s: %s",
		kind_name(resource->kind), sight->item.id, engine_url(sight->engine), doubt.why);
}

static bool engine_concerns(const struct engine *engine, const struct resource *resource)
{
	return !resource->at || text_equal(engine_url(engine), resource->at);
}

/* Asks each engine that may know it; the first that does ends the search. */
static void sight_search(struct container_state *state, const struct resource *resource,
	struct arena *arena, struct sight *sight)
{
	const char *ref = resource->token ? resource->token : resource->locator;
	size_t asked = 0;

	for (size_t i = 0; i < state->engine_count; i++) {
		struct engine *engine = state->engines[i];
		struct engine_item item = { 0 };
		int r;

		if (!engine_concerns(engine, resource))
			continue;
		asked++;
		r = engine_find(engine, resource->kind, ref, arena, &item, &sight->error);
		if (r == 1 && is_the_one(resource, &item)) {
			sight->present = TRI_YES;
			sight->engine = engine;
			sight->item = item;
			sight->error = (struct error){ 0 };
			return;
		}
	}
	if (!asked)
		(void)error_say(&sight->error, ENODEV, "its engine is not configured: %.200s",
			resource->at ? resource->at : "none is");
	sight->present = sight->error.code ? TRI_UNKNOWN : TRI_NO;
}

/* A volume or network of that name which somebody else made since: the run's own is gone. */
static bool is_a_successor(const struct resource *resource, const struct sight *sight)
{
	return resource->kind == KIND_VOLUME && !container_told(resource) && resource->proof &&
	       !text_equal(sight->item.run, resource->run);
}

void container_look(struct container_state *state, const struct resource *resource,
	struct arena *arena, struct sight *ret_sight)
{
	const char *ref = resource->token ? resource->token : resource->locator;
	char *shown CLEANUP(mem_done) = NULL;

	*ret_sight = (struct sight){ 0 };
	if (!engine_ref_valid(ref)) {
		shown = text_escape(ref);
		(void)error_say(&ret_sight->error, EINVAL,
			"'%.160s' is no name or id that an engine could know", shown);
		return;
	}
	sight_search(state, resource, arena, ret_sight);
	if (ret_sight->present != TRI_YES)
		return;
	if (is_a_successor(resource, ret_sight))
		ret_sight->present = TRI_NO;
	else if (resource->proof)
		sight_judge(ret_sight, resource, arena);
}

static enum tri sight_alive(const struct resource *resource, const struct sight *sight)
{
	if (sight->present == TRI_YES && resource->kind == KIND_CONTAINER)
		return sight->item.alive;
	return sight->present == TRI_UNKNOWN && resource->kind == KIND_CONTAINER ? TRI_UNKNOWN
										 : TRI_NO;
}

static void container_probe(void *opaque, struct resource *resource, struct arena *arena)
{
	struct container_state *state = opaque;
	struct sight sight;

	container_until(state, INT64_MAX);
	container_look(state, resource, arena, &sight);
	resource->present = sight.present;
	resource->alive = sight_alive(resource, &sight);
	if (sight.error.code) {
		resource->contradicts |= sight.contradicts;
		resource->note = arena_dup(arena, sight.error.text);
	}
	if (sight.present != TRI_YES)
		return;
	resource->made_s = sight.item.made_s;
	if (sight.contradicts)
		return;
	/* From here on it is this one, whoever gets its name. */
	if (!resource->token && resource->kind != KIND_VOLUME)
		resource->token = sight.item.id;
	if (!resource->at)
		resource->at = arena_dup(arena, engine_url(sight.engine));
}

/* ---- registration ---- */

static int identify_found(struct engine *engine, const struct engine_item *item,
	struct resource *resource, struct arena *arena, struct error *error)
{
	char *shown CLEANUP(mem_done) = NULL;

	if (resource->at && !text_equal(resource->at, engine_url(engine)))
		return error_say(error, EINVAL,
			"two engines have a container '%.128s' (%.100s, %.100s): give its full id",
			resource->locator, resource->at, engine_url(engine));
	if (resource->run && is_another_runs(engine, resource, item)) {
		shown = text_escape(item->run);
		return error_say(error, EINVAL,
			"container '%.128s' carries the label of run '%.128s', not of '%.128s'",
			resource->locator, shown, resource->run);
	}
	resource->at = arena_dup(arena, engine_url(engine));
	resource->token = item->id;
	return 0;
}

static int container_identify(
	void *opaque, struct resource *resource, struct arena *arena, struct error *error)
{
	struct container_state *state = opaque;
	char *shown CLEANUP(mem_done) = NULL;
	int r = 0;

	if (resource->kind != KIND_CONTAINER)
		return 0;
	if (!engine_ref_valid(resource->locator)) {
		shown = text_escape(resource->locator);
		return error_say(error, EINVAL,
			"container '%.160s': an id or a name is at most 128 letters, digits, _ . "
			"and -, "
			"and begins with a letter or digit",
			shown);
	}
	container_until(state, INT64_MAX);
	for (size_t i = 0; r == 0 && i < state->engine_count; i++) {
		struct engine_item item = { 0 };

		/* One that cannot be asked is no reason not to register: probes ask again. */
		if (engine_find(state->engines[i], resource->kind, resource->locator, arena, &item,
			    NULL) == 1 &&
			is_the_one(resource, &item))
			r = identify_found(state->engines[i], &item, resource, arena, error);
	}
	if (r == 0 && resource->token)
		resource->locator = resource->token;
	return r;
}

const struct backend container_backend = {
	.name = "containers",
	.open = container_open,
	.close = container_close,
	.identify = container_identify,
	.discover = container_discover,
	.probe = container_probe,
	.effects = &container_effects,
};
