#include "worktree_salvage_index.h"

#include "base/text.h"
#include "os/dir.h"
#include "os/file.h"
#include "worktree_index.h"

#include <errno.h>

enum { INDEX_BYTES_MAX = 1 << 30, INDEX_DEPTH_MAX = 1024 };

static int entry_take(void *context, const struct index_entry *entry)
{
	struct salvage_index *index = context;
	bool sparse = entry->mode == GIT_FILEMODE_TREE;
	struct salvage_staged *staged;

	if (index->count == index->room) {
		index->room = index->room * 2 + 64;
		index->list = mem_grow(index->list, index->room, sizeof(*index->list));
	}
	staged = &index->list[index->count++];
	*staged = (struct salvage_staged){
		.path = sparse ? arena_printf(&index->arena, "%s/", entry->path)
			       : arena_dup(&index->arena, entry->path),
		.mode = (git_filemode_t)entry->mode,
		.stage = entry->stage,
		.intent_to_add = entry->intent_to_add,
		.skip_worktree = entry->skip_worktree || sparse,
	};
	memcpy(staged->id.id, entry->id, GIT_OID_RAWSZ);
	index->conflicts |= entry->stage > 0;
	return 0;
}

static int staged_compare(const void *a, const void *b)
{
	const struct salvage_staged *left = a, *right = b;
	int order = strcmp(left->path, right->path);

	return order ? order : (int)left->stage - (int)right->stage;
}

int salvage_index_read(struct salvage_index *index, const char *gitdir, struct error *error)
{
	int dir CLEANUP(fd_done) = dir_open(gitdir, error);
	char *bytes CLEANUP(mem_done) = NULL;
	struct error unsaid = { 0 };
	size_t length = 0;
	int r = dir < 0 ? dir
			: file_read(dir, "index", INDEX_BYTES_MAX, &bytes, &length, NULL, &unsaid);

	if (dir < 0 || r == -ENOENT)
		return dir < 0 ? dir : 0;
	if (r >= 0)
		r = index_each(bytes, length, entry_take, index, &unsaid);
	if (r < 0)
		return error_say(error, -r, "%s", unsaid.text);
	if (index->count > 0)
		qsort(index->list, index->count, sizeof(*index->list), staged_compare);
	return 0;
}

void salvage_index_done(struct salvage_index *index)
{
	free(index->list);
	arena_done(&index->arena);
}

