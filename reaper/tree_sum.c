#include "tree_sum.h"

#include "base/fnv.h"
#include "base/pathname.h"
#include "os/dir.h"

#include <fcntl.h>

uint64_t tree_sum(const char *path)
{
	char *parent CLEANUP(mem_done) = pathname_parent(path);
	int dir CLEANUP(fd_done) = dir_open(parent, NULL);
	int top CLEANUP(fd_done) = -EBADF;
	uint64_t sum = fnv_add(FNV_START, path, strlen(path) + 1);
	char birth[DIR_BIRTH];
	struct stat stat;

	if (dir >= 0)
		top = dir_open_below(dir, pathname_last(path), O_PATH | O_NOFOLLOW, NULL);
	if (top < 0 || fstat(top, &stat) != 0 || !dir_birth(top, birth))
		return 0;
	sum = fnv_add(sum, &stat.st_dev, sizeof(stat.st_dev));
	sum = fnv_add(sum, &stat.st_ino, sizeof(stat.st_ino));
	return fnv_add(sum, birth, strlen(birth));
}
