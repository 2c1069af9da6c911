#include "small_disk.h"

#include "unit.h"

#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>

void small_disk(struct workdir *workdir)
{
	char *options CLEANUP(mem_done) =
		mem_printf("mode=0755,size=%d,nr_inodes=%d", SMALL_DISK, SMALL_DISK_INODES);

	assert_return_code(mount("sbx-test", workdir->path, "tmpfs", 0, options), errno);
	(void)close(workdir->dir);
	workdir->dir = open(workdir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(workdir->dir, errno);
}

void small_disk_fill_bytes(struct workdir *workdir)
{
	static const char block[4096];
	int fd CLEANUP(fd_done) =
		openat(workdir->dir, "full-bytes", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_return_code(fd, errno);
	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
}

void small_disk_fill_inodes(struct workdir *workdir)
{
	for (int i = 0;; i++) {
		char *name CLEANUP(mem_done) = mem_printf("full-%d", i);
		int fd CLEANUP(fd_done) =
			openat(workdir->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0) {
			assert_int_equal(errno, ENOSPC);
			return;
		}
	}
}

void small_disk_empty(struct workdir *workdir)
{
	DIR *dir = opendir(workdir->path);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (text_starts(entry->d_name, "full-"))
			assert_return_code(unlinkat(workdir->dir, entry->d_name, 0), errno);
	(void)closedir(dir);
}
