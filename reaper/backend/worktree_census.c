#include "worktree_census.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "os/answering.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/errand.h"
#include "os/file.h"
#include "text_list.h"
#include "worktree_inbound.h"

#include <sys/stat.h>

enum {
	GOOD_FOR_MS = 5000,
	REHEARSAL_MS = 10000, /* a large host takes seconds; what is silent was asked for before */
	ASKING_MS = 20000,
	CHAIN_MAX = 6, /* git follows five */
	ROUNDS_MAX = CHAIN_MAX + 2,
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
	text_list_done(&census->seen);
	census->looked = 0;
	census->blind = (struct error){ 0 };
}

void worktree_census_done(struct worktree_census *census)
{
	census_forget(census);
	text_list_done(&census->repos);
	answers_done(&census->answers);
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

/* Below a root, reached without a symlink and without leaving its mount: then nobody is asked. */
static bool lies_plainly_below(const char *root, const char *path)
{
	int dir CLEANUP(fd_done) = dir_open(root, NULL), fd CLEANUP(fd_done) = -EBADF;

	if (dir < 0)
		return false;
	fd = dir_open_below(dir, pathname_below(path, root), O_PATH | O_NOFOLLOW, NULL);
	return fd >= 0 || fd == -ENOENT;
}

/*
 * Whether a path may be touched that a tree or repository names. The repositories that we were told
 * of were asked at the start of the pass, but for those in trees, in which anybody writes.
 */
static bool may_touch(struct worktree_census *census, const char *by, const char *path)
{
	const struct text_list *roots = &census->settings->roots;
	const char *root = text_list_above(roots, path);
	const char *repo = text_list_at_or_above(&census->repos, path);

	if (repo && !text_list_above(roots, repo))
		return true;
	if (root && lies_plainly_below(root, path))
		return true;
	return answers_may_touch(&census->answers, by, path);
}

/*
 * False when it is known already. What does not answer is claimed as it is written: it lies on another
 * mount than any tree that we could remove.
 */
static bool claim_add(struct worktree_census *census, const char *by, const char *what)
{
	char *real CLEANUP(mem_done) = may_touch(census, by, what) ? realpath(what, NULL) : NULL;
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
	int info CLEANUP(fd_done) = -EBADF;
	size_t length = 0;
	int r;

	if (!may_touch(census, by, objects) || !may_touch(census, by, path))
		return;
	info = dir_open(path, NULL);
	r = info < 0 ? info
		     : file_read(info, "alternates", ALTERNATES_MAX, &bytes, &length, NULL, NULL);

	if (r == -ELOOP)
		claim_add(census, by, objects); /* a linked object store is borrowed whole */
	/* What a tree only names was its writer's choice: its failure says nothing, but ours does. */
	if (r < 0 && (depth ? error_is_ours(r) : hides_something(r)))
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

/* `depth` is 0 for one that lies in `by`, and 1 for one that it names. */
static void claim_repository(
	struct worktree_census *census, const char *by, const char *gitdir, unsigned depth)
{
	char *objects CLEANUP(mem_done) = mem_printf("%s/objects", gitdir);
	unsigned lines = 0;

	claim_alternates(census, by, objects, depth, &lines);
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
		claim_repository(census, path, path, 0); /* it may be bare */
		return;
	case POINTER_FILE:
		claim_add(census, path, pointer.target);
		claim_repository(census, path, pointer.target, 1);
		return;
	case POINTER_DIRECTORY:
		claim_repository(census, path, inner, 0);
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

/* One in a tree is looked at where it is: what it says of itself may lead anywhere. */
static int repository_common(struct worktree_census *census, const char *repo, char **ret_common)
{
	if (!text_list_above(&census->settings->roots, repo))
		return worktree_repo_resolve(repo, ret_common, NULL);
	if (!may_touch(census, repo, repo))
		return -ENOENT;
	*ret_common = mem_dup(repo);
	return 0;
}

static void look_at_repository(struct worktree_census *census, const char *repo)
{
	struct worktree_records records CLEANUP(worktree_records_done) = { 0 };
	char *common CLEANUP(mem_done) = NULL;
	int r = repository_common(census, repo, &common);

	if (r == 0)
		r = worktree_records_read(common, &records, NULL);
	if (r < 0 && hides_something(r))
		census_blind(census, -r, repo);
	if (r < 0)
		return;
	text_list_add_new(&census->seen, common);
	claim_repository(census, common, common, 0);
	for (size_t i = 0; i < records.count; i++) {
		struct census_record *record = arena_new(&census->arena, sizeof(*record));

		record->common = arena_dup(&census->arena, common);
		worktree_record_copy(&census->arena, &records.list[i], &record->record);
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
 * What is to be gathered is gathered by a child first, and thrown away: a mount may have fallen silent
 * since it was asked. False: it did not come back. What was known before stays known then, since all
 * of it is a reason to keep; what there is now is unknown.
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
		text_list_done(&census->seen);
	(void)error_say(&census->blind, error.code, "%s", error.text);
	return false;
}

/* What trees name is touched when it has answered, and only then it is known what those name. */
static void census_rounds(struct worktree_census *census)
{
	int64_t end_ms = deadline_in_ms(ASKING_MS);
	struct error error = { 0 };
	int r = 0;

	for (unsigned round = 0; round < ROUNDS_MAX; round++) {
		if (!census_rehearse(census))
			return;
		census_gather(census);
		if (!census->answers.unasked.count)
			return;
		r = answers_ask(&census->answers, end_ms, &error);
		if (r < 0)
			break;
		worktree_census_expire(census);
	}
	if (r == 0)
		(void)error_set(&error, ELOOP, "follow what trees borrow from");
	(void)error_say(&census->blind, error.code, "%s", error.text);
}

static void census_take(struct worktree_census *census)
{
	if (!is_due(census) && census->looked == census->repos.count)
		return;
	if (is_due(census))
		answers_expire(&census->answers);
	census_rounds(census);
	census->looked = census->repos.count;
	census->good_until_ms = deadline_in_ms(GOOD_FOR_MS);
}

void worktree_census_look(struct worktree_census *census)
{
	census_take(census);
}

static bool lies_in(const char *path, const char *tree)
{
	return text_equal(path, tree) || pathname_below(path, tree);
}

static bool tree_is_gone(const struct worktree_census *census, const char *tree)
{
	struct stat stat;

	return answering_look(text_list_above(&census->settings->roots, tree), tree, &stat) ==
	       -ENOENT;
}

/* A record of a repository in the tree, of a worktree elsewhere that is still there. */
static bool is_linked_elsewhere(
	const struct worktree_census *census, const struct census_record *record, const char *tree)
{
	return record->record.tree && lies_in(record->common, tree) &&
	       !lies_in(record->record.tree, tree) && !tree_is_gone(census, record->record.tree);
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
		if (is_linked_elsewhere(census, record, tree)) {
			*ret_borrower = arena_dup(arena, record->record.tree);
			return 1;
		}
	if (!census->blind.code)
		return 0;
	return error_say(error, census->blind.code, "%s", census->blind.text);
}

static enum tri cannot_tell(
	const struct worktree_census *census, struct arena *arena, const char **ret_note)
{
	*ret_note = arena_printf(arena, "whether another one claims its git record is unseen: %s",
		census->blind.code ? census->blind.text : "its repository was not looked at");
	return TRI_UNKNOWN;
}

/* A record that names no tree: it may be that of another one whose .git names it, or of a neighbour. */
static enum tri rival_of_silent(struct worktree_census *census,
	const struct census_candidate *candidate, struct arena *arena, const char **ret_note)
{
	const struct worktree_record *record = candidate->record;
	char *parent CLEANUP(mem_done) = pathname_parent(candidate->tree);
	char *beside CLEANUP(mem_done) = mem_printf("%s/%s", parent, record->name);

	for (const struct census_claim *claim = census->claims; claim; claim = claim->next)
		if (!text_equal(claim->by, candidate->tree) &&
			worktree_path_same(claim->what, record->path)) {
			*ret_note = arena_printf(arena,
				"the git record that its .git names is also that of %s", claim->by);
			return TRI_YES;
		}
	if (!text_equal(beside, candidate->tree) && !tree_is_gone(census, beside)) {
		*ret_note = arena_printf(
			arena, "the git record that its .git names may be that of %s", beside);
		return TRI_YES;
	}
	return census->blind.code ? cannot_tell(census, arena, ret_note) : TRI_NO;
}

enum tri worktree_census_rival(struct worktree_census *census,
	const struct census_candidate *candidate, struct arena *arena, const char **ret_note)
{
	const struct worktree_record *record = candidate->record;

	worktree_census_tell(census, candidate->common);
	census_take(census);
	if (!record->tree)
		return rival_of_silent(census, candidate, arena, ret_note);
	for (const struct census_record *other = census->records; other; other = other->next)
		if (text_equal(other->common, candidate->common) && other->record.tree &&
			!text_equal(other->record.name, record->name) &&
			worktree_path_same(other->record.tree, candidate->tree)) {
			*ret_note = arena_printf(arena, "two git records name it, %s and %s",
				record->name, other->record.name);
			return TRI_YES;
		}
	return text_list_has(&census->seen, candidate->common)
		       ? TRI_NO
		       : cannot_tell(census, arena, ret_note);
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
