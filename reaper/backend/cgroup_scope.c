/* Scopes and services: the units of systemd in which runs have their processes. */
#include "cgroup.h"

#include "base/text.h"

#include <errno.h>

enum { UNIT_NAME_MAX = 255 };

/*
 * As systemd.unit(5) has it: up to 255 letters, digits and :-_.\@ (other bytes as \xNN), here with
 * the suffix of a kind of unit that has processes, and not a template.
 */
static int unit_check_name(const char *unit, struct error *error)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789:-_.\\@";
	char *shown CLEANUP(mem_done) = text_escape(unit);
	size_t length = strlen(unit);

	if (length > UNIT_NAME_MAX)
		return error_say(error, EINVAL, "unit name %.60s… is longer than %d characters",
			shown, UNIT_NAME_MAX);
	if (!text_ends(unit, ".scope") && !text_ends(unit, ".service"))
		return error_say(error, EINVAL,
			"unit %s is neither a scope nor a service: the name ends in .scope or "
			".service",
			shown);
	if (unit[strspn(unit, allowed)])
		return error_say(error, EINVAL,
			"unit %s: a name has letters, digits and :-_.\\@ (systemd-escape(1) makes "
			"one of any text)",
			shown);
	if (unit[0] == '.' || unit[0] == '@' || strstr(unit, "@."))
		return error_say(error, EINVAL,
			"unit %s is not the name of one unit, as in sbx-r1.scope", shown);
	return 0;
}

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

/* Where the unit has its processes, or would have them. The caller owns it. */
static char *unit_group(const char *unit, const struct bus_unit *found)
{
	struct text path = { 0 };

	if (*found->control_group)
		return mem_dup(found->control_group);
	text_add(&path, found->manager_group);
	slice_add_path(&path, found->slice);
	text_addf(&path, "/%s", unit);
	return path.data;
}

/* The group that serves where no systemd runs. The caller owns it. */
static char *bare_group(const struct cgroup_state *state, const struct resource *resource)
{
	return mem_printf("%s/%s", state->root, resource->locator);
}

/* Whether a run may own the unit at all. 0 or -EINVAL. */
static int unit_check(const struct cgroup_state *state, const char *unit,
	const struct bus_unit *found, struct error *error)
{
	char *path CLEANUP(mem_done) = unit_group(unit, found);

	if (cgroup_check_path(state, path, error) < 0) {
		error_prefix(error, "unit %s", unit);
		return -EINVAL;
	}
	return 0;
}

/* Whether it is the registered unit and not a later one of the same name. 0 or -ESTALE. */
static int unit_check_identity(
	const struct resource *resource, const struct bus_unit *found, struct error *error)
{
	if (!resource->token || text_equal(resource->token, found->invocation_id))
		return 0;
	return error_say(error, ESTALE,
		"unit %s is another invocation than the registered one: %s instead of %s",
		resource->locator, *found->invocation_id ? found->invocation_id : "none",
		resource->token);
}

int scope_identify(struct cgroup_state *state, struct resource *resource, struct arena *arena,
	struct error *error)
{
	struct bus_unit found;
	struct bus *bus;
	int r = unit_check_name(resource->locator, error);

	if (r < 0)
		return r;
	r = cgroup_bus(state, &bus, NULL);
	if (r == -ENOENT) {
		char *path CLEANUP(mem_done) = bare_group(state, resource);

		return group_identify(state, resource, path, error);
	}
	r = r < 0 ? cgroup_bus(state, &bus, error)
		  : bus_unit_get(bus, resource->locator, &found, error);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* not there yet */
	r = unit_check(state, resource->locator, &found, error);
	if (r == 0 && *found.invocation_id)
		resource->token = arena_dup(arena, found.invocation_id);
	return r;
}

/*
 * Whether something runs in it. What its group says comes first: systemd may think that a scope is
 * active long after the last process has gone.
 */
static enum tri unit_alive(const struct cgroup_state *state, const struct bus_unit *found)
{
	int group CLEANUP(fd_done) = -EBADF;
	bool populated;

	if (text_equal(found->active_state, "activating") ||
		text_equal(found->active_state, "reloading"))
		return TRI_YES; /* a service may be waiting for its restart */
	if (state->cgroupfs && *found->control_group) {
		group = cgroupfs_open_group(state->cgroupfs, found->control_group, NULL);
		if (group == -ENOENT)
			return TRI_NO;
		if (group >= 0 && cgroupfs_populated(group, &populated, NULL) == 0)
			return populated ? TRI_YES : TRI_NO;
	}
	return text_equal(found->active_state, "active") ||
			       text_equal(found->active_state, "deactivating")
		       ? TRI_YES
		       : TRI_NO;
}

