#include "pass_silence.h"

#include "base/text.h"
#include "os/answering.h"

static bool is_noted(const struct inventory *inventory, const char *source, const char *at)
{
	for (size_t i = 0; i < inventory->source_count; i++)
		if (inventory->sources[i].ok == TRI_NO &&
			text_equal(inventory->sources[i].name, source) &&
			text_equal(inventory->sources[i].at, at))
			return true;
	return false;
}

static void note(struct inventory *inventory, const char *source, const struct text_list *lost)
{
	for (size_t i = 0; i < lost->count; i++)
		if (!is_noted(inventory, source, lost->items[i]))
			inventory_add_source(inventory, source, lost->items[i], TRI_NO,
				answering_words(lost->items[i], &inventory->arena));
}

void pass_silence_look(const struct pass_silence *silence)
{
	const struct settings *settings = &silence->session->settings;

	(void)roots_watch_look(silence->session->world.watch);
	note(silence->inventory, "markers", &settings->lost_roots);
	note(silence->inventory, "worktrees", &settings->lost_repos);
}

const char *pass_silence_of(const struct pass_silence *silence, const struct run *run)
{
	struct arena *arena = &silence->inventory->arena;
	const char *place = roots_watch_silent(&silence->session->settings, run);

	return place ? arena_printf(arena, "%s: %s", place, answering_words(place, arena)) : NULL;
}
