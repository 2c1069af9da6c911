#include "roots_watch.h"

#include "base/clock.h"
#include "os/answering.h"
#include "os/signals.h"
#include "text_list.h"

enum { GOOD_FOR_MS = 1000 };

static void add_places(const struct text_list *list, const char **places, size_t *count)
{
	for (size_t i = 0; i < list->count; i++)
		places[(*count)++] = list->items[i];
}

/* Moves those that are silent. `silent` is of the whole list, in its order. */
static size_t lose(struct settings *settings, struct text_list *list, struct text_list *lost,
	const bool *silent)
{
	size_t kept = 0, count = list->count;

	for (size_t i = 0; i < count; i++) {
		if (!silent[i]) {
			list->items[kept++] = list->items[i];
			continue;
		}
		text_list_add_new(&settings->silent, list->items[i]);
		text_list_take(lost, list->items[i]);
	}
	list->count = kept;
	return count - kept;
}

static size_t lose_all(struct settings *settings, const bool *silent)
{
	size_t roots = settings->roots.count, path_roots = settings->path_roots.count;
	size_t lost = lose(settings, &settings->roots, &settings->lost_roots, silent);

	lost += lose(settings, &settings->path_roots, &settings->lost_roots, silent + roots);
	lost += lose(
		settings, &settings->repos, &settings->lost_repos, silent + roots + path_roots);
	return lost;
}

size_t roots_watch_look(struct roots_watch *watch)
{
	struct settings *settings = watch ? watch->settings : NULL;
	const char **places CLEANUP(mem_done) = NULL;
	bool *silent CLEANUP(mem_done) = NULL;
	size_t count = 0, lost = 0, room;

	if (!settings || deadline_left_ms(watch->good_until_ms) > 0)
		return 0;
	room = settings->roots.count + settings->path_roots.count + settings->repos.count;
	places = mem_new((room + 1) * sizeof(*places));
	silent = mem_new((room + 1) * sizeof(*silent));
	add_places(&settings->roots, places, &count);
	add_places(&settings->path_roots, places, &count);
	add_places(&settings->repos, places, &count);
	/* Who does not answer when we are asked to stop may only be slow. */
	if (answering_ask(places, count, silent, NULL) == 0 && !signals_stop_wanted())
		lost = lose_all(settings, silent);
	watch->good_until_ms = deadline_in_ms(GOOD_FOR_MS);
	return lost;
}

static const char *silent_part(const struct text_list *silent, const struct resource *resource)
{
	const char *place = NULL;

	if (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH)
		place = text_list_at_or_above(silent, resource->locator);
	return place || !resource->repo ? place : text_list_at_or_above(silent, resource->repo);
}

const char *roots_watch_silent(const struct settings *settings, const struct run *run)
{
	const char *place = NULL;

	if (run->root && text_list_has(&settings->silent, run->root))
		return run->root;
	for (size_t i = 0; i < run->resource_count && !place; i++)
		if (run->resources[i].proof != PROOF_NONE)
			place = silent_part(&settings->silent, &run->resources[i]);
	return place;
}
