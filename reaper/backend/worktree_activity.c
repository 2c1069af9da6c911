#include "worktree_activity.h"

#include "base/text.h"
#include "os/dir.h"

#include <fcntl.h>
#include <sys/stat.h>

static int64_t newest_below(const char *directory, const char *const *names, size_t count)
{
	int dir CLEANUP(fd_done) = dir_open(directory, NULL);
	int64_t newest_s = 0;

	for (size_t i = 0; dir >= 0 && i < count; i++) {
		int fd CLEANUP(fd_done) = dir_open_below(dir, names[i], O_PATH | O_NOFOLLOW, NULL);
		struct stat stat;

		if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_mtime > newest_s)
			newest_s = stat.st_mtime;
	}
	return newest_s;
}

/*
 * git writes HEAD, index and the log as it works, ORIG_HEAD, FETCH_HEAD and the message as people do,
 * `gitdir` once a day while it is used at all (setup.c, update_linked_gitdir), and the directory
 * changes with each file that is renamed into its place.
 */
int64_t worktree_record_active_s(const char *record)
{
	static const char *const names[] = { ".", "HEAD", "index", "logs/HEAD", "gitdir", "locked",
		"ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG" };

	return newest_below(record, names, ARRAY_SIZE(names));
}

/* One that is packed and has no log is as old as the pack of refs, at least. */
int64_t worktree_branch_active_s(const char *common, const char *branch)
{
	char *loose CLEANUP(mem_done) = mem_printf("refs/heads/%s", branch);
	char *log CLEANUP(mem_done) = mem_printf("logs/refs/heads/%s", branch);
	const char *const own[] = { loose, log };
	const char *const packed[] = { "packed-refs" };
	int64_t active_s = newest_below(common, own, ARRAY_SIZE(own));

	return active_s ? active_s : newest_below(common, packed, ARRAY_SIZE(packed));
}
