#include "worktree_record.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/empty_dir.h"
#include "os/rmtree.h"

#include <sys/stat.h>

enum { RECORDS_MAX = 100000 };

static int record_fail(struct error *error, int code, const char *what, const char *name)
{
	char *shown CLEANUP(mem_done) = text_escape(name);

	return error_set(error, code, "%s %s", what, shown);
}

static int record_say(struct error *error, int code, const char *name, const char *fault)
{
	char *shown CLEANUP(mem_done) = text_escape(name);

	return error_say(error, code, "git record %s: %s", shown, fault);
}

static int worktrees_open(const char *repo, struct error *error)
{
	int common CLEANUP(fd_done) = dir_open(repo, error);

	if (common < 0)
		return common;
	return dir_open_below(common, "worktrees", O_RDONLY | O_DIRECTORY, error);
}

/* 1, 0 not there (or not a directory, so no record), -errno. */
static int record_read_at(int worktrees, const char *repo, const char *name, struct arena *arena,
	struct worktree_record *ret_record, struct error *error)
{
	int admin CLEANUP(fd_done) = -EBADF;
	char *clean CLEANUP(mem_done) = NULL;
	struct error unsaid = { 0 };
	const char *line = NULL;
	struct stat stat;
	int r;

	admin = dir_open_below(worktrees, name, O_RDONLY | O_DIRECTORY, &unsaid);
	if (admin == -ENOENT || admin == -ENOTDIR || admin == -ELOOP)
		return 0;
	if (admin < 0)
		return error_say(error, -admin, "%s", unsaid.text);
	if (fstat(admin, &stat) < 0)
		return record_fail(error, errno, "look at the git record", name);
	*ret_record = (struct worktree_record){
		.name = arena_dup(arena, name),
		.path = arena_printf(arena, "%s/worktrees/%s", repo, name),
		.dev = stat.st_dev,
		.ino = stat.st_ino,
	};
	r = worktree_line_read(admin, "gitdir", arena, &line, NULL, &unsaid);
	if (r < 0 && r != -EINVAL && r != -EFBIG && r != -ELOOP)
		return record_say(error, -r, name, unsaid.text);
	clean = r > 0 && *line ? pathname_clean(line, ret_record->path) : NULL;
	if (clean && text_ends(clean, "/.git") && strlen(clean) > strlen("/.git"))
		ret_record->tree = arena_dup_n(arena, clean, strlen(clean) - strlen("/.git"));
	return 1;
}

int worktree_record_read(const char *repo, const char *name, struct arena *arena,
	struct worktree_record *ret_record, struct error *error)
{
	struct error unsaid = { 0 };
	int worktrees CLEANUP(fd_done) = worktrees_open(repo, &unsaid);

	if (worktrees == -ENOENT)
		return 0;
	if (worktrees < 0)
		return error_say(error, -worktrees, "%s", unsaid.text);
	return record_read_at(worktrees, repo, name, arena, ret_record, error);
}

static int records_fill(
	int worktrees, const char *repo, struct worktree_records *records, struct error *error)
{
	DIR *stream CLEANUP(stream_done) = stream_open(worktrees);
	struct worktree_record record;
	const struct dirent *entry;
	int r;

	while (stream && (entry = stream_next(stream))) {
		r = record_read_at(worktrees, repo, entry->d_name, &records->arena, &record, error);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (records->count == RECORDS_MAX)
			return error_say(
				error, E2BIG, "%s: more than %d worktrees", repo, RECORDS_MAX);
		records->list = mem_grow(records->list, records->count + 1, sizeof(*records->list));
		records->list[records->count++] = record;
	}
	return errno ? error_set(error, errno, "list %s/worktrees", repo) : 0;
}

