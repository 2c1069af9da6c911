/*
 * git's record of a worktree, made as files: the library's git_worktree_add checks files out itself,
 * through the filters that the repository's configuration names, and takes only a branch for HEAD.
 * Layout and order as git-worktree(1) and gitrepository-layout(5): while "locked" says that it is
 * being made, no prune takes it.
 */
#include "worktree_restore_parts.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/empty_dir.h"
#include "os/file.h"
#include "os/owner.h"
#include "os/rmtree.h"
#include "worktree_branch.h"
#include "worktree_ref.h"
#include "worktree_repo.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 1000, UNDO_MS = 600000 };

static int record_fail(struct restoring *restoring, int code, const char *what)
{
	char *shown CLEANUP(mem_done) = text_escape(restoring->salvage->repo);

	return error_set(restoring->error, code, "%s of %.200s", what, shown);
}

/* git calls it after the directory; what a ref may not have in it becomes "-". */
static char *record_base(const char *directory)
{
	char *name = mem_dup(pathname_last(directory));

	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-",
			    *c) &&
			(*c != '.' || c == name || c[-1] == '.' || !c[1]))
			*c = '-';
	return name;
}

static int list_open(struct restoring *restoring)
{
	int list = -EBADF;

	if (mkdirat(restoring->common, "worktrees", 0755) < 0 && errno != EEXIST)
		return record_fail(restoring, errno, "make the worktrees");
	list = dir_open_below(restoring->common, "worktrees", O_RDONLY | O_DIRECTORY, NULL);
	if (list < 0)
		return record_fail(restoring, -list, "open the worktrees");
	return list;
}

