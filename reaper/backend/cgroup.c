#include "cgroup.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>

static int cgroup_open(const struct settings *settings, void **ret_state, struct error *error)
{
	struct cgroup_state *state = mem_new(sizeof(*state));

	(void)error;
	state->root = mem_printf("/%s", settings->cgroup_root);
	state->kill_timeout_ms = settings->limits.kill_timeout_ms;
	state->visits = settings->visited != NULL;
	state->absent = cgroupfs_open(&state->cgroupfs, &state->absent_error);
	if (state->absent == 0)
		state->absent = cgroupfs_own(&state->own, &state->absent_error);
	*ret_state = state;
	return 0;
}

static void cgroup_close(void *context)
{
	struct cgroup_state *state = context;

	if (!state)
		return;
	bus_close(state->bus);
	cgroupfs_close(state->cgroupfs);
	free(state->own);
	free(state->root);
	free(state);
}

int cgroup_bus(struct cgroup_state *state, struct bus **ret_bus, struct error *error)
{
	if (!state->bus_asked) {
		state->bus_asked = true;
		state->bus_answer =
			bus_open(state->kill_timeout_ms, &state->bus, &state->bus_error);
	}
	if (state->bus_answer < 0)
		return error_say(error, -state->bus_answer, "%s", state->bus_error.text);
	*ret_bus = state->bus;
	return 0;
}

/* What came of a question that had all the time that there is. */
static int bus_said(
	struct cgroup_state *state, int r, const struct error *failed, struct error *error)
{
	if (r >= 0 || r == -ENOENT)
		return r;
	if (r == -ETIME) {
		state->bus_answer = r;
		state->bus_error = *failed;
	}
	return error_say(error, -r, "%s", failed->text);
}

int cgroup_bus_unit(struct cgroup_state *state, const char *name, struct bus_unit *ret_unit,
	struct error *error)
{
	struct error failed = { 0 };
	struct bus *bus;
	int r = cgroup_bus(state, &bus, error);

	return r < 0 ? r
		     : bus_said(state, bus_unit_get(bus, name, ret_unit, &failed), &failed, error);
}

/* A question about a unit that is answered with names. */
static int bus_names(struct cgroup_state *state, typeof(bus_slice_members) *ask, const char *unit,
	char ***ret_names, struct error *error)
{
	struct error failed = { 0 };
	struct bus *bus;
	int r = cgroup_bus(state, &bus, error);

	return r < 0 ? r : bus_said(state, ask(bus, unit, ret_names, &failed), &failed, error);
}

int cgroup_bus_members(
	struct cgroup_state *state, const char *slice, char ***ret_names, struct error *error)
{
	return bus_names(state, bus_slice_members, slice, ret_names, error);
}

int cgroup_bus_triggered_by(
	struct cgroup_state *state, const char *unit, char ***ret_names, struct error *error)
{
	return bus_names(state, bus_unit_triggered_by, unit, ret_names, error);
}

int cgroup_check_path(const struct cgroup_state *state, const char *path, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	if (!pathname_below(path, state->root))
		return error_say(error, EINVAL,
			"cgroup %.200s is not below %s, where runs have theirs ([cgroups] root)",
			shown, state->root);
	if (state->own && (text_equal(path, state->own) || pathname_below(state->own, path)))
		return error_say(error, EINVAL,
			"cgroup %.200s is our own or holds it (we are in %s)", shown, state->own);
	return 0;
}

/* Accepts the path below the mount point as well as the one that /proc/PID/cgroup shows. */
static int locator_normalise(const struct cgroup_state *state, struct resource *resource,
	struct arena *arena, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(resource->locator);
	char *clean CLEANUP(mem_done) = NULL;
	const char *below = NULL;

	if (resource->locator[0] != '/' || strchr(resource->locator, '\n') ||
		strlen(resource->locator) >= PATH_MAX)
		return error_say(error, EINVAL,
			"cgroup %.200s: give its absolute path, as in %s/NAME", shown, state->root);
	clean = pathname_clean(resource->locator, NULL);
	if (state->cgroupfs)
		below = pathname_below(clean, cgroupfs_mount(state->cgroupfs));
	resource->locator = below ? arena_printf(arena, "/%s", below) : arena_dup(arena, clean);
	return 0;
}

static int cgroup_identify(
	void *context, struct resource *resource, struct arena *arena, struct error *error)
{
	int r;

	if (resource->kind == KIND_SCOPE)
		return scope_identify(context, resource, arena, error);
	r = locator_normalise(context, resource, arena, error);
	return r < 0 ? r : group_identify(context, resource, resource->locator, arena, error);
}

static void cgroup_probe(void *context, struct resource *resource, struct arena *arena)
{
	if (resource->kind == KIND_SCOPE)
		scope_probe(context, resource, arena);
	else
		group_probe(context, resource, resource->locator, arena);
}

static int64_t cgroup_deadline(const struct cgroup_state *state, const struct effort *effort)
{
	return deadline_sooner(effort->deadline_ms, deadline_in_ms(state->kill_timeout_ms));
}

static int cgroup_stop(
	void *context, const struct resource *resource, struct effort *effort, struct error *error)
{
	struct cgroup_state *state = context;
	int64_t deadline_ms = cgroup_deadline(state, effort);

	if (resource->kind == KIND_SCOPE)
		return scope_stop(state, resource, deadline_ms, error);
	return group_stop(state, resource, resource->locator, deadline_ms, error);
}

static int cgroup_remove(
	void *context, const struct resource *resource, struct effort *effort, struct error *error)
{
	struct cgroup_state *state = context;
	int64_t deadline_ms = cgroup_deadline(state, effort);

	if (resource->kind == KIND_SCOPE)
		return scope_remove(state, resource, deadline_ms, error);
	return group_remove(state, resource, resource->locator, deadline_ms, error);
}

static const struct backend_effects cgroup_effects = {
	.stop = cgroup_stop,
	.remove = cgroup_remove,
};

const struct backend cgroup_backend = {
	.name = "cgroups",
	.open = cgroup_open,
	.close = cgroup_close,
	.identify = cgroup_identify,
	.discover = cgroup_discover,
	.probe = cgroup_probe,
	.effects = &cgroup_effects,
};