static void unit_probe(const struct cgroup_state *state, struct resource *resource,
	const struct bus_unit *found, struct arena *arena)
{
	struct error error = { 0 };

	if (text_equal(found->active_state, "inactive")) {
		resource->present = resource->alive = TRI_NO;
		return;
	}
	resource->present = TRI_YES;
	resource->alive = unit_alive(state, found);
	resource->group = arena_dup(arena, *found->control_group ? found->control_group : NULL);
	if (unit_check(state, resource->locator, found, &error) < 0 ||
		unit_check_identity(resource, found, &error) < 0) {
		resource->contradicts = true;
		resource->note = arena_dup(arena, error.text);
	}
}

void scope_probe(struct cgroup_state *state, struct resource *resource, struct arena *arena)
{
	struct error error = { 0 };
	struct bus_unit found;
	struct bus *bus;
	int r = unit_check_name(resource->locator, &error);

	if (r < 0) {
		resource->contradicts = true;
		resource->note = arena_dup(arena, error.text);
		return;
	}
	r = cgroup_bus(state, &bus, &error);
	if (r == -ENOENT) {
		char *path CLEANUP(mem_done) = bare_group(state, resource);

		group_probe(state, resource, path, arena);
		resource->group = resource->present == TRI_NO ? NULL : arena_dup(arena, path);
		return;
	}
	if (r == 0)
		r = bus_unit_get(bus, resource->locator, &found, &error);
	if (r == 0)
		unit_probe(state, resource, &found, arena);
	else if (r == -ENOENT)
		resource->present = resource->alive = TRI_NO;
	else
		resource->note = arena_dup(arena, error.text);
}

/* Systemd says only that it did not stop; who it is stands in its cgroup. */
static int unit_stays(const struct cgroup_state *state, const char *unit,
	const struct bus_unit *found, int code, const char *why, struct error *error)
{
	char *path CLEANUP(mem_done) = unit_group(unit, found);
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

static int unit_stop(const struct cgroup_state *state, struct bus *bus,
	const struct resource *resource, int64_t deadline_ms, struct error *error)
{
	struct error refused = { 0 };
	struct bus_unit found;
	int r = bus_unit_get(bus, resource->locator, &found, error);

	if (r == -ENOENT || (r == 0 && text_equal(found.active_state, "inactive")))
		return 0;
	if (r < 0)
		return r;
	if (unit_check(state, resource->locator, &found, &refused) < 0)
		return error_say(error, EPERM, "%s", refused.text);
	r = unit_check_identity(resource, &found, error);
	if (r < 0)
		return r;
	/* Addressed by the invocation that was looked at, whatever has the name by now. */
	r = bus_unit_stop(bus, resource->locator, *found.invocation_id ? found.invocation_id : NULL,
		deadline_ms, &refused);
	if (r < 0 && refused.code)
		return unit_stays(state, resource->locator, &found, -r, refused.text, error);
	return r;
}

/* Either half of the job; a unit that is stopped is removed by systemd itself. */
static int scope_act(struct cgroup_state *state, const struct resource *resource,
	int (*without_systemd)(const struct cgroup_state *state, const struct resource *resource,
		const char *path, int64_t deadline_ms, struct error *error),
	int64_t deadline_ms, struct error *error)
{
	struct bus *bus;
	int r = unit_check_name(resource->locator, error);

	if (r < 0)
		return r;
	r = cgroup_bus(state, &bus, NULL);
	if (r == -ENOENT) {
		char *path CLEANUP(mem_done) = bare_group(state, resource);

		return without_systemd(state, resource, path, deadline_ms, error);
	}
	if (r < 0)
		return cgroup_bus(state, &bus, error);
	return unit_stop(state, bus, resource, deadline_ms, error);
}

int scope_stop(struct cgroup_state *state, const struct resource *resource, int64_t deadline_ms,
	struct error *error)
{
	return scope_act(state, resource, group_stop, deadline_ms, error);
}

int scope_remove(struct cgroup_state *state, const struct resource *resource, int64_t deadline_ms,
	struct error *error)
{
	return scope_act(state, resource, group_remove, deadline_ms, error);
}
