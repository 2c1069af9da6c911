#include "cgroupfs.h"

#include "base/pathname.h"
#include "base/text.h"
#include "cgroup_files.h"
#include "dir.h"
#include "mounts.h"
#include "proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

struct cgroupfs {
	struct mount_table table; /* as it was when it was opened */
	const struct mount *mount;
};

/* The directory at its point, which must be on that mount and not on one over it. */
static int open_mount(const struct mount *mount, struct error *error)
{
	int root CLEANUP(fd_done) = dir_open(mount->point, error);
	struct statfs found;

	if (root < 0)
		return root;
	if (fstatfs(root, &found) < 0)
		return error_set(error, errno, "look at %s", mount->point);
	if (found.f_type != CGROUP2_SUPER_MAGIC)
		return error_say(error, EINVAL, "something is mounted over the cgroup v2 at %s",
			mount->point);
	return TAKE_FD(root);
}

int cgroupfs_open(struct cgroupfs **ret_cgroupfs, struct error *error)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	int root CLEANUP(fd_done) = -EBADF;
	const struct mount *mount;
	int r = mounts_read(&table, error);

	if (r < 0)
		return r;
	mount = mounts_of_type(&table, "cgroup2");
	if (!mount)
		return error_say(error, ENOENT, "no cgroup v2 is mounted here");
	root = open_mount(mount, error);
	if (root < 0)
		return root;
	*ret_cgroupfs = mem_new(sizeof(**ret_cgroupfs));
	(*ret_cgroupfs)->table = table;
	(*ret_cgroupfs)->mount = mount;
	table = (struct mount_table){ 0 };
	return 0;
}

void cgroupfs_close(struct cgroupfs *cgroupfs)
{
	if (!cgroupfs)
		return;
	mounts_done(&cgroupfs->table);
	free(cgroupfs);
}

const char *cgroupfs_mount(const struct cgroupfs *cgroupfs)
{
	return cgroupfs->mount->point;
}

/*
 * What of a group's path lies below another mount of the same groups, at their own place: a unit with
 * ProtectControlGroups= has them read-only, and again, writable, what ReadWritePaths= names. NULL:
 * it is no such mount, or does not lead there.
 */
static const char *below_mount(
	const struct cgroupfs *cgroupfs, const struct mount *mount, const char *path)
{
	const struct mount *whole = cgroupfs->mount;
	const char *point = pathname_below(mount->point, whole->point);
	char *root CLEANUP(mem_done) = NULL;

	if (!point || mount->dev != whole->dev)
		return NULL;
	root = mem_printf("%s/%s", text_equal(whole->root, "/") ? "" : whole->root, point);
	if (!text_equal(mount->root, root))
		return NULL;
	return text_equal(path, point) ? "" : pathname_below(path, point);
}

int cgroupfs_open_group(const struct cgroupfs *cgroupfs, const char *path, struct error *error)
{
	const char *below = path + strspn(path, "/"), *rest = below;
	const struct mount *start = cgroupfs->mount;
	int root CLEANUP(fd_done) = -EBADF;
	int group;

	for (size_t i = 0; i < cgroupfs->table.count; i++) {
		const char *left = below_mount(cgroupfs, &cgroupfs->table.mounts[i], below);

		if (left && strlen(left) < strlen(rest)) {
			start = &cgroupfs->table.mounts[i];
			rest = left;
		}
	}
	root = open_mount(start, error);
	if (root < 0)
		return root;
	group = dir_open_below(root, *rest ? rest : ".", O_RDONLY | O_DIRECTORY, error);
	if (group < 0)
		error_prefix(error, "cgroup below %s", start->point);
	return group;
}

int cgroupfs_populated(int group, bool *ret_populated, struct error *error)
{
	int events CLEANUP(fd_done) = cgroup_file(group, "cgroup.events", O_RDONLY);
	int r;

	if (events == -ENOENT) {
		/* The root has no such file, and a group that is gone has none at all. */
		if (faccessat(group, "cgroup.procs", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return error_say(error, EINVAL, "the root of the cgroups is no run's");
		*ret_populated = false;
		return 0;
	}
	r = events < 0 ? events : cgroup_event(events, "populated");
	if (r < 0)
		return error_set(error, -r, "read cgroup.events");
	*ret_populated = r > 0;
	return 0;
}

int cgroupfs_own(char **ret_path, struct error *error)
{
	enum { OWN_TEXT = 16 * 1024 };
	static const char prefix[] = "0::/";
	char *text CLEANUP(mem_done) = mem_new(OWN_TEXT);
	ssize_t length = proc_read(AT_FDCWD, "/proc/self/cgroup", text, OWN_TEXT);
	char *rest = text, *line;

	if (length < 0)
		return error_set(error, (int)-length, "read /proc/self/cgroup");
	while ((line = strsep(&rest, "\n")))
		if (text_starts(line, prefix)) {
			*ret_path = mem_dup(line + strlen(prefix) - 1);
			return 0;
		}
	return error_say(error, ENOENT, "/proc/self/cgroup has no line for cgroup v2");
}

int cgroupfs_children(
	int group, int (*each)(void *context, const char *name), void *context, struct error *error)
{
	int own_offset CLEANUP(fd_done) = cgroup_file(group, ".", O_RDONLY | O_DIRECTORY);
	struct dirent *entry;
	DIR *listing;
	int r = 0;

	if (own_offset == -ENOENT)
		return 0; /* gone */
	listing = own_offset < 0 ? NULL : fdopendir(own_offset);
	if (!listing)
		return error_set(error, own_offset < 0 ? -own_offset : errno, "list a cgroup");
	(void)TAKE_FD(own_offset);
	while (r == 0 && (errno = 0, entry = readdir(listing)))
		if (entry->d_type == DT_DIR && dir_is_name(entry->d_name))
			r = each(context, entry->d_name);
	if (r == 0 && errno)
		r = error_set(error, errno, "list a cgroup");
	(void)closedir(listing);
	return r;
}
