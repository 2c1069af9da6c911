/* Removing a cgroup with all below it: cgroupfs_remove(). */
#include "cgroup_files.h"
#include "cgroupfs.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

/* Where the removal is: an open group, so many levels below the one where it began. */
struct descent {
	int at;
	unsigned level;
	unsigned children;       /* seen by the last try */
	char busy[NAME_MAX + 1]; /* the child that would not go */
};

static void descent_done(struct descent *descent)
{
	fd_done(&descent->at);
}

/* rmdir(2) of a group: 1, 0 gone already, -EBUSY while groups or processes are in it, -errno. */
static int group_unlink(int parent, const char *name)
{
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

static int group_busy(int group, struct error *error)
{
	struct text who CLEANUP(text_done) = { 0 };

	cgroupfs_name_members(group, &who);
	return error_say(error, EBUSY, "still in it: %s", who.data);
}

static int descent_try_child(void *context, const char *name)
{
	struct descent *descent = context;
	int r = group_unlink(descent->at, name);

	descent->children++;
	if (r != -EBUSY)
		return r < 0 ? r : 0;
	(void)snprintf(descent->busy, sizeof(descent->busy), "%s", name);
	return 1;
}

static int descent_move(struct descent *descent, const char *name)
{
	int next = cgroup_file(descent->at, name, O_RDONLY | O_DIRECTORY);

	if (next < 0)
		return next;
	fd_done(&descent->at);
	descent->at = next;
	return 0;
}

/*
 * Removes the children that can go; then down into the first that cannot, or up again. In cgroup v2
 * no group changes its parent, so ".." is where we came from. 1 when nothing is left below.
 */
static int descent_step(struct descent *descent, struct error *error)
{
	bool populated;
	int r;

	descent->children = 0;
	r = cgroupfs_children(descent->at, descent_try_child, descent, error);
	if (r < 0)
		return error_set(error, -r, "remove a cgroup below");
	if (r > 0) {
		descent->level++;
		return descent_move(descent, descent->busy);
	}
	if (descent->level == 0)
		return 1;
	if (descent->children == 0) {
		r = cgroupfs_populated(descent->at, &populated, error);
		if (r < 0 || populated)
			return r < 0 ? r : group_busy(descent->at, error);
	}
	descent->level--;
	return descent_move(descent, "..");
}

/* 0; -ENOENT when someone else removes as well: then it is looked at anew. */
static int groups_remove_below(int group, int64_t deadline_ms, struct error *error)
{
	struct descent descent CLEANUP(
		descent_done) = { .at = cgroup_file(group, ".", O_RDONLY | O_DIRECTORY) };
	int r = descent.at < 0 ? descent.at : 0;

	while (r == 0) {
		r = descent_step(&descent, error);
		if (r == 0 && deadline_left_ms(deadline_ms) == 0)
			return error_say(error, ETIME, "not all cgroups could be removed in time");
	}
	if (r < 0 && r != -ENOENT)
		return error_set(error, -r, "open a cgroup below");
	return r > 0 ? 0 : r;
}

/* Whether the group may be taken apart: not while something runs in it. */
static int group_check_empty(int group, struct error *error)
{
	bool populated;
	int r = cgroupfs_populated(group, &populated, error);

	if (r < 0)
		return r;
	return populated ? group_busy(group, error) : 0;
}

int cgroupfs_remove(int parent, const char *name, int64_t deadline_ms, struct error *error)
{
	int r;

	while ((r = group_unlink(parent, name)) == -EBUSY) {
		int group CLEANUP(fd_done) = cgroup_file(parent, name, O_RDONLY | O_DIRECTORY);

		if (group == -ENOENT)
			return 0;
		r = group < 0 ? group : group_check_empty(group, error);
		if (r == 0)
			r = groups_remove_below(group, deadline_ms, error);
		if (r < 0 && r != -ENOENT)
			break;
		if (deadline_left_ms(deadline_ms) == 0)
			return error_say(error, ETIME, "it could not be removed in time");
	}
	return r < 0 ? error_set(error, -r, "remove cgroup %s", name) : r;
}
