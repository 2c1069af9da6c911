/* One group, by its path. */
#include "cgroup.h"

#include "base/pathname.h"
#include "base/text.h"

#include <errno.h>
#include <sys/stat.h>

/* Without cgroup v2 nothing can be said about groups, and nothing done. */
static int cgroup_check_present(const struct cgroup_state *state, struct error *error)
{
	if (state->absent == 0)
		return 0;
	return error_say(error, -state->absent, "%s", state->absent_error.text);
}

/*
 * A service that systemd has started again has another group than was registered, and a unit of that
 * name that was made anew may have the same. 1: the unit of the group is the registered one; 0: there
 * is no word of a unit; -ESTALE, -errno.
 */
static int group_check_unit(struct cgroup_state *state, const struct resource *resource,
	const char *path, struct error *error)
{
	struct bus_unit unit;
	int r = resource->token ? unit_of_group(state, path, &unit, error) : 0;

	if (r <= 0)
		return r;
	r = unit_check_identity(resource->token, &unit, error);
	return r < 0 ? r : 1;
}

/*
 * Whether the open group is the registered one. Inode numbers of cgroups are not used again before
 * a reboot; the device number is left out, since each cgroup namespace's mount has its own.
 */
static int group_check_identity(struct cgroup_state *state, int group,
	const struct resource *resource, const char *path, struct error *error)
{
	struct stat found;
	int r = group_check_unit(state, resource, path, error);

	if (r != 0)
		return r < 0 ? r : 0;
	if (fstat(group, &found) < 0)
		return error_set(error, errno, "look at the group");
	if (resource->ino && resource->ino != found.st_ino)
		return error_say(error, ESTALE,
			"it is another group than the registered one: inode %ju instead of %ju",
			(uintmax_t)found.st_ino, (uintmax_t)resource->ino);
	return 0;
}

static int group_fail(struct error *error, int r, const char *path)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	error_prefix(error, "cgroup %.200s", shown);
	return r;
}

/* What systemd says of it, where it is a unit's. A unit that has no group now may get one again. */
static int group_identify_unit(struct cgroup_state *state, struct resource *resource,
	const char *path, struct arena *arena, struct error *error)
{
	struct bus_unit unit;
	int r = unit_of_group(state, path, &unit, error);

	if (r <= 0)
		return r;
	if (*unit_identity(&unit))
		resource->token = arena_dup(arena, unit_identity(&unit));
	return 0;
}

int group_identify(struct cgroup_state *state, struct resource *resource, const char *path,
	struct arena *arena, struct error *error)
{
	int group CLEANUP(fd_done) = -EBADF;
	struct error unopened = { 0 };
	struct stat found;
	int r = cgroup_check_present(state, error);

	if (r == 0)
		r = cgroup_check_path(state, path, error);
	if (r == 0)
		r = group_identify_unit(state, resource, path, arena, error);
	if (r < 0)
		return r;
	group = cgroupfs_open_group(state->cgroupfs, path, &unopened);
	if (group == -ENOENT)
		return 0;
	if (group < 0)
		return error_say(error, -group, "%s", unopened.text);
	if (fstat(group, &found) < 0)
		return group_fail(error, error_set(error, errno, "look at it"), path);
	resource->dev = found.st_dev;
	resource->ino = found.st_ino;
	return 0;
}

/* A slice lives by what is in it. 1, 0, -errno. */
static int unit_is_due(struct cgroup_state *state, const struct bus_unit *unit, struct error *error)
{
	return text_ends(unit->name, ".slice") ? slice_starts(state, unit->name, error)
					       : unit_starts(unit);
}

/*
 * Whether the unit that has the name of the registered group is the one that had the group. Where that
 * was a group and no unit's, and is gone, it is not. 0 or -ESTALE.
 */
static int group_check_successor(const struct resource *resource, const struct bus_unit *unit,
	bool gone, struct error *error)
{
	if (gone && resource->ino && !resource->token)
		return error_say(error, ESTALE,
			"the registered group was no unit's and is gone: unit %s is another's",
			unit->name);
	return unit_check_identity(resource->token, unit, error);
}

