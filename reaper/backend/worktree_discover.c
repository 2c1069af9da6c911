#include "worktree_discover.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "os/answering.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "text_list.h"
#include "worktree_activity.h"
#include "worktree_record.h"
#include "worktree_sight.h"
#include "worktree_visit.h"

#include <sys/stat.h>

static const char source_name[] = "worktrees";

/* The entries of one root that told trees and paths lie at or below; sorted. */
struct told {
	char **names;
	size_t count, room;
	bool whole; /* one is the root itself, or lies above it */
};

struct search {
	const struct settings *settings;
	struct inventory *inventory;
	const char *only;
	struct told *told; /* one for each root */
	size_t at;         /* the root that is searched */
};

static void told_done(struct told *told)
{
	for (size_t i = 0; i < told->count; i++)
		free(told->names[i]);
	free(told->names);
	*told = (struct told){ 0 };
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void told_add(struct told *told, const char *root, const char *locator)
{
	const char *below = pathname_below(locator, root);
	char *name;

	told->whole |= text_equal(locator, root) || pathname_below(root, locator);
	if (!below)
		return;
	if (told->count == told->room) {
		told->room = told->room * 2 + 16;
		told->names = mem_grow(told->names, told->room, sizeof(*told->names));
	}
	name = mem_dup(below);
	name[strcspn(name, "/")] = 0;
	told->names[told->count++] = name;
}

static bool told_has(const struct told *told, const char *name)
{
	return told->whole || (told->count && bsearch(&name, told->names, told->count,
						      sizeof(*told->names), name_compare));
}

static void told_gather(struct told *told, const struct inventory *inventory, const char *root)
{
	for (size_t i = 0; i < inventory->run_count; i++)
		for (size_t k = 0; k < inventory->runs[i]->resource_count; k++) {
			const struct resource *resource = &inventory->runs[i]->resources[k];

			if (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH)
				told_add(told, root, resource->locator);
		}
	if (told->count)
		qsort(told->names, told->count, sizeof(*told->names), name_compare);
}

/* What was told until now; again after the repositories, since what they show is known then. */
static void search_gather(struct search *search)
{
	const struct text_list *roots = &search->settings->roots;

	for (size_t i = 0; i < roots->count; i++) {
		told_done(&search->told[i]);
		told_gather(&search->told[i], search->inventory, roots->items[i]);
	}
}

static void search_done(struct search *search)
{
	for (size_t i = 0; i < search->settings->roots.count; i++)
		told_done(&search->told[i]);
	free(search->told);
}

static const char *search_root_path(const struct search *search)
{
	return search->settings->roots.items[search->at];
}

static bool search_wants(const struct search *search, const char *run)
{
	return !search->only || text_equal(search->only, run);
}

static struct resource *search_add(
	struct search *search, const char *run, const struct resource *found)
{
	struct run *owner = inventory_run(search->inventory, run);
	struct resource *added = run_add_resource(search->inventory, owner, found);

	if (!owner->root)
		owner->root = arena_dup(&search->inventory->arena, search_root_path(search));
	return added;
}

static void search_entry(struct search *search, int root, const struct dirent *entry)
{
	char *path CLEANUP(mem_done) = NULL;
	struct resource found = { .kind = KIND_WORKTREE, .present = TRI_YES };
	struct stat stat;

	if (entry->d_name[0] == '.' || told_has(&search->told[search->at], entry->d_name) ||
		!search_wants(search, entry->d_name))
		return;
	if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
		return;
	if (dir_look(root, entry->d_name, &stat) < 0 || !S_ISDIR(stat.st_mode))
		return;
	path = mem_printf("%s/%s", search_root_path(search), entry->d_name);
	found.locator = path;
	found.dev = stat.st_dev;
	found.ino = stat.st_ino;
	if (search->settings->visited)
		found.note = "no record of the repository is its";
	search_add(search, entry->d_name, &found);
}

static int search_root(struct search *search, struct error *error)
{
	const char *path = search_root_path(search);
	int root CLEANUP(fd_done) = dir_open(path, error);
	DIR *stream CLEANUP(stream_done) = root < 0 ? NULL : stream_open(root);
	const struct dirent *entry;

	if (root < 0)
		return root;
	while (stream && (entry = stream_next(stream)))
		search_entry(search, root, entry);
	if (errno)
		return error_set(error, errno, "list the root %s", path);
	return 0;
}

static void search_roots(struct search *search)
{
	const struct settings *settings = search->settings;

	for (search->at = 0; search->at < settings->roots.count; search->at++) {
		struct error error = { 0 };
		int r = search_root(search, &error);

		inventory_add_source(search->inventory, source_name, search_root_path(search),
			r < 0 ? TRI_NO : TRI_YES, r < 0 ? error.text : NULL);
	}
	for (size_t i = 0; i < settings->lost_roots.count; i++) {
		const char *root = settings->lost_roots.items[i];

		inventory_add_source(search->inventory, source_name, root, TRI_NO,
			text_list_has(&settings->silent, root)
				? answering_words(root, &search->inventory->arena)
				: "the root cannot be opened");
	}
}

/* A tree that somebody moved still has its work, and git can still find its record. */
static bool is_moved(const struct settings *settings, struct resource *found, struct arena *arena)
{
	struct error error = { 0 };
	const char *tree = NULL;
	int r = worktree_visit_moved(settings, found->record, arena, &tree, &error);

	if (r > 0)
		found->note = arena_printf(
			arena, "its tree was moved to %s: git worktree repair, run there", tree);
	else if (r < 0)
		found->note = arena_dup(arena, error.text);
	return r != 0;
}

/*
 * A tree that is nowhere to be seen may have been moved, or its mount be missing. git keeps the record
 * of one for three months (git-config(1), gc.worktreePruneExpire), and so does a visit.
 */
static bool is_given_up(struct resource *found)
{
	enum { GIT_EXPIRE_S = 90 * 86400 };

	if (worktree_record_active_s(found->record) + GIT_EXPIRE_S <= clock_wall_s())
		return true;
	found->note = "its tree is gone, or was moved (git worktree repair): its record stays for "
		      "three months, as with git worktree prune";
	return false;
}

/*
 * Adoption wants both directions: a directory that took the place of a worktree which git still has
 * a record of is somebody else's. A visit also adopts the record of a tree that is provably gone.
 */
static bool agrees(const struct settings *settings, struct resource *found, struct arena *arena)
{
	struct sight sight CLEANUP(sight_done) = { .root_dir = -EBADF, .tree = -EBADF };

	sight_look(settings, found, arena, &sight);
	if (settings->visited)
		found->note = sight.note;
	if (sight.contradicts || !text_equal(sight.record.path, found->record))
		return false;
	if (sight.present == TRI_YES)
		return sight.agreed;
	return settings->visited && sight.present == TRI_NO && !is_moved(settings, found, arena) &&
	       is_given_up(found);
}

/* Whether the tree of a record lies directly below a root, where nothing was told. */
static const char *search_place(struct search *search, const char *tree)
{
	const struct text_list *roots = &search->settings->roots;

	for (search->at = 0; tree && search->at < roots->count; search->at++) {
		const char *below = pathname_below(tree, roots->items[search->at]);

		if (below && !strchr(below, '/') && *below != '.')
			return told_has(&search->told[search->at], below) ? NULL : below;
	}
	return NULL;
}

static bool lies_in_root(const struct search *search, const char *tree)
{
	const char *root = tree ? text_list_above(&search->settings->roots, tree) : NULL;

	return root && !strchr(pathname_below(tree, root), '/');
}

static void search_record(
	struct search *search, const char *common, const struct worktree_record *record)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct resource found = { .kind = KIND_WORKTREE, .repo = common };
	const char *run = search_place(search, record->tree);
	int r;

	if (search->settings->visited && !search->only && !lies_in_root(search, record->tree))
		worktree_visit_elsewhere(search->inventory, common, record);
	if (!run || !search_wants(search, run))
		return;
	found.run = run;
	found.locator = record->tree;
	found.record = record->path;
	r = dir_identity(record->tree, &found.dev, &found.ino, NULL);
	found.present = r == 0 ? TRI_YES : r == -ENOENT ? TRI_NO : TRI_UNKNOWN;
	if (search->settings->adopt == ADOPT_WORKTREES && runid_valid(run) &&
		agrees(search->settings, &found, &arena))
		found.proof = PROOF_ADOPTED;
	if (search->settings->visited)
		found.active_s = worktree_record_active_s(record->path);
	if (search->settings->visited && !runid_valid(run))
		found.note = "its name can be no run identifier";
	search_add(search, run, &found);
}

