/* One unit of systemd that is, or may be, a run's. */
#include "cgroup.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"

#include <errno.h>

/* The group of a slice: "/sbx.slice/sbx-ci.slice" of "sbx-ci.slice"; "" of the root slice. */
static void slice_add_path(struct text *path, const char *slice)
{
	size_t stem = strcspn(slice, ".");

	if (text_equal(slice, "-.slice"))
		return;
	for (size_t end = 1; end <= stem; end++)
		if (end == stem || slice[end] == '-')
			text_addf(path, "/%.*s.slice", (int)end, slice);
}

char *unit_group(const struct bus_unit *unit)
{
	struct text path = { 0 };

	if (*unit->control_group)
		return mem_dup(unit->control_group);
	text_add(&path, unit->manager_group);
	if (text_ends(unit->name, ".slice")) {
		slice_add_path(&path, unit->name);
	} else {
		slice_add_path(&path, unit->slice);
		text_addf(&path, "/%s", unit->name);
	}
	return path.data ? path.data : mem_dup("/");
}

int unit_check(const struct cgroup_state *state, const struct bus_unit *unit, struct error *error)
{
	char *path CLEANUP(mem_done) = unit_group(unit);

	if (cgroup_check_path(state, path, error) < 0) {
		error_prefix(error, "unit %s", unit->name);
		return -EINVAL;
	}
	return 0;
}

const char *unit_identity(const struct bus_unit *unit)
{
	return *unit->origin ? unit->origin : unit->invocation_id;
}

int unit_check_identity(const char *recorded, const struct bus_unit *unit, struct error *error)
{
	if (!recorded || text_equal(recorded, unit->invocation_id) ||
		(*unit->origin && text_equal(recorded, unit->origin)))
		return 0;
	return error_say(error, ESTALE,
		"unit %s is another invocation than the registered one: %s instead of %s",
		unit->name, *unit_identity(unit) ? unit_identity(unit) : "none", recorded);
}

bool unit_starts(const struct bus_unit *unit)
{
	return text_equal(unit->active_state, "activating") ||
	       text_equal(unit->active_state, "reloading");
}

/* Systemd says only that it did not stop; who it is stands in its cgroup. */
static int unit_stays(const struct cgroup_state *state, const struct bus_unit *unit, int code,
	const char *why, struct error *error)
{
	char *path CLEANUP(mem_done) = unit_group(unit);
	struct text who CLEANUP(text_done) = { 0 };
	int group CLEANUP(fd_done) = -EBADF;
	bool populated = false;

	if (state->cgroupfs)
		group = cgroupfs_open_group(state->cgroupfs, path, NULL);
	if (group >= 0 && cgroupfs_populated(group, &populated, NULL) == 0 && populated)
		cgroupfs_name_members(group, &who);
	return error_say(error, code, "%s%s%s", why, populated ? "; still in it: " : "",
		populated ? who.data : "");
}

/* It was stopped, and something has started it again. */
static int unit_returns(struct cgroup_state *state, const struct bus_unit *unit, int code,
	const char *why, struct error *error)
{
	struct text words CLEANUP(text_done) = { 0 };

	text_add(&words, why);
	(void)unit_tell_triggers(state, unit, &words, NULL);
	return unit_stays(state, unit, code, words.data, error);
}

/*
 * 1 when it is there, has something to be stopped, and is the one that is meant; 0: there is nothing
 * of it; -EPERM, -ESTALE, -errno.
 */
static int target_look(struct cgroup_state *state, const struct unit_target *target,
	struct bus_unit *ret_unit, struct error *error)
{
	char *path CLEANUP(mem_done) = NULL;
	struct error refused = { 0 };
	int r = cgroup_bus_unit(state, target->name, ret_unit, error);

	if (r == -ENOENT || (r == 0 && text_equal(ret_unit->active_state, "inactive")))
		return 0;
	if (r < 0)
		return r;
	path = unit_group(ret_unit);
	if (target->within && !text_equal(path, target->within) &&
		!pathname_below(path, target->within))
		return 0; /* it has only the name */
	if (unit_check(state, ret_unit, &refused) < 0)
		return error_say(error, EPERM, "%s", refused.text);
	r = unit_check_identity(target->recorded, ret_unit, error);
	return r < 0 ? r : 1;
}

/*
 * It is addressed by the invocation that was looked at, whatever has the name by then. A service may
 * have been started again in between, which is looked at in its turn: once systemd has taken the
 * order to stop it, it is not.
 */
int unit_stop(struct cgroup_state *state, struct bus *bus, const struct unit_target *target,
	int64_t deadline_ms, struct error *error)
{
	struct bus_unit unit;
	int stopped = 0, r;

	while ((r = target_look(state, target, &unit, error)) > 0) {
		struct error why = { 0 };

		if (stopped && deadline_left_ms(deadline_ms) == 0)
			return unit_returns(
				state, &unit, ETIME, "it is started again and again", error);
		r = bus_unit_stop(bus, unit.name, *unit.invocation_id ? unit.invocation_id : NULL,
			deadline_ms, &why);
		if (r < 0 && r != -ESTALE)
			return stopped ? unit_returns(state, &unit, -r, why.text, error)
				       : unit_stays(state, &unit, -r, why.text, error);
		stopped = 1;
	}
	return r < 0 ? r : stopped;
}
