/*
 * What is mounted in the trees and paths of runs.
 *
 * MUST 1  A mount is a run's only where its point lies strictly below a tree or path of that run
 *         which lies below a root, and in no other run's. What is mounted on a tree itself, or
 *         between it and its root, is nobody's: below it lies a directory that nobody proved.
 * MUST 2  Mounts are found in the table, never by a look at the mount point: that may hang.
 * MUST 3  Before anything is taken down the tree is opened by descriptors from its root, without
 *         passing through a mount, and is the one that was registered.
 * MUST 4  What is behind a mount is not touched. A mount that is in use stays, and says whose.
 * MUST 5  Where PID 1 has a mount that we do not see, or cannot reach, it is for PID 1 to take down.
 *
 * A resource is a mount point with everything mounted on it. `at` is the tree it lies in; device,
 * inode and token are that tree's.
 */
#include "mount.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "effects.h"
#include "os/bus.h"
#include "os/dir.h"
#include "os/mount_holder.h"
#include "os/unmount.h"
#include "text_list.h"

#include <errno.h>
#include <fcntl.h>

enum { HOLDER_MS = 3000 };

static int mount_open(const struct settings *settings, void **ret_state, struct error *error)
{
	struct mount_state *state = mem_new(sizeof(*state));

	(void)error;
	state->settings = settings;
	state->view = MOUNT_VIEW_NONE;
	*ret_state = state;
	return 0;
}

static void mount_close(void *context)
{
	struct mount_state *state = context;

	if (!state)
		return;
	mount_view_done(&state->view);
	bus_close(state->bus);
	free(state);
}

static void mount_probe(void *context, struct resource *resource, struct arena *arena)
{
	struct mount_state *state = context;
	struct error error = { 0 };
	const struct mount *here, *there;

	if (mount_view_now(&state->view, &error) < 0) {
		resource->present = TRI_UNKNOWN;
		resource->note = arena_dup(arena, error.text);
		return;
	}
	here = mounts_at(&state->view.here, resource->locator);
	there = mounts_at(&state->view.there, resource->locator);
	resource->present = here || there ? TRI_YES : TRI_NO;
	if (here)
		resource->note = mount_described(arena, here);
	else if (there)
		resource->note = arena_printf(arena, "%s, in the mount namespace of PID 1 only",
			mount_described(arena, there));
}

/* One removal: everything at or below one mount point. */
struct removal {
	struct mount_state *state;
	const struct resource *resource;
	struct effort *effort;
	int tree; /* open and proved */
	struct error *error;
	bool holder_named;
};

static int removal_fail(const struct removal *removal, int code, const char *text)
{
	char *shown CLEANUP(mem_done) = text_escape(removal->resource->locator);

	return error_say(removal->error, code, "mount %.200s: %s", shown, text);
}

/* MUST 3. 0, -ESTALE, -errno. */
static int removal_prove(struct removal *removal)
{
	const struct resource *resource = removal->resource;
	const char *root =
		resource->at ? settings_root_above(removal->state->settings, resource->at) : NULL;
	int dir CLEANUP(fd_done) = -EBADF;
	char *why CLEANUP(mem_done) = NULL;
	char birth[DIR_BIRTH];
	const char *another;
	struct stat stat;

	if (!root || !pathname_below(resource->locator, resource->at))
		return removal_fail(removal, EINVAL, "it lies in no tree below a root");
	dir = dir_open(root, removal->error);
	if (dir < 0)
		return dir;
	removal->tree = dir_open_below(
		dir, pathname_below(resource->at, root), O_PATH | O_DIRECTORY | O_NOFOLLOW, NULL);
	if (removal->tree < 0 || fstat(removal->tree, &stat) < 0)
		return removal_fail(removal, removal->tree < 0 ? -removal->tree : errno,
			"the tree it lies in cannot be opened");
	another = dir_differs(&(struct dir_known){ resource->dev, resource->ino, resource->token },
		&(struct dir_known){
			stat.st_dev, stat.st_ino, dir_birth(removal->tree, birth) ? birth : NULL });
	if (!another)
		return 0;
	why = mem_printf("the tree it lies in is %s", another);
	return removal_fail(removal, ESTALE, why);
}

