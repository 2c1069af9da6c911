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

/* The group that serves where no systemd runs. The caller owns it. */
static char *bare_group(const struct cgroup_state *state, const struct resource *resource)
{
	return mem_printf("%s/%s", state->root, resource->locator);
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

		return group_identify(state, resource, path, arena, error);
	}
	r = r < 0 ? cgroup_bus(state, &bus, error)
		  : cgroup_bus_unit(state, resource->locator, &found, error);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* not there yet */
	r = unit_check(state, &found, error);
	if (r == 0 && *unit_identity(&found))
		resource->token = arena_dup(arena, unit_identity(&found));
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

	if (unit_starts(found))
		return TRI_YES;
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

static void unit_probe(struct cgroup_state *state, struct resource *resource,
	const struct bus_unit *found, struct arena *arena)
{
	struct error error = { 0 };

	if (text_equal(found->active_state, "inactive")) {
		resource->present = resource->alive = TRI_NO;
		if (unit_check(state, found, NULL) == 0) /* else it has only the name */
			trigger_probe(state, resource, found, arena);
		return;
	}
	resource->present = TRI_YES;
	resource->alive = unit_alive(state, found);
	resource->group = arena_dup(arena, *found->control_group ? found->control_group : NULL);
	if (unit_check(state, found, &error) < 0 ||
		unit_check_identity(resource->token, found, &error) < 0) {
		resource->contradicts = true;
		resource->note = arena_dup(arena, error.text);
	}
	trigger_note(state, resource, found, arena);
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
		r = cgroup_bus_unit(state, resource->locator, &found, &error);
	if (r == 0)
		unit_probe(state, resource, &found, arena);
	else if (r == -ENOENT)
		resource->present = resource->alive = TRI_NO;
	else
		resource->note = arena_dup(arena, error.text);
}

/* Either half of the job; a unit that is stopped is removed by systemd itself. */
static int scope_act(struct cgroup_state *state, const struct resource *resource,
	int (*without_systemd)(struct cgroup_state *state, const struct resource *resource,
		const char *path, int64_t deadline_ms, struct error *error),
	int64_t deadline_ms, struct error *error)
{
	const struct unit_target target = {
		.name = resource->locator,
		.recorded = resource->token,
	};
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
	return unit_stop(state, bus, &target, deadline_ms, error);
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
