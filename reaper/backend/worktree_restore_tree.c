#include "worktree_restore_parts.h"

#include "base/text.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/signals.h"

#include <errno.h>
#include <fcntl.h>

enum { TREE_DEPTH_MAX = 512 };

/* One tree after another, to the depth of what is salvaged and some. */
struct planting {
	git_repository *repository;
	struct text path;
	unsigned depth;
	struct error *error;
};

static void planting_done(struct planting *planting)
{
	text_done(&planting->path);
}

static int plant_fail(struct planting *planting, int code)
{
	char *shown CLEANUP(mem_done) = text_escape(planting->path.data);

	return error_set(planting->error, code, "restore %.300s", shown);
}

static int plant_refuse(struct planting *planting, const char *why)
{
	char *shown CLEANUP(mem_done) = text_escape(planting->path.data);

	return error_say(planting->error, EUCLEAN, "restore %.300s: %s", shown, why);
}

static int plant_file(
	struct planting *planting, const git_blob *blob, int dir, const char *name, mode_t mode)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd CLEANUP(fd_done) = openat(dir, name, flags, 0600);
	int r;

	if (fd < 0)
		return plant_fail(planting, errno);
	r = file_write_whole(fd, git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob));
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	return r < 0 ? plant_fail(planting, -r) : 0;
}

static int plant_link(struct planting *planting, const git_blob *blob, int dir, const char *name)
{
	size_t length = (size_t)git_blob_rawsize(blob);
	char *target CLEANUP(mem_done) = mem_new(length + 1);

	if (length > 0)
		memcpy(target, git_blob_rawcontent(blob), length);
	if (length == 0 || strlen(target) != length)
		return plant_refuse(planting, "a symlink cannot lead there");
	return symlinkat(target, dir, name) < 0 ? plant_fail(planting, errno) : 0;
}

static void blob_done(git_blob **blob)
{
	git_blob_free(*blob);
}

static int plant_blob(
	struct planting *planting, const git_tree_entry *entry, int dir, const char *name)
{
	git_blob *blob CLEANUP(blob_done) = NULL;

	if (git_blob_lookup(&blob, planting->repository, git_tree_entry_id(entry)) < 0)
		return worktree_git_error(
			planting->error, ENOENT, "read what was salvaged of", planting->path.data);
	switch (git_tree_entry_filemode(entry)) {
	case GIT_FILEMODE_BLOB:
		return plant_file(planting, blob, dir, name, 0644);
	case GIT_FILEMODE_BLOB_EXECUTABLE:
		return plant_file(planting, blob, dir, name, 0755);
	case GIT_FILEMODE_LINK:
		return plant_link(planting, blob, dir, name);
	case GIT_FILEMODE_TREE:
	case GIT_FILEMODE_COMMIT:
	case GIT_FILEMODE_UNREADABLE:
		break;
	}
	return plant_refuse(planting, "it has a mode that nothing has");
}

static int plant_tree(
	struct planting *planting, const git_oid *id, int dir, const char *const *skip);

/* A directory, or the place of a submodule. */
static int plant_directory(
	struct planting *planting, const git_tree_entry *entry, int dir, const char *name)
{
	int below CLEANUP(fd_done) = -EBADF;

	if (mkdirat(dir, name, 0700) < 0)
		return plant_fail(planting, errno);
	below = dir_open_below(dir, name, O_RDONLY | O_DIRECTORY, NULL);
	if (below < 0)
		return plant_fail(planting, -below);
	if (fchmod(below, 0755) < 0)
		return plant_fail(planting, errno);
	if (git_tree_entry_type(entry) == GIT_OBJECT_COMMIT)
		return 0;
	return plant_tree(planting, git_tree_entry_id(entry), below, NULL);
}

static int plant_entry(struct planting *planting, const git_tree_entry *entry, int dir)
{
	const char *name = git_tree_entry_name(entry);
	size_t length = planting->path.length;
	int r;

	text_addf(&planting->path, "%s%s", length ? "/" : "", name);
	if (!dir_is_name(name) || strcasecmp(name, ".git") == 0)
		r = plant_refuse(planting, "no file of a worktree is called so");
	else if (signals_stop_wanted())
		r = plant_fail(planting, EINTR);
	else if (git_tree_entry_type(entry) == GIT_OBJECT_BLOB)
		r = plant_blob(planting, entry, dir, name);
	else
		r = plant_directory(planting, entry, dir, name);
	planting->path.length = length;
	planting->path.data[length] = 0;
	return r;
}

static bool is_among(const char *name, const char *const *names)
{
	for (; names && *names; names++)
		if (text_equal(name, *names))
			return true;
	return false;
}

static int plant_tree(
	struct planting *planting, const git_oid *id, int dir, const char *const *skip)
{
	git_tree *tree CLEANUP(tree_done) = NULL;
	int r = 0;

	if (planting->depth == TREE_DEPTH_MAX)
		return plant_refuse(planting, "it is nested too deeply");
	if (git_tree_lookup(&tree, planting->repository, id) < 0)
		return worktree_git_error(
			planting->error, ENOENT, "read what was salvaged of", planting->path.data);
	planting->depth++;
	for (size_t i = 0; r == 0 && i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);

		if (!is_among(git_tree_entry_name(entry), skip))
			r = plant_entry(planting, entry, dir);
	}
	planting->depth--;
	return r;
}

int restore_tree(git_repository *repository, const git_oid *tree, int dir, const char *const *skip,
	struct error *error)
{
	struct planting planting CLEANUP(planting_done) = {
		.repository = repository,
		.error = error,
	};

	text_add(&planting.path, "");
	return plant_tree(&planting, tree, dir, skip);
}
