#include "worktree_restore.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "os/archive.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/empty_dir.h"
#include "os/file.h"
#include "os/owner.h"
#include "os/rmtree.h"
#include "worktree_restore_parts.h"

#include <stdarg.h>

enum { UNDO_MS = 600000 };

void restoring_note(struct restoring *restoring, const char *format, ...)
{
	struct worktree_restored *restored = restoring->restored;
	char note[480];
	va_list args;

	if (restored->note_count == ARRAY_SIZE(restored->notes))
		return;
	va_start(args, format);
	(void)vsnprintf(note, sizeof(note), format, args);
	va_end(args);
	restored->notes[restored->note_count++] = arena_dup(restoring->arena, note);
}

static void restoring_done(struct restoring *restoring)
{
	fd_done(&restoring->parent);
	fd_done(&restoring->dir);
	fd_done(&restoring->common);
	fd_done(&restoring->record);
	free(restoring->record_name);
	git_commit_free(restoring->commit);
	git_repository_free(restoring->repository);
}

/* The directory. */

static int directory_fail(struct restoring *restoring, int code, const char *what)
{
	char *shown CLEANUP(mem_done) = text_escape(restoring->directory);

	return error_set(restoring->error, code, "%s %.300s", what, shown);
}

static int directory_is_empty(struct restoring *restoring)
{
	DIR *stream CLEANUP(stream_done) = stream_open(restoring->dir);
	char *shown CLEANUP(mem_done) = NULL;

	if (!stream)
		return directory_fail(restoring, errno, "read");
	if (!stream_next(stream))
		return errno ? directory_fail(restoring, errno, "read") : 0;
	shown = text_escape(restoring->directory);
	return error_say(restoring->error, EEXIST,
		"%.300s is there and not empty; name a directory that does not exist", shown);
}

