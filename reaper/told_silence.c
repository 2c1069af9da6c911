#include "told_silence.h"

#include "os/answering.h"
#include "text_list.h"

/* A repository that nobody configured, and that lies where nothing was asked yet. */
static bool is_unasked(const struct settings *settings, const char *repo)
{
	return !text_list_at_or_above(&settings->silent, repo) &&
	       !text_list_at_or_above(&settings->repos, repo) &&
	       !text_list_at_or_above(&settings->roots, repo);
}

static void gather_unasked(
	const struct inventory *inventory, const struct settings *settings, struct text_list *repos)
{
	for (size_t i = 0; i < inventory->run_count; i++)
		for (size_t j = 0; j < inventory->runs[i]->resource_count; j++) {
			const char *repo = inventory->runs[i]->resources[j].repo;

			if (repo && repo[0] == '/' && is_unasked(settings, repo))
				text_list_add_new(repos, repo);
		}
}

/* Places that do not answer, and what is to be said of each. */
struct silence {
	struct inventory *inventory;
	struct text_list places;
	const char **words;
};

static void silence_done(struct silence *silence)
{
	text_list_done(&silence->places);
	free(silence->words);
}

static const char *silence_add(struct silence *silence, const char *place)
{
	size_t last = silence->places.count;

	text_list_add(&silence->places, place);
	silence->words = mem_grow(silence->words, last + 1, sizeof(*silence->words));
	return silence->words[last] = answering_words(place, &silence->inventory->arena);
}

/* "PLACE: words" for a path that is or lies in one of them, or NULL. */
static const char *silence_at(const struct silence *silence, const char *path)
{
	const char *at = text_list_at_or_above(&silence->places, path);

	for (size_t i = 0; at && i < silence->places.count; i++)
		if (text_equal(silence->places.items[i], at))
			return arena_printf(
				&silence->inventory->arena, "%s: %s", at, silence->words[i]);
	return NULL;
}

/* Of these repositories, the ones that do not answer. */
static void ask(struct silence *silence, const struct text_list *repos)
{
	bool *is_silent CLEANUP(mem_done) = mem_new(repos->count + 1);

	if (!repos->count)
		return;
	(void)answering_ask((const char *const *)repos->items, repos->count, is_silent, NULL);
	for (size_t i = 0; i < repos->count; i++)
		if (is_silent[i])
			inventory_add_source(silence->inventory, "worktrees", repos->items[i],
				TRI_NO, silence_add(silence, repos->items[i]));
}

static void mark(const struct silence *silence, struct resource *resource)
{
	if (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH)
		resource->silent = silence_at(silence, resource->locator);
	if (!resource->silent && resource->repo)
		resource->silent = silence_at(silence, resource->repo);
}

void told_silence(struct inventory *inventory, const struct settings *settings)
{
	struct silence silence CLEANUP(silence_done) = { .inventory = inventory };
	struct text_list repos CLEANUP(text_list_done) = { 0 };

	for (size_t i = 0; i < settings->silent.count; i++)
		(void)silence_add(&silence, settings->silent.items[i]);
	gather_unasked(inventory, settings, &repos);
	ask(&silence, &repos);
	if (!silence.places.count)
		return;
	for (size_t i = 0; i < inventory->run_count; i++)
		for (size_t j = 0; j < inventory->runs[i]->resource_count; j++)
			mark(&silence, &inventory->runs[i]->resources[j]);
}
