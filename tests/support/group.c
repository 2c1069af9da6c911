#include "group.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { WAIT_MS = 5000, BROKEN_MAX = 8 };

static char mount_point[256];
static char root_path[64];
static char broken[BROKEN_MAX][512];
static size_t broken_count;

static const char *absolute(const char *name)
{
	static char paths[4][512];
	static unsigned turn;
	char *path = paths[turn++ % ARRAY_SIZE(paths)];

	(void)snprintf(
		path, sizeof(paths[0]), "%s%s%s%s", mount_point, root_path, *name ? "/" : "", name);
	return path;
}

const char *group_path(const char *name)
{
	return absolute(name) + strlen(mount_point);
}

const char *groups_mount(void)
{
	return mount_point;
}

const char *groups_root(void)
{
	return root_path;
}

int groups_set_up(void)
{
	FILE *table = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;

	while (table && !*mount_point && (mount = getmntent(table)))
		if (text_equal(mount->mnt_type, "cgroup2"))
			(void)snprintf(mount_point, sizeof(mount_point), "%s", mount->mnt_dir);
	if (table)
		(void)endmntent(table);
	(void)snprintf(root_path, sizeof(root_path), "/sbx-test-%d", getpid());
	if (!*mount_point || mkdir(absolute(""), 0755) < 0) {
		print_message("no writable cgroup v2 on this machine: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

static void remove_below(int parent, const char *name)
{
	int group = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = group < 0 ? NULL : fdopendir(group);

	for (struct dirent *entry; listing && (entry = readdir(listing));)
		if (entry->d_type == DT_DIR && !text_equal(entry->d_name, ".") &&
			!text_equal(entry->d_name, ".."))
			remove_below(group, entry->d_name);
	if (listing)
		(void)closedir(listing);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Waits until nothing is in the group any more. */
static void wait_empty(void)
{
	char path[600], text[256];
	int events;

	(void)snprintf(path, sizeof(path), "%s/cgroup.events", absolute(""));
	events = open(path, O_RDONLY | O_CLOEXEC);
	for (int tries = 0; events >= 0 && tries < 10; tries++) {
		struct pollfd changed = { .fd = events, .events = POLLPRI };
		ssize_t length = pread(events, text, sizeof(text) - 1, 0);

		text[length > 0 ? length : 0] = 0;
		if (!strstr(text, "populated 1"))
			break;
		(void)poll(&changed, 1, WAIT_MS / 10);
	}
	if (events >= 0)
		(void)close(events);
}

void groups_tear_down(void)
{
	char path[600];
	int file;

	while (broken_count)
		(void)umount2(broken[--broken_count], MNT_DETACH);
	(void)snprintf(path, sizeof(path), "%s/cgroup.kill", absolute(""));
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file >= 0) {
		(void)!write(file, "1", 1);
		(void)close(file);
		wait_empty();
	}
	remove_below(AT_FDCWD, absolute(""));
}

void group_make(const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s", absolute(name));
	for (char *at = path + strlen(mount_point) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		if (mkdir(path, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
	assert_int_equal(mkdir(path, 0755), 0);
}

void group_unmake(const char *name)
{
	assert_int_equal(rmdir(absolute(name)), 0);
}

int group_exists(const char *name)
{
	return access(absolute(name), F_OK) == 0;
}

int group_open(const char *name)
{
	int group = open(absolute(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(group >= 0);
	return group;
}

void group_write(const char *name, const char *file, const char *value)
{
	char path[600];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", absolute(name), file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, value, strlen(value)), (ssize_t)strlen(value));
	(void)close(fd);
}

void group_put(const char *name, pid_t pid)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", pid);
	group_write(name, "cgroup.procs", number);
}

void group_break(const char *name, const char *file)
{
	assert_true(broken_count < BROKEN_MAX);
	(void)snprintf(broken[broken_count], sizeof(broken[0]), "%s/%s", absolute(name), file);
	assert_int_equal(mount("/dev/full", broken[broken_count], NULL, MS_BIND, NULL), 0);
	broken_count++;
}