/* Nothing runs in the group, if it is there at all: systemd may know of more that will. */
static void probe_unit(struct cgroup_state *state, struct resource *resource, const char *path,
	struct arena *arena)
{
	struct error error = { 0 };
	struct bus_unit unit;
	bool gone = resource->present == TRI_NO;
	int due = 0, r;

	if (resource->proof == PROOF_NONE)
		return;
	r = unit_of_group(state, path, &unit, &error);
	if (r == 0)
		return;
	if (r > 0 && text_equal(unit.active_state, "inactive")) {
		trigger_probe(state, resource, &unit, arena);
		return;
	}
	if (r > 0)
		due = unit_is_due(state, &unit, &error);
	if (r < 0 || due < 0) {
		resource->present = resource->present == TRI_YES ? TRI_YES : TRI_UNKNOWN;
		resource->alive = TRI_UNKNOWN;
		resource->note = arena_dup(arena, error.text);
		return;
	}
	resource->present = TRI_YES;
	if (group_check_successor(resource, &unit, gone, &error) < 0) {
		resource->contradicts = true;
		resource->note = arena_dup(arena, error.text);
	} else if (due) {
		resource->alive = TRI_YES;
		resource->note =
			arena_printf(arena, "systemd is about to start %s again", unit.name);
	}
	trigger_note(state, resource, &unit, arena);
}

/* Something runs in the group: whether that is the end of it once it is stopped. */
static void probe_running(struct cgroup_state *state, struct resource *resource, const char *path,
	struct arena *arena)
{
	struct bus_unit unit;

	if (resource->proof != PROOF_NONE && unit_of_group(state, path, &unit, NULL) > 0)
		trigger_note(state, resource, &unit, arena);
}

/* From here on it is this one, whatever gets its name. */
static void probe_settle(struct cgroup_state *state, int group, struct resource *resource,
	const char *path, struct arena *arena)
{
	struct stat found;

	if (resource->ino || fstat(group, &found) < 0)
		return;
	resource->dev = found.st_dev;
	resource->ino = found.st_ino;
	if (!resource->token && resource->proof != PROOF_NONE)
		(void)group_identify_unit(state, resource, path, arena, NULL);
}

static void probe_open(struct cgroup_state *state, int group, struct resource *resource,
	const char *path, struct arena *arena)
{
	struct error error = { 0 };
	bool populated = true;
	int r;

	resource->present = TRI_YES;
	if (cgroupfs_populated(group, &populated, &error) == 0)
		resource->alive = populated ? TRI_YES : TRI_NO;
	r = cgroup_check_path(state, path, &error);
	if (r == 0)
		r = group_check_identity(state, group, resource, path, &error);
	if (r == -ESTALE || r == -EINVAL)
		resource->contradicts = true;
	else if (r < 0 && resource->alive != TRI_YES)
		resource->alive = TRI_UNKNOWN;
	else if (r == 0)
		probe_settle(state, group, resource, path, arena);
	if (error.code)
		resource->note = arena_dup(arena, error.text);
	if (r == 0 && resource->alive == TRI_NO)
		probe_unit(state, resource, path, arena);
	else if (r == 0 && resource->alive == TRI_YES)
		probe_running(state, resource, path, arena);
}

void group_probe(struct cgroup_state *state, struct resource *resource, const char *path,
	struct arena *arena)
{
	int group CLEANUP(fd_done) = -EBADF;
	struct error error = { 0 };

	if (cgroup_check_present(state, &error) < 0) {
		resource->note = arena_dup(arena, error.text);
		return;
	}
	group = cgroupfs_open_group(state->cgroupfs, path, &error);
	if (group >= 0) {
		probe_open(state, group, resource, path, arena);
	} else if (group == -ENOENT) {
		resource->present = resource->alive = TRI_NO;
		if (cgroup_check_path(state, path, NULL) == 0)
			probe_unit(state, resource, path, arena);
	} else {
		resource->note = arena_dup(arena, error.text);
	}
}