static struct unmount removal_of(const struct removal *removal, const struct mount *mount)
{
	return (struct unmount){
		.tree = removal->tree,
		.below = pathname_below(mount->point, removal->resource->at),
		.mount = mount,
		.deadline_ms = deadline_sooner(removal->effort->deadline_ms,
			deadline_in_ms(removal->state->settings->limits.kill_timeout_ms)),
	};
}

/* Says why one mount stays, and, once in a run, who holds it. */
static int stays(struct removal *removal, const struct mount *mount, int r, const char *why)
{
	char holder[HOLDER_TEXT] = "";
	char *shown CLEANUP(mem_done) = text_escape(mount->point);
	char *type CLEANUP(mem_done) = text_escape(mount->type);

	if (r == -EBUSY && !removal->error->code &&
		!mount_holder(mount,
			deadline_sooner(removal->effort->deadline_ms, deadline_in_ms(HOLDER_MS)),
			holder))
		(void)snprintf(holder, sizeof(holder), "%s",
			"no process that holds it can be seen; the kernel may (a loop device or "
			"swap on a file in it, an NFS export)");
	return error_say(removal->error, -r, "%.40s is mounted at %.200s: %.100s%s%s", type, shown,
		why, *holder ? ": " : "", holder);
}

/* The list as it can be taken down; outermost last. The caller frees it. */
static const struct mount **removal_order(const struct removal *removal, size_t *ret_count)
{
	const struct mount *const *list;

	*ret_count = mounts_within(&removal->state->view.here, removal->resource->locator, &list);
	return mounts_downward(list, *ret_count);
}

/* 1 when it was served by nobody, and is detached with all that was in it; 0; -errno. */
static int detach_dead(struct removal *removal, const struct mount *mount)
{
	struct unmount unmount = removal_of(removal, mount);
	struct error error = { 0 };
	int r;

	if (!mount_is_served(mount) || unmount_ask(&unmount, &error) != 0)
		return 0; /* what cannot be asked is unmounted like any other, or stays */
	r = unmount_detach(&unmount, &error);
	return r < 0 ? stays(removal, mount, r, error.text) : r;
}

/* From outside: what lies in a dead one goes with it, and could not be reached anyway. */
static int detach_all_dead(struct removal *removal)
{
	size_t count;
	const struct mount **order CLEANUP(mem_done) = removal_order(removal, &count);
	int did = 0;

	for (size_t i = count; i > 0; i--) {
		int r = detach_dead(removal, order[i - 1]);

		if (r < 0)
			return r;
		did |= r;
	}
	return did;
}

static int take_one(struct removal *removal, const struct mount *mount)
{
	struct unmount unmount = removal_of(removal, mount);
	struct error error = { 0 };
	int r = deadline_left_ms(removal->effort->deadline_ms) == 0
			? error_say(&error, ETIME, "no time is left in this pass")
			: unmount_take(&unmount, &error);

	return r < 0 ? stays(removal, mount, r, error.text) : r;
}

/* The others go on when one stays; what it lies in cannot go then, and that is not news. */
static int take_all(struct removal *removal)
{
	size_t count;
	const struct mount **order CLEANUP(mem_done) = removal_order(removal, &count);
	int did = 0, result = 0;

	for (size_t i = 0; i < count && result != -ETIME; i++) {
		int r = take_one(removal, order[i]);

		if (r < 0 && result == 0)
			result = r;
		did |= r > 0;
	}
	return result < 0 ? result : did;
}

static int remove_here(struct removal *removal)
{
	int r = detach_all_dead(removal), did = r > 0;

	if (r >= 0 && did)
		r = mount_view_now(&removal->state->view, removal->error);
	if (r >= 0)
		r = take_all(removal);
	return r < 0 ? r : did | (r > 0);
}

