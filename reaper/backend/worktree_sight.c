#include "worktree_sight.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/trash.h"
#include "text_list.h"
#include "worktree_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct look {
	const struct settings *settings;
	const struct resource *resource;
	struct arena *arena;
	struct sight *sight;
	struct worktree_pointer pointer;
};

/* The first thing that is unknown or contradicts is the one to tell. */
static void look_unknown(struct look *look, const char *note)
{
	look->sight->present = TRI_UNKNOWN;
	if (!look->sight->contradicts)
		look->sight->note = arena_dup(look->arena, note);
}

static void look_contradicts(struct look *look, const char *note)
{
	if (!look->sight->contradicts)
		look->sight->note = arena_dup(look->arena, note);
	look->sight->contradicts = true;
}

/* False: nothing more can be looked at. */
static bool look_root(struct look *look)
{
	struct sight *sight = look->sight;
	struct error error = { 0 };
	const char *locator = look->resource->locator;

	sight->root = text_list_above(&look->settings->roots, locator);
	if (!sight->root) {
		if (text_list_above(&look->settings->lost_roots, locator))
			look_unknown(look, "its root cannot be opened");
		else
			look_contradicts(look, "it lies outside every configured root");
		return false;
	}
	sight->below = pathname_below(locator, sight->root);
	if (text_equal(sight->below, TRASH_NAME) || text_starts(sight->below, TRASH_NAME "/")) {
		look_contradicts(look, "it lies in the trash of its root");
		return false;
	}
	sight->root_dir = dir_open(sight->root, &error);
	if (sight->root_dir >= 0)
		return true;
	look_unknown(look, error.text);
	return false;
}

static void look_identity(struct look *look)
{
	const struct resource *told = look->resource;
	struct sight *sight = look->sight;
	char birth[DIR_BIRTH];
	const char *another;
	struct stat stat;

	if (fstat(sight->tree, &stat) < 0) {
		look_unknown(look, strerror(errno));
		return;
	}
	sight->present = TRI_YES;
	sight->dev = stat.st_dev;
	sight->ino = stat.st_ino;
	another = dir_differs(&(struct dir_known){ told->dev, told->ino, told->token },
		&(struct dir_known){
			sight->dev, sight->ino, dir_birth(sight->tree, birth) ? birth : NULL });
	if (another)
		look_contradicts(
			look, arena_printf(look->arena, "what stands there is %s", another));
}

static void look_tree(struct look *look)
{
	struct sight *sight = look->sight;
	struct error error = { 0 };
	int fd = dir_open_below(sight->root_dir, sight->below, O_RDONLY | O_DIRECTORY, NULL);

	switch (fd) {
	case -ENOENT:
		sight->present = TRI_NO;
		return;
	case -ELOOP:
	case -ENOTDIR:
		sight->present = TRI_YES;
		look_contradicts(look, "a symlink or a file stands there, not a directory");
		return;
	case -EXDEV:
		look_unknown(look, "it is, or lies below, a mount point within its root");
		return;
	default:
		break;
	}
	if (fd < 0) {
		error_set(&error, -fd, "open the tree");
		look_unknown(look, error.text);
		return;
	}
	sight->tree = fd;
	look_identity(look);
}

static int trash_entry_look(void *context, const struct trash_entry *entry)
{
	struct look *look = context;

	if (text_equal(entry->run, look->resource->run) &&
		entry->generation <= look->resource->generation && !look->sight->set_aside)
		look->sight->set_aside = arena_dup(look->arena, entry->name);
	return 0;
}

static void look_trash(struct look *look)
{
	struct error error = { 0 };

	if (trash_each(look->sight->root_dir, trash_entry_look, look, &error) < 0)
		look_unknown(look, error.text);
}

/* Reads the .git of the tree, wherever the tree is now. */
static void look_pointer(struct look *look)
{
	struct sight *sight = look->sight;
	int aside CLEANUP(fd_done) = -EBADF, tree = sight->tree;
	char *path CLEANUP(mem_done) = NULL;
	struct error error = { 0 };

	if (tree < 0 && sight->set_aside) {
		path = mem_printf("%s/%s", TRASH_NAME, sight->set_aside);
		aside = dir_open_below(sight->root_dir, path, O_RDONLY | O_DIRECTORY, NULL);
		tree = aside;
	}
	if (tree >= 0 && worktree_pointer_read(tree, look->resource->locator, look->arena,
				 &look->pointer, &error) < 0)
		look_unknown(look, error.text);
}

/* A repository nobody told us of: the configured one that has a record of this tree. What the tree
 * itself says is not asked. */
static void look_for_owner(struct look *look)
{
	const struct text_list *repos = &look->settings->repos;

	for (size_t i = 0; i < repos->count && !look->sight->common; i++) {
		char *common CLEANUP(mem_done) = NULL;
		struct error error = { 0 };
		int r = worktree_repo_resolve(repos->items[i], &common, &error);

		if (r == 0)
			r = worktree_record_find(common, look->resource->locator, NULL, look->arena,
				&look->sight->record, &error);
		if (r > 0)
			look->sight->common = arena_dup(look->arena, common);
		if (r < 0 && r != -ENOENT)
			look_unknown(look, error.text);
	}
	if (!look->sight->common && look->settings->lost_repos.count)
		look_unknown(look,
			arena_printf(look->arena, "%s may be its repository, and does not answer",
				look->settings->lost_repos.items[0]));
}

