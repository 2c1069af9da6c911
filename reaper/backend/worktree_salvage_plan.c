#include "worktree_salvage_plan.h"

#include "base/clock.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "text_list.h"
#include "worktree_crossing.h"
#include "worktree_salvage_index.h"
#include "worktree_salvage_manner.h"
#include "worktree_walk.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

static void planner_done(struct planner *planner)
{
	ignore_done(&planner->ignore);
	text_done(&planner->path);
	git_treebuilder_free(planner->names);
}

static int plan_fail(struct planner *planner, int code, const char *why)
{
	char *shown CLEANUP(mem_done) = text_escape(*planner->path.data ? planner->path.data : ".");

	return error_say(planner->error, code, "%.300s: %s", shown, why);
}

/* 0: what is mounted there has its content elsewhere, so that nothing of it is to be kept. */
static int plan_crossing(struct planner *planner)
{
	const struct crossing_tree tree = {
		.view = planner->scope->mounts,
		.tree = planner->tree,
		.path = planner->scope->path,
	};
	struct crossing_finding found;

	if (worktree_crossing(&tree, planner->path.data, &planner->plan->arena, &found) ==
		CROSSING_ELSEWHERE)
		return 0;
	return plan_fail(planner, error_may_pass(-found.code) ? found.code : EXDEV, found.note);
}

static size_t path_enter(struct planner *planner, const char *name)
{
	size_t length = planner->path.length;

	text_add(&planner->path, length ? "/" : "");
	text_add(&planner->path, name);
	return length;
}

static void path_leave(struct planner *planner, size_t length)
{
	planner->path.length = length;
	planner->path.data[length] = 0;
}

/* Counts what was found, within the caps. */
static int plan_count(struct planner *planner, struct salvage_node *node)
{
	const struct salvage_scope *scope = planner->scope;
	struct salvage_plan *plan = planner->plan;
	char *why CLEANUP(mem_done) = NULL;

	node->stored = scope->odb &&
		       git_odb_exists_ext(scope->odb, &node->id, GIT_ODB_LOOKUP_NO_REFRESH) == 1;
	plan->bytes += node->size;
	if (!node->stored) {
		plan->new_bytes += node->size;
		plan->new_files++;
	}
	if (plan->new_bytes <= scope->total_max)
		return 0;
	why = mem_printf("with this file it is more than is salvaged of one tree (%" PRId64
			 " bytes)",
		scope->total_max);
	return plan_fail(planner, EFBIG, why);
}

static int plan_size(struct planner *planner, int64_t size)
{
	char *why CLEANUP(mem_done) = NULL;

	if (size <= planner->scope->file_max)
		return 0;
	why = mem_printf("%" PRId64 " bytes, more than is salvaged of one file (%" PRId64 ")", size,
		planner->scope->file_max);
	return plan_fail(planner, EFBIG, why);
}

static int plan_read(struct planner *planner, int file, struct salvage_node *node)
{
	struct error unsaid = { 0 };
	int r = salvage_hash_file(planner->scope->hash, file, node->size,
		planner->scope->deadline_ms, &node->id, &unsaid);

	return r < 0 ? plan_fail(planner, -r, unsaid.text) : plan_count(planner, node);
}

static int plan_file(struct planner *planner, int dir, const char *name,
	struct salvage_node *parent, const struct manner *manner)
{
	struct salvage_node *node;
	struct stat stat;
	int file CLEANUP(fd_done) = open_unnoticed(dir, name, O_RDONLY | O_NONBLOCK, NULL);
	int r;

	if (file == -ENOENT)
		return 0;
	if (file == -EXDEV)
		return plan_crossing(planner);
	if (file < 0)
		return plan_fail(planner, -file, strerror(-file));
	if (fstat(file, &stat) < 0 || !S_ISREG(stat.st_mode))
		return plan_fail(planner, EBUSY, "it changes while it is read");
	r = plan_size(planner, stat.st_size);
	if (r < 0)
		return r;
	node = salvage_node_add(&planner->plan->arena, parent, name,
		stat.st_mode & S_IXUSR ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB);
	node->permissions = stat.st_mode & ALLPERMS;
	node->size = stat.st_size;
	node->apart = manner->apart || salvage_manner_refuses(planner, name, false);
	if (node->apart && !manner->apart)
		salvage_manner_apart(planner, "a name that git refuses");
	return plan_read(planner, file, node);
}

