#include "worktree_crossing.h"

#include "base/pathname.h"
#include "base/text.h"
#include "model.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/unmount.h"
#include "worktree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 128 };

struct crossing_look {
	const struct crossing_tree *tree;
	const struct mount_table *table;
	struct arena *arena;
	const char *note;
	int code; /* of what was short, the last such; 0: nothing was */
};

/* What could not be looked at, since this failed: r is -errno. */
static enum tri unseen(struct crossing_look *look, int r)
{
	if (error_may_pass(r))
		look->code = -r;
	return TRI_UNKNOWN;
}

static const char *described(struct arena *arena, const struct mount *mount, const char *what)
{
	char *type CLEANUP(mem_done) = text_escape(mount->type);

	return arena_printf(arena, "%.60s is mounted there%s", type, what);
}

static bool in_memory(const struct mount *mount)
{
	return text_equal(mount->type, "tmpfs") || text_equal(mount->type, "ramfs") ||
	       text_equal(mount->type, "hugetlbfs");
}

/* Whether the part of a filesystem that one mount shows is in what another shows of it. */
static bool root_within(const char *root, const char *outer)
{
	return text_equal(root, outer) || pathname_below(root, outer);
}

/* Whether what the mount shows can be reached without it: through another one, outside the tree. */
static bool shown_elsewhere(const struct crossing_look *look, const struct mount *mount)
{
	for (size_t i = 0; i < look->table->count; i++) {
		const struct mount *other = &look->table->mounts[i];

		if (other->dev == mount->dev && root_within(mount->root, other->root) &&
			!text_equal(other->point, look->tree->path) &&
			!pathname_below(other->point, look->tree->path))
			return true;
	}
	return false;
}

/* The directory that an overlay writes into, when that lies in the tree. "" when it cannot be told. */
static const char *upper_within(const struct crossing_look *look, const struct mount *mount)
{
	const char *upper = text_equal(mount->type, "overlay")
				    ? mounts_option(mount, "upperdir", look->arena)
				    : NULL;

	if (!upper)
		return NULL;
	if (upper[0] != '/' || strchr(upper, '\\'))
		return "";
	return pathname_below(upper, look->tree->path);
}

/* Whether unmounting takes the content with it. */
static bool vanishes(const struct crossing_look *look, const struct mount *mount)
{
	if (mount_is_served(mount))
		return false;
	if (text_ends(mount->root, "//deleted") || upper_within(look, mount))
		return true;
	return in_memory(mount) && !shown_elsewhere(look, mount);
}

/* Recursion is bounded by DEPTH_MAX. What a mount within covers cannot be seen. */
static enum tri holds_files(struct crossing_look *look, int dir, unsigned depth)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry;

	if (!stream)
		return unseen(look, -errno);
	if (depth > DEPTH_MAX)
		return TRI_UNKNOWN;
	while ((entry = stream_next(stream))) {
		int below CLEANUP(fd_done) = -EBADF;
		enum tri held;

		if (entry->d_type == DT_REG || entry->d_type == DT_LNK)
			return TRI_YES;
		if (entry->d_type == DT_UNKNOWN)
			return TRI_UNKNOWN;
		if (entry->d_type != DT_DIR)
			continue;
		below = open_unnoticed(dir, entry->d_name, O_RDONLY | O_DIRECTORY, NULL);
		if (below == -ENOENT)
			continue;
		held = below < 0 ? unseen(look, below) : holds_files(look, below, depth + 1);
		if (held != TRI_NO)
			return held;
	}
	return errno ? unseen(look, -errno) : TRI_NO;
}

/* Whether a path in the tree leads through what may hang. */
static bool leads_through_served(const struct crossing_look *look, const char *path)
{
	const struct mount *const *list;
	size_t count = mounts_within(look->table, look->tree->path, &list);

	for (size_t i = 0; i < count; i++)
		if (mount_is_served(list[i]) &&
			(text_equal(path, list[i]->point) || pathname_below(path, list[i]->point)))
			return true;
	return false;
}

/* Whether a directory of the tree holds files; `id`: only when it is in that mount, 0: in any. */
static enum tri place_holds(struct crossing_look *look, const char *below, uint64_t id)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", look->tree->path, below);
	int fd CLEANUP(fd_done) = -EBADF;
	struct stat stat;

	if (leads_through_served(look, path))
		return TRI_UNKNOWN;
	fd = dir_open_through(look->tree->tree, below, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return unseen(look, fd);
	if (fstat(fd, &stat) < 0)
		return unseen(look, -errno);
	if (id && mount_id_of(fd) != id)
		return TRI_UNKNOWN;
	if (!S_ISDIR(stat.st_mode))
		return TRI_YES;
	fd_done(&fd);
	fd = dir_open_through(look->tree->tree, below, O_RDONLY | O_DIRECTORY | O_NOATIME);
	if (fd < 0)
		return unseen(look, fd);
	return id && mount_id_of(fd) != id ? TRI_UNKNOWN : holds_files(look, fd, 0);
}

