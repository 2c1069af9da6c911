#include "worktree_census.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/errand.h"
#include "os/file.h"
#include "text_list.h"
#include "worktree_inbound.h"
#include "worktree_stream.h"

#include <sys/stat.h>

enum {
	GOOD_FOR_MS = 5000,
	REHEARSAL_MS = 5000,
	CHAIN_MAX = 5,
	LINES_MAX = 1024,
	ALTERNATES_MAX = 1 << 20
};

/* `by`, a tree or a git directory, needs `what`: an object directory, or what its .git names. */
struct census_claim {
	const char *by, *what;
	struct census_claim *next;
};

struct census_record {
	const char *common;
	struct worktree_record record;
	bool gone; /* there is provably no tree */
	struct census_record *next;
};

void worktree_census_tell(struct worktree_census *census, const char *common)
{
	if (common)
		text_list_add_new(&census->repos, common);
}

void worktree_census_expire(struct worktree_census *census)
{
	census->good_until_ms = 0;
}

static void census_forget(struct worktree_census *census)
{
	arena_done(&census->arena);
	census->claims = NULL;
	census->records = NULL;
	census->links = NULL;
	census->looked = 0;
	census->blind = (struct error){ 0 };
}

void worktree_census_done(struct worktree_census *census)
{
	census_forget(census);
	text_list_done(&census->repos);
}

static void census_blind(struct worktree_census *census, int code, const char *where)
{
	char *shown CLEANUP(mem_done) = text_escape(where);

	error_set(&census->blind, code, "look for borrowers in %.300s", shown);
}

/* What a tree lacks or has in a wrong form makes it no borrower; what cannot be read may hide one. */
static bool hides_something(int r)
{
	return r != -ENOENT && r != -ENOTDIR && r != -ELOOP && r != -EXDEV && r != -EINVAL &&
	       r != -EFBIG;
}

/* False when it is known already. */
static bool claim_add(struct worktree_census *census, const char *by, const char *what)
{
	char *real CLEANUP(mem_done) = realpath(what, NULL);
	struct census_claim *claim = census->claims;

	while (claim && text_equal(claim->by, by) && !text_equal(claim->what, real ? real : what))
		claim = claim->next;
	if (claim && text_equal(claim->by, by))
		return false;
	claim = arena_new(&census->arena, sizeof(*claim));
	claim->by = arena_dup(&census->arena, by);
	claim->what = arena_dup(&census->arena, real ? real : what);
	claim->next = census->claims;
	census->claims = claim;
	return true;
}

/* Follows objects/info/alternates, a path a line (gitrepository-layout(5)). Recursion is bounded. */
static void claim_alternates(struct worktree_census *census, const char *by, const char *objects,
	unsigned depth, unsigned *lines)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/info", objects), *rest = NULL;
	char *bytes CLEANUP(mem_done) = NULL;
	int info CLEANUP(fd_done) = dir_open(path, NULL);
	size_t length = 0;
	int r = info < 0 ? info
			 : file_read(
				   info, "alternates", ALTERNATES_MAX, &bytes, &length, NULL, NULL);

	if (r == -ELOOP)
		claim_add(census, by, objects); /* a linked object store is borrowed whole */
	if (r < 0 && hides_something(r))
		census_blind(census, -r, path);
	for (char *line = r < 0 ? NULL : strtok_r(bytes, "\n", &rest); line && *lines < LINES_MAX;
		line = strtok_r(NULL, "\n", &rest), (*lines)++) {
		char *clean CLEANUP(mem_done) = NULL;

		line += *line == '"';
		line[strcspn(line, "\"")] = 0;
		clean = *line && *line != '#' ? pathname_clean(line, objects) : NULL;
		if (clean && claim_add(census, by, clean) && depth < CHAIN_MAX)
			claim_alternates(census, by, clean, depth + 1, lines);
	}
}

static void claim_repository(struct worktree_census *census, const char *by, const char *gitdir)
{
	char *objects CLEANUP(mem_done) = mem_printf("%s/objects", gitdir);
	unsigned lines = 0;

	claim_alternates(census, by, objects, 0, &lines);
}

