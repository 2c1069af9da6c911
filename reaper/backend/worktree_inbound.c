#include "worktree_inbound.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/file.h"
#include "text_list.h"
#include "worktree_private.h"

#include <limits.h>

enum { LEVELS = 2, ENTRIES_MAX = 10000, CONFIG_MAX = 1 << 20 };

struct look {
	const char *common;
	const struct text_list *roots;
	struct arena *arena;
	struct census_link **links;
	unsigned entries;
};

static void look_add(const struct look *look, const char *place, const char *from, const char *text)
{
	char *target CLEANUP(mem_done) = *text ? pathname_clean(text, from) : NULL;
	struct census_link *link;

	if (!target || !text_list_above(look->roots, target))
		return;
	link = arena_new(look->arena, sizeof(*link));
	link->common = look->common;
	link->place = arena_dup(look->arena, place);
	link->target = arena_dup(look->arena, target);
	link->next = *look->links;
	*look->links = link;
}

static void look_link(const struct look *look, int dir, const char *path, const char *name)
{
	char *place CLEANUP(mem_done) = mem_printf("%s/%s", path, name);
	char target[PATH_MAX];
	ssize_t length = readlinkat(dir, name, target, sizeof(target) - 1);

	if (length < 0)
		return;
	target[length] = 0;
	look_add(look, place, path, target);
}

/* Recursion is bounded by LEVELS. */
static void look_directory(struct look *look, int dir, const char *path, unsigned level)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry;

	while (stream && (entry = stream_next(stream)) && look->entries++ < ENTRIES_MAX) {
		int below CLEANUP(fd_done) = -EBADF;
		char *whole CLEANUP(mem_done) = NULL;

		if (entry->d_type == DT_LNK)
			look_link(look, dir, path, entry->d_name);
		if (entry->d_type != DT_DIR || level == LEVELS || text_equal(entry->d_name, ".git"))
			continue;
		below = dir_open_below(dir, entry->d_name, O_RDONLY | O_DIRECTORY, NULL);
		whole = mem_printf("%s/%s", path, entry->d_name);
		if (below >= 0)
			look_directory(look, below, whole, level + 1);
	}
}

/* "worktree = X", whatever the section: for a note that is enough. */
static void look_config(const struct look *look, const char *gitdir, const char *name)
{
	char *place CLEANUP(mem_done) = mem_printf("%s/%s", gitdir, name), *rest = NULL;
	char *bytes CLEANUP(mem_done) = NULL;
	int dir CLEANUP(fd_done) = dir_open(gitdir, NULL);
	size_t length = 0;

	if (dir < 0 || file_read(dir, name, CONFIG_MAX, &bytes, &length, NULL, NULL) < 0)
		return;
	for (char *line = strtok_r(bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " \t");
		if (strncasecmp(line, "worktree", strlen("worktree")) != 0)
			continue;
		line += strlen("worktree");
		line += strspn(line, " \t=\"");
		line[strcspn(line, "\"\r")] = 0;
		look_add(look, place, gitdir, line);
	}
}

static void look_module(void *context, const char *path)
{
	look_config(context, path, "config");
}

void worktree_inbound_look(const char *common, const struct text_list *roots, struct arena *arena,
	struct census_link **links)
{
	struct look look = {
		.common = arena_dup(arena, common), .roots = roots, .arena = arena, .links = links
	};
	char *checkout CLEANUP(mem_done) = pathname_parent(common);
	int tree CLEANUP(fd_done) = -EBADF, gitdir CLEANUP(fd_done) = dir_open(common, NULL);

	if (text_equal(pathname_last(common), ".git"))
		tree = dir_open(checkout, NULL);
	if (tree >= 0)
		look_directory(&look, tree, checkout, 1);
	look_config(&look, common, "config");
	look_config(&look, common, "config.worktree");
	if (gitdir >= 0)
		(void)worktree_private_modules(gitdir, common, look_module, &look, NULL);
}