/* The first entry that is not before the path. */
static size_t index_position(const struct salvage_index *index, const char *path)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(index->list[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct salvage_staged *index_find(const struct salvage_index *index, const char *path)
{
	size_t at = index_position(index, path);

	return at < index->count && text_equal(index->list[at].path, path) ? &index->list[at]
									   : NULL;
}

bool salvage_index_has(const struct salvage_index *index, const char *path)
{
	return index_find(index, path) != NULL;
}

bool salvage_index_submodule(
	const struct salvage_index *index, const char *path, git_oid *ret_commit)
{
	const struct salvage_staged *staged = index_find(index, path);

	if (!staged || staged->mode != GIT_FILEMODE_COMMIT)
		return false;
	if (ret_commit)
		*ret_commit = staged->id;
	return true;
}

static bool is_mode(git_filemode_t mode)
{
	return mode == GIT_FILEMODE_BLOB || mode == GIT_FILEMODE_BLOB_EXECUTABLE ||
	       mode == GIT_FILEMODE_LINK || mode == GIT_FILEMODE_COMMIT ||
	       mode == GIT_FILEMODE_TREE;
}

/* Whether a tree may name it: the object is there, or HEAD names it as well. */
static bool staged_sound(const struct salvage_scope *scope, const struct salvage_staged *staged)
{
	git_object_t wanted = staged->mode == GIT_FILEMODE_TREE ? GIT_OBJECT_TREE : GIT_OBJECT_BLOB;
	git_object_t type;
	size_t size;

	if (staged->mode == GIT_FILEMODE_COMMIT)
		return true;
	if (!is_mode(staged->mode))
		return false;
	if (scope->head && candidates_have(scope->head, staged->path, staged->id.id))
		return true;
	return scope->odb && git_odb_read_header(&size, &type, scope->odb, &staged->id) == 0 &&
	       type == wanted;
}

static void node_from(struct arena *arena, struct salvage_node *parent, const char *name,
	const struct salvage_staged *staged)
{
	struct salvage_node *node = salvage_node_add(arena, parent, name, staged->mode);

	node->id = staged->id;
	node->kept = node->stored = true;
}

struct range {
	const struct salvage_scope *scope;
	struct arena *arena;
	size_t from, to;
	bool skipped;   /* only what a sparse checkout leaves out */
	unsigned stage; /* only this one */
	struct error *error;
};

static bool range_wants(const struct range *range, const struct salvage_staged *staged)
{
	return !staged->intent_to_add && staged->stage == range->stage &&
	       (!range->skipped || staged->skip_worktree) && staged_sound(range->scope, staged);
}

/* The end of the entries that begin with the first `length` bytes of that at `from`. */
static size_t range_end(const struct range *range, size_t length)
{
	const struct salvage_staged *list = range->scope->index->list;
	size_t end = range->from;

	while (end < range->to && strncmp(list[end].path, list[range->from].path, length) == 0)
		end++;
	return end;
}

static int range_build(struct range range, struct salvage_node *node, size_t cut, unsigned depth);

/* One entry or one directory full of them: how far it went is *ret_end. */
static int range_step(const struct range *range, struct salvage_node *node, size_t cut,
	unsigned depth, size_t *ret_end)
{
	const struct salvage_staged *staged = &range->scope->index->list[range->from];
	const char *rest = staged->path + cut, *slash = strchr(rest, '/');
	char *name = slash ? arena_dup_n(range->arena, rest, (size_t)(slash - rest))
			   : arena_dup(range->arena, rest);
	struct salvage_node *there = salvage_node_find(node, name), *below;
	struct range inner = *range;

	*ret_end = range->from + 1;
	if (!slash || !slash[1]) { /* a file, or a sparse directory as a whole */
		if (!there && *name && range_wants(range, staged))
			node_from(range->arena, node, name, staged);
		return 0;
	}
	inner.to = *ret_end = range_end(range, cut + (size_t)(slash - rest) + 1);
	if (there || !*name) /* the file system has it: done when that directory was read */
		return 0;
	below = salvage_node_add(range->arena, node, name, GIT_FILEMODE_TREE);
	return range_build(inner, below, cut + (size_t)(slash - rest) + 1, depth + 1);
}

/* Recursion is bounded by INDEX_DEPTH_MAX. */
static int range_build(struct range range, struct salvage_node *node, size_t cut, unsigned depth)
{
	int r = 0;

	if (depth > INDEX_DEPTH_MAX)
		return error_say(range.error, EINVAL, "git index: a path is too deep");
	while (range.from < range.to && r >= 0) {
		size_t end = range.to;

		r = range_step(&range, node, cut, depth, &end);
		range.from = end;
	}
	salvage_node_sort(range.arena, node);
	return r;
}

/* What a sparse directory holds that has been made again on disk. */
static void keep_tree(const struct salvage_scope *scope, struct arena *arena,
	struct salvage_node *node, const git_oid *id)
{
	git_tree *tree CLEANUP(tree_done) = NULL;

	if (!scope->repository || git_tree_lookup(&tree, scope->repository, id) < 0)
		return;
	for (size_t i = 0; i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
		const char *name = git_tree_entry_name(entry);
		const struct salvage_staged staged = {
			.mode = git_tree_entry_filemode(entry),
			.id = *git_tree_entry_id(entry),
		};
		struct salvage_node *there = salvage_node_find(node, name);

		if (!there)
			node_from(arena, node, name, &staged);
		else if (there->mode == GIT_FILEMODE_TREE && staged.mode == GIT_FILEMODE_TREE &&
			 !there->apart)
			keep_tree(scope, arena, there, &staged.id);
	}
	salvage_node_sort(arena, node);
}

int salvage_index_keep(const struct salvage_scope *scope, struct arena *arena,
	struct salvage_node *node, const char *directory, struct error *error)
{
	char *prefix CLEANUP(mem_done) = mem_printf("%s%s", directory, *directory ? "/" : "");
	struct range range = {
		.scope = scope,
		.arena = arena,
		.from = index_position(scope->index, prefix),
		.skipped = true,
		.error = error,
	};
	const struct salvage_staged *first;

	range.to = scope->index->count;
	if (range.from == range.to)
		return 0;
	first = &scope->index->list[range.from];
	if (!text_starts(first->path, prefix))
		return 0;
	range.to = range_end(&range, strlen(prefix));
	if (*prefix && text_equal(first->path, prefix)) {
		keep_tree(scope, arena, node, &first->id);
		range.from++;
	}
	return range_build(range, node, strlen(prefix), 0);
}

int salvage_index_nodes(const struct salvage_scope *scope, struct arena *arena, unsigned stage,
	struct salvage_node *ret_node, struct error *error)
{
	const struct range range = {
		.scope = scope,
		.arena = arena,
		.to = scope->index->count,
		.stage = stage,
		.error = error,
	};

	*ret_node = (struct salvage_node){ .name = "", .mode = GIT_FILEMODE_TREE };
	return range_build(range, ret_node, 0, 0);
}
