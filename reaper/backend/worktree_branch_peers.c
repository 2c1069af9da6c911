#include "worktree_branch_peers.h"

#include "base/text.h"
#include "worktree_branch.h"

enum { GITDIR_COMMON = 0, GITDIR_RECORDS = 1 }; /* numbers of git directories; records follow */

struct branch_use {
	const char *branch;
	size_t gitdir;
};

/* A git directory of which it cannot be told; what was read before that in it counts. */
struct branch_fault {
	size_t gitdir;
	struct error error;
};

struct branch_tip {
	const char *ref;
	git_oid commit;
};

/* Grows in steps, so that many cost no more than a few copies. */
static void *grown(void *list, size_t count, size_t size)
{
	bool is_full = (count & (count - 1)) == 0; /* 0, and each power of two */

	return is_full ? mem_grow(list, count * 2 + 1, size) : list;
}

void branch_peers_done(struct branch_peers *peers)
{
	free(peers->common);
	free(peers->uses);
	free(peers->faults);
	free(peers->tips);
	worktree_records_done(&peers->records);
	arena_done(&peers->arena);
	*peers = (struct branch_peers){ 0 };
}

/* ---------------------------------------------------------------------------- who uses which */

static int use_compare(const void *a, const void *b)
{
	const struct branch_use *left = a, *right = b;
	int r = strcmp(left->branch, right->branch);

	return r ? r : (left->gitdir > right->gitdir) - (left->gitdir < right->gitdir);
}

static void use_add(struct branch_peers *peers, size_t gitdir, const char *branch)
{
	peers->uses = grown(peers->uses, peers->use_count, sizeof(*peers->uses));
	peers->uses[peers->use_count++] = (struct branch_use){ branch, gitdir };
}

static void fault_add(struct branch_peers *peers, size_t gitdir, const struct error *error)
{
	peers->faults = grown(peers->faults, peers->fault_count, sizeof(*peers->faults));
	peers->faults[peers->fault_count++] = (struct branch_fault){ gitdir, *error };
}

static void look_at_gitdir(struct branch_peers *peers, size_t gitdir, const char *path)
{
	for (size_t i = 0; i < WORKTREE_BRANCH_FILES; i++) {
		struct error error = { 0 };
		const char *name = NULL;
		int r = worktree_branch_named(path, i, &peers->arena, &name, &error);

		if (r < 0) {
			fault_add(peers, gitdir, &error);
			return;
		}
		if (r > 0)
			use_add(peers, gitdir, name);
	}
}

void branch_peers_look(struct branch_peers *peers, const char *common)
{
	if (text_equal(peers->common, common))
		return;
	branch_peers_done(peers);
	peers->common = mem_dup(common);
	look_at_gitdir(peers, GITDIR_COMMON, common);
	(void)worktree_records_read(common, &peers->records, &peers->unread);
	for (size_t i = 0; i < peers->records.count; i++)
		look_at_gitdir(peers, GITDIR_RECORDS + i, peers->records.list[i].path);
	if (peers->use_count)
		qsort(peers->uses, peers->use_count, sizeof(*peers->uses), use_compare);
}

