#include "worktree_salvage_end.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/archive.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/fsuser.h"
#include "worktree_git.h"
#include "worktree_salvaged.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int ref_moved(const struct salvage *salvage, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(salvage->ref);

	return error_say(
		error, ESTALE, "%s is not at %s any more, so it stays", shown, salvage->commit);
}

/* As the owner of the repository: deleting a packed ref writes all of them anew. */
static int delete_as_owner(git_reference *ref, const char *repo, struct error *error)
{
	int common CLEANUP(fd_done) = dir_open(repo, error);
	struct fsuser owner;
	int r = common < 0 ? common : fsuser_of(common, &owner, error);

	if (r == 0)
		r = fsuser_begin(&owner, error);
	if (r < 0)
		return r;
	r = git_reference_delete(ref);
	fsuser_end(&owner);
	return r;
}

static int ref_delete(
	git_repository *repository, const struct salvage *salvage, struct error *error)
{
	git_reference *ref CLEANUP(reference_done) = NULL;
	struct error unsaid = { 0 };
	const git_oid *target;
	git_oid recorded;
	int r = git_reference_lookup(&ref, repository, salvage->ref);

	if (r == GIT_ENOTFOUND)
		return 0;
	if (r < 0)
		return worktree_git_error(error, EIO, "look up", salvage->ref);
	target = git_reference_target(ref);
	if (git_oid_fromstr(&recorded, salvage->commit) < 0 || !target ||
		!git_oid_equal(target, &recorded))
		return ref_moved(salvage, error);
	r = delete_as_owner(ref, salvage->repo, &unsaid);
	if (unsaid.code)
		return error_say(error, unsaid.code, "%s", unsaid.text);
	if (r == GIT_ENOTFOUND)
		return 0;
	if (r == GIT_EMODIFIED)
		return ref_moved(salvage, error);
	return r < 0 ? worktree_git_error(error, EIO, "delete", salvage->ref) : 1;
}

/* MUST 1. A repository that is gone took its refs along. */
static int ref_end(const struct salvage *salvage, struct error *error)
{
	git_repository *repository CLEANUP(repository_done) = NULL;
	struct error unsaid = { 0 };
	char *shown CLEANUP(mem_done) = NULL;
	int r;

	if (!salvage->ref)
		return 0;
	shown = text_escape(salvage->ref);
	if (!text_starts(salvage->ref, SALVAGE_REFS) ||
		!worktree_salvage_name_is_of(salvage->ref + strlen(SALVAGE_REFS), salvage->run))
		return error_say(
			error, EINVAL, "%s is no salvage ref of run %s", shown, salvage->run);
	r = worktree_git_open(salvage->repo, &repository, &unsaid);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? error_say(error, -r, "%s", unsaid.text)
		     : ref_delete(repository, salvage, error);
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
