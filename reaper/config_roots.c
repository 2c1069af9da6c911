/*
 * Roots: the outer limits of what may be removed, so each is resolved once, here, and refused when
 * it is too much (the whole machine, somebody's home) or when an untrusted user could replace it.
 */
#include "base/pathname.h"
#include "base/text.h"
#include "config_draft.h"
#include "os/dir.h"
#include "text_list.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <pwd.h>

static int root_refuse(const struct draft_root *root, const char *path, int code, const char *fault,
	struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_say(error, code, "%s: [workspaces] %s = '%.160s': %s", root->where,
		root->is_path_root ? "path_root" : "root", shown, fault);
}

static bool lies_at_or_below(const char *path, const char *other)
{
	return text_equal(path, other) || text_equal(other, "/") || pathname_below(path, other);
}

/*
 * The home directory that is at or below the path, or NULL; the caller owns it. Homes that do not
 * exist ("/nonexistent") are nobody's, and "/" as a home is that of system users.
 */
static char *home_within(const char *path)
{
	const struct passwd *entry;
	char *found = NULL;

	setpwent();
	while (!found && (entry = getpwent())) {
		char *home CLEANUP(mem_done) = realpath(entry->pw_dir, NULL);

		if (home && !text_equal(home, "/") && lies_at_or_below(home, path))
			found = TAKE_PTR(home);
	}
	endpwent();
	return found;
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
static int root_check_place(const struct draft *draft, const struct draft_root *root,
	const char *real, struct error *error)
{
	char *home CLEANUP(mem_done) = NULL, *fault CLEANUP(mem_done) = NULL;
	const char *other;

	if (text_equal(real, "/"))
		return root_refuse(root, root->path, EINVAL,
			"it is the whole file system; give a directory of its own", error);
	home = home_within(real);
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
	char *real CLEANUP(mem_done) = realpath(path, NULL);
	const struct settings *settings = &draft->settings;
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

static bool is_glob(const char *path)
{
	return strpbrk(path, "*?[") != NULL;
}

/* A glob chooses directories, and never our own trash (os/trash.h). */
static bool glob_may_choose(const char *path)
{
	struct stat entry;

	if (strstr(path, "/.sbx-trash"))
		return false;
	/* What cannot be looked at is chosen, so that it is reported as lost. */
	return stat(path, &entry) == 0 ? S_ISDIR(entry.st_mode) : errno != ENOENT;
}

/*
 * No match is fine: there is no run yet. A directory on the way that cannot be read is not: what it
 * holds is unseen, so the pattern itself is a lost root.
 */
static int root_settle_glob(struct draft *draft, const struct draft_root *root, struct error *error)
{
	glob_t matches = { 0 };
	int r = glob(root->path, GLOB_ERR, NULL, &matches);

	if (r == GLOB_NOSPACE)
		abort();
	if (r == GLOB_ABORTED)
		r = root_lose(draft, root->path);
	else
		r = 0;
	for (size_t i = 0; r == 0 && i < matches.gl_pathc; i++)
		if (glob_may_choose(matches.gl_pathv[i]))
			r = root_settle(draft, root, matches.gl_pathv[i], error);
	globfree(&matches);
	return r;
}

int config_roots_settle(struct draft *draft, struct error *error)
{
	for (size_t i = 0; i < draft->root_count; i++) {
		const struct draft_root *root = &draft->roots[i];
		int r = is_glob(root->path) ? root_settle_glob(draft, root, error)
					    : root_settle(draft, root, root->path, error);

		if (r < 0)
			return r;
	}
	return 0;
}
