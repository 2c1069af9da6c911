#include "worktree_salvage_check.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>

struct check {
	git_repository *repository;
	git_odb *odb;
	const struct salvage_hash *hash;
	int64_t deadline_ms;
	struct error *error;
};

static void check_done(struct check *check)
{
	git_odb_free(check->odb);
}

static int check_fail(const struct check *check, const char *name, const char *why)
{
	char *shown CLEANUP(mem_done) = text_escape(name);

	return error_say(check->error, EUCLEAN, "what was salvaged, read back: %.250s: %s",
		*shown ? shown : "the tree", why);
}

static bool in_tree(const struct salvage_node *node);

static bool has_content(const struct salvage_node *node)
{
	for (size_t i = 0; i < node->count; i++)
		if (in_tree(node->sorted[i]))
			return true;
	return false;
}

static bool in_tree(const struct salvage_node *node)
{
	return !node->apart && (!salvage_node_is_directory(node) || has_content(node));
}

static int tree_check(
	const struct check *check, const struct salvage_node *node, const git_oid *id);

static int entry_check(
	const struct check *check, const struct salvage_node *node, const git_tree_entry *entry)
{
	if (!entry || git_tree_entry_filemode(entry) != node->mode)
		return check_fail(check, node->name, "it is missing, or of another kind");
	if (salvage_node_is_directory(node))
		return tree_check(check, node, git_tree_entry_id(entry));
	if (!git_oid_equal(git_tree_entry_id(entry), &node->id))
		return check_fail(check, node->name, "it is another content");
	if (node->kept && (!salvage_node_is_file(node) || !git_odb_exists(check->odb, &node->id)))
		return 0; /* a partial clone need not have it */
	return salvage_blob_check(check->repository, check->odb, check->hash, &node->id,
		check->deadline_ms, check->error);
}

/* Recursion is bounded by the depth of a plan. */
static int tree_check(const struct check *check, const struct salvage_node *node, const git_oid *id)
{
	git_tree *tree CLEANUP(tree_done) = NULL;
	size_t seen = 0;
	int r = 0;

	if (deadline_left_ms(check->deadline_ms) == 0)
		return error_say(check->error, ETIME, "the time is up while reading back");
	if (git_tree_lookup(&tree, check->repository, id) < 0)
		return check_fail(check, node->name, "its tree cannot be read");
	for (size_t i = 0; i < node->count && r == 0; i++) {
		const struct salvage_node *at = node->sorted[i];

		if (!in_tree(at))
			continue;
		seen++;
		r = entry_check(check, at, git_tree_entry_byname(tree, at->name));
	}
	if (r == 0 && seen != git_tree_entrycount(tree))
		return check_fail(check, node->name, "there is more than was salvaged");
	return r;
}

int salvage_trees_check(git_repository *repository, const struct salvage_hash *hash,
	const struct salvage_node *root, const git_oid *tree, int64_t deadline_ms,
	struct error *error)
{
	struct check check CLEANUP(check_done) = {
		.repository = repository,
		.hash = hash,
		.deadline_ms = deadline_ms,
		.error = error,
	};

	if (git_repository_odb(&check.odb, repository) < 0)
		return salvage_git_error(error, "read back", "objects");
	return tree_check(&check, root, tree);
}
