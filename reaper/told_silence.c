#include "told_silence.h"

#include "base/pathname.h"
#include "os/answering.h"
#include "text_list.h"

static const char *at_or_above(const struct text_list *list, const char *path)
{
	return text_list_has(list, path) ? path : text_list_above(list, path);
}

/* A repository that nobody configured, and that lies where nothing was asked yet. */
static bool is_unasked(const struct settings *settings, const char *repo)
{
	return !at_or_above(&settings->silent, repo) && !at_or_above(&settings->repos, repo) &&
	       !at_or_above(&settings->roots, repo);
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

/* Of these, the ones that do not answer. */
static void ask(
	struct inventory *inventory, const struct text_list *repos, struct text_list *silent)
{
	bool *is_silent CLEANUP(mem_done) = mem_new(repos->count + 1);

	if (!repos->count)
		return;
	(void)answering_ask((const char *const *)repos->items, repos->count, is_silent, NULL);
	for (size_t i = 0; i < repos->count; i++) {
		if (!is_silent[i])
			continue;
		text_list_add(silent, repos->items[i]);
		inventory_add_source(inventory, "worktrees", repos->items[i], TRI_NO,
			answering_words(repos->items[i], &inventory->arena));
	}
}

static void mark(struct inventory *inventory, const struct settings *settings,
	const struct text_list *silent, struct resource *resource)
{
	const char *at = NULL;

	if (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH)
		at = at_or_above(&settings->silent, resource->locator);
	if (!at && resource->repo)
		at = at_or_above(&settings->silent, resource->repo);
	if (!at && resource->repo)
		at = at_or_above(silent, resource->repo);
	if (at)
		resource->silent = arena_printf(
			&inventory->arena, "%s: %s", at, answering_words(at, &inventory->arena));
}

void told_silence(struct inventory *inventory, const struct settings *settings)
{
	struct text_list repos CLEANUP(text_list_done) = { 0 };
	struct text_list silent CLEANUP(text_list_done) = { 0 };

	gather_unasked(inventory, settings, &repos);
	ask(inventory, &repos, &silent);
	if (!silent.count && !settings->silent.count)
		return;
	for (size_t i = 0; i < inventory->run_count; i++)
		for (size_t j = 0; j < inventory->runs[i]->resource_count; j++)
			mark(inventory, settings, &silent, &inventory->runs[i]->resources[j]);
}