static int plan_link(struct planner *planner, int dir, const char *name,
	struct salvage_node *parent, const struct manner *manner)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(dir, name, target, sizeof(target));
	struct salvage_node *node;

	if (length < 0)
		return errno == ENOENT ? 0 : plan_fail(planner, errno, strerror(errno));
	node = salvage_node_add(&planner->plan->arena, parent, name, GIT_FILEMODE_LINK);
	node->permissions = S_IRWXU | S_IRWXG | S_IRWXO;
	node->size = length;
	node->apart = manner->apart || salvage_manner_refuses(planner, name, true);
	if (node->apart && !manner->apart)
		salvage_manner_apart(planner, "a link with a name that git refuses");
	if (git_odb_hash(&node->id, target, (size_t)length, GIT_OBJECT_BLOB) < 0)
		return plan_fail(planner, EIO, "it cannot be hashed");
	return plan_count(planner, node);
}

static bool tracked(struct planner *planner, const char *directory, const char *name)
{
	const struct salvage_scope *scope = planner->scope;

	return (scope->head && candidates_track(scope->head, directory, name)) ||
	       (scope->index && salvage_index_has(scope->index, planner->path.data));
}

static int plan_leaf(struct planner *planner, int dir, const char *directory, const char *name,
	unsigned type, struct salvage_node *parent, const struct manner *manner)
{
	size_t length = path_enter(planner, name);
	bool wanted =
		manner->apart || tracked(planner, directory, name) ||
		!(manner->ignored || ignore_matches(&planner->ignore, planner->path.data, false));
	int r = 0;

	if (wanted)
		r = type == DT_LNK ? plan_link(planner, dir, name, parent, manner)
				   : plan_file(planner, dir, name, parent, manner);
	path_leave(planner, length);
	return r;
}

static int plan_directory(struct planner *planner, int dir, struct salvage_node *node,
	const struct manner *manner, unsigned depth);

/* Enters one directory below; planner->path is that directory's. */
static int plan_below(struct planner *planner, int dir, const char *directory, const char *name,
	struct salvage_node *parent, struct manner manner, unsigned depth)
{
	struct salvage_node *node;
	struct stat stat;
	int below CLEANUP(fd_done) = open_unnoticed(dir, name, O_RDONLY | O_DIRECTORY, NULL);
	int r;

	if (below == -ENOENT)
		return 0;
	if (below == -EXDEV)
		return manner.ignored || (!manner.apart && ignore_matches(&planner->ignore,
								   planner->path.data, true))
			       ? 0
			       : plan_crossing(planner);
	if (below < 0 || fstat(below, &stat) < 0)
		return plan_fail(
			planner, below < 0 ? -below : errno, strerror(below < 0 ? -below : errno));
	if (depth == SALVAGE_DEPTH_MAX)
		return plan_fail(planner, EFBIG, "deeper than is salvaged");
	node = salvage_node_add(&planner->plan->arena, parent, name, GIT_FILEMODE_TREE);
	node->permissions = stat.st_mode & ALLPERMS;
	node->apart = manner.apart;
	r = salvage_manner_find(planner, below, directory, node, &manner);
	if (r == 0)
		r = plan_directory(planner, below, node, &manner, depth + 1);
	/* Nothing of an ignored directory counts: it is as if it were not there. */
	if (r >= 0 && manner.ignored && !manner.apart && !node->first &&
		node->mode == GIT_FILEMODE_TREE)
		parent->first = node->next;
	return r < 0 ? r : 0;
}

static bool top_wanted(struct planner *planner, const char *name)
{
	const struct salvage_scope *scope = planner->scope;

	if (planner->path.length > 0)
		return true;
	if (scope->wants)
		return scope->wants(scope->context, name);
	return scope->whole || scope->own || !text_equal(name, ".git");
}

