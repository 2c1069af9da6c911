#include "worktree_salvage_ref.h"

#include "os/dir.h"
#include "worktree_ref.h"
#include "worktree_salvage_blob.h"

#include <errno.h>
#include <git2/sys/commit.h>
#include <inttypes.h>

enum { NAMES_TRIED = 1000 };

static void signature_done(git_signature **signature)
{
	git_signature_free(*signature);
}

int salvage_commit_write(git_repository *repository, const struct fsuser *owner,
	const struct salvage_commit *commit, git_oid *ret_id, struct error *error)
{
	const git_oid **parents CLEANUP(mem_done) =
		mem_new((commit->parent_count + 1) * sizeof(*parents));
	git_signature *who CLEANUP(signature_done) = NULL;
	int r;

	for (size_t i = 0; i < commit->parent_count; i++)
		parents[i] = &commit->parents[i];
	if (git_signature_new(&who, "sbx-reap", "sbx-reap@localhost", commit->time_s, 0) < 0)
		return salvage_git_error(error, "write", "a commit");
	r = fsuser_begin(owner, error);
	if (r < 0)
		return r;
	errno = 0;
	r = git_commit_create_from_ids(ret_id, repository, NULL, who, who, NULL, commit->message,
		&commit->tree, commit->parent_count, parents);
	fsuser_end(owner);
	return r < 0 ? salvage_git_error(error, "write", "a commit") : 0;
}

static bool commits_same(git_commit *a, git_commit *b)
{
	if (!git_oid_equal(git_commit_tree_id(a), git_commit_tree_id(b)) ||
		git_commit_parentcount(a) != git_commit_parentcount(b) ||
		!text_equal(git_commit_message(a), git_commit_message(b)))
		return false;
	for (unsigned i = 0; i < git_commit_parentcount(a); i++)
		if (!git_oid_equal(git_commit_parent_id(a, i), git_commit_parent_id(b, i)))
			return false;
	return true;
}

/* Whether the ref that is there keeps the same already; *commit is what it points at then. */
static bool ref_keeps(git_repository *repository, git_reference *ref, git_oid *commit)
{
	git_commit *there CLEANUP(commit_done) = NULL, *ours CLEANUP(commit_done) = NULL;

	if (git_reference_type(ref) != GIT_REFERENCE_DIRECT ||
		git_commit_lookup(&there, repository, git_reference_target(ref)) < 0 ||
		git_commit_lookup(&ours, repository, commit) < 0 || !commits_same(there, ours))
		return false;
	*commit = *git_commit_id(there);
	return true;
}

static void ref_name(char name[SALVAGE_REF_MAX], const char *run, int64_t generation, unsigned turn)
{
	static const char prefix[] = "refs/sbx/salvage/";

	if (turn == 0)
		(void)snprintf(name, SALVAGE_REF_MAX, "%s%s", prefix, run);
	else if (turn == 1)
		(void)snprintf(name, SALVAGE_REF_MAX, "%s%s,%" PRId64, prefix, run, generation);
	else
		(void)snprintf(name, SALVAGE_REF_MAX, "%s%s,%" PRId64 ".%u", prefix, run,
			generation, turn);
}

/* Of a pass that was killed. What is wrong with it says who is kept from his work by it. */
static void ref_unlock(const git_repository *repository, const char *name)
{
	int common CLEANUP(fd_done) = dir_open(git_repository_commondir(repository), NULL);

	if (common >= 0)
		worktree_ref_unlock(common, name);
}

/* 1 it is made, or was there; 0 it is taken by something else; what is short. */
static int ref_try(git_repository *repository, const struct fsuser *owner, const char *name,
	git_oid *commit, struct error *error)
{
	git_reference *ref CLEANUP(reference_done) = NULL, *made CLEANUP(reference_done) = NULL;
	struct error unsaid = { 0 };
	int r = git_reference_lookup(&ref, repository, name);

	if (r == 0)
		return ref_keeps(repository, ref, commit);
	r = fsuser_begin(owner, error);
	if (r < 0)
		return r;
	ref_unlock(repository, name);
	errno = 0;
	/* Not forced: one that appeared meanwhile stays. */
	r = git_reference_create(&made, repository, name, commit, 0, "sbx-reap: salvaged");
	fsuser_end(owner);
	if (r == 0)
		return 1;
	r = salvage_git_error(&unsaid, "make", name);
	return error_may_pass(r) ? error_say(error, -r, "%s", unsaid.text) : 0;
}

int salvage_ref_make(git_repository *repository, const struct fsuser *owner, const char *run,
	int64_t generation, git_oid *commit, char ret_ref[SALVAGE_REF_MAX], struct error *error)
{
	int r = 0;

	for (unsigned turn = 0; turn < NAMES_TRIED && r == 0; turn++) {
		ref_name(ret_ref, run, generation, turn);
		r = ref_try(repository, owner, ret_ref, commit, error);
	}
	if (r == 0)
		return salvage_git_error(error, "make", ret_ref);
	return r < 0 ? r : 0;
}

int salvage_ref_check(git_repository *repository, const char *ref, const git_oid *id,
	const struct salvage_commit *commit, struct error *error)
{
	git_commit *read CLEANUP(commit_done) = NULL;
	bool same = true;
	git_oid target;

	if (git_reference_name_to_id(&target, repository, ref) < 0 || !git_oid_equal(&target, id) ||
		git_commit_lookup(&read, repository, &target) < 0)
		return error_say(error, EUCLEAN, "%s, read back, does not lead to its commit", ref);
	same = git_oid_equal(git_commit_tree_id(read), &commit->tree) &&
	       git_commit_parentcount(read) == commit->parent_count &&
	       text_equal(git_commit_message(read), commit->message);
	for (unsigned i = 0; same && i < commit->parent_count; i++) {
		git_commit *parent CLEANUP(commit_done) = NULL;

		same = git_oid_equal(git_commit_parent_id(read, i), &commit->parents[i]) &&
		       git_commit_parent(&parent, read, i) == 0;
	}
	return same ? 0 : error_say(error, EUCLEAN, "%s, read back, is not the commit it was", ref);
}
