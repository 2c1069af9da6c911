#include "worktree_salvage_node.h"

#include <errno.h>

struct salvage_node *salvage_node_add(
	struct arena *arena, struct salvage_node *parent, const char *name, git_filemode_t mode)
{
	struct salvage_node *node = arena_new(arena, sizeof(*node));

	node->name = arena_dup(arena, name);
	node->mode = mode;
	node->next = parent->first;
	parent->first = node;
	return node;
}

static int node_compare(const void *a, const void *b)
{
	const struct salvage_node *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

void salvage_node_sort(struct arena *arena, struct salvage_node *node)
{
	size_t count = 0, kept = 0;

	for (const struct salvage_node *at = node->first; at; at = at->next)
		count++;
	if (count == 0 || count == node->count)
		return;
	node->sorted = arena_new(arena, count * sizeof(struct salvage_node *));
	count = 0;
	for (struct salvage_node *at = node->first; at; at = at->next)
		node->sorted[count++] = at;
	qsort(node->sorted, count, sizeof(struct salvage_node *), node_compare);
	/* An index may name a file and a directory alike; a tree may not. */
	for (size_t i = 0; i < count; i++)
		if (i == 0 || !text_equal(node->sorted[i]->name, node->sorted[kept - 1]->name))
			node->sorted[kept++] = node->sorted[i];
	node->count = kept;
}

struct salvage_node *salvage_node_find(const struct salvage_node *node, const char *name)
{
	size_t low = 0, high = node->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(node->sorted[middle]->name, name);

		if (order == 0)
			return node->sorted[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct salvage_node *salvage_node_below(const struct salvage_node *node, const char *path)
{
	char *copy CLEANUP(mem_done) = mem_dup(path);
	char *rest = NULL;

	for (char *name = strtok_r(copy, "/", &rest); name && node;
		name = strtok_r(NULL, "/", &rest))
		node = salvage_node_find(node, name);
	return node;
}

/* Recursion is bounded by the depth of a plan. */
bool salvage_node_is_unmade(const struct salvage_node *node)
{
	if (node->kept)
		return node->count == 0;
	if (node->count == 0)
		return false;
	for (size_t i = 0; i < node->count; i++)
		if (!salvage_node_is_unmade(node->sorted[i]))
			return false;
	return true;
}

static bool node_is_same(const struct salvage_node *a, const struct salvage_node *b)
{
	if (a->mode != b->mode || a->apart != b->apart || a->count != b->count)
		return false;
	return (a->mode == GIT_FILEMODE_TREE && !a->kept) || git_oid_equal(&a->id, &b->id);
}

/* Recursion is bounded by the depth of a plan. */
int salvage_node_same(const struct salvage_node *a, const struct salvage_node *b, struct text *path,
	struct error *error)
{
	size_t length = path->length;
	int r = 0;

	text_add(path, length ? "/" : "");
	text_add(path, a->name);
	if (!node_is_same(a, b) || !text_equal(a->name, b->name)) {
		char *shown CLEANUP(mem_done) = text_escape(path->data);

		return error_say(error, EBUSY, "%.300s: it changed while it was salvaged",
			*shown ? shown : "the tree");
	}
	for (size_t i = 0; i < a->count && r >= 0; i++)
		r = salvage_node_same(a->sorted[i], b->sorted[i], path, error);
	path->length = length;
	path->data[length] = 0;
	return r;
}