int worktree_records_read(
	const char *repo, struct worktree_records *ret_records, struct error *error)
{
	int common CLEANUP(fd_done) = dir_open(repo, error), worktrees CLEANUP(fd_done) = -EBADF;
	struct worktree_records records CLEANUP(worktree_records_done) = { 0 };
	struct error unsaid = { 0 };
	int r;

	if (common < 0)
		return common;
	worktrees = dir_open_below(common, "worktrees", O_RDONLY | O_DIRECTORY, &unsaid);
	if (worktrees < 0 && worktrees != -ENOENT)
		return error_say(error, -worktrees, "%s", unsaid.text);
	r = worktrees < 0 ? 0 : records_fill(worktrees, repo, &records, error);
	if (r < 0)
		return r;
	*ret_records = records;
	records = (struct worktree_records){ 0 };
	return 0;
}

void worktree_records_done(struct worktree_records *records)
{
	free(records->list);
	arena_done(&records->arena);
	*records = (struct worktree_records){ 0 };
}

/* The record by the name under which it usually stands, so that most trees need no search. */
static int record_guess(const char *repo, const char *tree, const char *name, struct arena *arena,
	struct worktree_record *ret_record, struct error *error)
{
	int r = name ? worktree_record_read(repo, name, arena, ret_record, error) : 0;

	return r > 0 ? ret_record->tree && worktree_path_same(ret_record->tree, tree) : r;
}

void worktree_record_copy(
	struct arena *arena, const struct worktree_record *from, struct worktree_record *ret_record)
{
	*ret_record = *from;
	ret_record->name = arena_dup(arena, from->name);
	ret_record->path = arena_dup(arena, from->path);
	ret_record->tree = arena_dup(arena, from->tree);
}

int worktree_record_find(const char *repo, const char *tree, const char *pointed,
	struct arena *arena, struct worktree_record *ret_record, struct error *error)
{
	struct worktree_records records CLEANUP(worktree_records_done) = { 0 };
	const struct worktree_record *silent = NULL;
	int r;

	r = record_guess(repo, tree, pointed, arena, ret_record, error);
	if (r == 0)
		r = record_guess(repo, tree, pathname_last(tree), arena, ret_record, error);
	if (r == 0)
		r = worktree_records_read(repo, &records, error);
	if (r != 0)
		return r;
	for (size_t i = 0; i < records.count; i++) {
		const struct worktree_record *record = &records.list[i];

		if (record->tree && worktree_path_same(record->tree, tree)) {
			worktree_record_copy(arena, record, ret_record);
			return 1;
		}
		if (!record->tree && text_equal(record->name, pointed))
			silent = record;
	}
	if (!silent)
		return 0;
	worktree_record_copy(arena, silent, ret_record);
	return 1;
}

int worktree_record_drop(const char *repo, const struct worktree_record *record,
	int64_t deadline_ms, struct rmtree_report *report, struct error *error)
{
	struct error unsaid = { 0 };
	int common CLEANUP(fd_done) = dir_open(repo, &unsaid), worktrees CLEANUP(fd_done) = -EBADF;
	struct stat stat;
	int r;

	worktrees = common < 0
			    ? common
			    : dir_open_below(common, "worktrees", O_RDONLY | O_DIRECTORY, &unsaid);
	if (worktrees == -ENOENT)
		return 0;
	if (worktrees < 0)
		return error_say(error, -worktrees, "%s", unsaid.text);
	if (fstatat(worktrees, record->name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
			       ? 0
			       : record_fail(error, errno, "look at the git record", record->name);
	if (stat.st_dev != record->dev || stat.st_ino != record->ino)
		return record_say(error, ESTALE, record->name,
			"this is not the git record that was looked at");
	r = rmtree(
		worktrees, record->name, &(struct rmtree_limits){ deadline_ms, 1 }, report, error);
	if (r < 0) {
		error_prefix(error, "drop a git record of %s", repo);
		return r;
	}
	if (fsync(worktrees) < 0)
		return error_set(error, errno, "sync %s/worktrees", repo);
	r = empty_dir_remove(common, "worktrees", error);
	return r < 0 ? r : 1;
}
