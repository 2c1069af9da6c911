#include "worktree_salvage_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define RESERVE_BYTES (INT64_C(16) << 20)

enum { RESERVE_SHARE = 100, OBJECT_BYTES = 4096, RESERVE_FILES = 64 };

static int place_plain(int dir, const char *name, struct error *error)
{
	struct stat stat;

	if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_set(error, errno, "look at %s", name);
	if (S_ISDIR(stat.st_mode))
		return 0;
	return error_say(
		error, ELOOP, "%s is not a directory of its own: nothing is written there", name);
}

int salvage_place_check(int common, const char *run, struct error *error)
{
	static const char *const places[] = { "objects", "objects/info", "objects/pack", "refs",
		"refs/sbx", "refs/sbx/salvage", "logs", "logs/refs", "logs/refs/sbx",
		"logs/refs/sbx/salvage" };
	char *log CLEANUP(mem_done) = mem_printf("logs/refs/sbx/salvage/%s", run);
	struct stat stat;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places) && r == 0; i++)
		r = place_plain(common, places[i], error);
	for (unsigned i = 0; i < 256 && r == 0; i++) {
		char name[sizeof("objects/00")];

		(void)snprintf(name, sizeof(name), "objects/%02x", i);
		r = place_plain(common, name, error);
	}
	if (r == 0 && fstatat(common, log, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISREG(stat.st_mode))
		return error_say(error, ELOOP, "%s is not a plain file", log);
	return r;
}

int salvage_space_check(int dir, int64_t bytes, uint64_t files, struct error *error)
{
	int64_t free_bytes, reserve, needed;
	struct statvfs fs;

	if (fstatvfs(dir, &fs) < 0)
		return error_set(error, errno, "ask for the free space");
	free_bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
	reserve = (int64_t)(fs.f_blocks * fs.f_frsize) / RESERVE_SHARE;
	reserve = reserve < RESERVE_BYTES ? reserve : RESERVE_BYTES;
	needed = bytes + (int64_t)files * OBJECT_BYTES + reserve;
	if (needed > free_bytes)
		return error_say(error, ENOSPC,
			"%" PRId64 " bytes are needed, %" PRId64 " of them as reserve, and %" PRId64
			" are free",
			needed, reserve, free_bytes);
	if (fs.f_files > 0 && files + RESERVE_FILES > fs.f_favail)
		return error_say(error, ENOSPC,
			"%" PRIu64 " inodes are needed, and %" PRIu64 " are free",
			files + RESERVE_FILES, (uint64_t)fs.f_favail);
	return 0;
}
