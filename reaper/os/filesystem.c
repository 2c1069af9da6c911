#include "filesystem.h"

#include "dir.h"

#include <errno.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>

/* What a filesystem says of itself may be nonsense (FUSE): it must not overflow. */
static int64_t product(uint64_t count, uint64_t size)
{
	int64_t result;

	return __builtin_mul_overflow(count, size, &result) ? INT64_MAX / 2 : result;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int identify(int fd, const struct statfs *statfs, uint64_t ret_id[2])
{
	struct btrfs_ioctl_fs_info_args whole = { 0 };
	struct stat stat;

	_Static_assert(sizeof(whole.fsid) == 2 * sizeof(ret_id[0]), "an identifier of 16 bytes");
	if (statfs->f_type == BTRFS_SUPER_MAGIC && ioctl(fd, BTRFS_IOC_FS_INFO, &whole) == 0) {
		memcpy(ret_id, whole.fsid, sizeof(whole.fsid));
		return 0;
	}
	if (fstat(fd, &stat) < 0)
		return -errno;
	ret_id[0] = stat.st_dev;
	ret_id[1] = 0;
	return 0;
}

int filesystem_ask(const char *path, struct filesystem_space *ret_space, struct error *error)
{
	int fd CLEANUP(fd_done) = dir_open(path, error);
	struct filesystem_space space = { 0 };
	struct statfs statfs;
	uint64_t block, used;

	if (fd < 0)
		return fd;
	if (fstatfs(fd, &statfs) < 0 || identify(fd, &statfs, space.id) < 0)
		return error_set(error, errno, "ask how full the filesystem of %s is", path);
	block = (uint64_t)(statfs.f_frsize ? statfs.f_frsize : statfs.f_bsize);
	used = difference(statfs.f_blocks, statfs.f_bfree);
	space.used_bytes = product(used, block);
	space.total_bytes = product(used + statfs.f_bavail, block);
	space.used_inodes = product(difference(statfs.f_files, statfs.f_ffree), 1);
	space.total_inodes = product(statfs.f_files, 1);
	*ret_space = space;
	return 0;
}
