#include "worktree_salvage_write.h"

#include "base/clock.h"
#include "os/dir.h"
#include "worktree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

uint64_t salvage_new_trees(const struct salvage_node *node)
{
	uint64_t below = 0;
	bool changed = false;

	for (size_t i = 0; i < node->count; i++) {
		if (salvage_node_is_directory(node->sorted[i]))
			below += salvage_new_trees(node->sorted[i]);
		else
			changed |=
				salvage_node_is_file(node->sorted[i]) && !node->sorted[i]->stored;
	}
	return below + (changed || below > 0);
}

struct blobs {
	const struct salvage_writer *writer;
	struct text path;
	struct error *error;
};

static void blobs_done(struct blobs *blobs)
{
	text_done(&blobs->path);
}

static int blob_fail(struct blobs *blobs, int code, const char *why)
{
	char *shown CLEANUP(mem_done) = text_escape(blobs->path.data);

	return error_say(blobs->error, code, "%.250s: %s", shown, why);
}

static int link_write(
	struct blobs *blobs, int dir, const struct salvage_node *node, git_oid *ret_id)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(dir, node->name, target, sizeof(target));

	if (length < 0)
		return blob_fail(blobs, EBUSY, "it went while it was salvaged");
	if (fsuser_begin(&blobs->writer->owner, blobs->error) < 0)
		return -EPERM;
	errno = 0;
	length = git_odb_write(ret_id, blobs->writer->odb, target, (size_t)length, GIT_OBJECT_BLOB);
	fsuser_end(&blobs->writer->owner);
	return length < 0 ? salvage_git_error(blobs->error, "write", "a blob") : 0;
}

static int file_blob_write(
	struct blobs *blobs, int dir, const struct salvage_node *node, git_oid *ret_id)
{
	int file CLEANUP(fd_done) = open_unnoticed(dir, node->name, O_RDONLY | O_NONBLOCK, NULL);
	struct error unsaid = { 0 };
	struct stat stat;
	int r;

	if (file < 0 || fstat(file, &stat) < 0 || !S_ISREG(stat.st_mode))
		return blob_fail(blobs, EBUSY, "it went while it was salvaged");
	if (fsuser_begin(&blobs->writer->owner, blobs->error) < 0)
		return -EPERM;
	r = salvage_blob_write(
		blobs->writer->odb, file, node->size, blobs->writer->deadline_ms, ret_id, &unsaid);
	fsuser_end(&blobs->writer->owner);
	return r < 0 ? blob_fail(blobs, -r, unsaid.text) : 0;
}

static int blob_write(struct blobs *blobs, int dir, const struct salvage_node *node)
{
	git_oid id = { 0 };
	int r;

	if (deadline_left_ms(blobs->writer->deadline_ms) == 0)
		return blob_fail(blobs, ETIME, "the time is up");
	r = node->mode == GIT_FILEMODE_LINK ? link_write(blobs, dir, node, &id)
					    : file_blob_write(blobs, dir, node, &id);
	if (r == 0 && !git_oid_equal(&id, &node->id))
		return blob_fail(blobs, EBUSY, "it changed while it was salvaged");
	return r;
}

/* Recursion is bounded by the depth of a plan. */
static int blobs_write(struct blobs *blobs, int dir, const struct salvage_node *node)
{
	int r = 0;

	for (size_t i = 0; i < node->count && r == 0; i++) {
		const struct salvage_node *at = node->sorted[i];
		size_t length = blobs->path.length;

		text_add(&blobs->path, length ? "/" : "");
		text_add(&blobs->path, at->name);
		if (salvage_node_is_directory(at) && at->count > 0) {
			int below CLEANUP(fd_done) =
				open_unnoticed(dir, at->name, O_RDONLY | O_DIRECTORY, NULL);

			/* One that the index alone has is not there. */
			if (below >= 0)
				r = blobs_write(blobs, below, at);
			else if (below != -ENOENT || salvage_new_trees(at) > 0)
				r = blob_fail(blobs, EBUSY, "it went while it was salvaged");
		} else if (salvage_node_is_file(at) && !at->kept && !at->apart && !at->stored) {
			r = blob_write(blobs, dir, at);
		}
		blobs->path.length = length;
		blobs->path.data[length] = 0;
	}
	return r;
}

int salvage_blobs_write(const struct salvage_writer *writer, const struct salvage_plan *plan,
	int tree, struct error *error)
{
	struct blobs blobs CLEANUP(blobs_done) = { .writer = writer, .error = error };

	text_add(&blobs.path, "");
	return blobs_write(&blobs, tree, plan->root);
}

static void treebuilder_done(git_treebuilder **builder)
{
	git_treebuilder_free(*builder);
}

/* 1, 0: nothing is in it, -errno. Recursion is bounded by the depth of a plan. */
static int tree_write(const struct salvage_writer *writer, const struct salvage_node *node,
	git_oid *ret_id, struct error *error)
{
	git_treebuilder *builder CLEANUP(treebuilder_done) = NULL;

	errno = 0;
	if (git_treebuilder_new(&builder, writer->repository, NULL) < 0)
		return salvage_git_error(error, "write", "a tree");
	for (size_t i = 0; i < node->count; i++) {
		const struct salvage_node *at = node->sorted[i];
		git_oid id = at->id;
		int r = 1;

		if (at->apart)
			continue;
		if (salvage_node_is_directory(at))
			r = tree_write(writer, at, &id, error);
		if (r < 0)
			return r;
		if (r > 0 && git_treebuilder_insert(NULL, builder, at->name, &id, at->mode) < 0)
			return salvage_git_error(error, "put into a tree", at->name);
	}
	if (git_treebuilder_entrycount(builder) == 0)
		return 0;
	errno = 0;
	return git_treebuilder_write(ret_id, builder) < 0
		       ? salvage_git_error(error, "write", "a tree")
		       : 1;
}

int salvage_trees_write(const struct salvage_writer *writer, const struct salvage_node *root,
	git_oid *ret_tree, struct error *error)
{
	static const struct salvage_node nothing = { .name = "", .mode = GIT_FILEMODE_TREE };
	git_treebuilder *builder CLEANUP(treebuilder_done) = NULL;
	int r = fsuser_begin(&writer->owner, error);

	if (r < 0)
		return r;
	r = tree_write(writer, root ? root : &nothing, ret_tree, error);
	if (r == 0) /* the one tree that may be empty */
		r = git_treebuilder_new(&builder, writer->repository, NULL) < 0 ||
				    git_treebuilder_write(ret_tree, builder) < 0
			    ? salvage_git_error(error, "write", "a tree")
			    : 1;
	fsuser_end(&writer->owner);
	return r < 0 ? r : 0;
}