/* What is at or below the point after all, or NULL. */
static const struct mount *left(const struct removal *removal)
{
	const struct mount_view *view = &removal->state->view;
	const struct mount *mount = mounts_below(&view->here, removal->resource->locator);

	return mount ? mount : mounts_below(&view->there, removal->resource->locator);
}

/* Connects when it is needed first. 0, -ENOENT without systemd, -errno. */
static int bus_get(struct mount_state *state, struct error *error)
{
	return state->bus ? 0
			  : bus_open(state->settings->limits.kill_timeout_ms, &state->bus, error);
}

/*
 * MUST 5, from the inside. PID 1 goes by the path; it was proved a moment ago. One that is mounted
 * over others may take two rounds; what counts is what is left at the end.
 */
static int stop_units(struct removal *removal, const struct mount_table *table, struct error *error)
{
	struct mount_state *state = removal->state;
	const struct mount *const *list;
	size_t count = mounts_within(table, removal->resource->locator, &list);
	const struct mount **order CLEANUP(mem_done) = mounts_downward(list, count);
	int result = 0;

	for (size_t i = 0; i < count && result != -ETIME; i++) {
		int r = bus_mount_stop(state->bus, order[i]->point,
			deadline_sooner(removal->effort->deadline_ms,
				deadline_in_ms(state->settings->limits.kill_timeout_ms)),
			error);

		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}

/* `why`: what is said where there is no systemd to ask. */
static int remove_over_bus(
	struct removal *removal, const struct mount_table *table, const char *why)
{
	const struct mount *first = mounts_below(table, removal->resource->locator);
	struct error error = { 0 };
	int r = bus_get(removal->state, &error), stopped;

	if (r == -ENOENT)
		return stays(removal, first, -EPERM, why);
	if (r < 0)
		return stays(removal, first, r, error.text);
	stopped = stop_units(removal, table, &error);
	r = mount_view_anew(&removal->state->view, removal->error);
	if (r < 0)
		return r;
	first = stopped < 0 ? left(removal) : NULL;
	return first ? stays(removal, first, stopped, error.text) : 0;
}

static int remove_proved(struct removal *removal)
{
	struct mount_view *view = &removal->state->view;
	const struct mount *first;
	int r = 0;

	if (mounts_below(&view->there, removal->resource->locator))
		r = remove_over_bus(removal, &view->there,
			"PID 1 has it in another mount namespace than ours, and there is no "
			"systemd to ask");
	else if (!unmount_allowed())
		r = remove_over_bus(removal, &view->here,
			"unmounting needs CAP_SYS_ADMIN, or a systemd to ask");
	if (r >= 0)
		r = mount_view_now(view, removal->error);
	if (r >= 0 && unmount_allowed() && left(removal))
		r = remove_here(removal);
	if (r >= 0)
		r = mount_view_now(view, removal->error);
	first = r < 0 ? NULL : left(removal);
	return first ? stays(removal, first, -EBUSY, "it is still there") : r < 0 ? r : 1;
}

static int mount_remove(
	void *context, const struct resource *resource, struct effort *effort, struct error *error)
{
	struct error unsaid = { 0 };
	struct removal removal = {
		.state = context,
		.resource = resource,
		.effort = effort,
		.tree = -EBADF,
		.error = error ? error : &unsaid,
	};
	int r = mount_view_anew(&removal.state->view, removal.error);

	if (r < 0 || !left(&removal))
		return r;
	r = removal_prove(&removal);
	if (r == 0)
		r = remove_proved(&removal);
	fd_done(&removal.tree);
	return r;
}

static const struct backend_effects mount_effects = {
	.remove = mount_remove,
};

const struct backend mount_backend = {
	.name = "mounts",
	.open = mount_open,
	.close = mount_close,
	.discover = mount_discover,
	.probe = mount_probe,
	.effects = &mount_effects,
};
