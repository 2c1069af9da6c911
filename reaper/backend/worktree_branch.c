#include "worktree_branch.h"

#include "base/pathname.h"
#include "base/text.h"
#include "worktree_branch_peers.h"
#include "worktree_git.h"
#include "worktree_record.h"
#include "worktree_ref.h"

#include <errno.h>
#include <sys/stat.h>

struct branch {
	const struct branch_ask *ask;
	struct arena *arena;
	char *common;
	git_repository *repository; /* borrowed */
	git_reference *ref;
};

static void branch_done(struct branch *branch)
{
	free(branch->common);
	git_reference_free(branch->ref);
}

static struct branch_view view(enum branch_answer answer, const char *why)
{
	return (struct branch_view){ .answer = answer, .why = why };
}

static struct branch_view unseen(struct branch *branch, const struct error *error)
{
	return view(BRANCH_UNSEEN, arena_dup(branch->arena, error->text));
}

/* 1 open, 0 there is no such branch (or repository), -errno. */
static int branch_open(struct branch *branch, struct error *error)
{
	char *name CLEANUP(mem_done) = mem_printf("refs/heads/%s", branch->ask->name);
	struct error why = { 0 };
	int r;

	if (!branch->ask->repo)
		return error_say(error, EINVAL, "the branch's repository is not recorded");
	r = worktree_repo_resolve(branch->ask->repo, &branch->common, &why);
	if (r == 0)
		r = worktree_gits_get(branch->ask->gits, branch->common, &branch->repository, &why);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_say(error, -r, "%s", why.text);
	r = git_reference_lookup(&branch->ref, branch->repository, name);
	if (r == GIT_ENOTFOUND)
		return 0;
	return r < 0 ? worktree_git_error(error, EIO, "look up", name) : 1;
}

int worktree_branch_named(const char *gitdir, size_t place, struct arena *arena,
	const char **ret_name, struct error *error)
{
	static const char heads[] = "refs/heads/", link[] = "ref: ";
	static const char *const files[WORKTREE_BRANCH_FILES] = { "HEAD", "rebase-merge/head-name",
		"rebase-apply/head-name", "BISECT_START" };
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", gitdir, files[place]);
	char *dir CLEANUP(mem_done) = pathname_parent(path);
	const char *text = NULL;
	int r = worktree_gitfile_read(dir, pathname_last(path), arena, &text, NULL, error);

	if (r <= 0)
		return r;
	text += text_starts(text, link) ? strlen(link) : 0;
	*ret_name = text + (text_starts(text, heads) ? strlen(heads) : 0);
	return 1;
}

/* Whether a git directory (the common one or a record's) has the branch in use. 1, 0, -errno. */
static int gitdir_uses(
	const char *gitdir, const char *branch, struct arena *arena, struct error *error)
{
	for (size_t i = 0; i < WORKTREE_BRANCH_FILES; i++) {
		const char *name = NULL;
		int r = worktree_branch_named(gitdir, i, arena, &name, error);

		if (r < 0)
			return r;
		if (r > 0 && text_equal(name, branch))
			return 1;
	}
	return 0;
}

/* A branch_own. */
static bool is_own(void *context, const struct worktree_record *record)
{
	const struct branch *branch = context;

	if (!record->tree)
		return false;
	if (branch->ask->own_tree)
		return worktree_path_same(record->tree, branch->ask->own_tree);
	return text_equal(pathname_last(record->tree), branch->ask->run);
}

int worktree_branch_used(const char *common, const char *branch, const char *except,
	struct arena *arena, const char **ret_where, struct error *error)
{
	struct worktree_records records CLEANUP(worktree_records_done) = { 0 };
	int r = gitdir_uses(common, branch, arena, error);

	if (r > 0)
		*ret_where = "the repository itself";
	if (r == 0)
		r = worktree_records_read(common, &records, error);
	for (size_t i = 0; r == 0 && i < records.count; i++) {
		const struct worktree_record *record = &records.list[i];

		if (text_equal(record->path, except))
			continue;
		/* What cannot be told of another's record may be so. */
		r = gitdir_uses(record->path, branch, arena, NULL) != 0;
		if (r > 0)
			*ret_where = arena_dup(arena, record->tree ? record->tree : record->path);
	}
	return r;
}