/* Finds the owning repository: false when it could not be told. */
static bool look_repository(struct look *look)
{
	struct sight *sight = look->sight;
	char *inner CLEANUP(mem_done) = mem_printf("%s/.git", look->resource->locator);
	char *common CLEANUP(mem_done) = NULL;
	const char *told = look->resource->repo;
	struct error error = { 0 };
	int r;

	sight->own = text_equal(told, inner) || text_equal(told, look->resource->locator) ||
		     (!told && look->pointer.kind == POINTER_DIRECTORY);
	if (sight->own) {
		sight->common_gone = look->pointer.kind == POINTER_NONE;
		sight->common = sight->common_gone ? NULL : arena_dup(look->arena, inner);
		return true;
	}
	if (!told) {
		look_for_owner(look);
		return sight->common != NULL;
	}
	r = worktree_repo_resolve(told, &common, &error);
	sight->common_gone = r == -ENOENT;
	sight->common = arena_dup(look->arena, common);
	if (r < 0 && r != -ENOENT)
		look_unknown(look, error.text);
	return r == 0;
}

static void look_record(struct look *look, const char *pointed)
{
	struct sight *sight = look->sight;
	struct error error = { 0 };
	int r = worktree_record_find(sight->common, look->resource->locator, pointed, look->arena,
		&sight->record, &error);

	if (r < 0)
		look_unknown(look, error.text);
	sight->recorded = r > 0;
	if (sight->recorded && !sight->gitdir)
		sight->gitdir = sight->record.path;
}

/* The record that the tree's .git names must be this tree's, or gone. */
static void look_pointed(struct look *look, const char **ret_pointed)
{
	struct worktree_record record;
	struct error error = { 0 };
	const char *common = look->sight->common;
	int r;

	*ret_pointed = worktree_target_name(common, look->pointer.target);
	if (!*ret_pointed) {
		if (worktree_path_same(look->pointer.target, common))
			look->sight->gitdir = common; /* git init --separate-git-dir */
		else
			look_contradicts(look, "its .git names another repository");
		return;
	}
	r = worktree_record_read(common, *ret_pointed, look->arena, &record, &error);
	if (r < 0)
		look_unknown(look, error.text);
	if (r <= 0 || !record.tree)
		return;
	look->sight->agreed = worktree_path_same(record.tree, look->resource->locator);
	if (!look->sight->agreed)
		look_contradicts(look, "its .git names the git record of another tree");
}

/* Both directions: what the tree says of its repository, and what that says of the tree. */
static void look_both_ways(struct look *look)
{
	const char *pointed = NULL;

	switch (look->pointer.kind) {
	case POINTER_NONE:
		break;
	case POINTER_JUNK:
		look_contradicts(look, "its .git is neither a git link nor a directory");
		return;
	case POINTER_DIRECTORY:
		if (!look->sight->own)
			look_contradicts(look, "it is a repository of its own, not a worktree");
		break;
	case POINTER_FILE:
		if (look->sight->own)
			look_contradicts(
				look, "it was a repository of its own, its .git is a link");
		else
			look_pointed(look, &pointed);
		break;
	}
	if (look->sight->contradicts)
		return;
	if (look->sight->own)
		look->sight->gitdir = look->sight->common;
	else
		look_record(look, pointed);
}

/* What cannot be read is a lock when it is there, whatever it says; else nothing is known of one. */
static void look_unread_lock(struct look *look, const char *why)
{
	struct sight *sight = look->sight;
	int record CLEANUP(fd_done) = dir_open(sight->record.path, NULL);
	struct stat stat;
	int r = record < 0 ? record : dir_look(record, "locked", &stat);

	if (r == -ENOENT)
		return;
	if (r < 0) {
		look_unknown(look, why);
		return;
	}
	sight->lock = LOCK_HELD;
	sight->note = arena_dup(look->arena, why);
}

static void look_lock(struct look *look)
{
	struct sight *sight = look->sight;
	char *escaped CLEANUP(mem_done) = NULL, whose[LOCK_WHOSE];
	struct lock_told told = {
		.now_s = clock_wall_s(),
		.lease_s = look->settings->policy.lease_s,
	};
	struct error error = { 0 };
	int r = worktree_gitfile_read(
		sight->record.path, "locked", look->arena, &told.text, &told.changed_s, &error);

	if (r == 0)
		return;
	if (r < 0) {
		look_unread_lock(look, error.text);
		return;
	}
	sight->lock = worktree_lock_judge(&told, whose);
	escaped = text_escape(told.text);
	if (!sight->note && *told.text)
		sight->note =
			arena_printf(look->arena, "%s%s%s", escaped, *whose ? ": " : "", whose);
}

void sight_look(const struct settings *settings, const struct resource *resource,
	struct arena *arena, struct sight *ret_sight)
{
	struct look look = {
		.settings = settings,
		.resource = resource,
		.arena = arena,
		.sight = ret_sight,
	};

	*ret_sight = (struct sight){ .root_dir = -EBADF, .tree = -EBADF };
	if (!look_root(&look))
		return;
	look_tree(&look);
	if (ret_sight->contradicts)
		return;
	look_trash(&look);
	look_pointer(&look);
	if (look_repository(&look))
		look_both_ways(&look);
	if (ret_sight->recorded)
		look_lock(&look);
}

void sight_done(struct sight *sight)
{
	fd_done(&sight->root_dir);
	fd_done(&sight->tree);
}
