#include "worktree_visit.h"

#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "os/answering.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/file.h"
#include "text_list.h"
#include "worktree_activity.h"
#include "worktree_branch.h"

enum { PACKED_MAX = 64 << 20 };

static const char heads[] = "refs/heads/", prefix[] = "worktree-";

static bool has_resource(const struct run *run, enum kind kind, const char *locator)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].kind == kind &&
			text_equal(run->resources[i].locator, locator))
			return true;
	return false;
}

/* The run of that name, or of the next that is free for the tree. */
static struct run *run_named(struct inventory *inventory, const char *name, const char *tree)
{
	char *id CLEANUP(mem_done) = mem_dup(name);

	for (unsigned n = 2;; n++) {
		struct run *found = inventory_find(inventory, id);

		if (!found || has_resource(found, KIND_WORKTREE, tree))
			return inventory_run(inventory, id);
		free(id);
		id = mem_printf("%s@%u", name, n);
	}
}

static const char *whereabouts(const struct worktree_record *record, enum tri present)
{
	if (!record->tree)
		return "a record of git's that names no tree";
	if (present == TRI_NO)
		return "nothing is there: moved (git worktree repair), or gone (git worktree "
		       "prune)";
	return "in none of the directories whose worktrees are looked at (--root)";
}

/* It may lie on a mount where nobody answers. */
static enum tri look_for(const char *tree)
{
	struct stat stat;
	int r = tree ? answering_look(NULL, tree, &stat) : -ENOENT;

	if (r == 0)
		return TRI_YES;
	return r == -ENOENT || r == -ENOTDIR ? TRI_NO : TRI_UNKNOWN;
}

void worktree_visit_elsewhere(
	struct inventory *inventory, const char *common, const struct worktree_record *record)
{
	const char *tree = record->tree ? record->tree : record->path;
	enum tri present = look_for(record->tree);
	char *shown CLEANUP(mem_done) = text_escape(tree);
	char *note CLEANUP(mem_done) = mem_printf("%s: %s", shown, whereabouts(record, present));
	struct run *run = run_named(inventory, pathname_last(tree), tree);

	(void)run_add_resource(inventory, run,
		&(struct resource){
			.kind = KIND_WORKTREE,
			.locator = tree,
			.repo = common,
			.record = record->path,
			.present = present,
			.active_s = worktree_record_active_s(record->path),
			.note = note,
		});
}

/* 1, 0, -errno. */
static int entry_names(
	int root, const char *root_path, const char *name, const char *record, struct error *error)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", root_path, name);
	int tree CLEANUP(fd_done) = dir_open_below(root, name, O_RDONLY | O_DIRECTORY, NULL);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct worktree_pointer pointer = { 0 };
	int r;

	/* What is mounted there was not moved there, and may not answer. */
	if (tree == -ENOENT || tree == -ENOTDIR || tree == -ELOOP || tree == -EXDEV)
		return 0;
	if (tree < 0)
		return error_set(error, -tree, "look whose %s is", name);
	r = worktree_pointer_read(tree, path, &arena, &pointer, error);
	return r < 0 ? r
		     : pointer.kind == POINTER_FILE && worktree_path_same(pointer.target, record);
}

static int root_names(const char *root_path, const char *record, struct arena *arena,
	const char **ret_tree, struct error *error)
{
	int root CLEANUP(fd_done) = dir_open(root_path, error);
	DIR *stream CLEANUP(stream_done) = root < 0 ? NULL : stream_open(root);
	const struct dirent *entry;
	int r = 0;

	if (root < 0)
		return root;
	while (r == 0 && stream && (entry = stream_next(stream))) {
		if (entry->d_name[0] == '.' || stream_type(root, entry) != DT_DIR)
			continue;
		r = entry_names(root, root_path, entry->d_name, record, error);
		if (r > 0)
			*ret_tree = arena_printf(arena, "%s/%s", root_path, entry->d_name);
	}
	return r == 0 && errno ? error_set(error, errno, "list the root %s", root_path) : r;
}

int worktree_visit_moved(const struct settings *settings, const char *record, struct arena *arena,
	const char **ret_tree, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < settings->roots.count; i++)
		r = root_names(settings->roots.items[i], record, arena, ret_tree, error);
	return r;
}

