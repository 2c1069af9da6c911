#include "config_visit.h"

#include "base/fnv.h"
#include "base/pathname.h"
#include "base/text.h"
#include "config.h"
#include "config_draft.h"
#include "os/answering.h"
#include "os/dir.h"
#include "text_list.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

enum { NAME_MAX_SHOWN = 64, PERCENT_ALL = 100 };

/* The main working tree of a repository, or NULL when it has none that its place shows. */
static char *main_tree(const char *common)
{
	return text_equal(pathname_last(common), ".git") ? pathname_parent(common) : NULL;
}

static void root_add(struct draft *draft, const char *path)
{
	draft->roots = mem_grow(draft->roots, draft->root_count + 1, sizeof(*draft->roots));
	draft->roots[draft->root_count++] = (struct draft_root){ .path = mem_dup(path) };
}

/* What cannot be looked at is added, so that it is reported as lost. */
static void roots_add_usual(struct draft *draft, const char *directory)
{
	static const char *const usual[] = { ".claude/worktrees", ".worktrees" };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		char *path CLEANUP(mem_done) = pathname_clean(usual[i], directory);
		struct stat stat;
		int r = answering_look(directory, path, &stat);

		if (r == 0 ? S_ISDIR(stat.st_mode) : r != -ENOENT && r != -ENOTDIR && r != -ELOOP)
			root_add(draft, path);
	}
}

static void roots_find(struct draft *draft, const char *common)
{
	char *tree CLEANUP(mem_done) = main_tree(common), *beside CLEANUP(mem_done) = NULL;

	if (tree) {
		roots_add_usual(draft, tree);
		return;
	}
	beside = pathname_parent(common);
	roots_add_usual(draft, common);
	roots_add_usual(draft, beside);
}

static int roots_add_named(struct draft *draft, const struct text_list *roots, struct error *error)
{
	for (size_t i = 0; i < roots->count; i++) {
		char *shown CLEANUP(mem_done) = text_escape(roots->items[i]);

		if (access(roots->items[i], F_OK) != 0)
			return error_set(error, errno, "--root %.200s", shown);
		root_add(draft, roots->items[i]);
	}
	return 0;
}

/* Readable, and no two of one host alike: "app-0123456789abcdef". */
static char *books_name(const char *common)
{
	char *tree CLEANUP(mem_done) = main_tree(common);
	char *name CLEANUP(mem_done) =
		mem_printf("%.*s", NAME_MAX_SHOWN, pathname_last(tree ? tree : common));
	uint64_t hash = fnv_add(FNV_START, common, strlen(common));

	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			*at = '_';
	return mem_printf("%s-%016" PRIx64, name, hash);
}

/*
 * Root may be told of another place than /var/lib, but only of one that nobody else can change: what a
 * user's environment says may have come along.
 */
static char *state_dir(void)
{
	const char *told = getenv("XDG_STATE_HOME");
	char *dir = NULL;

	if (geteuid() == 0 && (!told || *told != '/'))
		return mem_dup("/var/lib");
	dir = config_xdg_dir("XDG_STATE_HOME", ".local/state");
	if (geteuid() != 0 || dir_trusted(dir, NULL, 0, NULL) == 0)
		return dir ? dir : mem_dup("/var/lib");
	free(dir);
	return mem_dup("/var/lib");
}

static char *books_path(const char *common)
{
	char *state CLEANUP(mem_done) = state_dir(), *name CLEANUP(mem_done) = books_name(common);

	return mem_printf("%s/sbx/repo/%s.db", state, name);
}

static int owner_trust(struct settings *settings, const char *common, struct error *error)
{
	struct stat stat;

	if (lstat(common, &stat) < 0)
		return error_set(error, errno, "look at %s", common);
	if (geteuid() != 0 || stat.st_uid == 0)
		return 0;
	settings->owners = mem_grow(NULL, 1, sizeof(*settings->owners));
	settings->owners[settings->owner_count++] = stat.st_uid;
	return 0;
}

static void settings_visit(struct settings *settings, const char *common)
{
	settings_default(settings);
	free(settings->database);
	settings->database = books_path(common);
	settings->visited = mem_dup(common);
	text_list_add(&settings->repos, common);
	settings->adopt = ADOPT_WORKTREES;
	settings->unseen = UNSEEN_TOLD;
	settings->policy.unsaved = UNSAVED_KEEP;
	settings->limits.brake_runs = 0;
	settings->disk = (struct disk_settings){ .high = PERCENT_ALL, .low = PERCENT_ALL - 1 };
}

int config_visit(const char *common, const struct text_list *roots, struct settings *ret_settings,
	struct error *error)
{
	struct draft draft CLEANUP(config_draft_done) = { 0 };
	int r;

	settings_visit(&draft.settings, common);
	r = owner_trust(&draft.settings, common, error);
	if (r < 0)
		return r;
	roots_find(&draft, common);
	r = roots_add_named(&draft, roots, error);
	return r < 0 ? r : config_draft_adopt(&draft, ret_settings, error);
}
