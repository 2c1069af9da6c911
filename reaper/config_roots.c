/*
 * Roots: the outer limits of what may be removed, so each is resolved once, here, and refused when
 * it is too much (the whole machine, somebody's home) or when an untrusted user could replace it.
 */
#include "base/pathname.h"
#include "base/text.h"
#include "config_draft.h"
#include "os/dir.h"
#include "text_list.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>

static int root_refuse(const struct draft_root *root, const char *path, int code, const char *fault,
	struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	if (!root->where)
		return error_say(error, code, "root '%.160s': %s", shown, fault);
	return error_say(error, code, "%s: [workspaces] %s = '%.160s': %s", root->where,
		root->is_path_root ? "path_root" : "root", shown, fault);
}

static bool lies_at_or_below(const char *path, const char *other)
{
	return text_equal(path, other) || text_equal(other, "/") || pathname_below(path, other);
}

void config_homes_written(struct text_list *homes)
{
	const struct passwd *entry;

	setpwent();
	while ((entry = getpwent()))
		if (entry->pw_dir[0] == '/' &&
			!text_equal(entry->pw_dir, "/")) /* of system users */
			text_list_add_new(homes, entry->pw_dir);
	endpwent();
}

/*
 * Homes lie anywhere, also where nobody answers; of those, and of no other, the path as it is written
 * must do. Homes that do not exist ("/nonexistent") are nobody's.
 */
void config_homes_settle(
	struct draft *draft, const char *const *written, size_t count, const bool *silent)
{
	for (size_t i = 0; i < count; i++) {
		char *home CLEANUP(mem_done) =
			silent[i] ? mem_dup(written[i]) : realpath(written[i], NULL);

		if (home && !text_equal(home, "/"))
			text_list_add_new(&draft->homes, home);
	}
}

/* The first home directory that is at or below the path, or NULL. */
static const char *home_within(const struct draft *draft, const char *path)
{
	for (size_t i = 0; i < draft->homes.count; i++)
		if (lies_at_or_below(draft->homes.items[i], path))
			return draft->homes.items[i];
	return NULL;
}

/*
 * Whoever can replace a symlink on the way can choose another root, so the directory that holds one
 * must be trusted as much as the root itself.
 */
static int links_trusted(const char *path, const struct settings *settings, struct error *error)
{
	char *prefix CLEANUP(mem_done) = mem_dup(path);

	while (!text_equal(prefix, "/")) {
		char *parent = pathname_parent(prefix);
		char *real CLEANUP(mem_done) = NULL;
		struct stat entry;
		int r;

		if (lstat(prefix, &entry) == 0 && S_ISLNK(entry.st_mode)) {
			real = realpath(parent, NULL);
			r = real ? dir_trusted(real, settings->owners, settings->owner_count, error)
				 : -errno;
			if (r < 0) {
				free(parent);
				return r;
			}
		}
		free(prefix);
		prefix = parent;
	}
	return 0;
}

/* Whether it overlaps with a root that is in use already: one would be a workspace of the other. */
static const char *root_overlap(const struct text_list *roots, const char *path)
{
	for (size_t i = 0; i < roots->count; i++)
		if (!text_equal(roots->items[i], path) &&
			(lies_at_or_below(roots->items[i], path) ||
				lies_at_or_below(path, roots->items[i])))
			return roots->items[i];
	return NULL;
}

static int root_lose(struct draft *draft, const char *path)
{
	text_list_add_new(&draft->settings.lost_roots, path);
	return 0;
}

/* The refusals that need no look at owners: 0 or -EINVAL. */
static int root_check_place(
	struct draft *draft, const struct draft_root *root, const char *real, struct error *error)
{
	char *fault CLEANUP(mem_done) = NULL;
	const char *other, *home;

	if (text_equal(real, "/"))
		return root_refuse(root, root->path, EINVAL,
			"it is the whole file system; give a directory of its own", error);
	home = home_within(draft, real);
	if (home) {
		fault = mem_printf("%s is a home directory; give a directory of its own", home);
		return root_refuse(root, root->path, EINVAL, fault, error);
	}
	if (lies_at_or_below(draft->settings.database, real))
		return root_refuse(root, root->path, EINVAL,
			"[state] database lies below it; keep them apart", error);
	other = root->is_path_root ? NULL : root_overlap(&draft->settings.roots, real);
	if (other) {
		fault = mem_printf("it overlaps with the root %s; roots lie side by side", other);
		return root_refuse(root, root->path, EINVAL, fault, error);
	}
	return 0;
}