static void look_at_tree(
	struct worktree_census *census, int root, const char *name, const char *path)
{
	int tree CLEANUP(fd_done) = dir_open_below(root, name, O_RDONLY | O_DIRECTORY, NULL);
	char *inner CLEANUP(mem_done) = mem_printf("%s/.git", path);
	struct worktree_pointer pointer;
	int r = tree < 0 ? tree : worktree_pointer_read(tree, path, &census->arena, &pointer, NULL);

	if (r < 0) {
		if (hides_something(r))
			census_blind(census, -r, path);
		return;
	}
	switch (pointer.kind) {
	case POINTER_NONE:
		claim_repository(census, path, path); /* it may be bare */
		return;
	case POINTER_FILE:
		claim_add(census, path, pointer.target);
		claim_repository(census, path, pointer.target);
		return;
	case POINTER_DIRECTORY:
		claim_repository(census, path, inner);
		return;
	case POINTER_JUNK:
		claim_add(census, path, inner); /* a link, perhaps */
		return;
	}
}

static void look_at_root(struct worktree_census *census, const char *path)
{
	struct error error = { 0 };
	int root CLEANUP(fd_done) = dir_open(path, &error);
	DIR *stream CLEANUP(stream_done) = root < 0 ? NULL : stream_open(root);
	const struct dirent *entry;

	if (!stream) {
		census_blind(census, root < 0 ? -root : errno, path);
		return;
	}
	while ((entry = stream_next(stream))) {
		char *tree CLEANUP(mem_done) = mem_printf("%s/%s", path, entry->d_name);

		if (entry->d_name[0] != '.' &&
			(entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			look_at_tree(census, root, entry->d_name, tree);
	}
	if (errno)
		census_blind(census, errno, path);
}

static bool tree_is_gone(const char *tree)
{
	uint64_t dev, ino;

	return tree && dir_identity(tree, &dev, &ino, NULL) == -ENOENT;
}

static void look_at_repository(struct worktree_census *census, const char *repo)
{
	struct worktree_records records CLEANUP(worktree_records_done) = { 0 };
	char *common CLEANUP(mem_done) = NULL;
	int r = worktree_repo_resolve(repo, &common, NULL);

	if (r == 0)
		r = worktree_records_read(common, &records, NULL);
	if (r < 0 && hides_something(r))
		census_blind(census, -r, repo);
	if (r < 0)
		return;
	claim_repository(census, common, common);
	for (size_t i = 0; i < records.count; i++) {
		struct census_record *record = arena_new(&census->arena, sizeof(*record));

		record->common = arena_dup(&census->arena, common);
		worktree_record_copy(&census->arena, &records.list[i], &record->record);
		record->gone = tree_is_gone(record->record.tree);
		record->next = census->records;
		census->records = record;
	}
	worktree_inbound_look(common, &census->settings->roots, &census->arena, &census->links);
}

static void census_begin(struct worktree_census *census)
{
	const struct settings *settings = census->settings;

	census_forget(census);
	for (size_t i = 0; i < settings->repos.count; i++) {
		char *common CLEANUP(mem_done) = NULL;

		(void)worktree_repo_resolve(settings->repos.items[i], &common, NULL);
		text_list_add_new(&census->repos, common ? common : settings->repos.items[i]);
	}
	for (size_t i = 0; i < settings->roots.count; i++)
		look_at_root(census, settings->roots.items[i]);
	for (size_t i = 0; i < settings->lost_roots.count; i++)
		census_blind(census, ENOENT, settings->lost_roots.items[i]);
	for (size_t i = 0; i < settings->lost_repos.count; i++)
		census_blind(census, ETIME, settings->lost_repos.items[i]);
	census->good_until_ms = deadline_in_ms(GOOD_FOR_MS);
}

static bool is_due(const struct worktree_census *census)
{
	return !census->good_until_ms || deadline_left_ms(census->good_until_ms) == 0;
}

/* Only repositories that were told since are looked at before the rest is due again. */
static void census_gather(struct worktree_census *census)
{
	if (is_due(census))
		census_begin(census);
	while (census->looked < census->repos.count)
		look_at_repository(census, census->repos.items[census->looked++]);
}

/* An errand_work. */
static int rehearse_work(void *context, void *result, struct error *error)
{
	(void)result;
	(void)error;
	census_gather(context);
	return 0;
}

/*
 * Trees and repositories name others, wherever their writers like, also where nobody answers. So what
 * is to be gathered is gathered by a child first, and thrown away; what that does not survive is not
 * seen. False: it did not.
 */
static bool census_rehearse(struct worktree_census *census)
{
	struct error error = { 0 };
	const struct errand errand = {
		.work = rehearse_work,
		.context = census,
		.what = "look for who borrows",
		.deadline_ms = deadline_in_ms(REHEARSAL_MS),
	};

	if (errand_run(&errand, &error) >= 0)
		return true;
	if (is_due(census))
		census_forget(census);
	(void)error_say(&census->blind, error.code, "%s", error.text);
	census->looked = census->repos.count;
	census->good_until_ms = deadline_in_ms(GOOD_FOR_MS);
	return false;
}

static void census_take(struct worktree_census *census)
{
	if (!is_due(census) && census->looked == census->repos.count)
		return;
	if (census_rehearse(census))
		census_gather(census);
}

void worktree_census_look(struct worktree_census *census)
{
	census_take(census);
}

static bool lies_in(const char *path, const char *tree)
{
	return text_equal(path, tree) || pathname_below(path, tree);
}

/* A record of a repository in the tree, of a worktree elsewhere that is still there. */
static bool is_linked_elsewhere(const struct census_record *record, const char *tree)
{
	return record->record.tree && lies_in(record->common, tree) &&
	       !lies_in(record->record.tree, tree) && !record->gone;
}

int worktree_census_borrower(struct worktree_census *census, const char *tree, struct arena *arena,
	const char **ret_borrower, struct error *error)
{
	census_take(census);
	for (const struct census_claim *claim = census->claims; claim; claim = claim->next)
		if (lies_in(claim->what, tree) && !lies_in(claim->by, tree)) {
			*ret_borrower = arena_dup(arena, claim->by);
			return 1;
		}
	for (const struct census_record *record = census->records; record; record = record->next)
		if (is_linked_elsewhere(record, tree)) {
			*ret_borrower = arena_dup(arena, record->record.tree);
			return 1;
		}
	if (!census->blind.code)
		return 0;
	return error_say(error, census->blind.code, "%s", census->blind.text);
}

/* A record that names no tree: it may be that of another one whose .git names it, or of a neighbour. */
static const char *rival_of_silent(struct worktree_census *census, const char *tree,
	const struct worktree_record *record, struct arena *arena)
{
	char *parent CLEANUP(mem_done) = pathname_parent(tree);
	char *beside CLEANUP(mem_done) = mem_printf("%s/%s", parent, record->name);
	uint64_t dev, ino;

	for (const struct census_claim *claim = census->claims; claim; claim = claim->next)
		if (!text_equal(claim->by, tree) && worktree_path_same(claim->what, record->path))
			return arena_printf(arena,
				"the git record that its .git names is also that of %s", claim->by);
	if (text_equal(beside, tree) || dir_identity(beside, &dev, &ino, NULL) == -ENOENT)
		return NULL;
	return arena_printf(arena, "the git record that its .git names may be that of %s", beside);
}

const char *worktree_census_rival(struct worktree_census *census, const char *common,
	const char *tree, const struct worktree_record *record, struct arena *arena)
{
	worktree_census_tell(census, common);
	census_take(census);
	if (!record->tree)
		return rival_of_silent(census, tree, record, arena);
	for (const struct census_record *other = census->records; other; other = other->next)
		if (text_equal(other->common, common) && other->record.tree &&
			!text_equal(other->record.name, record->name) &&
			worktree_path_same(other->record.tree, tree))
			return arena_printf(arena, "two git records name it, %s and %s",
				record->name, other->record.name);
	return NULL;
}

const char *worktree_census_inbound(
	struct worktree_census *census, const char *common, const char *tree, struct arena *arena)
{
	worktree_census_tell(census, common);
	census_take(census);
	for (const struct census_link *link = census->links; link; link = link->next)
		if (text_equal(link->common, common) && lies_in(link->target, tree))
			return arena_printf(arena, "%s names it and will point at nothing: %s",
				link->place, link->target);
	return NULL;
}
