#include "worktree_salvage_archive.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/archive.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/mount_view.h"
#include "worktree_salvage_index.h"
#include "worktree_salvage_packing.h"
#include "worktree_salvage_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

enum { NAMES_TRIED = 1000 };

int salvage_archives_open(const struct settings *settings, char **ret_path, struct error *error)
{
	char *above CLEANUP(mem_done) = pathname_parent(settings->database);
	char *path CLEANUP(mem_done) = mem_printf("%s/salvage", above);
	int parent CLEANUP(fd_done) = dir_open(above, error), dir CLEANUP(fd_done) = -EBADF;
	struct stat stat;

	if (parent < 0)
		return parent;
	if (mkdirat(parent, "salvage", S_IRWXU) == 0)
		(void)fsync(parent);
	else if (errno != EEXIST)
		return error_set(error, errno, "make %s", path);
	dir = dir_open_below(parent, "salvage", O_RDONLY | O_DIRECTORY, error);
	if (dir < 0)
		return dir;
	if (fstat(dir, &stat) < 0)
		return error_set(error, errno, "look at %s", path);
	if (stat.st_uid != geteuid() || stat.st_mode & (S_IWGRP | S_IWOTH))
		return error_say(error, EPERM,
			"%s (uid %u, mode %04o) must be ours, and only ours to write", path,
			stat.st_uid, stat.st_mode & ALLPERMS);
	*ret_path = TAKE_PTR(path);
	return TAKE_FD(dir);
}

struct archiver {
	const struct salvage_ask *ask;
	struct error *error;
	int archives;
	struct salvage_hash hash;
	struct mount_view mounts; /* of its own: it may be in a child */
	struct salvage_index index;
	struct salvage_scope tree_scope, record_scope;
	int record; /* open, or -EBADF: none */
	struct salvage_plan tree_plan, record_plan;
};

static void archiver_done(struct archiver *archiver)
{
	salvage_plan_done(&archiver->tree_plan);
	salvage_plan_done(&archiver->record_plan);
	salvage_index_done(&archiver->index);
	mount_view_done(&archiver->mounts);
	salvage_hash_done(&archiver->hash);
	fd_done(&archiver->record);
}

/* What is tracked is not ignored. Where that cannot be told any more, .gitignore alone decides. */
static void archiver_scopes(struct archiver *archiver)
{
	const struct salvage_ask *ask = archiver->ask;
	const struct sight *sight = ask->sight;
	bool indexed =
		sight->gitdir && salvage_index_read(&archiver->index, sight->gitdir, NULL) == 0;

	archiver->tree_scope = (struct salvage_scope){
		.hash = &archiver->hash,
		.index = indexed ? &archiver->index : NULL,
		.own = sight->own,
		.path = ask->resource->locator,
		.mounts = &archiver->mounts,
		.file_max = ask->file_max,
		.total_max = ask->total_max,
		.deadline_ms = ask->deadline_ms,
	};
	archiver->record_scope = archiver->tree_scope;
	archiver->record_scope.index = NULL;
	archiver->record_scope.whole = true;
}

static int archiver_plan(struct archiver *archiver)
{
	const struct sight *sight = archiver->ask->sight;
	int r = salvage_hash_open(&archiver->hash, archiver->error);

	if (r < 0)
		return r;
	archiver_scopes(archiver);
	if (sight->tree >= 0)
		r = salvage_plan_tree(
			&archiver->tree_plan, sight->tree, &archiver->tree_scope, archiver->error);
	if (r < 0 || !sight->recorded)
		return r;
	archiver->record = dir_open(sight->record.path, archiver->error);
	if (archiver->record < 0)
		return archiver->record;
	archiver->record_scope.total_max -= archiver->tree_plan.new_bytes;
	return salvage_plan_tree(
		&archiver->record_plan, archiver->record, &archiver->record_scope, archiver->error);
}

static int64_t archiver_bytes(const struct archiver *archiver)
{
	return archiver->tree_plan.bytes + archiver->record_plan.bytes;
}

