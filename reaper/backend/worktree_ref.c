#include "worktree_ref.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "os/confine.h"
#include "os/dir.h"
#include "os/errand.h"
#include "os/file.h"
#include "os/fsuser.h"
#include "worktree_git.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { REF_MS = 30 * 1000, LOCK_STALE_S = 60 };

struct deletion {
	const char *common, *name, *commit;
};

static int moved(const struct deletion *deletion, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(deletion->name);

	return error_say(
		error, ESTALE, "%s is not at %s any more, so it stays", shown, deletion->commit);
}

static int delete (const struct deletion *deletion, struct error *error)
{
	git_repository *repository CLEANUP(repository_done) = NULL;
	git_reference *ref CLEANUP(reference_done) = NULL;
	const git_oid *target;
	git_oid expected;
	int r = worktree_git_open(deletion->common, &repository, error);

	if (r < 0)
		return r;
	r = git_reference_lookup(&ref, repository, deletion->name);
	if (r == GIT_ENOTFOUND)
		return 0;
	if (r < 0)
		return worktree_git_error(error, EIO, "look up", deletion->name);
	target = git_reference_target(ref);
	if (git_oid_fromstr(&expected, deletion->commit) < 0 || !target ||
		!git_oid_equal(target, &expected))
		return moved(deletion, error);
	r = git_reference_delete(ref);
	if (r == GIT_ENOTFOUND)
		return 0;
	if (r == GIT_EMODIFIED)
		return moved(deletion, error);
	return r < 0 ? worktree_git_error(error, EIO, "delete", deletion->name) : 1;
}

/* A "packed-refs" that is written anew stays as readable as it was. */
static mode_t mask_for(int common)
{
	struct stat stat;

	if (fstatat(common, "packed-refs", &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISREG(stat.st_mode))
		return S_IWGRP | S_IWOTH;
	return ~stat.st_mode & (S_IRWXG | S_IRWXO);
}

/* What cannot be dropped is said by whoever it keeps from his work. */
void worktree_ref_unlock(int common, const char *name)
{
	char *above CLEANUP(mem_done) = mem_printf("/%s", name);
	char *parent CLEANUP(mem_done) = pathname_parent(above);
	char *lock CLEANUP(mem_done) = mem_printf("%s.lock", pathname_last(name));
	int dir CLEANUP(fd_done) = dir_open_below(common, parent + 1, O_RDONLY | O_DIRECTORY, NULL);
	struct stat stat;

	if (dir < 0 || fstatat(dir, lock, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISREG(stat.st_mode) || stat.st_mtime > clock_wall_s() - LOCK_STALE_S)
		return;
	(void)file_remove(dir, lock, NULL);
}

/* The library does not sync that a ref has no file any more. What it was in may be gone as well. */
static int sync_deletion(int common, const char *name, struct error *error)
{
	char *path CLEANUP(mem_done) = mem_printf("/%s", name);
	int dir = -ENOENT, r = 0;

	while (dir == -ENOENT && path[1]) {
		char *above = pathname_parent(path);

		free(path);
		path = above;
		dir = dir_open_below(
			common, path[1] ? path + 1 : ".", O_RDONLY | O_DIRECTORY, NULL);
	}
	if (dir < 0 || fsync(dir) < 0)
		r = error_set(error, dir < 0 ? -dir : errno, "sync that %s is deleted", name);
	fd_done(&dir);
	return r;
}

/* A part of it that is not its owner's, such as what root once made there, takes us ourselves. */
static int delete_confined(
	const struct deletion *deletion, int common, bool confined, struct error *error)
{
	struct error unsaid = { 0 };
	struct fsuser owner;
	int r = fsuser_of(common, &owner, error);

	if (r == 0)
		r = fsuser_begin(&owner, error);
	if (r < 0)
		return r;
	(void)umask(mask_for(common));
	worktree_ref_unlock(common, deletion->name);
	r = delete (deletion, &unsaid);
	fsuser_end(&owner);
	if (r < 0 && r != -ESTALE && owner.other && confined)
		r = delete (deletion, error);
	else if (r < 0)
		return error_say(error, -r, "%s", unsaid.text);
	if (r > 0 && sync_deletion(common, deletion->name, error) < 0)
		return -EIO;
	return r;
}

static int delete_work(void *context, void *result, struct error *error)
{
	const struct deletion *deletion = context;
	struct error unsaid = { 0 };
	int common CLEANUP(fd_done) = dir_open(deletion->common, &unsaid), r;

	(void)result; /* what it answers is all */
	if (common == -ENOENT)
		return 0;
	if (common < 0)
		return error_say(error, -common, "%s", unsaid.text);
	r = confine_to(&common, 1, CONFINE_WRITE, error); /* MUST 1 */
	return r < 0 ? r : delete_confined(deletion, common, r > 0, error);
}

int worktree_ref_delete(
	const char *common, const char *name, const char *commit, struct error *error)
{
	struct deletion deletion = { .common = common, .name = name, .commit = commit };
	const struct errand errand = {
		.work = delete_work,
		.context = &deletion,
		.what = "delete a ref",
		.deadline_ms = deadline_in_ms(REF_MS),
		.steadfast = true,
	};

	return errand_run(&errand, error);
}

struct making {
	const char *common, *name, *commit, *message;
};

static int make(const struct making *making, struct error *error)
{
	git_repository *repository CLEANUP(repository_done) = NULL;
	git_reference *made CLEANUP(reference_done) = NULL;
	git_oid id;
	int r = worktree_git_open(making->common, &repository, error);

	if (r < 0)
		return r;
	if (git_oid_fromstr(&id, making->commit) < 0)
		return error_say(error, EINVAL, "%.60s is no commit", making->commit);
	r = git_reference_create(&made, repository, making->name, &id, 0, making->message);
	if (r == GIT_EEXISTS)
		return 0;
	return r < 0 ? worktree_git_error(error, EIO, "make", making->name) : 1;
}

static int make_work(void *context, void *result, struct error *error)
{
	const struct making *making = context;
	int common CLEANUP(fd_done) = dir_open(making->common, error);
	struct fsuser owner;
	int r = common < 0 ? common : confine_to(&common, 1, CONFINE_WRITE, error);

	(void)result;
	if (r >= 0)
		r = fsuser_of(common, &owner, error);
	if (r == 0)
		r = fsuser_begin(&owner, error);
	if (r < 0)
		return r;
	worktree_ref_unlock(common, making->name);
	r = make(making, error);
	fsuser_end(&owner);
	return r;
}

int worktree_ref_make(const char *common, const char *name, const char *commit, const char *message,
	struct error *error)
{
	struct making making = {
		.common = common, .name = name, .commit = commit, .message = message
	};
	const struct errand errand = {
		.work = make_work,
		.context = &making,
		.what = "make a ref",
		.deadline_ms = deadline_in_ms(REF_MS),
		.steadfast = true,
	};

	return errand_run(&errand, error);
}
