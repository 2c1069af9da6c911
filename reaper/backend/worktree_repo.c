#include "worktree_repo.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/answering.h"
#include "os/dir.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

enum { GITFILE_MAX = 2 * PATH_MAX };

/* What stands in a path may be a run's word: it is shown escaped, and cut before the reason is. */
static int repo_fail(struct error *error, int code, const char *what, const char *path)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_set(error, code, "%s %.300s", what, shown);
}

static int repo_say(struct error *error, int code, const char *path, const char *fault)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_say(error, code, "%.300s: %s", shown, fault);
}

/*
 * file_read() with an end of line and other blanks cut off: git ends these files with one, people
 * who write them by hand with more. 1, 0 not there, -errno.
 */
int worktree_line_read(int dir, const char *name, struct arena *arena, const char **ret_line,
	struct stat *ret_stat, struct error *error)
{
	char *bytes CLEANUP(mem_done) = NULL;
	struct error unsaid = { 0 };
	size_t length = 0;
	int r = file_read(dir, name, GITFILE_MAX, &bytes, &length, ret_stat, &unsaid);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_say(error, -r, "%s", unsaid.text);
	if (strlen(bytes) != length)
		return error_say(error, EINVAL, "%s: a NUL byte in a git file", name);
	while (length > 0 && strchr("\r\n", bytes[length - 1]))
		bytes[--length] = 0;
	*ret_line = arena_dup(arena, bytes);
	return 1;
}

static void pointer_parse(const char *line, const char *from, struct arena *arena,
	struct worktree_pointer *ret_pointer)
{
	static const char prefix[] = "gitdir: ";
	char *clean CLEANUP(mem_done) = NULL;

	ret_pointer->kind = POINTER_JUNK;
	if (!text_starts(line, prefix) || !line[sizeof(prefix) - 1])
		return;
	clean = pathname_clean(line + sizeof(prefix) - 1, from);
	ret_pointer->kind = POINTER_FILE;
	ret_pointer->target = arena_dup(arena, clean);
}

int worktree_pointer_read(int tree, const char *path, struct arena *arena,
	struct worktree_pointer *ret_pointer, struct error *error)
{
	struct error unsaid = { 0 };
	const char *line = NULL;
	struct stat stat;
	int r;

