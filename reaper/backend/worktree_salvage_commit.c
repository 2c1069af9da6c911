#include "worktree_salvage_commit.h"

#include "base/clock.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/mount_view.h"
#include "worktree_salvage_check.h"
#include "worktree_salvage_heads.h"
#include "worktree_salvage_place.h"
#include "worktree_salvage_state.h"
#include "worktree_salvage_write.h"
#include "worktree_work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

enum { PARENTS_MAX = 4 };

struct maker {
	const struct salvage_ask *ask;
	struct arena arena;
	struct salvage_committed *committed;
	struct error *error;

	int common; /* open */
	git_repository *repository;
	git_odb *odb;
	struct salvage_hash hash;
	struct mount_view mounts; /* of its own: it may be in a child */
	struct candidates head;
	struct salvage_index index;
	struct salvage_scope scope;
	struct salvage_writer writer;

	struct salvage_heads heads;
	struct salvage_plan plan;
	struct salvage_node staged;
	struct salvage_state state;

	git_oid tree, staged_tree, state_tree; /* as written */
	git_oid parents[PARENTS_MAX];
	size_t parent_count;
	struct text message;
};

static void maker_done(struct maker *maker)
{
	text_done(&maker->message);
	salvage_state_done(&maker->state);
	salvage_plan_done(&maker->plan);
	candidates_done(&maker->head);
	salvage_index_done(&maker->index);
	mount_view_done(&maker->mounts);
	salvage_hash_done(&maker->hash);
	git_odb_free(maker->odb);
	git_repository_free(maker->repository);
	fd_done(&maker->common);
	arena_done(&maker->arena);
}

/* What fails from here on is the repository's fault, not the tree's. */
static int unwritable(struct maker *maker, int r)
{
	if (r < 0 && !error_may_pass(r) && r != -ETIME && r != -EBUSY)
		maker->committed->unwritable = true;
	return r;
}

static int maker_open(struct maker *maker)
{
	const struct sight *sight = maker->ask->sight;
	int r;

	maker->common = dir_open(sight->common, maker->error);
	if (maker->common < 0)
		return maker->common;
	r = fsuser_of(maker->common, &maker->writer.owner, maker->error);
	if (r == 0)
		r = salvage_place_check(maker->common, maker->ask->resource->run, maker->error);
	if (r == 0)
		r = worktree_git_open(sight->common, &maker->repository, maker->error);
	if (r == 0 && git_repository_odb(&maker->odb, maker->repository) < 0)
		r = salvage_git_error(maker->error, "open the objects of", sight->common);
	if (r == 0)
		r = salvage_hash_open(&maker->hash, maker->error);
	maker->writer.repository = maker->repository;
	maker->writer.odb = maker->odb;
	maker->writer.deadline_ms = maker->ask->deadline_ms;
	return r;
}

static struct worktree_place place_of(struct maker *maker)
{
	const struct sight *sight = maker->ask->sight;

	return (struct worktree_place){
		.tree = sight->tree,
		.path = maker->ask->resource->locator,
		.common = sight->common,
		.gitdir = sight->gitdir,
		.settings = maker->ask->settings,
		.deadline_ms = maker->ask->deadline_ms,
		.mounts = &maker->mounts,
	};
}

static int submodule_look(
	void *context, int directory, const char *path, git_oid *ret_commit, struct error *error)
{
	struct maker *maker = context;
	struct worktree_place place = place_of(maker);

	(void)error;
	return worktree_submodule_saved(&place, directory, path, &maker->arena, ret_commit);
}

static int maker_look_around(struct maker *maker)
{
	const struct salvage_ask *ask = maker->ask;
	int r = salvage_heads_find(ask->sight, ask->resource, maker->repository, &maker->arena,
		&maker->heads, maker->error);

	if (r < 0)
		return unwritable(maker, r);
	maker->head.repository = maker->repository;
	if (maker->heads.has_parent)
		(void)candidates_add(&maker->head, &maker->heads.parent, true, true);
	if (ask->sight->gitdir)
		r = salvage_index_read(&maker->index, ask->sight->gitdir, maker->error);
	maker->scope = (struct salvage_scope){
		.hash = &maker->hash,
		.repository = maker->repository,
		.odb = maker->odb,
		.index = &maker->index,
		.head = &maker->head,
		.path = ask->resource->locator,
		.mounts = &maker->mounts,
		.file_max = ask->file_max,
		.total_max = ask->total_max,
		.deadline_ms = ask->deadline_ms,
		.submodule = submodule_look,
		.context = maker,
	};
	return r;
}

/* Everything that will be written is known before the first of it is. */
static int maker_plan(struct maker *maker)
{
	int r = maker_look_around(maker);

	if (r == 0 && maker->ask->sight->tree >= 0)
		r = salvage_plan_tree(
			&maker->plan, maker->ask->sight->tree, &maker->scope, maker->error);
	if (r == 0)
		r = salvage_index_nodes(
			&maker->scope, &maker->arena, 0, &maker->staged, maker->error);
	if (r == 0)
		r = salvage_state_look(
			&maker->state, maker->ask->sight->gitdir, &maker->scope, maker->error);
	return r;
}

