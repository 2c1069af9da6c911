#include "worktree_salvage_end.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/archive.h"
#include "os/file.h"
#include "worktree_ref.h"
#include "worktree_salvaged.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* MUST 1. A repository that is gone took its refs along. */
static int ref_end(const struct salvage *salvage, struct error *error)
{
	char *shown CLEANUP(mem_done) = NULL;

	if (!salvage->ref)
		return 0;
	shown = text_escape(salvage->ref);
	if (!text_starts(salvage->ref, SALVAGE_REFS) ||
		!worktree_salvage_name_is_of(salvage->ref + strlen(SALVAGE_REFS), salvage->run))
		return error_say(
			error, EINVAL, "%s is no salvage ref of run %s", shown, salvage->run);
	return worktree_ref_delete(salvage->repo, salvage->ref, salvage->commit, error);
}

/* MUST 2. */
static int archive_end(const struct salvage *salvage, struct error *error)
{
	char *shown CLEANUP(mem_done) = NULL, *parent CLEANUP(mem_done) = NULL;
	int dir CLEANUP(fd_done) = -EBADF;
	const char *name;
	struct stat stat;

	if (!salvage->path)
		return 0;
	shown = text_escape(salvage->path);
	name = pathname_last(salvage->path);
	if (salvage->path[0] != '/' || !text_ends(name, ARCHIVE_SUFFIX) ||
		!worktree_salvage_name_is_of(name, salvage->run))
		return error_say(error, EINVAL, "%s is no archive of run %s", shown, salvage->run);
	parent = pathname_parent(salvage->path);
	dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? 0
				       : error_set(error, errno, "open the directory of %s", shown);
	if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_set(error, errno, "look at %s", shown);
	if (!S_ISREG(stat.st_mode))
		return error_say(error, EINVAL, "%s is not a regular file", shown);
	return file_remove(dir, name, error);
}

int worktree_salvage_end(const struct salvage *salvage, struct error *error)
{
	int ref = ref_end(salvage, error), archive;

	if (ref < 0 && ref != -ESTALE)
		return ref;
	archive = archive_end(salvage, error);
	if (archive < 0)
		return archive;
	return ref < 0 ? ref : ref || archive;
}
