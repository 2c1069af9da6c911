#include "picture.h"

#include "base/pathname.h"
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

enum { DEPTH_MAX = 16, ENTRIES_MAX = 1000, FILE_MAX = 64 * 1024 };

struct view {
	struct text *picture;
	struct error *error;
	size_t entries;
};

static int view_entry(struct view *view, int dir, const char *name, const char *path, int depth);

static int list_sorted(int dir, const char *name, struct dirent ***ret_list)
{
	return scandirat(dir, name, ret_list, NULL, alphasort);
}

static int view_list(
	struct view *view, int dir, struct dirent **list, int count, const char *path, int depth)
{
	int r = 0;

	for (int i = 0; i < count; i++) {
		const char *name = list[i]->d_name;
		char *below CLEANUP(mem_done) = mem_printf("%s/%s", path, name);

		if (r == 0 && !text_equal(name, ".") && !text_equal(name, ".."))
			r = view_entry(view, dir, name, below, depth + 1);
		free(list[i]);
	}
	return r;
}

static int view_directory(
	struct view *view, int parent, const char *name, const char *path, int depth)
{
	int dir CLEANUP(fd_done) =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent **list CLEANUP(mem_done) = NULL;
	int count = dir < 0 ? -1 : list_sorted(dir, ".", &list);

	if (count < 0)
		return error_set(view->error, errno, "list %s", path);
	return view_list(view, dir, list, count, path, depth);
}

static int view_file(struct view *view, int dir, const char *name)
{
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length = 0;
	int r = file_read(dir, name, FILE_MAX, &bytes, &length, NULL, view->error);
	char *shown CLEANUP(mem_done) = r < 0 ? NULL : text_base64(bytes, length);

	if (r < 0)
		return r;
	text_addf(view->picture, " %s", shown);
	return 0;
}

static int view_link(struct view *view, int dir, const char *name, const char *path)
{
	char target[4096];
	ssize_t length = readlinkat(dir, name, target, sizeof(target) - 1);

	if (length < 0)
		return error_set(view->error, errno, "read the symlink %s", path);
	target[length] = 0;
	text_add(view->picture, " ");
	text_add_escaped(view->picture, target);
	return 0;
}

static void add_line(struct text *picture, const char *path, const struct statx *seen)
{
	if (picture->length)
		text_add(picture, "\n");
	text_add_escaped(picture, path);
	text_addf(picture, "\t%o %u:%u inode %u:%u/%llu links %u size %llu at %lld.%09u mount %llu",
		seen->stx_mode, seen->stx_uid, seen->stx_gid, seen->stx_dev_major,
		seen->stx_dev_minor, (unsigned long long)seen->stx_ino, seen->stx_nlink,
		(unsigned long long)seen->stx_size, (long long)seen->stx_mtime.tv_sec,
		seen->stx_mtime.tv_nsec, (unsigned long long)seen->stx_mnt_id);
}

static int view_entry(struct view *view, int dir, const char *name, const char *path, int depth)
{
	struct statx seen;

	if (view->entries++ >= ENTRIES_MAX || depth > DEPTH_MAX)
		return error_say(view->error, E2BIG, "%s: there is too much of it", path);
	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		    STATX_BASIC_STATS | STATX_MNT_ID, &seen) < 0)
		return error_set(view->error, errno, "look at %s", path);
	add_line(view->picture, path, &seen);
	if (S_ISDIR(seen.stx_mode))
		return view_directory(view, dir, name, path, depth);
	if (S_ISLNK(seen.stx_mode))
		return view_link(view, dir, name, path);
	return S_ISREG(seen.stx_mode) ? view_file(view, dir, name) : 0;
}

int picture_add(struct text *picture, const char *path, struct error *error)
{
	struct view view = { .picture = picture, .error = error };
	char *parent CLEANUP(mem_done) = pathname_parent(path);
	const char *name = pathname_last(path);
	int dir CLEANUP(fd_done) = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat there;

	if (dir < 0 && errno != ENOENT)
		return error_set(error, errno, "open %s", parent);
	if (dir >= 0 && (fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
		return view_entry(&view, dir, name, path, 0);
	if (picture->length)
		text_add(picture, "\n");
	text_add_escaped(picture, path);
	text_add(picture, "\tis not there");
	return 0;
}

static char *path_of_line(const char *line)
{
	return mem_printf("%.*s", (int)strcspn(line, "\t\n"), line);
}

/* Lines are in the same order in both, so the first that differs names what came, went or changed. */
char *picture_difference(const char *before, const char *after)
{
	for (;;) {
		size_t length = strcspn(before, "\n");

		if (strcspn(after, "\n") != length || memcmp(before, after, length) != 0)
			return path_of_line(*before ? before : after);
		before += length;
		after += length;
		if (!*before || !*after)
			return *before  ? path_of_line(before + 1)
			       : *after ? path_of_line(after + 1)
					: NULL;
		before++;
		after++;
	}
}