static int maker_room(struct maker *maker)
{
	int objects CLEANUP(fd_done) =
		dir_open_below(maker->common, "objects", O_RDONLY | O_DIRECTORY, maker->error);
	uint64_t files = maker->plan.new_files + 16;
	int64_t bytes = maker->plan.new_bytes;

	if (objects < 0)
		return unwritable(maker, objects);
	for (size_t i = 0; i < SALVAGE_STATE_PARTS; i++) {
		files += maker->state.parts[i].plan.new_files;
		bytes += maker->state.parts[i].plan.new_bytes;
	}
	if (maker->plan.root)
		files += salvage_new_trees(maker->plan.root);
	return salvage_space_check(objects, bytes, files, maker->error);
}

static int write_trees(struct maker *maker)
{
	const struct salvage_writer *writer = &maker->writer;
	int r = 0;

	if (maker->plan.root)
		r = salvage_blobs_write(
			writer, &maker->plan, maker->ask->sight->tree, maker->error);
	for (size_t i = 0; i < SALVAGE_STATE_PARTS && r == 0; i++)
		if (maker->state.parts[i].plan.root)
			r = salvage_blobs_write(writer, &maker->state.parts[i].plan,
				maker->state.parts[i].dir, maker->error);
	if (r == 0 && (maker->plan.root || !maker->heads.has_parent))
		r = salvage_trees_write(writer, maker->plan.root, &maker->tree, maker->error);
	else if (r == 0) /* no tree is there: nothing in it was changed */
		maker->tree = maker->heads.tree;
	if (r == 0)
		r = salvage_trees_write(writer, &maker->staged, &maker->staged_tree, maker->error);
	if (r == 0)
		r = salvage_trees_write(
			writer, &maker->state.root, &maker->state_tree, maker->error);
	return r;
}

static void parent_add(struct maker *maker, const char *trailer, const git_oid *id)
{
	char text[GIT_OID_HEXSZ + 1];

	assert(maker->parent_count < PARENTS_MAX);
	maker->parents[maker->parent_count++] = *id;
	if (trailer)
		text_addf(&maker->message, "%s: %s\n", trailer,
			git_oid_tostr(text, sizeof(text), id));
}

/* The index, where the next commit would be another one than HEAD. */
static int write_staged(struct maker *maker)
{
	const struct salvage_heads *heads = &maker->heads;
	const struct salvage_commit commit = {
		.tree = maker->staged_tree,
		.parents = &heads->parent,
		.parent_count = heads->has_parent,
		.message = "The index\n",
		.time_s = heads->time_s, /* not now: the same index is the same commit */
	};
	git_oid id;
	int r;

	if (maker->index.count == 0 ||
		(heads->has_parent && git_oid_equal(&heads->tree, &maker->staged_tree)))
		return 0;
	r = salvage_commit_write(
		maker->repository, &maker->writer.owner, &commit, &id, maker->error);
	if (r == 0)
		parent_add(maker, "Sbx-Index", &id);
	return r;
}

/* Of the commits that something in progress names, those that nothing else keeps. */
static int named_alone(struct maker *maker, struct worktree_commits *ret_alone)
{
	const struct salvage_ask *ask = maker->ask;
	const char *except =
		ask->settings->policy.branch == BRANCH_DELETE ? ask->resource->branch : NULL;
	struct worktree_commits kept CLEANUP(worktree_commits_done) = { 0 };
	/* Not in salvage refs: an attempt that is made again finds the same. */
	int r = worktree_commits_gather(
		maker->repository, REFS_BRANCHES, except, &kept, maker->error);

	if (r < 0)
		return r;
	if (maker->heads.has_parent)
		worktree_commits_add(&kept, &maker->heads.parent);
	if (maker->heads.has_tip)
		worktree_commits_add(&kept, &maker->heads.tip);
	for (size_t i = 0; i < maker->state.named.count && r >= 0; i++) {
		const git_oid *id = &maker->state.named.ids[i];

		r = worktree_commit_contained(maker->repository, id, &kept, maker->error);
		if (r == 0) {
			worktree_commits_add(ret_alone, id);
			worktree_commits_add(&kept, id);
		}
	}
	return r < 0 ? r : 0;
}

static int write_state(struct maker *maker)
{
	struct worktree_commits alone CLEANUP(worktree_commits_done) = { 0 };
	struct salvage_commit commit = {
		.tree = maker->state_tree,
		.message = "What is in progress\n",
		.time_s = maker->heads.time_s,
	};
	git_oid id;
	int r;

	if (maker->state.root.count == 0)
		return 0;
	r = named_alone(maker, &alone);
	if (r < 0)
		return r;
	commit.parents = alone.ids;
	commit.parent_count = alone.count;
	r = salvage_commit_write(
		maker->repository, &maker->writer.owner, &commit, &id, maker->error);
	if (r == 0)
		parent_add(maker, "Sbx-State", &id);
	return r;
}

