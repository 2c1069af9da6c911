#include "worktree_salvage_state.h"

#include "base/text.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/file.h"
#include "text_list.h"
#include "worktree_private.h"
#include "worktree_walk.h"

#include <ctype.h>

enum { SCANNED_MAX = 1 << 20, NAMED_MAX = 4096 };

/*
 * In capitals git names its messages and pseudo refs (MERGE_MSG, REBASE_HEAD, BISECT_LOG), and in
 * the common directory, when the tree has no record of its own, nothing else.
 */
static bool in_capitals(const char *name)
{
	for (const char *at = name; *at; at++)
		if (!isupper((unsigned char)*at) && *at != '_')
			return false;
	return *name;
}

static bool state_wants(void *context, const char *name)
{
	static const char *const never[] = { "HEAD", "FETCH_HEAD", "COMMIT_EDITMSG" };

	(void)context;
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (text_equal(name, never[i]))
			return false;
	return in_capitals(name) || text_equal(name, "rebase-merge") ||
	       text_equal(name, "rebase-apply") || text_equal(name, "sequencer");
}

static void named_add(
	struct salvage_state *state, const struct salvage_scope *scope, const git_oid *id)
{
	struct worktree_commits *named = &state->named;
	git_object_t type;
	size_t size;

	if (named->count == NAMED_MAX || git_odb_read_header(&size, &type, scope->odb, id) < 0 ||
		type != GIT_OBJECT_COMMIT)
		return;
	for (size_t i = 0; i < named->count; i++)
		if (git_oid_equal(&named->ids[i], id))
			return;
	if ((named->count & (named->count + 1)) == 0)
		named->ids = mem_grow(named->ids, named->count * 2 + 2, sizeof(*named->ids));
	named->ids[named->count++] = *id;
}

/* Every word of 40 hex digits. */
static void scan_bytes(struct salvage_state *state, const struct salvage_scope *scope,
	const char *bytes, size_t length)
{
	size_t digits = 0;
	git_oid id;

	for (size_t i = 0; i <= length; i++) {
		if (i < length && isxdigit((unsigned char)bytes[i])) {
			digits++;
			continue;
		}
		if (digits == GIT_OID_HEXSZ &&
			git_oid_fromstrn(&id, bytes + i - digits, digits) == 0)
			named_add(state, scope, &id);
		digits = 0;
	}
}

/* Recursion is bounded by the depth of a plan. */
static void scan_nodes(struct salvage_state *state, const struct salvage_scope *scope, int dir,
	const struct salvage_node *node)
{
	for (size_t i = 0; i < node->count; i++) {
		const struct salvage_node *at = node->sorted[i];
		char *bytes CLEANUP(mem_done) = NULL;
		size_t length = 0;

		if (at->mode == GIT_FILEMODE_TREE) {
			int below CLEANUP(fd_done) =
				open_unnoticed(dir, at->name, O_RDONLY | O_DIRECTORY, NULL);

			if (below >= 0)
				scan_nodes(state, scope, below, at);
		} else if (file_read(dir, at->name, SCANNED_MAX, &bytes, &length, NULL, NULL) ==
			   0) {
			scan_bytes(state, scope, bytes, length);
		}
	}
}

/* What is in a git directory may go into a commit: it is no tree in which names mean something. */
static void nodes_join(struct salvage_node *node)
{
	node->apart = false;
	for (size_t i = 0; i < node->count; i++)
		nodes_join(node->sorted[i]);
}

static void root_add(struct salvage_state *state, struct salvage_node *parent, const char *name,
	const struct salvage_node *from)
{
	struct salvage_node *node;

	if (from->count == 0)
		return;
	node = salvage_node_add(&state->arena, parent, name, GIT_FILEMODE_TREE);
	node->first = from->first;
	node->sorted = from->sorted;
	node->count = from->count;
	salvage_node_sort(&state->arena, parent);
}

/* Takes the directory. */
static int part_look(struct salvage_state *state, struct salvage_state_part *part, int dir,
	const struct salvage_scope *scope, bool (*wants)(void *context, const char *name),
	struct error *error)
{
	struct salvage_scope whole = *scope;
	int r;