/* The first name that is free: "name", "name1", … */
static int record_reserve(struct restoring *restoring, int list)
{
	char *base CLEANUP(mem_done) = record_base(restoring->directory);

	for (int i = 0; i < NAMES_MAX; i++) {
		char *name CLEANUP(mem_done) =
			i ? mem_printf("%.200s%d", base, i) : mem_printf("%.200s", base);

		if (mkdirat(list, name, 0755) == 0) {
			restoring->record_name = TAKE_PTR(name);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return record_fail(restoring, errno, "make a worktree's record");
}

static int record_write(struct restoring *restoring, const char *name, const char *text)
{
	return file_write(restoring->record, name, text, strlen(text), 0644, restoring->error);
}

/*
 * What its owner may have put in the place of what was just made: a directory of his own could have
 * links in it, and the library writes an index through one.
 */
static int record_is_ours(struct restoring *restoring)
{
	struct stat stat;

	if (fstat(restoring->record, &stat) < 0)
		return record_fail(restoring, errno, "look at the new record");
	if (stat.st_uid == geteuid() && !(stat.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	free(TAKE_PTR(restoring->record_name)); /* not ours to undo */
	return record_fail(restoring, ESTALE, "somebody replaced the new record");
}

int restore_record_lock(struct restoring *restoring)
{
	return record_write(restoring, "locked", "initializing");
}

int restore_record_make(struct restoring *restoring)
{
	int list CLEANUP(fd_done) = list_open(restoring), r;

	if (list < 0)
		return list;
	r = record_reserve(restoring, list);
	if (r < 0)
		return r;
	restoring->restored->record = arena_printf(restoring->arena, "%s/worktrees/%s",
		restoring->salvage->repo, restoring->record_name);
	restoring->record =
		dir_open_below(list, restoring->record_name, O_RDONLY | O_DIRECTORY, NULL);
	if (restoring->record < 0)
		return record_fail(restoring, -restoring->record, "open the new record");
	r = record_is_ours(restoring);
	return r < 0 ? r : restore_record_lock(restoring);
}

/* Index. */

static void index_done(git_index **index)
{
	git_index_free(*index);
}

static int commit_tree(
	struct restoring *restoring, const git_oid *id, git_tree **ret_tree, const char *what)
{
	git_commit *commit CLEANUP(commit_done) = NULL;

	if (git_commit_lookup(&commit, restoring->repository, id) < 0 ||
		git_commit_tree(ret_tree, commit) < 0)
		return worktree_git_error(restoring->error, ENOENT, "read", what);
	return 0;
}

/* A further parent that the message names, and nothing else: the ids are the salvage's own. */
static bool parent_named(struct restoring *restoring, const char *hex, git_oid *ret_id)
{
	if (!hex || git_oid_fromstr(ret_id, hex) < 0)
		return false;
	for (unsigned i = 0; i < git_commit_parentcount(restoring->commit); i++)
		if (git_oid_equal(git_commit_parent_id(restoring->commit, i), ret_id))
			return true;
	restoring_note(restoring, "its commit names %.40s, which is none of its parents", hex);
	return false;
}

struct staging {
	git_index *index;
	int stage;
};

static int stage_entry(const char *root, const git_tree_entry *entry, void *context)
{
	struct staging *staging = context;
	char *path CLEANUP(mem_done) = mem_printf("%s%s", root, git_tree_entry_name(entry));
	git_index_entry staged = { .mode = git_tree_entry_filemode(entry), .path = path };

	if (git_tree_entry_type(entry) == GIT_OBJECT_TREE)
		return 0;
	staged.id = *git_tree_entry_id(entry);
	GIT_INDEX_ENTRY_STAGE_SET(&staged, staging->stage);
	return git_index_add(staging->index, &staged) < 0 ? -1 : 0;
}

/* The sides of conflicts: "stages/1" to "stages/3" of the state's tree. */
static int index_add_stages(struct restoring *restoring, git_index *index, git_tree *state)
{
	static const char *const paths[] = { "stages/1", "stages/2", "stages/3" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		git_tree_entry *entry CLEANUP(tree_entry_done) = NULL;
		git_tree *side CLEANUP(tree_done) = NULL;
		struct staging staging = { .index = index, .stage = (int)i + 1 };

		if (git_tree_entry_bypath(&entry, state, paths[i]) == GIT_ENOTFOUND)
			continue;
		if (!entry ||
			git_tree_lookup(&side, restoring->repository, git_tree_entry_id(entry)) <
				0 ||
			git_tree_walk(side, GIT_TREEWALK_PRE, stage_entry, &staging) < 0)
			return worktree_git_error(
				restoring->error, EIO, "read the conflicts", paths[i]);
	}
	return 0;
}

static int index_write(struct restoring *restoring, git_tree *staged, git_tree *state)
{
	git_index *index CLEANUP(index_done) = NULL;
	char *path CLEANUP(mem_done) = mem_printf("/proc/self/fd/%d/index", restoring->record);
	int r = 0;

	if (git_index_open(&index, path) < 0 || (staged && git_index_read_tree(index, staged) < 0))
		return worktree_git_error(
			restoring->error, EIO, "make the index of", restoring->restored->record);
	if (state)
		r = index_add_stages(restoring, index, state);
	if (r == 0 && git_index_write(index) < 0)
		return worktree_git_error(
			restoring->error, EIO, "write the index of", restoring->restored->record);
	return r;
}

/* What was in progress. The record's own files are ours. */
static int state_write(struct restoring *restoring, git_tree *state)
{
	static const char *const own[] = { "HEAD", "commondir", "gitdir", "index", "locked",
		"config.worktree", "hooks", "modules", NULL };
	git_tree_entry *entry CLEANUP(tree_entry_done) = NULL;
	int r = git_tree_entry_bypath(&entry, state, "state");

	if (r == GIT_ENOTFOUND)
		return 0;
	if (r < 0)
		return worktree_git_error(
			restoring->error, EIO, "read what was in progress in", "state");
	return restore_tree(restoring->repository, git_tree_entry_id(entry), restoring->record, own,
		restoring->error);
}

static int fill_index(struct restoring *restoring)
{
	git_tree *staged CLEANUP(tree_done) = NULL, *state CLEANUP(tree_done) = NULL;
	git_oid id;
	int r = 0;

	if (parent_named(restoring, restoring->trailers.index, &id))
		r = commit_tree(restoring, &id, &staged, "what was staged");
	else if (restoring->has_head)
		r = commit_tree(restoring, &restoring->head, &staged, "HEAD");
	if (r == 0 && parent_named(restoring, restoring->trailers.state, &id))
		r = commit_tree(restoring, &id, &state, "what was in progress");
	if (r == 0 && state)
		r = state_write(restoring, state);
	return r < 0 ? r : index_write(restoring, staged, state);
}

/* HEAD. */

static bool branch_name_valid(const char *branch)
{
	char *ref CLEANUP(mem_done) = mem_printf("refs/heads/%s", branch);

	return git_reference_is_valid_name(ref);
}

/* 1, 0 somebody was faster, -errno. */
static int branch_make(struct restoring *restoring, const char *branch)
{
	char *name CLEANUP(mem_done) = mem_printf("refs/heads/%s", branch);
	char commit[GIT_OID_HEXSZ + 1];
	int r;

	git_oid_tostr(commit, sizeof(commit), &restoring->head);
	r = worktree_ref_make(
		restoring->salvage->repo, name, commit, "sbx-reap: restored", restoring->error);
	restoring->branch_made = r > 0;
	return r;
}

/* 1 it is at HEAD's commit (or made there), 0 it is somebody else's now, -errno. */
static int branch_at_head(struct restoring *restoring, const char *branch)
{
	git_oid at;
	int r = worktree_branch_commit(restoring->repository, branch, &at, restoring->error);

	if (r < 0)
		return r;
	if (r > 0)
		return restoring->has_head && git_oid_equal(&at, &restoring->head);
	return restoring->has_head ? branch_make(restoring, branch) : 1;
}

/* 1 HEAD can be on it, 0 with a note, -errno. */
static int branch_free(struct restoring *restoring, const char *branch)
{
	char *shown CLEANUP(mem_done) = text_escape(branch);
	char *where_shown CLEANUP(mem_done) = NULL;
	const char *where = NULL;
	int r;

	if (!branch_name_valid(branch))
		return 0;
	r = worktree_branch_used(restoring->salvage->repo, branch, restoring->restored->record,
		restoring->arena, &where, restoring->error);
	if (r < 0)
		return r;
	if (r > 0) {
		where_shown = text_escape(where);
		restoring_note(restoring, "branch %s is checked out in %s", shown, where_shown);
		return 0;
	}
	r = branch_at_head(restoring, branch);
	if (r == 0)
		restoring_note(restoring, "branch %s is at another commit now", shown);
	return r;
}

static int head_write(struct restoring *restoring, const char *branch)
{
	char *line CLEANUP(mem_done) = NULL;
	char hex[GIT_OID_HEXSZ + 1];

	git_oid_tostr(hex, sizeof(hex), &restoring->head);
	if (restoring->has_head)
		restoring->restored->head = arena_dup(restoring->arena, hex);
	if (!branch && restoring->has_head) {
		line = mem_printf("%s\n", hex);
		return record_write(restoring, "HEAD", line);
	}
	/* HEAD without a commit needs a branch to be born. */
	if (!branch)
		branch = arena_printf(restoring->arena, "restored/%s", restoring->record_name);
	restoring->restored->branch = arena_dup(restoring->arena, branch);
	restoring->restored->branch_made = restoring->branch_made;
	line = mem_printf("ref: refs/heads/%s\n", branch);
	return record_write(restoring, "HEAD", line);
}

static int fill_head(struct restoring *restoring)
{
	const char *branch = restoring->trailers.branch;
	int r = branch ? branch_free(restoring, branch) : 0;

	return r < 0 ? r : head_write(restoring, r > 0 ? branch : NULL);
}

int restore_record_fill(struct restoring *restoring)
{
	int r = fill_index(restoring);

	if (r == 0)
		r = fill_head(restoring);
	if (r == 0 && restoring->trailers.tip)
		restoring_note(restoring,
			"the run's branch was at %.40s, which HEAD has not all of",
			restoring->trailers.tip);
	return r;
}

/* The id of the last line of the record's own log of HEAD. */
static bool log_last_id(struct restoring *restoring, git_oid *ret_id)
{
	enum { LOG_MAX = 1 << 24 };
	char *bytes CLEANUP(mem_done) = NULL, *line;
	int logs CLEANUP(fd_done) =
		dir_open_below(restoring->record, "logs", O_RDONLY | O_DIRECTORY, NULL);
	size_t length;

	if (logs < 0 || file_read(logs, "HEAD", LOG_MAX, &bytes, &length, NULL, NULL) < 0)
		return false;
	while (length > 0 && bytes[length - 1] == '\n')
		bytes[--length] = 0;
	line = strrchr(bytes, '\n');
	line = line ? line + 1 : bytes;
	return strlen(line) > 2 * GIT_OID_HEXSZ + 1 && line[GIT_OID_HEXSZ] == ' ' &&
	       git_oid_fromstrn(ret_id, line + GIT_OID_HEXSZ + 1, GIT_OID_HEXSZ) == 0;
}

/* A branch that is gone, or somebody else's: HEAD at the commit where the log saw it last. */
int restore_record_head(struct restoring *restoring)
{
	static const char prefix[] = "ref: refs/heads/";
	const char *line = NULL, *branch;
	git_commit *commit CLEANUP(commit_done) = NULL;
	int r = worktree_line_read(
		restoring->record, "HEAD", restoring->arena, &line, NULL, restoring->error);

	if (r < 0)
		return r;
	if (r == 0 || !text_starts(line, prefix)) {
		restoring->restored->head = line;
		return r == 0 ? record_fail(restoring, EUCLEAN, "find HEAD in the record") : 0;
	}
	branch = line + strlen(prefix);
	restoring->has_head =
		log_last_id(restoring, &restoring->head) &&
		git_commit_lookup(&commit, restoring->repository, &restoring->head) == 0;
	r = branch_free(restoring, branch);
	return r < 0 ? r : head_write(restoring, r > 0 ? branch : NULL);
}

static int pointer_write(struct restoring *restoring)
{
	char *pointer CLEANUP(mem_done) = mem_printf("gitdir: %s\n", restoring->restored->record);
	char *gitdir CLEANUP(mem_done) = mem_printf("%s/.git\n", restoring->directory);
	int r = record_write(restoring, "commondir", "../..\n");

	if (r == 0)
		r = record_write(restoring, "gitdir", gitdir);
	if (r == 0)
		r = file_write(
			restoring->dir, ".git", pointer, strlen(pointer), 0644, restoring->error);
	return r;
}

int restore_record_finish(struct restoring *restoring)
{
	const struct stat *owner = &restoring->owner;
	int list CLEANUP(fd_done) = -EBADF;
	int r = pointer_write(restoring);

	if (r == 0)
		r = restore_give_directory(restoring);
	if (r == 0)
		r = owner_give(restoring->record, restoring->record_name, owner->st_uid,
			owner->st_gid, restoring->error);
	if (r == 0)
		list = list_open(restoring);
	if (list >= 0 && fchown(list, owner->st_uid, owner->st_gid) < 0)
		r = record_fail(restoring, errno, "give away the worktrees");
	if (r < 0 || list < 0)
		return r < 0 ? r : list;
	r = file_remove(restoring->record, "locked", restoring->error);
	return r < 0 ? r : 0;
}

static void branch_undo(struct restoring *restoring)
{
	char *name CLEANUP(mem_done) = NULL;
	char commit[GIT_OID_HEXSZ + 1];

	if (!restoring->branch_made)
		return;
	name = mem_printf("refs/heads/%s", restoring->trailers.branch
						   ? restoring->trailers.branch
						   : restoring->restored->branch);
	git_oid_tostr(commit, sizeof(commit), &restoring->head);
	(void)worktree_ref_delete(restoring->salvage->repo, name, commit, NULL);
}

void restore_record_undo(struct restoring *restoring)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };
	int list CLEANUP(fd_done) = -EBADF;

	branch_undo(restoring);
	if (!restoring->record_name)
		return;
	list = dir_open_below(restoring->common, "worktrees", O_RDONLY | O_DIRECTORY, &error);
	if (list < 0 || rmtree_steadfast(list, restoring->record_name, deadline_in_ms(UNDO_MS),
				&report, &error) < 0)
		restoring_note(restoring, "git's record %s is left: %s",
			restoring->restored->record, error.text);
	(void)empty_dir_remove(restoring->common, "worktrees", NULL);
}