	*ret_pointer = (struct worktree_pointer){ 0 };
	if (fstatat(tree, ".git", &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : repo_fail(error, errno, "look at the .git of", path);
	if (S_ISDIR(stat.st_mode)) {
		ret_pointer->kind = POINTER_DIRECTORY;
		return 0;
	}
	if (!S_ISREG(stat.st_mode) || stat.st_size > GITFILE_MAX) {
		ret_pointer->kind = POINTER_JUNK;
		return 0;
	}
	r = worktree_line_read(tree, ".git", arena, &line, NULL, &unsaid);
	if (r == -EINVAL || r == -EFBIG)
		ret_pointer->kind = POINTER_JUNK;
	else if (r < 0)
		return repo_say(error, -r, path, unsaid.text);
	else if (r > 0)
		pointer_parse(line, path, arena, ret_pointer);
	return 0;
}

/* 1 there, 0 provably not, -errno. */
static int exists_at(int dir, const char *path, const char *name, struct error *error)
{
	struct stat stat;

	if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : repo_fail(error, errno, "look into", path);
}

/* The common directory that a linked worktree's admin directory names, or itself. */
static int common_of(int gitdir, const char *path, char **ret_common, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	const char *line = NULL;
	char *common CLEANUP(mem_done) = NULL;
	int r = worktree_line_read(gitdir, "commondir", &arena, &line, NULL, error);

	if (r < 0)
		return r;
	common = r > 0 && *line ? pathname_clean(line, path) : mem_dup(path);
	*ret_common = realpath(common, NULL);
	return *ret_common ? 0 : repo_fail(error, errno, "find the git directory", common);
}

/*
 * A directory that is no working tree. One with objects is a repository, whatever else a run may
 * have put into it; one without may be an admin directory, or what is left of a repository.
 */
static int resolve_gitdir(int dir, const char *path, char **ret_common, struct error *error)
{
	static const char *const parts[] = { "objects", "HEAD", "commondir" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int r = exists_at(dir, path, parts[i], error);

		if (r < 0)
			return r;
		if (r > 0 && i > 0)
			return common_of(dir, path, ret_common, error);
		if (r > 0) {
			*ret_common = mem_dup(path);
			return 0;
		}
	}
	return repo_fail(error, ENOENT, "find a git repository in", path);
}

static int open_real(const char *path, char **ret_real, struct error *error)
{
	*ret_real = realpath(path, NULL);
	if (!*ret_real)
		return repo_fail(
			error, errno == ENOTDIR ? ENOENT : errno, "find the git repository", path);
	return dir_open(*ret_real, error);
}

static int resolve_inner(const char *path, char **ret_common, struct error *error)
{
	char *real CLEANUP(mem_done) = NULL;
	int dir CLEANUP(fd_done) = open_real(path, &real, error);

	return dir < 0 ? dir : resolve_gitdir(dir, real, ret_common, error);
}

int worktree_repo_resolve(const char *path, char **ret_common, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *real CLEANUP(mem_done) = NULL, *inner CLEANUP(mem_done) = NULL;
	int dir CLEANUP(fd_done) = open_real(path, &real, error);
	struct worktree_pointer pointer;
	int r = dir < 0 ? dir : worktree_pointer_read(dir, real, &arena, &pointer, error);

	if (r < 0)
		return r;
	switch (pointer.kind) {
	case POINTER_NONE:
		return resolve_gitdir(dir, real, ret_common, error);
	case POINTER_JUNK:
		return repo_say(
			error, EINVAL, real, "its .git is neither a directory nor a git link");
	case POINTER_DIRECTORY:
		inner = mem_printf("%s/.git", real);
		return resolve_inner(inner, ret_common, error);
	case POINTER_FILE:
		return resolve_inner(pointer.target, ret_common, error);
	}
	return -EINVAL;
}

/* Of a directory, also behind a symlink. */
static int directory_look(const char *path, struct stat *ret_stat)
{
	char *itself CLEANUP(mem_done) = mem_printf("%s/.", path);

	return answering_look(NULL, itself, ret_stat);
}

/* Whoever wrote a path that is not the same text may have meant us to hang there. */
static bool directory_same(const char *a, const char *b)
{
	struct stat left, right;

	if (text_equal(a, b))
		return true;
	return directory_look(a, &left) == 0 && directory_look(b, &right) == 0 &&
	       left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

bool worktree_path_same(const char *a, const char *b)
{
	char *above CLEANUP(mem_done) = NULL, *beside CLEANUP(mem_done) = NULL;

	if (text_equal(a, b))
		return true;
	if (!text_equal(pathname_last(a), pathname_last(b)))
		return false;
	above = pathname_parent(a);
	beside = pathname_parent(b);
	return directory_same(above, beside);
}

const char *worktree_target_name(const char *repo, const char *target)
{
	char *list CLEANUP(mem_done) = pathname_parent(target);
	char *owner CLEANUP(mem_done) = pathname_parent(list);

	if (!text_equal(pathname_last(list), "worktrees") || !directory_same(owner, repo))
		return NULL;
	return pathname_last(target);
}

int worktree_gitfile_read(const char *gitdir, const char *name, struct arena *arena,
	const char **ret_text, int64_t *ret_changed_s, struct error *error)
{
	struct error unsaid = { 0 };
	int dir CLEANUP(fd_done) = dir_open(gitdir, &unsaid);
	struct stat stat = { 0 };
	int r;

	if (dir == -ENOENT)
		return 0;
	r = dir < 0 ? dir : worktree_line_read(dir, name, arena, ret_text, &stat, &unsaid);
	if (r < 0)
		return repo_say(error, -r, gitdir, unsaid.text);
	if (r > 0 && ret_changed_s)
		*ret_changed_s = stat.st_mtime;
	return r;
}