/* The place of the first use of the branch, or of what follows where it would be. */
static size_t first_use(const struct branch_peers *peers, const char *branch)
{
	size_t from = 0, to = peers->use_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(peers->uses[middle].branch, branch) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* A question about one branch, while the git directories are gone through in their order. */
struct users {
	const struct branch_peers *peers;
	const char *branch;
	size_t use, fault; /* the next of each */
};

/* The next use, each git directory once; NULL: no more. */
static const struct branch_use *users_next(struct users *users)
{
	const struct branch_peers *peers = users->peers;
	const struct branch_use *use = NULL;

	for (; users->use < peers->use_count; users->use++) {
		const struct branch_use *next = &peers->uses[users->use];

		if (!text_equal(next->branch, users->branch) ||
			(use && use->gitdir != next->gitdir))
			break;
		use = next;
	}
	return use;
}

/* The next fault in a git directory before that of `use` (NULL: in any); NULL: no more. */
static const struct branch_fault *users_fault(struct users *users, const struct branch_use *use)
{
	const struct branch_fault *fault = NULL;

	if (users->fault < users->peers->fault_count)
		fault = &users->peers->faults[users->fault];
	if (!fault || (use && fault->gitdir > use->gitdir))
		return NULL;
	users->fault++;
	/* what uses the branch uses it, whatever else cannot be read there */
	return use && fault->gitdir == use->gitdir ? NULL : fault;
}

static char *where(const struct branch_peers *peers, size_t gitdir)
{
	const struct worktree_record *record = &peers->records.list[gitdir - GITDIR_RECORDS];

	return text_escape(record->tree ? record->tree : record->path);
}

static int say_untold(const struct branch_peers *peers, const struct branch_fault *fault,
	struct arena *arena, const char **ret_other)
{
	char *place CLEANUP(mem_done) = where(peers, fault->gitdir);

	*ret_other = arena_printf(arena, "whether it is checked out in %s cannot be told: %s",
		place, fault->error.text);
	return 1;
}

int branch_peers_users(const struct branch_peers *peers, const char *branch, branch_own *own,
	void *context, struct arena *arena, const char **ret_other, const char **ret_held,
	struct error *error)
{
	struct users users = { peers, branch, first_use(peers, branch), 0 };
	const struct branch_use *use = users_next(&users);
	const struct branch_fault *fault = users_fault(&users, use);

	if (use && use->gitdir == GITDIR_COMMON) {
		*ret_other = "it is the repository's HEAD branch";
		return 1;
	}
	if (fault && fault->gitdir == GITDIR_COMMON)
		return error_say(error, fault->error.code, "%s", fault->error.text);
	if (peers->unread.code)
		return error_say(error, peers->unread.code, "%s", peers->unread.text);
	for (; use && !fault; use = users_next(&users), fault = users_fault(&users, use)) {
		char *place CLEANUP(mem_done) = where(peers, use->gitdir);

		if (!own(context, &peers->records.list[use->gitdir - GITDIR_RECORDS])) {
			*ret_other = arena_printf(arena, "it is checked out in %s", place);
			return 1;
		}
		*ret_held = arena_dup(arena, place);
	}
	/* what is wrong with another's record must not hold up this run */
	return fault ? say_untold(peers, fault, arena, ret_other) : 0;
}

/* ------------------------------------------------------------------------- what contains which */

static int tip_compare(const void *a, const void *b)
{
	return git_oid_cmp(
		&((const struct branch_tip *)a)->commit, &((const struct branch_tip *)b)->commit);
}

/* A worktree_ref_seen. */
static void tip_add(void *context, const char *name, const git_oid *commit)
{
	struct branch_peers *peers = context;

	if (!commit)
		return;
	peers->tips = grown(peers->tips, peers->tip_count, sizeof(*peers->tips));
	peers->tips[peers->tip_count++] =
		(struct branch_tip){ arena_dup(&peers->arena, name), *commit };
}

static int read_tips(struct branch_peers *peers, git_repository *repository, struct error *error)
{
	int r;

	if (peers->tips_read)
		return 0;
	peers->tip_count = 0;
	r = worktree_refs_each(repository, REFS_SURVIVING, tip_add, peers, error);
	if (r < 0)
		return r;
	if (peers->tip_count)
		qsort(peers->tips, peers->tip_count, sizeof(*peers->tips), tip_compare);
	peers->tips_read = true;
	return 0;
}

/* Whether one that is called otherwise stands at this very commit, which needs no look at history. */
static bool stands_there(
	const struct branch_peers *peers, const char *except, const git_oid *commit)
{
	const struct branch_tip wanted = { .commit = *commit }, *found = NULL;
	const struct branch_tip *first = peers->tips, *end = first + peers->tip_count;

	if (peers->tip_count)
		found = bsearch(&wanted, first, peers->tip_count, sizeof(*first), tip_compare);
	while (found && found > first && tip_compare(found - 1, &wanted) == 0)
		found--;
	for (; found && found < end && tip_compare(found, &wanted) == 0; found++)
		if (!text_equal(found->ref, except))
			return true;
	return false;
}

int branch_peers_contain(struct branch_peers *peers, git_repository *repository, const char *branch,
	const git_oid *commit, struct error *error)
{
	char *except CLEANUP(mem_done) = mem_printf("refs/heads/%s", branch);
	struct worktree_commits others CLEANUP(worktree_commits_done) = { 0 };
	int r = read_tips(peers, repository, error);

	if (r < 0)
		return r;
	if (stands_there(peers, except, commit))
		return 1;
	others.ids = mem_new((peers->tip_count + 1) * sizeof(*others.ids));
	for (size_t i = 0; i < peers->tip_count; i++) {
		const struct branch_tip *tip = &peers->tips[i];

		if (!text_equal(tip->ref, except) &&
			!(others.count &&
				git_oid_equal(&others.ids[others.count - 1], &tip->commit)))
			others.ids[others.count++] = tip->commit;
	}
	return worktree_commit_contained(repository, commit, &others, error);
}
