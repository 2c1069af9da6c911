#include "worktree_private.h"

#include "base/text.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "worktree_repo.h"

enum { DEPTH_MAX = 16, ENTRIES_MAX = 100000 };

int worktree_private_progress(int gitdir, const char **ret_sign, struct error *error)
{
	static const char *const signs[] = { "MERGE_HEAD", "rebase-merge", "rebase-apply",
		"BISECT_LOG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer" };
	struct stat stat;

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (fstatat(gitdir, signs[i], &stat, AT_SYMLINK_NOFOLLOW) == 0) {
			*ret_sign = signs[i];
			return 1;
		}
		if (errno != ENOENT)
			return error_set(error, errno, "look for %s", signs[i]);
	}
	return 0;
}

struct search {
	struct text path;
	unsigned entries;
	worktree_private_ref *each_ref;
	worktree_private_module *each_module;
	void *context;
	struct error *error;
};

static void search_done(struct search *search)
{
	text_done(&search->path);
}

static int search_fail(struct search *search, int code, const char *fault)
{
	char *shown CLEANUP(mem_done) = text_escape(search->path.data);

	return error_say(search->error, code, "%.300s: %s", shown, fault);
}

static int search_directory(struct search *search, int dir, unsigned depth);

static int search_below(struct search *search, int dir, const char *name, unsigned depth)
{
	int below CLEANUP(fd_done) = dir_open_below(dir, name, O_RDONLY | O_DIRECTORY, NULL);

	if (below == -ENOENT || below == -ENOTDIR)
		return 0;
	if (below < 0)
		return search_fail(search, -below, strerror(-below));
	if (depth == DEPTH_MAX)
		return search_fail(search, E2BIG, "too deep to be looked at");
	return search_directory(search, below, depth + 1);
}

static int search_ref(struct search *search, int dir, const char *name)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	const char *text = NULL;
	int r;

	if (text_ends(name, ".lock"))
		return 0;
	r = worktree_line_read(dir, name, &arena, &text, NULL, search->error);
	return r <= 0 ? r
		      : search->each_ref(search->context, search->path.data, text, search->error);
}

static int search_entry(struct search *search, int dir, const char *name, unsigned depth)
{
	struct stat stat;

	if (++search->entries > ENTRIES_MAX)
		return search_fail(search, E2BIG, "more entries than are looked at");
	if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : search_fail(search, errno, strerror(errno));
	if (S_ISDIR(stat.st_mode))
		return search_below(search, dir, name, depth);
	return search->each_ref ? search_ref(search, dir, name) : 0;
}

/* A directory with a HEAD is a repository, and has no other but in its own "modules". */
static bool is_repository(const struct search *search, int dir)
{
	struct stat stat;

	return search->each_module && fstatat(dir, "HEAD", &stat, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Recursion is bounded by DEPTH_MAX. */
static int search_directory(struct search *search, int dir, unsigned depth)
{
	DIR *stream CLEANUP(stream_done) = NULL;
	const struct dirent *entry;
	size_t length = search->path.length;
	int r = 0;

	if (is_repository(search, dir)) {
		search->each_module(search->context, search->path.data);
		return 0;
	}
	stream = stream_open(dir);
	while (r >= 0 && stream && (entry = stream_next(stream))) {
		text_add(&search->path, "/");
		text_add(&search->path, entry->d_name);
		r = search_entry(search, dir, entry->d_name, depth);
		search->path.length = length;
		search->path.data[length] = 0;
	}
	return r < 0 ? r : errno ? search_fail(search, errno, strerror(errno)) : 0;
}

int worktree_private_refs(
	int gitdir, worktree_private_ref *each, void *context, struct error *error)
{
	static const char *const names[] = { "refs/bisect", "refs/rewritten", "refs/worktree" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++) {
		struct search search CLEANUP(
			search_done) = { .each_ref = each, .context = context, .error = error };

		text_add(&search.path, names[i]);
		r = search_below(&search, gitdir, names[i], 0);
	}
	return r < 0 ? r : 0;
}

int worktree_private_modules(int gitdir, const char *path, worktree_private_module *each,
	void *context, struct error *error)
{
	struct search search CLEANUP(
		search_done) = { .each_module = each, .context = context, .error = error };

	text_add(&search.path, path);
	text_add(&search.path, "/modules");
	return search_below(&search, gitdir, "modules", 0);
}