/* One existing or missing directory, no glob any more. */
static int root_settle(
	struct draft *draft, const struct draft_root *root, const char *path, struct error *error)
{
	const struct settings *settings = &draft->settings;
	char *real CLEANUP(mem_done) =
		text_list_has(&settings->silent, path) ? NULL : realpath(path, NULL);
	struct error why = { 0 };
	int r, fd CLEANUP(fd_done) = -EBADF;

	if (!real)
		return root_lose(draft, path);
	r = root_check_place(draft, root, real, error);
	if (r < 0)
		return r;
	fd = dir_open(real, NULL);
	if (fd < 0)
		return root_lose(draft, path);
	r = dir_trusted(real, settings->owners, settings->owner_count, &why);
	if (r == 0)
		r = links_trusted(path, settings, &why);
	if (r == -EPERM)
		return root_refuse(root, path, EPERM, why.text, error);
	if (r < 0)
		return root_lose(draft, path);
	text_list_add_new(
		root->is_path_root ? &draft->settings.path_roots : &draft->settings.roots, real);
	return 0;
}

bool config_root_is_glob(const struct draft_root *root)
{
	return root->where && strpbrk(root->path, "*?[");
}

/* A glob chooses directories, and never our own trash (os/trash.h). */
static bool glob_may_choose(const char *path)
{
	struct stat entry;

	if (strstr(path, "/.sbx-trash"))
		return false;
	/* What cannot be looked at is chosen, so that it is reported as lost. */
	return stat(path, &entry) == 0 ? S_ISDIR(entry.st_mode)
				       : errno != ENOENT && errno != ENOTDIR;
}

/* A pattern while it is followed. */
struct following {
	struct draft *draft;
	const struct draft_root *root;
	struct error *error;
};

static int follow(const struct following *following, const char *path, const char *rest);

static int name_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a directory that fit one component of a pattern, sorted. 0 or -errno. */
static int names_like(const char *path, const char *component, struct text_list *names)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	int code;

	if (!directory)
		return errno == ENOTDIR ? 0 : -errno;
	while (errno = 0, (entry = readdir(directory)))
		if (fnmatch(component, entry->d_name, FNM_PERIOD) == 0)
			text_list_add(names, entry->d_name);
	code = errno;
	(void)closedir(directory);
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), name_order);
	return -code;
}

/*
 * No match is fine: there is no run yet. A directory on the way that cannot be read is not: what it
 * holds is unseen, so the pattern itself is a lost root.
 */
static int follow_names(const struct following *following, const char *path, const char *component,
	const char *rest)
{
	struct text_list names CLEANUP(text_list_done) = { 0 };
	int r = names_like(path, component, &names);

	if (r < 0)
		return root_lose(following->draft, following->root->path);
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		char *below CLEANUP(mem_done) =
			mem_printf("%s/%s", text_equal(path, "/") ? "" : path, names.items[i]);

		r = follow(following, below, rest);
	}
	return r;
}

/*
 * As glob(3), which has no way to keep off what does not answer: such a directory is a lost root, and
 * the others are found all the same. `rest` is what of the pattern lies below the path.
 */
static int follow(const struct following *following, const char *path, const char *rest)
{
	char *component CLEANUP(mem_done) = NULL, *below CLEANUP(mem_done) = NULL;

	if (text_list_has(&following->draft->settings.silent, path))
		return root_lose(following->draft, path);
	rest += strspn(rest, "/");
	if (!*rest)
		return glob_may_choose(path) ? root_settle(following->draft, following->root, path,
						       following->error)
					     : 0;
	component = mem_printf("%.*s", (int)strcspn(rest, "/"), rest);
	rest += strlen(component);
	if (strpbrk(component, "*?["))
		return follow_names(following, path, component, rest);
	below = mem_printf("%s/%s", text_equal(path, "/") ? "" : path, component);
	return follow(following, below, rest);
}

static int root_settle_glob(struct draft *draft, const struct draft_root *root, struct error *error)
{
	const struct following following = { draft, root, error };

	return follow(&following, "/", root->path);
}

int config_roots_settle(struct draft *draft, struct error *error)
{
	for (size_t i = 0; i < draft->root_count; i++) {
		const struct draft_root *root = &draft->roots[i];
		int r = config_root_is_glob(root) ? root_settle_glob(draft, root, error)
						  : root_settle(draft, root, root->path, error);

		if (r < 0)
			return r;
	}
	return 0;
}