static struct salvage_packing packing_of(struct archiver *archiver)
{
	return (struct salvage_packing){
		.parts = { { .prefix = "tree",
				   .dir = archiver->ask->sight->tree,
				   .root = archiver->tree_plan.root },
			{ .prefix = "record",
				.dir = archiver->record,
				.root = archiver->record_plan.root } },
		.hash = &archiver->hash,
		.deadline_ms = archiver->ask->deadline_ms,
	};
}

static void archive_name(
	char name[SALVAGE_NAME_MAX], const struct resource *resource, unsigned turn)
{
	if (turn == 0)
		(void)snprintf(name, SALVAGE_NAME_MAX, "%s,%" PRId64 ARCHIVE_SUFFIX, resource->run,
			resource->generation);
	else
		(void)snprintf(name, SALVAGE_NAME_MAX, "%s,%" PRId64 ".%u" ARCHIVE_SUFFIX,
			resource->run, resource->generation, turn + 1);
}

static int archive_write(struct archiver *archiver, const char *name)
{
	struct salvage_packing packing = packing_of(archiver);
	struct archive_writer *writer CLEANUP(archive_abort) = NULL;
	int r = salvage_space_check(
		archiver->archives, archiver_bytes(archiver), 1, archiver->error);

	if (r == 0)
		r = archive_create(archiver->archives, name, &writer, archiver->error);
	if (r == 0)
		r = salvage_packing_write(&packing, writer, archiver->error);
	if (r == 0)
		r = archive_finish(writer, archiver->error);
	return r;
}

/* MUST 2: nobody wrote to it meanwhile. */
static int look_again(struct archiver *archiver, const struct salvage_plan *plan, int dir,
	const struct salvage_scope *scope)
{
	struct salvage_plan again CLEANUP(salvage_plan_done) = { 0 };
	int r;

	if (!plan->root)
		return 0;
	r = salvage_plan_tree(&again, dir, scope, archiver->error);
	return r < 0 ? r : salvage_plan_same(plan, &again, archiver->error);
}

static int archive_check(struct archiver *archiver, const char *name)
{
	struct salvage_packing packing = packing_of(archiver);
	int r = salvage_packing_check(&packing, archiver->archives, name, archiver->error);

	if (r == 0)
		r = look_again(archiver, &archiver->tree_plan, archiver->ask->sight->tree,
			&archiver->tree_scope);
	if (r == 0)
		r = look_again(archiver, &archiver->record_plan, archiver->record,
			&archiver->record_scope);
	return r;
}

/* 1 made, or taken over; 0 the name is taken by something else; -errno. */
static int archive_try(struct archiver *archiver, const char *name)
{
	struct salvage_packing packing = packing_of(archiver);
	struct stat stat;
	int r;

	if (fstatat(archiver->archives, name, &stat, AT_SYMLINK_NOFOLLOW) == 0) {
		if (salvage_packing_check(&packing, archiver->archives, name, NULL) < 0)
			return 0;
		r = archive_check(archiver, name);
		return r < 0 ? r : 1;
	}
	r = archive_write(archiver, name);
	if (r < 0)
		return r;
	r = archive_check(archiver, name);
	if (r < 0) /* it is of no use, and not on the books */
		(void)file_remove(archiver->archives, name, NULL);
	return r < 0 ? r : 1;
}

int salvage_archive_make(const struct salvage_ask *ask, int archives,
	struct salvage_archived *archived, struct error *error)
{
	struct archiver archiver CLEANUP(archiver_done) = {
		.ask = ask,
		.error = error,
		.archives = archives,
		.record = -EBADF,
		.mounts = MOUNT_VIEW_NONE,
	};
	int r = archiver_plan(&archiver);

	*archived = (struct salvage_archived){ .bytes = archiver_bytes(&archiver) };
	if (r < 0)
		return r;
	for (unsigned turn = 0; turn < NAMES_TRIED && r == 0; turn++) {
		archive_name(archived->name, ask->resource, turn);
		r = archive_try(&archiver, archived->name);
	}
	if (r == 0)
		return error_say(error, EEXIST, "every name for an archive is taken");
	return r < 0 ? r : 0;
}
