#include "small_host.h"
#include "unit.h"

#include "base/pathname.h"
#include "text_list.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <sys/mount.h>
#include <sys/stat.h>

static bool leads_to(const char *point, const char *path)
{
	return text_equal(point, "/") || text_equal(point, path) || pathname_below(path, point);
}

static void only_root(const char *directory)
{
	static const char line[] = "root:x:0:0:root:/root:/bin/sh\n";
	char *path CLEANUP(mem_done) = mem_printf("%s/passwd-XXXXXX", directory);
	int fd CLEANUP(fd_done) = mkostemp(path, O_CLOEXEC);

	assert_return_code(fd, errno);
	assert_int_equal(write(fd, line, strlen(line)), strlen(line));
	assert_return_code(fchmod(fd, 0644), errno);
	assert_return_code(mount(path, "/etc/passwd", NULL, MS_BIND, NULL), errno);
}

/* Each where it is mounted, in the order in which it came. */
static void points_read(struct text_list *ret_points, struct text_list *ret_needed)
{
	FILE *table = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;

	assert_non_null(table);
	while ((entry = getmntent(table))) {
		text_list_add(ret_points, entry->mnt_dir);
		if (text_equal(entry->mnt_type, "cgroup2"))
			text_list_add(ret_needed, entry->mnt_dir);
	}
	(void)endmntent(table);
}

void small_host_make(const char *needed)
{
	struct text_list points CLEANUP(text_list_done) = { 0 };
	struct text_list kept CLEANUP(text_list_done) = { 0 };

	points_read(&points, &kept);
	text_list_add(&kept, needed);
	text_list_add(&kept, "/dev");
	text_list_add(&kept, "/proc");
	for (size_t i = points.count; i-- > 0;) {
		bool goes = true;

		for (size_t j = 0; j < kept.count; j++)
			goes &= !leads_to(points.items[i], kept.items[j]);
		if (goes)
			(void)umount2(points.items[i], MNT_DETACH);
	}
	only_root(needed);
}