/* What the policy says of a branch that nobody else uses. */
static struct branch_view branch_policy(struct branch *branch)
{
	const git_oid *target = git_reference_target(branch->ref);
	struct error error = { 0 };
	char id[GIT_OID_HEXSZ + 1];
	int r;

	if (!target)
		return view(BRANCH_STAYS, "it is a symbolic ref");
	git_oid_tostr(id, sizeof(id), target);
	if (branch->ask->proved && *branch->ask->proved && !text_equal(branch->ask->proved, id))
		return view(BRANCH_STAYS, "it moved since its work was judged");
	switch (branch->ask->rule) {
	case BRANCH_KEEP:
		return view(BRANCH_STAYS, "branch = keep");
	case BRANCH_DELETE:
		return view(BRANCH_GOES, NULL);
	case BRANCH_MERGED:
		break;
	}
	r = branch_peers_contain(
		branch->ask->peers, branch->repository, branch->ask->name, target, &error);
	if (r < 0)
		return unseen(branch, &error);
	return r > 0 ? view(BRANCH_GOES, NULL) : view(BRANCH_STAYS, "no other ref contains it");
}

static struct branch_view branch_look(struct branch *branch)
{
	const char *other = NULL, *held = NULL;
	struct error error = { 0 };
	struct branch_view seen;
	int r = branch_open(branch, &error);

	if (r == 0)
		return view(BRANCH_ABSENT, NULL);
	if (r > 0) {
		branch_peers_look(branch->ask->peers, branch->common);
		r = branch_peers_users(branch->ask->peers, branch->ask->name, is_own, branch,
			branch->arena, &other, &held, &error);
	}
	if (r < 0)
		return unseen(branch, &error);
	if (r > 0)
		return view(BRANCH_STAYS, other);
	seen = branch_policy(branch);
	seen.held = held;
	if (seen.answer == BRANCH_GOES)
		(void)git_oid_tostr(
			seen.commit, sizeof(seen.commit), git_reference_target(branch->ref));
	return seen;
}

void worktree_branch_look(
	const struct branch_ask *ask, struct arena *arena, struct branch_view *ret_view)
{
	struct branch branch CLEANUP(branch_done) = { .ask = ask, .arena = arena };

	*ret_view = branch_look(&branch);
}

/* The branch went, and who deleted it was killed before its lock did: nobody could make it anew. */
static int branch_unlock(const char *repo, const char *ref, struct error *error)
{
	char *common CLEANUP(mem_done) = NULL, *lock CLEANUP(mem_done) = NULL;
	char none[GIT_OID_HEXSZ + 1];
	struct stat stat;
	int r = repo ? worktree_repo_resolve(repo, &common, NULL) : -ENOENT;

	if (r < 0)
		return 0; /* no repository, no lock */
	lock = mem_printf("%s/%s.lock", common, ref);
	if (lstat(lock, &stat) < 0)
		return 0;
	memset(none, '0', sizeof(none) - 1);
	none[sizeof(none) - 1] = 0;
	r = worktree_ref_delete(common, ref, none, error);
	return r == -ESTALE ? 0 : r; /* it is there again */
}

int worktree_branch_remove(
	const struct branch_ask *ask, const struct branch_view *seen, struct error *error)
{
	char *name CLEANUP(mem_done) = text_escape(ask->name);
	char *ref CLEANUP(mem_done) = mem_printf("refs/heads/%s", ask->name);
	char *common CLEANUP(mem_done) = NULL;
	struct error unsaid = { 0 };
	int r;

	switch (seen->answer) {
	case BRANCH_ABSENT:
		return branch_unlock(ask->repo, ref, error);
	case BRANCH_STAYS:
		return 0;
	case BRANCH_UNSEEN:
		return error_say(error, EIO, "delete branch %s: %s", name, seen->why);
	case BRANCH_GOES:
		break;
	}
	if (seen->held)
		return error_say(error, EBUSY, "delete branch %s: it is still checked out in %s",
			name, seen->held);
	r = worktree_repo_resolve(ask->repo, &common, &unsaid);
	if (r == 0)
		r = worktree_ref_delete(common, ref, seen->commit, &unsaid);
	return r < 0 ? error_say(error, -r, "delete branch %s: %s", name, unsaid.text) : r;
}
