#include "worktree_salvage_manner.h"

#include "os/dir_stream.h"
#include "worktree_salvage_index.h"
#include "worktree_walk.h"

#include <sys/stat.h>

void salvage_manner_apart(struct planner *planner, const char *what)
{
	char *shown CLEANUP(mem_done) = text_escape(planner->path.data);

	if (!planner->plan->apart)
		planner->plan->apart = arena_printf(&planner->plan->arena, "%s: %s", shown, what);
}

/* A symlink of that name would be refused when the commit is checked out (git's verify_path()). */
static bool link_refused(const char *name)
{
	return strncasecmp(name, ".gitmodules", strlen(".gitmodules")) == 0 ||
	       strncasecmp(name, "gitmod~", strlen("gitmod~")) == 0 ||
	       strncasecmp(name, "gi7eba~", strlen("gi7eba~")) == 0;
}

/* ".git" in all the spellings that git refuses, asked of the library. */
bool salvage_manner_refuses(struct planner *planner, const char *name, bool is_link)
{
	static const git_oid some = { .id = { 1 } }; /* not that of nothing: it is refused */
	bool refused;

	if (is_link && link_refused(name))
		return true;
	if (!planner->names)
		return false;
	refused =
		git_treebuilder_insert(NULL, planner->names, name, &some, GIT_FILEMODE_COMMIT) < 0;
	(void)git_treebuilder_clear(planner->names);
	return refused;
}

static bool has_entry(int dir, const char *name)
{
	struct stat stat;

	return fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static bool is_empty(int dir)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);

	return stream && !stream_next(stream) && errno == 0;
}

/* What git records for a submodule: -1: it is none. */
static bool submodule_recorded(
	struct planner *planner, const char *directory, const char *name, git_oid *ret_commit)
{
	const struct salvage_scope *scope = planner->scope;

	if (scope->index && salvage_index_submodule(scope->index, planner->path.data, ret_commit))
		return true;
	return scope->head &&
	       candidates_mode(scope->head, directory, name) == GIT_FILEMODE_COMMIT &&
	       candidates_id(scope->head, directory, name, ret_commit->id);
}

/* A submodule stays the commit it is at; what it holds goes along when that is saved nowhere. */
static int plan_submodule(
	struct planner *planner, int dir, struct salvage_node *node, struct manner *manner)
{
	const struct salvage_scope *scope = planner->scope;
	git_oid commit;
	int r = 0;

	node->mode = GIT_FILEMODE_COMMIT;
	node->kept = node->stored = true;
	if (is_empty(dir))
		return 1;
	if (scope->submodule)
		r = scope->submodule(
			scope->context, dir, planner->path.data, &commit, planner->error);
	if (r > 0)
		node->id = commit;
	if (r != 0)
		return r;
	manner->apart = true;
	salvage_manner_apart(planner, "a submodule with work of its own");
	return 0;
}

/*
 * Why a directory that is no submodule cannot be in a commit; NULL: it can. An archive holds whatever
 * cannot be told.
 */
static const char *not_in_commit(struct planner *planner, int dir, const char *name, bool ignored)
{
	if (has_entry(dir, ".git"))
		return "a repository within the tree";
	if (salvage_manner_refuses(planner, name, false))
		return "a name that git refuses";
	/* Where nothing is ignored each of its files is kept by itself. */
	return ignored && worktree_hides_bare(dir) != 0 ? "a bare repository within the tree"
							: NULL;
}

int salvage_manner_find(struct planner *planner, int dir, const char *directory,
	struct salvage_node *node, struct manner *manner)
{
	const char *why;

	if (manner->apart)
		return 0;
	if (submodule_recorded(planner, directory, node->name, &node->id))
		return plan_submodule(planner, dir, node, manner);
	manner->ignored =
		manner->ignored || ignore_matches(&planner->ignore, planner->path.data, true);
	why = not_in_commit(planner, dir, node->name, manner->ignored);
	if (why) {
		manner->apart = node->apart = true;
		salvage_manner_apart(planner, why);
	}
	return 0;
}
