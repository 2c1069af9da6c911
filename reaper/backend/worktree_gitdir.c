#include "worktree_gitdir.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/file.h"
#include "text_list.h"
#include "worktree_repo.h"

#include <inttypes.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 32, CONFIG_MAX = 1 << 20, PACKED_REFS_MAX = 256 << 20 };

static int plain_directory(int dir, unsigned depth, struct error *error);

static int plain_entry(int dir, const char *name, unsigned depth, struct error *error)
{
	int below CLEANUP(fd_done) = -EBADF;
	struct stat stat;

	if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_set(error, errno, "look at a git file");
	if (S_ISREG(stat.st_mode) || S_ISSOCK(stat.st_mode))
		return 0;
	if (!S_ISDIR(stat.st_mode) || depth == DEPTH_MAX)
		return error_say(error, EINVAL, "a link, a fifo, a device or something too deep");
	below = dir_open_below(dir, name, O_RDONLY | O_DIRECTORY, error);
	return below < 0 ? below : plain_directory(below, depth + 1, error);
}

/* Recursion is bounded by DEPTH_MAX. */
static int plain_directory(int dir, unsigned depth, struct error *error)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry;
	int r;

	while (stream && (entry = stream_next(stream))) {
		r = plain_entry(dir, entry->d_name, depth, error);
		if (r < 0)
			return r;
	}
	return errno ? error_set(error, errno, "list a git directory") : 0;
}

static int bounded_file(int dir, const char *name, int64_t max, struct error *error)
{
	struct stat stat;

	if (fstatat(dir, name, &stat, AT_NO_AUTOMOUNT) < 0)
		return errno == ENOENT ? 0 : error_set(error, errno, "look at %s", name);
	if (!S_ISREG(stat.st_mode))
		return error_say(error, EINVAL, "%s is not a regular file", name);
	if (stat.st_size > max)
		return error_say(error, EFBIG, "%s is larger than %" PRIi64 " bytes", name, max);
	return 0;
}

static int plain_config(int dir, struct error *error)
{
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length = 0;
	struct error unsaid = { 0 };
	int r = file_read(dir, "config", CONFIG_MAX, &bytes, &length, NULL, &unsaid);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_say(error, -r, "%s", unsaid.text);
	if (strlen(bytes) != length || strcasestr(bytes, "[include"))
		return error_say(error, EINVAL, "its configuration includes others");
	return 0;
}

static bool is_lender(const char *objects, const struct settings *settings)
{
	char *real CLEANUP(mem_done) = realpath(objects, NULL);

	if (real && text_list_above(&settings->roots, real))
		return true;
	for (size_t i = 0; i < settings->repos.count; i++) {
		char *common CLEANUP(mem_done) = NULL, *lent CLEANUP(mem_done) = NULL;

		if (worktree_repo_resolve(settings->repos.items[i], &common, NULL) < 0)
			continue;
		lent = mem_printf("%s/objects", common);
		if (text_equal(lent, real ? real : objects))
			return true;
	}
	return false;
}

/* objects/info/alternates, a path a line (gitrepository-layout(5)). */
static int plain_alternates(
	int dir, const char *path, const struct settings *settings, struct error *error)
{
	int info CLEANUP(fd_done) =
		dir_open_below(dir, "objects/info", O_RDONLY | O_DIRECTORY, NULL);
	char *bytes CLEANUP(mem_done) = NULL, *from CLEANUP(mem_done) = NULL;
	char *rest = NULL;
	size_t length = 0;
	int r = info < 0 ? info
			 : file_read(info, "alternates", CONFIG_MAX, &bytes, &length, NULL, NULL);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_set(error, -r, "read objects/info/alternates");
	from = mem_printf("%s/objects", path);
	for (char *line = strtok_r(bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *clean CLEANUP(mem_done) = *line == '#' ? NULL : pathname_clean(line, from);

		if (clean && !is_lender(clean, settings))
			return error_say(error, EINVAL,
				"it borrows objects from what is no configured repository and "
				"below no root");
	}
	return 0;
}

int worktree_gitdir_bounded(const char *path, struct error *error)
{
	static const struct {
		const char *name;
		int64_t max;
	} files[] = { { "HEAD", CONFIG_MAX }, { "commondir", CONFIG_MAX },
		{ "shallow", PACKED_REFS_MAX }, { "packed-refs", PACKED_REFS_MAX },
		{ "objects/info/alternates", CONFIG_MAX } };
	int dir CLEANUP(fd_done) = dir_open(path, error);
	int r = dir;

	for (size_t i = 0; i < ARRAY_SIZE(files) && r >= 0; i++)
		r = bounded_file(dir, files[i].name, files[i].max, error);
	if (r >= 0)
		r = plain_config(dir, error);
	if (r < 0)
		error_prefix(error, "%s", path);
	return r < 0 ? r : 0;
}

int worktree_gitdir_plain(const char *path, const struct settings *settings, struct error *error)
{
	int dir CLEANUP(fd_done) = dir_open(path, error);
	struct stat stat;
	int r;

	if (dir < 0)
		return dir;
	if (fstatat(dir, "commondir", &stat, AT_SYMLINK_NOFOLLOW) == 0)
		return error_say(error, EINVAL, "%s: its refs are elsewhere (commondir)", path);
	r = plain_directory(dir, 0, error);
	if (r >= 0)
		r = plain_config(dir, error);
	if (r >= 0)
		r = plain_alternates(dir, path, settings, error);
	error_prefix(error, "%s", path);
	return r;
}