/*
 * Opens the group to act on it, with every rule asked again. A descriptor; -ENOENT when it is gone
 * (no error), -EPERM, -ESTALE, -errno.
 */
static int group_open_proven(struct cgroup_state *state, const struct resource *resource,
	const char *path, struct error *error)
{
	int group CLEANUP(fd_done) = -EBADF;
	struct error refused = { 0 };
	int r;

	if (state->absent < 0) /* -ENOENT would say that the group is gone */
		return error_say(error, ENOTSUP, "%s", state->absent_error.text);
	if (cgroup_check_path(state, path, &refused) < 0)
		return error_say(error, EPERM, "%s", refused.text);
	group = cgroupfs_open_group(state->cgroupfs, path, &refused);
	if (group == -ENOENT)
		return -ENOENT;
	if (group < 0)
		return error_say(error, -group, "%s", refused.text);
	r = group_check_identity(state, group, resource, path, error);
	return r < 0 ? group_fail(error, r, path) : TAKE_FD(group);
}

/* Before the units of a group are stopped that is not there to be proven. 0, -ESTALE, -errno. */
static int gone_check_units(struct cgroup_state *state, const struct resource *resource,
	const char *path, struct error *error)
{
	struct bus_unit unit;
	int r = resource->ino && !resource->token ? unit_of_group(state, path, &unit, error) : 0;

	if (r <= 0 || text_equal(unit.active_state, "inactive"))
		return r < 0 ? r : 0;
	return group_check_successor(resource, &unit, true, error);
}

/*
 * Killed behind systemd's back a service with Restart= is started again. So the units of the group
 * are stopped by systemd, and what is left in it then is ours to end. *ret_group is open, or -ENOENT.
 * 1 stopped some, 0, -errno.
 */
static int group_stop_units(struct cgroup_state *state, const struct resource *resource,
	const char *path, int64_t deadline_ms, int *ret_group, struct error *error)
{
	int group CLEANUP(fd_done) = group_open_proven(state, resource, path, error);
	int r;

	if (group < 0 && group != -ENOENT)
		return group;
	r = group < 0 ? gone_check_units(state, resource, path, error) : 0;
	if (r == 0)
		r = group_units_stop(state, path, resource->token, deadline_ms, error);
	if (r < 0)
		return group_fail(error, r, path);
	*ret_group = group < 0 ? -ENOENT : TAKE_FD(group);
	return r;
}

int group_stop(struct cgroup_state *state, const struct resource *resource, const char *path,
	int64_t deadline_ms, struct error *error)
{
	int group CLEANUP(fd_done) = -EBADF;
	int stopped = group_stop_units(state, resource, path, deadline_ms, &group, error);
	int r;

	if (stopped < 0 || group == -ENOENT)
		return stopped;
	r = cgroupfs_kill(group, deadline_ms, error);
	return r < 0 ? group_fail(error, r, path) : r || stopped;
}

int group_remove(struct cgroup_state *state, const struct resource *resource, const char *path,
	int64_t deadline_ms, struct error *error)
{
	int group CLEANUP(fd_done) = -EBADF;
	char *above CLEANUP(mem_done) = pathname_parent(path);
	int parent CLEANUP(fd_done) = -EBADF;
	struct error unopened = { 0 };
	int stopped = group_stop_units(state, resource, path, deadline_ms, &group, error);
	int r;

	if (stopped < 0 || group == -ENOENT)
		return stopped;
	parent = cgroupfs_open_group(state->cgroupfs, above, &unopened);
	if (parent == -ENOENT)
		return stopped;
	if (parent < 0)
		return error_say(error, -parent, "%s", unopened.text);
	r = cgroupfs_remove(parent, pathname_last(path), deadline_ms, error);
	return r < 0 ? group_fail(error, r, path) : r || stopped;
}