/* The branches, in the order in which they are found. */
struct branches {
	struct text_list names;
	struct text_list used; /* checked out somewhere */
};

static void branches_done(struct branches *branches)
{
	text_list_done(&branches->names);
	text_list_done(&branches->used);
}

static int add_loose(struct branches *branches, int common, struct error *error)
{
	int dir CLEANUP(fd_done) =
		dir_open_below(common, "refs/heads", O_RDONLY | O_DIRECTORY, NULL);
	DIR *stream CLEANUP(stream_done) = dir < 0 ? NULL : stream_open(dir);
	const struct dirent *entry;

	if (dir == -ENOENT)
		return 0;
	if (!stream)
		return error_set(error, dir < 0 ? -dir : errno, "list refs/heads");
	while ((entry = stream_next(stream)))
		if (text_starts(entry->d_name, prefix) && !text_ends(entry->d_name, ".lock") &&
			stream_type(dir, entry) == DT_REG)
			text_list_add(&branches->names, entry->d_name);
	return errno ? error_set(error, errno, "list refs/heads") : 0;
}

/* Lines "COMMIT refs/heads/NAME" (gitrepository-layout(5), packed-refs). */
static int add_packed(struct branches *branches, int common, struct error *error)
{
	char *bytes CLEANUP(mem_done) = NULL, *rest, *line;
	size_t length;
	int r = file_read(common, "packed-refs", PACKED_MAX, &bytes, &length, NULL, error);

	if (r == -ENOENT)
		*error = (struct error){ 0 };
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (rest = bytes; (line = strsep(&rest, "\n"));) {
		const char *name = strchr(line, ' ');

		if (name && text_starts(name + 1, heads) &&
			text_starts(name + 1 + strlen(heads), prefix))
			text_list_add(&branches->names, name + 1 + strlen(heads));
	}
	return 0;
}

/* What cannot be read is asked again of each branch. */
static void note_used(struct branches *branches, const char *gitdir)
{
	for (size_t i = 0; i < WORKTREE_BRANCH_FILES; i++) {
		struct arena arena CLEANUP(arena_done) = { 0 };
		const char *name = NULL;

		if (worktree_branch_named(gitdir, i, &arena, &name, NULL) > 0)
			text_list_add(&branches->used, name);
	}
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_used(const struct branches *branches, const char *name)
{
	return branches->used.count && bsearch(&name, branches->used.items, branches->used.count,
					       sizeof(*branches->used.items), name_compare);
}

static void list_branch(
	struct inventory *inventory, const char *common, const char *name, const char *only)
{
	char *id CLEANUP(mem_done) = mem_printf("branch@%s", name);
	bool valid = runid_valid(id);

	if (only && !text_equal(only, id))
		return;
	(void)run_add_resource(inventory, inventory_run(inventory, id),
		&(struct resource){
			.kind = KIND_BRANCH,
			.locator = name,
			.repo = common,
			.present = TRI_YES,
			.proof = valid ? PROOF_ADOPTED : PROOF_NONE,
			.active_s = worktree_branch_active_s(common, name),
			.note = valid ? NULL : "its name can be no run identifier",
		});
}

int worktree_visit_branches(struct inventory *inventory, const char *common,
	const struct worktree_records *records, const char *only, struct error *error)
{
	struct branches branches CLEANUP(branches_done) = { 0 };
	int dir CLEANUP(fd_done) = dir_open(common, error);
	int r = dir < 0 ? dir : add_loose(&branches, dir, error);

	if (r == 0)
		r = add_packed(&branches, dir, error);
	if (r < 0)
		return r;
	note_used(&branches, common);
	for (size_t i = 0; i < records->count; i++)
		note_used(&branches, records->list[i].path);
	if (branches.used.count)
		qsort(branches.used.items, branches.used.count, sizeof(*branches.used.items),
			name_compare);
	for (size_t i = 0; i < branches.names.count; i++)
		if (!is_used(&branches, branches.names.items[i]))
			list_branch(inventory, common, branches.names.items[i], only);
	return 0;
}
