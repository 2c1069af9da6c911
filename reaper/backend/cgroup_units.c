/*
 * The units of systemd that lie in a group. Their groups are named after them, and above them are
 * slices only: so a group that is not named like a unit holds none, whatever the names below it,
 * which a run that was given the group may have chosen.
 */
#include "cgroup.h"

#include "base/pathname.h"
#include "base/text.h"

#include <errno.h>

/* A slice's name has its whole path in it: so many dashes no path has. */
enum { SLICES_DEEP = 64 };

/*
 * The unit that a group is named after, or NULL. Systemd puts "_" before a name that would look like
 * a file of the kernel's ("_memory.service").
 */
static const char *group_unit_name(const char *path)
{
	const char *name = pathname_last(path);

	name += *name == '_';
	return text_ends(name, ".service") || text_ends(name, ".scope") || text_ends(name, ".slice")
		       ? name
		       : NULL;
}

int unit_of_group(struct cgroup_state *state, const char *path, struct bus_unit *ret_unit,
	struct error *error)
{
	const char *name = group_unit_name(path);
	char *group CLEANUP(mem_done) = NULL;
	struct bus_unit unit;
	struct bus *bus;
	int r = name ? cgroup_bus(state, &bus, NULL) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	r = r < 0 ? cgroup_bus(state, &bus, error) : cgroup_bus_unit(state, name, &unit, error);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	group = unit_group(&unit);
	if (!text_equal(group, path))
		return 0;
	*ret_unit = unit;
	return 1;
}

/* What is done to the members of a slice. */
struct tour {
	struct cgroup_state *state;
	struct bus *bus;
	const char *within;
	int64_t deadline_ms;
	struct error *error;
};

/* In this order: a socket starts the service that somebody else has just stopped. */
static const char *const member_kinds[] = { ".socket", ".service", ".scope" };

static int tour_stop(const struct tour *tour, const char *name, const char *recorded)
{
	const struct unit_target target = {
		.name = name,
		.within = tour->within,
		.recorded = recorded,
	};

	return unit_stop(tour->state, tour->bus, &target, tour->deadline_ms, tour->error);
}

static int tour_slice(const struct tour *tour, const char *slice, const char *recorded, int depth);

/* The first error is kept and the others are stopped all the same. */
static int tour_members(const struct tour *tour, char **names, int depth)
{
	int first = 0, stopped = 0;

	for (size_t kind = 0; kind <= ARRAY_SIZE(member_kinds); kind++)
		for (char **name = names; name && *name; name++) {
			int r = 0;

			if (kind < ARRAY_SIZE(member_kinds))
				r = text_ends(*name, member_kinds[kind])
					    ? tour_stop(tour, *name, NULL)
					    : 0;
			else if (text_ends(*name, ".slice"))
				r = tour_slice(tour, *name, NULL, depth + 1);
			stopped |= r > 0;
			if (r < 0 && first == 0)
				first = r;
		}
	return first < 0 ? first : stopped;
}

/* What lies in it comes first: stopping a slice stops all of it at once, and proves nothing. */
static int tour_slice(const struct tour *tour, const char *slice, const char *recorded, int depth)
{
	char **names CLEANUP(bus_names_done) = NULL;
	int stopped = 0, r;

	if (depth > SLICES_DEEP)
		return error_say(tour->error, ELOOP, "slice %s lies too deep", slice);
	r = cgroup_bus_members(tour->state, slice, &names, tour->error);
	if (r == 0)
		stopped = tour_members(tour, names, depth);
	if (r < 0 && r != -ENOENT)
		return r;
	if (stopped < 0)
		return stopped;
	r = tour_stop(tour, slice, recorded);
	return r < 0 ? r : r || stopped;
}

int group_units_stop(struct cgroup_state *state, const char *path, const char *recorded,
	int64_t deadline_ms, struct error *error)
{
	struct tour tour = {
		.state = state,
		.within = path,
		.deadline_ms = deadline_ms,
		.error = error,
	};
	struct bus_unit unit;
	int r = unit_of_group(state, path, &unit, error);

	if (r <= 0)
		return r;
	/* Before anything in it is touched. */
	r = unit_check_identity(recorded, &unit, error);
	if (r == 0)
		r = cgroup_bus(state, &tour.bus, error);
	if (r < 0)
		return r;
	return text_ends(unit.name, ".slice") ? tour_slice(&tour, unit.name, recorded, 0)
					      : tour_stop(&tour, unit.name, recorded);
}

/* What is asked about each service that lies in a slice, until the answer is not 0. */
struct inquiry {
	struct cgroup_state *state;
	int (*ask)(const struct inquiry *inquiry, const struct bus_unit *unit);
	struct text *words;
	struct error *error;
};

/* What is gone by now does not start; what cannot be asked may. */
static int ask_member(const struct inquiry *inquiry, const char *name)
{
	struct bus_unit unit;
	int r = cgroup_bus_unit(inquiry->state, name, &unit, inquiry->error);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return inquiry->ask(inquiry, &unit);
}

static int ask_slice(const struct inquiry *inquiry, const char *slice, int depth)
{
	char **names CLEANUP(bus_names_done) = NULL;
	int r = depth > SLICES_DEEP
			? 0
			: cgroup_bus_members(inquiry->state, slice, &names, inquiry->error);

	for (char **name = names; name && *name && r == 0; name++) {
		if (text_ends(*name, ".slice"))
			r = ask_slice(inquiry, *name, depth + 1);
		else if (text_ends(*name, ".service"))
			r = ask_member(inquiry, *name);
	}
	return r == -ENOENT ? 0 : r;
}

static int ask_starts(const struct inquiry *inquiry, const struct bus_unit *unit)
{
	(void)inquiry;
	return unit_starts(unit);
}

int slice_starts(struct cgroup_state *state, const char *slice, struct error *error)
{
	const struct inquiry inquiry = { .state = state, .ask = ask_starts, .error = error };

	return ask_slice(&inquiry, slice, 0);
}

static int ask_triggers(const struct inquiry *inquiry, const struct bus_unit *unit)
{
	return unit_tell_triggers(inquiry->state, unit, inquiry->words, inquiry->error);
}

int slice_tell_triggers(
	struct cgroup_state *state, const char *slice, struct text *words, struct error *error)
{
	const struct inquiry inquiry = {
		.state = state, .ask = ask_triggers, .words = words, .error = error
	};

	return ask_slice(&inquiry, slice, 0);
}