static enum crossing judge(struct crossing_look *look, const struct mount *mount)
{
	const char *upper = upper_within(look, mount);
	enum tri held;

	if (!vanishes(look, mount))
		return CROSSING_ELSEWHERE;
	if (upper)
		held = *upper ? place_holds(look, upper, 0) : TRI_UNKNOWN;
	else
		held = place_holds(look, pathname_below(mount->point, look->tree->path), mount->id);
	if (held == TRI_NO)
		return CROSSING_ELSEWHERE;
	look->note = described(look->arena, mount,
		held == TRI_YES ? ", and its files vanish with it"
				: ": what it holds vanishes with it and cannot be seen");
	return held == TRI_YES ? CROSSING_HOLDS : CROSSING_UNKNOWN;
}

static bool shows_the_same(const struct mount *a, const struct mount *b)
{
	return a && b && a->dev == b->dev && text_equal(a->root, b->root);
}

/*
 * Whether another mount of the same lies over it at its place: a unit's ReadWritePaths= mounts the
 * directory once more, with all that is mounted in it.
 */
static bool is_covered_double(const struct mount_table *table, const struct mount *mount)
{
	const struct mount *top = mounts_at(table, mount->point);

	return top != mount && shows_the_same(top, mount);
}

/* The worst of what is mounted at or below the path. */
static enum crossing judge_all(struct crossing_look *look, const char *path)
{
	const struct mount *const *list;
	size_t count = mounts_within(look->table, path, &list);
	enum crossing worst = CROSSING_ELSEWHERE;

	for (size_t i = 0; i < count && worst != CROSSING_HOLDS; i++) {
		const char *note = look->note;
		enum crossing found = is_covered_double(look->table, list[i])
					      ? CROSSING_ELSEWHERE
					      : judge(look, list[i]);

		if (found == CROSSING_ELSEWHERE)
			look->note = note;
		else
			worst = found;
	}
	return worst;
}

enum crossing worktree_crossing(const struct crossing_tree *tree, const char *path,
	struct arena *arena, struct crossing_finding *ret_finding)
{
	struct crossing_look look = { .tree = tree, .arena = arena };
	char *whole CLEANUP(mem_done) = mem_printf("%s/%s", tree->path, path);
	struct error error = { 0 };
	enum crossing found;

	*ret_finding = (struct crossing_finding){
		.note = "it is a mount point, and what is mounted there cannot be told",
		.code = EIO,
	};
	if (!tree->view)
		return CROSSING_UNKNOWN;
	if (mount_view_now(tree->view, &error) < 0) {
		ret_finding->code = error.code;
		return CROSSING_UNKNOWN;
	}
	look.table = &tree->view->here;
	if (!mounts_at(look.table, whole))
		return CROSSING_UNKNOWN;
	found = judge_all(&look, whole);
	ret_finding->note = look.note;
	if (look.code)
		ret_finding->code = look.code;
	return found;
}

enum crossing worktree_crossing_unseen(
	const struct crossing_tree *tree, struct arena *arena, struct crossing_finding *ret_finding)
{
	struct crossing_look look = { .tree = tree, .arena = arena };
	const struct mount *const *list;
	struct error error = { 0 };
	size_t count;

	*ret_finding = (struct crossing_finding){ .code = EIO };
	if (!tree->view)
		return CROSSING_ELSEWHERE;
	if (mount_view_now(tree->view, &error) < 0) {
		*ret_finding =
			(struct crossing_finding){ arena_dup(arena, error.text), error.code };
		return CROSSING_UNKNOWN;
	}
	look.table = &tree->view->there;
	count = mounts_within(look.table, tree->path, &list);
	for (size_t i = 0; i < count; i++) {
		/* What is here as well was looked into. */
		if (!vanishes(&look, list[i]) ||
			shows_the_same(mounts_at(&tree->view->here, list[i]->point), list[i]))
			continue;
		ret_finding->note = described(
			arena, list[i], ", where only PID 1 sees it, and what it holds vanishes");
		return CROSSING_UNKNOWN;
	}
	return CROSSING_ELSEWHERE;
}