static void begin_message(struct maker *maker)
{
	const struct resource *resource = maker->ask->resource;
	char *tree CLEANUP(mem_done) = text_escape(resource->locator);
	char *branch CLEANUP(mem_done) =
		maker->heads.branch ? text_escape(maker->heads.branch) : NULL;

	text_addf(&maker->message,
		"Salvaged from %s\n\nSbx-Run: %s\nSbx-Generation: %" PRId64 "\nSbx-Tree: %s\n",
		tree, resource->run, resource->generation, tree);
	if (branch)
		text_addf(&maker->message, "Sbx-Branch: %s\n", branch);
}

static int write_commits(struct maker *maker)
{
	int r;

	begin_message(maker);
	if (maker->heads.has_parent)
		parent_add(maker, NULL, &maker->heads.parent);
	r = write_staged(maker);
	if (r == 0 && maker->heads.has_tip)
		parent_add(maker, "Sbx-Tip", &maker->heads.tip);
	return r == 0 ? write_state(maker) : r;
}

/* MUST 2, for the objects: before anything points at them. */
static int check_objects(struct maker *maker)
{
	git_repository *fresh CLEANUP(repository_done) = NULL;
	struct salvage_plan again CLEANUP(salvage_plan_done) = { 0 };
	struct salvage_scope scope = maker->scope;
	int64_t deadline_ms = maker->ask->deadline_ms;
	int r = worktree_git_open(maker->ask->sight->common, &fresh, maker->error);

	if (r == 0 && maker->plan.root)
		r = salvage_trees_check(fresh, &maker->hash, maker->plan.root, &maker->tree,
			deadline_ms, maker->error);
	if (r == 0)
		r = salvage_trees_check(fresh, &maker->hash, &maker->staged, &maker->staged_tree,
			deadline_ms, maker->error);
	if (r == 0)
		r = salvage_trees_check(fresh, &maker->hash, &maker->state.root, &maker->state_tree,
			deadline_ms, maker->error);
	if (r < 0 || !maker->plan.root)
		return r;
	scope.total_max = INT64_MAX; /* it was within, and is stored now */
	r = salvage_plan_tree(&again, maker->ask->sight->tree, &scope, maker->error);
	return r < 0 ? r : salvage_plan_same(&maker->plan, &again, maker->error);
}

static int make_ref(struct maker *maker)
{
	const struct resource *resource = maker->ask->resource;
	struct salvage_committed *committed = maker->committed;
	git_repository *fresh CLEANUP(repository_done) = NULL;
	const struct salvage_commit commit = {
		.tree = maker->tree,
		.parents = maker->parents,
		.parent_count = maker->parent_count,
		.message = maker->message.data,
		.time_s = clock_wall_s(),
	};
	git_oid id;
	int r = salvage_commit_write(
		maker->repository, &maker->writer.owner, &commit, &id, maker->error);

	if (r == 0)
		r = salvage_ref_make(maker->repository, &maker->writer.owner, resource->run,
			resource->generation, &id, committed->ref, maker->error);
	if (r == 0)
		r = worktree_git_open(maker->ask->sight->common, &fresh, maker->error);
	if (r == 0)
		r = salvage_ref_check(fresh, committed->ref, &id, &commit, maker->error);
	git_oid_tostr(committed->commit, sizeof(committed->commit), &id);
	return r;
}

/* What is made has the permissions of what is there, as core.sharedRepository left it. */
static mode_t mask_for(int common)
{
	struct stat stat;

	if (fstatat(common, "objects", &stat, 0) < 0)
		return S_IRWXO;
	return ~stat.st_mode & (S_IRWXG | S_IRWXO);
}

static int maker_write(struct maker *maker)
{
	mode_t mask = umask(mask_for(maker->common));
	int r = write_trees(maker);

	if (r == 0)
		r = write_commits(maker);
	if (r == 0)
		r = check_objects(maker);
	if (r == 0)
		r = make_ref(maker); /* MUST 3 */
	(void)umask(mask);
	return r;
}

static void tell(struct maker *maker)
{
	struct salvage_committed *committed = maker->committed;

	committed->bytes = maker->plan.bytes;
	(void)snprintf(committed->branch, sizeof(committed->branch), "%s",
		maker->heads.branch ? maker->heads.branch : "");
	(void)snprintf(committed->apart, sizeof(committed->apart), "%s",
		maker->plan.apart ? maker->plan.apart : "");
}

int salvage_commit_make(
	const struct salvage_ask *ask, struct salvage_committed *committed, struct error *error)
{
	struct maker maker CLEANUP(maker_done) = {
		.ask = ask,
		.committed = committed,
		.error = error,
		.common = -EBADF,
		.mounts = MOUNT_VIEW_NONE,
	};
	int r;

	*committed = (struct salvage_committed){ 0 };
	r = unwritable(&maker, maker_open(&maker));
	if (r == 0)
		r = maker_plan(&maker);
	if (r == 0)
		r = maker_room(&maker);
	if (r == 0)
		r = unwritable(&maker, maker_write(&maker));
	tell(&maker);
	return r;
}