	part->dir = dir;
	whole.whole = true;
	whole.index = NULL;
	whole.head = NULL;
	whole.wants = wants;
	r = salvage_plan_tree(&part->plan, dir, &whole, error);
	if (r < 0)
		return r;
	scan_nodes(state, scope, dir, part->plan.root);
	nodes_join(part->plan.root);
	return 0;
}

/* These three are the refs that a tree has for itself (git-worktree(1)). */
static int look_refs(struct salvage_state *state, int gitdir, const struct salvage_scope *scope,
	struct salvage_node *refs, struct error *error)
{
	static const char *const own[SALVAGE_STATE_PARTS - 1] = { "bisect", "rewritten",
		"worktree" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		struct salvage_state_part *part = &state->parts[i + 1];
		char *path CLEANUP(mem_done) = mem_printf("refs/%s", own[i]);
		int dir = open_unnoticed(gitdir, path, O_RDONLY | O_DIRECTORY, NULL);
		int r;

		if (dir == -ENOENT || dir == -ENOTDIR)
			continue;
		r = dir < 0 ? error_set(error, -dir, "open %s", path)
			    : part_look(state, part, dir, scope, NULL, error);
		if (r < 0)
			return r;
		root_add(state, refs, own[i], part->plan.root);
	}
	return 0;
}

static int look_files(struct salvage_state *state, const char *path,
	const struct salvage_scope *scope, struct error *error)
{
	struct salvage_node files = { .name = "state", .mode = GIT_FILEMODE_TREE };
	struct salvage_node refs = { .name = "refs", .mode = GIT_FILEMODE_TREE };
	int gitdir CLEANUP(fd_done) = dir_open(path, error);
	const char *sign;
	int r = gitdir < 0 ? gitdir : worktree_private_progress(gitdir, &sign, error);

	if (r > 0)
		r = part_look(state, &state->parts[0],
			open_unnoticed(gitdir, ".", O_RDONLY | O_DIRECTORY, NULL), scope,
			state_wants, error);
	if (r == 0 && state->parts[0].plan.root)
		files = *state->parts[0].plan.root;
	if (r == 0)
		r = look_refs(state, gitdir, scope, &refs, error);
	if (r < 0)
		return r;
	root_add(state, &files, "refs", &refs);
	root_add(state, &state->root, "state", &files);
	return 0;
}

static int look_stages(
	struct salvage_state *state, const struct salvage_scope *scope, struct error *error)
{
	struct salvage_node stages = { .name = "stages", .mode = GIT_FILEMODE_TREE };
	int r = 0;

	for (unsigned stage = 1; stage <= 3 && r == 0; stage++) {
		char name[2] = { (char)('0' + stage), 0 };
		struct salvage_node nodes;

		r = salvage_index_nodes(scope, &state->arena, stage, &nodes, error);
		if (r == 0)
			root_add(state, &stages, name, &nodes);
	}
	if (r == 0)
		root_add(state, &state->root, "stages", &stages);
	return r;
}

int salvage_state_look(struct salvage_state *state, const char *gitdir,
	const struct salvage_scope *scope, struct error *error)
{
	int r = 0;

	*state = (struct salvage_state){ .root = { .name = "", .mode = GIT_FILEMODE_TREE } };
	for (size_t i = 0; i < ARRAY_SIZE(state->parts); i++)
		state->parts[i].dir = -EBADF;
	if (gitdir)
		r = look_files(state, gitdir, scope, error);
	if (r == 0 && scope->index && scope->index->conflicts)
		r = look_stages(state, scope, error);
	return r;
}

/* Right for one that is zeroed, too. */
void salvage_state_done(struct salvage_state *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(state->parts); i++) {
		if (state->parts[i].plan.root)
			fd_done(&state->parts[i].dir);
		salvage_plan_done(&state->parts[i].plan);
	}
	worktree_commits_done(&state->named);
	arena_done(&state->arena);
}