static int directory_make(struct restoring *restoring)
{
	char *parent CLEANUP(mem_done) = pathname_parent(restoring->directory);
	const char *name = pathname_last(restoring->directory);

	restoring->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (restoring->parent < 0)
		return directory_fail(restoring, errno, "open the directory above");
	restoring->dir_made = mkdirat(restoring->parent, name, 0755) == 0;
	if (!restoring->dir_made && errno != EEXIST)
		return directory_fail(restoring, errno, "make");
	restoring->dir =
		openat(restoring->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (restoring->dir < 0 && (errno == ENOTDIR || errno == ELOOP))
		return directory_fail(restoring, EEXIST, "restore to");
	if (restoring->dir < 0)
		return directory_fail(restoring, errno, "open");
	if (restoring->dir_made && fchmod(restoring->dir, 0755) < 0)
		return directory_fail(restoring, errno, "make");
	return directory_is_empty(restoring);
}

/* What a directory that was empty holds now is ours. */
static int directory_clear(struct restoring *restoring, struct error *error)
{
	DIR *stream CLEANUP(stream_done) = stream_open(restoring->dir);
	struct rmtree_report report = { 0 };
	const struct dirent *entry;
	int r = stream ? 0 : -errno;

	while (stream && r >= 0 && (entry = stream_next(stream)) != NULL)
		r = rmtree_steadfast(
			restoring->dir, entry->d_name, deadline_in_ms(UNDO_MS), &report, error);
	return r;
}

static void directory_undo(struct restoring *restoring)
{
	struct error error = { 0 };
	char *shown CLEANUP(mem_done) = NULL;

	if (restoring->dir < 0)
		return;
	if (directory_clear(restoring, &error) >= 0) {
		if (restoring->dir_made)
			(void)empty_dir_remove(
				restoring->parent, pathname_last(restoring->directory), NULL);
		return;
	}
	shown = text_escape(restoring->directory);
	restoring_note(restoring, "%s is left as far as it came: %s", shown, error.text);
}

/* The repository and the commit. */

static int repository_open(struct restoring *restoring)
{
	int r = worktree_git_open(
		restoring->salvage->repo, &restoring->repository, restoring->error);

	if (r < 0)
		return r;
	restoring->common = dir_open(restoring->salvage->repo, restoring->error);
	if (restoring->common < 0)
		return restoring->common;
	return fstat(restoring->common, &restoring->owner) < 0
		       ? error_set(restoring->error, errno, "look at %s", restoring->salvage->repo)
		       : 0;
}

static bool is_named(const char *hex, const git_oid *id)
{
	return hex && git_oid_streq(id, hex) == 0;
}

/* The first parent is HEAD, unless HEAD was at no commit and it is one of the further ones. */
static void find_head(struct restoring *restoring)
{
	const struct salvage_trailers *trailers = &restoring->trailers;
	const git_oid *first = git_commit_parent_id(restoring->commit, 0);

	if (!first || is_named(trailers->index, first) || is_named(trailers->tip, first) ||
		is_named(trailers->state, first))
		return;
	restoring->head = *first;
	restoring->has_head = true;
}

static int commit_open(struct restoring *restoring)
{
	git_oid id;

	if (git_oid_fromstr(&id, restoring->salvage->commit) < 0 ||
		git_commit_lookup(&restoring->commit, restoring->repository, &id) < 0)
		return worktree_git_error(restoring->error, ENOENT, "find the salvaged commit",
			restoring->salvage->commit);
	worktree_salvage_trailers(
		git_commit_message(restoring->commit), restoring->arena, &restoring->trailers);
	find_head(restoring);
	return 0;
}

/* The two forms. */

int restore_give_directory(struct restoring *restoring)
{
	return owner_give(restoring->dir, pathname_last(restoring->directory),
		restoring->owner.st_uid, restoring->owner.st_gid, restoring->error);
}

static int restore_linked(struct restoring *restoring)
{
	int r = restore_record_make(restoring);

	if (r == 0)
		r = restore_record_fill(restoring);
	return r < 0 ? r : restore_record_finish(restoring);
}

static int restore_commit(struct restoring *restoring)
{
	int r = restore_tree(restoring->repository, git_commit_tree_id(restoring->commit),
		restoring->dir, NULL, restoring->error);

	return r < 0 ? r : restore_linked(restoring);
}

static int archives_open(struct restoring *restoring)
{
	char *parent CLEANUP(mem_done) = pathname_parent(restoring->salvage->path);
	int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? error_set(restoring->error, errno, "open the directory of archives %s",
				 parent)
		       : dir;
}

/* Whether an archive has git's record of its tree: 1, found it (and reading ends), 0. */
static int find_record(void *context, const struct archive_entry_seen *entry, struct error *error)
{
	bool *found = context;

	(void)error;
	*found |= text_starts(entry->path, "record/");
	return 0;
}

static int record_unpack(struct restoring *restoring, int archives, const char *name)
{
	int r = restore_record_make(restoring);

	if (r == 0)
		r = archive_extract(archives, name, "record/", restoring->record, restoring->error);
	if (r == 0)
		r = restore_record_head(restoring);
	return r < 0 ? r : restore_record_finish(restoring);
}

/* Its repository is gone: git's record of it may still be of use to somebody. */
static int record_beside(struct restoring *restoring, int archives, const char *name)
{
	char *beside CLEANUP(mem_done) =
		mem_printf("%s.git-record", pathname_last(restoring->directory));
	char *parent CLEANUP(mem_done) = pathname_parent(restoring->directory);
	struct rmtree_report report = { 0 };
	int dir CLEANUP(fd_done) = -EBADF, r;

	if (mkdirat(restoring->parent, beside, 0755) < 0)
		return error_set(restoring->error, errno, "make %s/%s", parent, beside);
	dir = openat(restoring->parent, beside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = dir < 0 ? error_set(restoring->error, errno, "open %s/%s", parent, beside)
		    : archive_extract(archives, name, "record/", dir, restoring->error);
	if (r < 0)
		(void)rmtree_steadfast(
			restoring->parent, beside, deadline_in_ms(UNDO_MS), &report, NULL);
	else
		restoring->restored->beside =
			arena_printf(restoring->arena, "%s/%s", parent, beside);
	return r;
}

static int restore_archive(struct restoring *restoring)
{
	const char *name = pathname_last(restoring->salvage->path);
	int archives CLEANUP(fd_done) = archives_open(restoring);
	bool has_record = false;
	int r;

	if (archives < 0)
		return archives;
	r = archive_each(archives, name, find_record, &has_record, restoring->error);
	if (r == 0)
		r = archive_extract(archives, name, "tree/", restoring->dir, restoring->error);
	if (r < 0)
		return r;
	if (restoring->commit)
		return restore_linked(restoring);
	if (has_record && restoring->repository)
		return record_unpack(restoring, archives, name);
	if (restoring->repository)
		r = restore_give_directory(restoring);
	return r == 0 && has_record ? record_beside(restoring, archives, name) : r;
}

/* An archive is of use without its repository; a commit is nowhere else. */
static int sources_open(struct restoring *restoring)
{
	const struct salvage *salvage = restoring->salvage;
	int r = 0;

	if (salvage->form == SALVAGE_COMMIT) {
		r = repository_open(restoring);
		return r < 0 ? r : commit_open(restoring);
	}
	if (!salvage->repo)
		return 0;
	restoring->error = &restoring->unsaid;
	r = repository_open(restoring);
	if (r == 0 && salvage->commit)
		r = commit_open(restoring);
	if (r < 0) {
		restoring_note(
			restoring, "not linked to its repository: %s", restoring->unsaid.text);
		git_repository_free(TAKE_PTR(restoring->repository));
	}
	return 0;
}

static int restore(struct restoring *restoring)
{
	struct error *error = restoring->error;
	int r = sources_open(restoring);

	restoring->error = error;
	if (r == 0)
		r = directory_make(restoring);
	if (r < 0) {
		if (restoring->dir_made)
			(void)empty_dir_remove(
				restoring->parent, pathname_last(restoring->directory), NULL);
		return r;
	}
	r = restoring->salvage->form == SALVAGE_COMMIT ? restore_commit(restoring)
						       : restore_archive(restoring);
	if (r < 0) {
		restore_record_undo(restoring);
		directory_undo(restoring);
	}
	return r;
}

int worktree_restore(const struct salvage *salvage, const char *directory, struct arena *arena,
	struct worktree_restored *ret_restored, struct error *error)
{
	struct restoring restoring CLEANUP(restoring_done) = {
		.salvage = salvage,
		.directory = directory,
		.arena = arena,
		.restored = ret_restored,
		.error = error,
		.parent = -EBADF,
		.dir = -EBADF,
		.common = -EBADF,
		.record = -EBADF,
	};

	*ret_restored = (struct worktree_restored){ 0 };
	return restore(&restoring);
}
