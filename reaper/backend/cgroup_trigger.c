/*
 * Timers, paths and sockets: the units that start a service, also one that was stopped for good. A
 * service with one that is active is not gone: whoever forgot the run now would never learn that it
 * came back.
 */
#include "cgroup.h"

#include "base/shell.h"

#include <errno.h>
#include <unistd.h>

static bool is_trigger(const char *name)
{
	return text_ends(name, ".timer") || text_ends(name, ".path") || text_ends(name, ".socket");
}

/* A timer that has elapsed for the last time stays active, and does nothing any more. */
static bool trigger_waits(const struct bus_unit *trigger)
{
	return !bus_state_rests(trigger->active_state) &&
	       !text_equal(trigger->sub_state, "elapsed");
}

static void trigger_tell(const char *trigger, const char *service, struct text *words)
{
	text_addf(words, "%s%s starts %s again: systemctl %sstop %s", words->length ? "; " : "",
		trigger, service, geteuid() == 0 ? "" : "--user ", *trigger == '-' ? "-- " : "");
	text_add_quoted(words, trigger);
}

int unit_tell_triggers(struct cgroup_state *state, const struct bus_unit *unit, struct text *words,
	struct error *error)
{
	char **names CLEANUP(bus_names_done) = NULL;
	int told = 0, r = 0;

	if (text_ends(unit->name, ".slice"))
		return slice_tell_triggers(state, unit->name, words, error);
	if (text_ends(unit->name, ".service"))
		r = cgroup_bus_triggered_by(state, unit->name, &names, error);
	for (char **name = names; name && *name && (r == 0 || r == -ENOENT); name++) {
		struct bus_unit trigger;

		if (!is_trigger(*name))
			continue;
		r = cgroup_bus_unit(state, *name, &trigger, error);
		if (r < 0 || !trigger_waits(&trigger))
			continue;
		trigger_tell(trigger.name, unit->name, words);
		told = 1;
	}
	return r < 0 && r != -ENOENT ? r : told;
}

void trigger_note(struct cgroup_state *state, struct resource *resource,
	const struct bus_unit *unit, struct arena *arena)
{
	struct text words CLEANUP(text_done) = { 0 };

	if (!resource->note && unit_tell_triggers(state, unit, &words, NULL) > 0)
		resource->note = arena_dup(arena, words.data);
}

void trigger_probe(struct cgroup_state *state, struct resource *resource,
	const struct bus_unit *unit, struct arena *arena)
{
	struct text words CLEANUP(text_done) = { 0 };
	struct error error = { 0 };
	int r = unit_tell_triggers(state, unit, &words, &error);

	if (r == 0)
		return;
	if (r > 0)
		resource->present = TRI_YES;
	else if (resource->present == TRI_NO)
		resource->present = TRI_UNKNOWN;
	resource->note = arena_dup(arena, r > 0 ? words.data : error.text);
}
