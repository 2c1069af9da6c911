#include "cgroup.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

static int cgroup_open(const struct settings *settings, void **ret_state, struct error *error)
{
	struct cgroup_state *state = mem_new(sizeof(*state));

	(void)error;
	state->root = mem_printf("/%s", settings->cgroup_root);
	state->kill_timeout_ms = settings->limits.kill_timeout_ms;
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

/* Without cgroup v2 nothing can be said about groups, and nothing done. */
static int cgroup_check_present(const struct cgroup_state *state, struct error *error)
{
	if (state->absent == 0)
		return 0;
	return error_say(error, -state->absent, "%s", state->absent_error.text);
}

/*
 * Whether the open group is the registered one. Inode numbers of cgroups are not used again before
 * a reboot; the device number is left out, since each cgroup namespace's mount has its own.
 */
static int group_check_identity(
	int group, const struct resource *resource, struct stat *ret_found, struct error *error)
{
	struct stat found;

	if (fstat(group, &found) < 0)
		return error_set(error, errno, "look at the group");
	*ret_found = found;
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

int group_identify(const struct cgroup_state *state, struct resource *resource, const char *path,
	struct error *error)
{
	int group CLEANUP(fd_done) = -EBADF;
	struct error unopened = { 0 };
	struct stat found;
	int r = cgroup_check_present(state, error);

	if (r == 0)
		r = cgroup_check_path(state, path, error);
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

void group_probe(const struct cgroup_state *state, struct resource *resource, const char *path,
	struct arena *arena)
{
	int group CLEANUP(fd_done) = -EBADF;
	struct error error = { 0 };
	struct stat found;
	bool populated;

	if (cgroup_check_present(state, &error) < 0) {
		resource->note = arena_dup(arena, error.text);
		return;
	}
	group = cgroupfs_open_group(state->cgroupfs, path, &error);
	if (group == -ENOENT) {
		resource->present = resource->alive = TRI_NO;
		return;
	}
	if (group < 0) {
		resource->note = arena_dup(arena, error.text);
		return;
	}
	resource->present = TRI_YES;
	if (cgroupfs_populated(group, &populated, &error) == 0)
		resource->alive = populated ? TRI_YES : TRI_NO;
	if (group_check_identity(group, resource, &found, &error) < 0 ||
		cgroup_check_path(state, path, &error) < 0) {
		resource->contradicts = true;
	} else if (!resource->ino) {
		/* From here on it is this one, whatever gets its name. */
		resource->dev = found.st_dev;
		resource->ino = found.st_ino;
	}
	if (error.code)
		resource->note = arena_dup(arena, error.text);
}

/*
 * Opens the group to act on it, with every rule asked again. A descriptor; -ENOENT when it is gone
 * (no error), -EPERM, -ESTALE, -errno.
 */
static int group_open_proven(const struct cgroup_state *state, const struct resource *resource,
	const char *path, struct error *error)
{
	int group CLEANUP(fd_done) = -EBADF;
	struct error refused = { 0 };
	struct stat found;
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
	r = group_check_identity(group, resource, &found, error);
	return r < 0 ? group_fail(error, r, path) : TAKE_FD(group);
}

int group_stop(const struct cgroup_state *state, const struct resource *resource, const char *path,
	int64_t deadline_ms, struct error *error)
{
	int group CLEANUP(fd_done) = group_open_proven(state, resource, path, error);
	int r;

	if (group == -ENOENT)
		return 0;
	if (group < 0)
		return group;
	r = cgroupfs_kill(group, deadline_ms, error);
	return r < 0 ? group_fail(error, r, path) : r;
}

int group_remove(const struct cgroup_state *state, const struct resource *resource,
	const char *path, int64_t deadline_ms, struct error *error)
{
	int group CLEANUP(fd_done) = group_open_proven(state, resource, path, error);
	char *above CLEANUP(mem_done) = pathname_parent(path);
	int parent CLEANUP(fd_done) = -EBADF;
	struct error unopened = { 0 };
	int r;

	if (group == -ENOENT)
		return 0;
	if (group < 0)
		return group;
	parent = cgroupfs_open_group(state->cgroupfs, above, &unopened);
	if (parent == -ENOENT)
		return 0;
	if (parent < 0)
		return error_say(error, -parent, "%s", unopened.text);
	r = cgroupfs_remove(parent, pathname_last(path), deadline_ms, error);
	return r < 0 ? group_fail(error, r, path) : r;
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
	return r < 0 ? r : group_identify(context, resource, resource->locator, error);
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