static int search_repo(struct search *search, const char *repo, struct error *error)
{
	struct worktree_records records CLEANUP(worktree_records_done) = { 0 };
	char *common CLEANUP(mem_done) = NULL;
	int r = worktree_repo_resolve(repo, &common, error);

	if (r == 0)
		r = worktree_records_read(common, &records, error);
	for (size_t i = 0; i < records.count; i++)
		search_record(search, common, &records.list[i]);
	if (r == 0 && search->settings->visited)
		r = worktree_visit_branches(
			search->inventory, common, &records, search->only, error);
	return r;
}

static void search_repos(struct search *search)
{
	const struct text_list *repos = &search->settings->repos;

	for (size_t i = 0; i < repos->count; i++) {
		struct error error = { 0 };
		int r = search_repo(search, repos->items[i], &error);

		inventory_add_source(search->inventory, source_name, repos->items[i],
			r < 0 ? TRI_NO : TRI_YES, r < 0 ? error.text : NULL);
	}
	for (size_t i = 0; i < search->settings->lost_repos.count; i++) {
		const char *repo = search->settings->lost_repos.items[i];

		inventory_add_source(search->inventory, source_name, repo, TRI_NO,
			answering_words(repo, &search->inventory->arena));
	}
}

void worktree_discover(
	const struct settings *settings, struct inventory *inventory, const char *only)
{
	struct search search CLEANUP(search_done) = {
		.settings = settings,
		.inventory = inventory,
		.only = only,
		.told = mem_new((settings->roots.count + 1) * sizeof(*search.told)),
	};

	if (!settings->roots.count && !settings->lost_roots.count && !settings->repos.count &&
		!settings->lost_repos.count)
		inventory_add_source(inventory, source_name, NULL, TRI_UNKNOWN, NULL);
	search_gather(&search);
	search_repos(&search);
	search_gather(&search);
	search_roots(&search);
}
