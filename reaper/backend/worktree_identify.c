#include "worktree_identify.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/trash.h"
#include "text_list.h"
#include "worktree_git.h"
#include "worktree_record.h"
#include "worktree_sight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

struct identity {
	const struct settings *settings;
	struct resource *resource;
	struct arena *arena;
	const char *gitdir; /* what holds HEAD */
};

/* A repository given by a person: its common git directory, or as given while it is not there. */
static int identify_repo(struct identity *identity, struct error *error)
{
	char *common CLEANUP(mem_done) = NULL;
	struct error why = { 0 };
	int r;

	if (!identity->resource->repo)
		return 0;
	r = worktree_repo_resolve(identity->resource->repo, &common, &why);
	if (r == -ENOENT)
		return error_say(error, EINVAL,
			"%s: a working tree or git directory that exists would be right", why.text);
	if (r < 0)
		return error_say(error, -r, "%s", why.text);
	identity->resource->repo = arena_dup(identity->arena, common);
	return 0;
}

/* -EINVAL with a sentence about the worktree; bytes of paths in it are escaped. */
static int PRINTF_LIKE(3, 4)
	refuse(const struct identity *identity, struct error *error, const char *format, ...)
{
	char *fault CLEANUP(mem_done) = NULL, *shown CLEANUP(mem_done) = NULL;
	char *whole CLEANUP(mem_done) = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&fault, format, args) < 0)
		abort();
	va_end(args);
	whole = mem_printf("worktree %s: %s", identity->resource->locator, fault);
	shown = text_escape(whole);
	return error_say(error, EINVAL, "%s", shown);
}

static int identify_place(const struct identity *identity, int *ret_tree, struct error *error)
{
	const char *locator = identity->resource->locator;
	char *clean CLEANUP(mem_done) = pathname_clean(locator, NULL);
	const char *root = text_list_above(&identity->settings->roots, locator);
	const char *below = root ? pathname_below(locator, root) : NULL;
	int dir CLEANUP(fd_done) = -EBADF;
	int tree;

	if (!clean || !text_equal(clean, locator))
		return refuse(identity, error, "a clean absolute path would be right");
	if (!root || text_equal(below, TRASH_NAME) || text_starts(below, TRASH_NAME "/"))
		return refuse(identity, error,
			"it must lie strictly below a root of [workspaces], and not in its trash");
	dir = dir_open(root, error);
	if (dir < 0)
		return dir;
	tree = dir_open_below(dir, below, O_RDONLY | O_DIRECTORY, NULL);
	if (tree == -ELOOP || tree == -ENOTDIR || tree == -EXDEV)
		return refuse(identity, error,
			"a directory on the root's own filesystem would be right, not a link, a "
			"file or a mount point");
	if (tree < 0 && tree != -ENOENT)
		return error_set(error, -tree, "open the worktree to register");
	*ret_tree = tree;
	return 0;
}

static int identify_owner(struct identity *identity, const char *common, struct error *error)
{
	struct resource *resource = identity->resource;

	if (resource->repo && !text_equal(resource->repo, common))
		return refuse(identity, error, "it belongs to the repository %s, not to %s", common,
			resource->repo);
	resource->repo = arena_dup(identity->arena, common);
	return 0;
}

/* A tree whose .git is a link: the record it names must name the tree. */
static int identify_linked(struct identity *identity, const char *target, struct error *error)
{
	struct resource *resource = identity->resource;
	char *common CLEANUP(mem_done) = NULL;
	struct error why = { 0 };
	struct worktree_record record;
	const char *name;
	int r = worktree_repo_resolve(target, &common, &why);

	if (r == -ENOENT)
		return refuse(identity, error, "its .git names %s, where nothing is", target);
	if (r < 0)
		return error_say(error, -r, "%s", why.text);
	r = identify_owner(identity, common, error);
	if (r < 0)
		return r;
	identity->gitdir = arena_dup(identity->arena, target);
	name = worktree_target_name(common, target);
	if (!name && worktree_path_same(common, target))
		return 0; /* git init --separate-git-dir */
	if (!name)
		return refuse(identity, error, "its .git names %s, which is no worktree of %s",
			target, common);
	r = worktree_record_read(common, name, identity->arena, &record, error);
	if (r < 0)
		return r;
	if (r == 0 || !record.tree || !worktree_path_same(record.tree, resource->locator))
		return refuse(identity, error,
			"the git record that its .git names, %s, is not its own", target);
	resource->record = record.path;
	return 0;
}

static int identify_git(struct identity *identity, int tree, struct error *error)
{
	struct resource *resource = identity->resource;
	struct worktree_pointer pointer;
	char *inner CLEANUP(mem_done) = mem_printf("%s/.git", resource->locator);
	int r = worktree_pointer_read(tree, resource->locator, identity->arena, &pointer, error);

	if (r < 0)
		return r;
	switch (pointer.kind) {
	case POINTER_NONE:
		return 0;
	case POINTER_JUNK:
		return refuse(identity, error, "its .git is neither a git link nor a directory");
	case POINTER_DIRECTORY:
		identity->gitdir = arena_dup(identity->arena, inner);
		return identify_owner(identity, inner, error);
	case POINTER_FILE:
		return identify_linked(identity, pointer.target, error);
	}
	return 0;
}

/* Branch and base, as far as the library can read the repository: what it cannot, it will not be
 * able to judge later either, and says so then. */
static int identify_head(struct identity *identity, struct error *error)
{
	static const char prefix[] = "ref: refs/heads/";
	struct resource *resource = identity->resource;
	git_repository *repository CLEANUP(repository_done) = NULL;
	const char *head = NULL;
	char id[GIT_OID_HEXSZ + 1];
	git_oid commit;
	int r = worktree_gitfile_read(
		identity->gitdir, "HEAD", identity->arena, &head, NULL, error);

	if (r <= 0)
		return r;
	if (text_starts(head, prefix) && !resource->branch)
		resource->branch = head + sizeof(prefix) - 1;
	if (resource->base || worktree_git_open(resource->repo, &repository, NULL) < 0 ||
		worktree_head_commit(repository, head, &commit, NULL) <= 0)
		return 0;
	resource->base = arena_dup(identity->arena, git_oid_tostr(id, sizeof(id), &commit));
	return 0;
}

int worktree_identify(const struct settings *settings, struct resource *resource,
	struct arena *arena, struct error *error)
{
	struct identity identity = {
		.settings = settings,
		.resource = resource,
		.arena = arena,
	};
	int tree CLEANUP(fd_done) = -EBADF;
	char birth[DIR_BIRTH];
	struct stat stat;
	int r = identify_repo(&identity, error);

	if (r < 0)
		return r;
	if (resource->kind == KIND_BRANCH && resource->repo)
		return 0;
	if (resource->kind == KIND_BRANCH)
		return error_say(error, EINVAL, "a branch is registered with its repository");
	r = identify_place(&identity, &tree, error);
	if (r < 0 || tree < 0)
		return r;
	if (fstat(tree, &stat) < 0)
		return error_set(error, errno, "look at the worktree to register");
	resource->dev = stat.st_dev;
	resource->ino = stat.st_ino;
	if (dir_birth(tree, birth))
		resource->token = arena_dup(arena, birth);
	r = identify_git(&identity, tree, error);
	return r < 0 || !identity.gitdir ? r : identify_head(&identity, error);
}