/* One entry; what is no file, link or directory (a socket, a fifo, a device) has no content. */
static int plan_entry(struct planner *planner, int dir, const char *directory,
	const struct dirent *entry, struct salvage_node *node, const struct manner *manner,
	struct text_list *directories)
{
	unsigned type = stream_type(dir, entry);
	int code = errno;

	if (++planner->plan->entries > SALVAGE_ENTRIES_MAX)
		return plan_fail(planner, EFBIG, "more entries than are salvaged of one tree");
	if (deadline_left_ms(planner->scope->deadline_ms) == 0)
		return plan_fail(planner, ETIME, "the time is up");
	if (!top_wanted(planner, entry->d_name))
		return 0;
	if (type == DT_UNKNOWN && code != ENOENT)
		return plan_fail(planner, code, strerror(code));
	if (type == DT_DIR)
		text_list_add(directories, entry->d_name);
	else if (type == DT_REG || type == DT_LNK)
		return plan_leaf(planner, dir, directory, entry->d_name, type, node, manner);
	return 0;
}

static int read_entries(struct planner *planner, int dir, const char *directory,
	struct salvage_node *node, const struct manner *manner, struct text_list *directories)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry = NULL;
	int r = 0;

	while (stream && r >= 0 && (entry = stream_next(stream)))
		r = plan_entry(planner, dir, directory, entry, node, manner, directories);
	if (r >= 0 && !entry && errno)
		return plan_fail(planner, errno, strerror(errno));
	return r;
}

static bool own_repository(const struct planner *planner, const char *name)
{
	return planner->scope->own && planner->path.length == 0 && text_equal(name, ".git");
}

/* Recursion is bounded by SALVAGE_DEPTH_MAX. */
static int plan_directory(struct planner *planner, int dir, struct salvage_node *node,
	const struct manner *manner, unsigned depth)
{
	struct text_list directories CLEANUP(text_list_done) = { 0 };
	char *directory CLEANUP(mem_done) = mem_dup(planner->path.data);
	size_t rules = planner->ignore.count;
	int r = 0;

	if (!manner->ignored && !manner->apart)
		r = worktree_ignore_read(&planner->ignore, dir, directory);
	if (r < 0)
		return plan_fail(planner, -r, strerror(-r));
	r = read_entries(planner, dir, directory, node, manner, &directories);
	for (size_t i = 0; i < directories.count && r >= 0; i++) {
		struct manner below = *manner;
		size_t length;

		below.apart |= own_repository(planner, directories.items[i]);
		length = path_enter(planner, directories.items[i]);
		r = plan_below(planner, dir, directory, directories.items[i], node, below, depth);
		path_leave(planner, length);
	}
	ignore_cut(&planner->ignore, rules);
	salvage_node_sort(&planner->plan->arena, node);
	if (r >= 0 && planner->scope->index && !manner->apart)
		r = salvage_index_keep(
			planner->scope, &planner->plan->arena, node, directory, planner->error);
	return r;
}

int salvage_plan_tree(
	struct salvage_plan *plan, int tree, const struct salvage_scope *scope, struct error *error)
{
	struct planner planner CLEANUP(planner_done) = {
		.plan = plan,
		.tree = tree,
		.scope = scope,
		.error = error,
	};
	const struct manner manner = { .apart = scope->whole };

	text_add(&planner.path, "");
	if (scope->repository && git_treebuilder_new(&planner.names, scope->repository, NULL) < 0)
		return salvage_git_error(error, "prepare", "a tree");
	plan->root = arena_new(&plan->arena, sizeof(*plan->root));
	plan->root->name = "";
	plan->root->mode = GIT_FILEMODE_TREE;
	return plan_directory(&planner, tree, plan->root, &manner, 0);
}

void salvage_plan_done(struct salvage_plan *plan)
{
	arena_done(&plan->arena);
	*plan = (struct salvage_plan){ 0 };
}

int salvage_plan_same(
	const struct salvage_plan *a, const struct salvage_plan *b, struct error *error)
{
	struct text path CLEANUP(text_done) = { 0 };

	return salvage_node_same(a->root, b->root, &path, error);
}
