#include "salvage_silence.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/answering.h"
#include "text_list.h"

#include <errno.h>

static int say_silent(const char *place, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *shown CLEANUP(mem_done) = text_escape(place);

	return error_say(error, ETIME, "%.300s: %s", shown, answering_words(place, &arena));
}

static int place_ask(struct salvage_silence *silence, const char *place, struct error *error)
{
	const char *const places[] = { place };
	bool silent = false;

	if (place[0] != '/' || text_list_has(&silence->answering, place))
		return 0;
	if (text_list_at_or_above(&silence->settings->silent, place) ||
		text_list_at_or_above(&silence->silent, place))
		return say_silent(place, error);
	(void)answering_ask(
		places, 1, &silent, NULL); /* no child: it is not to be touched either */
	text_list_add(silent ? &silence->silent : &silence->answering, place);
	return silent ? say_silent(place, error) : 0;
}

int salvage_silence_ask(
	struct salvage_silence *silence, const struct salvage *salvage, struct error *error)
{
	char *directory CLEANUP(mem_done) = NULL;
	int r = salvage->ref && salvage->repo ? place_ask(silence, salvage->repo, error) : 0;

	if (r < 0 || !salvage->path || salvage->path[0] != '/')
		return r;
	directory = pathname_parent(salvage->path);
	return place_ask(silence, directory, error);
}

void salvage_silence_done(struct salvage_silence *silence)
{
	text_list_done(&silence->silent);
	text_list_done(&silence->answering);
}
