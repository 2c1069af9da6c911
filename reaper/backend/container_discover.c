#include "base/runid.h"
#include "container.h"

#include <search.h>

enum { LABEL_MAX = 200 }; /* a longer value is cut: it is no run identifier either way */

static void container_disown(struct container_state *state, const char *id)
{
	if (container_disowned(state, id))
		return;
	state->disowned =
		mem_grow(state->disowned, state->disowned_count + 1, sizeof(*state->disowned));
	state->disowned[state->disowned_count++] = mem_dup(id);
}

/* A container that a record names. By its full id: a mere name may be another's by now. */
struct told {
	const char *ref;
	const char *run;
	struct told *next; /* of another run with the same ref */
};

struct discovery {
	struct container_state *state;
	struct inventory *inventory;
	const char *only;
	void *told; /* tree by ref */
	struct arena arena;
};

static int told_compare(const void *a, const void *b)
{
	const struct told *left = a, *right = b;

	return strcmp(left->ref, right->ref);
}

static void told_add(struct discovery *discovery, const char *ref, const char *run)
{
	struct told *told = arena_new(&discovery->arena, sizeof(*told));
	struct told **found;

	*told = (struct told){ .ref = ref, .run = run };
	found = tsearch(told, &discovery->told, told_compare);
	if (!found)
		abort();
	if (*found != told) {
		told->next = (*found)->next;
		(*found)->next = told;
	}
}

static void told_gather(struct discovery *discovery)
{
	const struct inventory *inventory = discovery->inventory;

	for (size_t i = 0; i < inventory->run_count; i++)
		for (size_t j = 0; j < inventory->runs[i]->resource_count; j++) {
			const struct resource *told = &inventory->runs[i]->resources[j];

			if (told->kind == KIND_CONTAINER && container_told(told))
				told_add(discovery, told->token ? told->token : told->locator,
					told->run);
		}
}

/* Whether a record names it; *ret_other: whether one of another run does. */
static bool told_find(
	const struct discovery *discovery, const char *ref, const char *run, bool *ret_other)
{
	struct told key = { .ref = ref };
	struct told *const *found = tfind(&key, &discovery->told, told_compare);
	bool own = false;

	for (const struct told *told = found ? *found : NULL; told; told = told->next)
		if (text_equal(told->run, run))
			own = true;
		else
			*ret_other = true;
	return own;
}

/* The span of a run by its records: what both of them allow. */
static void resource_set_span(struct resource *resource, const struct run *run)
{
	const struct record *const records[] = { run->row, run->marker };

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		const struct record *record = records[i];

		if (!record)
			continue;
		if (record->created_s > resource->span_from_s)
			resource->span_from_s = record->created_s;
		if (record->finished_s &&
			(!resource->span_to_s || record->finished_s < resource->span_to_s))
			resource->span_to_s = record->finished_s;
	}
	resource->generation = run->row ? run->row->generation : 0;
	resource->begun_s = run->row ? run->row->claim_begun_s : 0;
}

static struct run *discover_run(struct discovery *discovery, const char *label)
{
	char *cut CLEANUP(mem_done) = mem_printf("%.*s", LABEL_MAX, label);

	return inventory_run(discovery->inventory, cut);
}

static void discover_item(struct discovery *discovery, struct engine *engine, enum kind kind,
	const struct engine_item *item)
{
	struct run *run = discover_run(discovery, item->run);
	struct resource seen = {
		.run = run->id,
		.kind = kind,
		.locator = item->id,
		.token = kind == KIND_VOLUME ? NULL : item->id,
		.at = engine_url(engine),
		.present = TRI_YES,
		.alive = kind == KIND_CONTAINER ? item->alive : TRI_NO,
		.made_s = item->made_s,
	};
	struct container_doubt doubt;
	bool own = false, other = false;

	resource_set_span(&seen, run);
	if (kind == KIND_CONTAINER)
		own = told_find(discovery, item->id, run->id, &other);
	/* A look at one run alone does not see what others' records name; the first look did. */
	other |= container_disowned(discovery->state, item->id);
	if (other)
		doubt = (struct container_doubt){ .why = "another run's record names it" };
	else
		doubt = container_doubt(engine, kind, item, &seen, &discovery->arena);
	seen.note = doubt.why;
	if (doubt.unknown) /* the run whose label it carries must not go without it */
		seen.present = TRI_UNKNOWN;
	if (!doubt.why || doubt.unknown)
		seen.proof = PROOF_LABEL;
	else if (kind == KIND_CONTAINER)
		container_disown(discovery->state, item->id);
	if (own)
		seen.note = NULL; /* its record proves it; probing says what contradicts */
	(void)run_add_resource(discovery->inventory, run, &seen);
}

static void discover_engine(struct discovery *discovery, struct engine *engine, struct error *error)
{
	static const enum kind kinds[] = { KIND_CONTAINER, KIND_VOLUME, KIND_NETWORK };
	/* In a filter only what needs no care; the rest is compared here. */
	const char *filter = runid_valid(discovery->only) ? discovery->only : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct engine_list list = { 0 };

		if (engine_list(engine, kinds[i], filter, &discovery->arena, &list, error) < 0)
			continue;
		for (size_t j = 0; j < list.count; j++)
			if (!discovery->only || text_equal(list.items[j].run, discovery->only))
				discover_item(discovery, engine, kinds[i], &list.items[j]);
	}
}

static void told_not_owned(void *told)
{
	(void)told; /* it lives in the arena */
}

void container_discover(void *opaque, struct inventory *inventory, const char *only)
{
	struct container_state *state = opaque;
	struct discovery discovery = { .state = state, .inventory = inventory, .only = only };

	container_until(state, INT64_MAX);
	told_gather(&discovery);
	for (size_t i = 0; i < state->engine_count; i++) {
		struct error error = { 0 };

		discover_engine(&discovery, state->engines[i], &error);
		inventory_add_source(inventory, "containers", engine_url(state->engines[i]),
			error.code ? TRI_NO : TRI_YES, error.code ? error.text : NULL);
	}
	if (!state->engine_count)
		inventory_add_source(inventory, "containers", NULL, TRI_UNKNOWN, NULL);
	tdestroy(discovery.told, told_not_owned);
	arena_done(&discovery.arena);
}
