#include "worktree_canary.h"

#include "os/file.h"
#include "worktree_git.h"

#include <errno.h>
#include <fcntl.h>

static const char main_ref[] = "refs/heads/main";
static const char ignore[] = "*\n";

static void signature_done(git_signature **signature)
{
	git_signature_free(*signature);
}

static void treebuilder_done(git_treebuilder **builder)
{
	git_treebuilder_free(*builder);
}

static void worktree_done(git_worktree **worktree)
{
	git_worktree_free(*worktree);
}

static int write_tree(git_repository *repository, git_oid *ret_tree)
{
	git_treebuilder *builder CLEANUP(treebuilder_done) = NULL;
	git_oid blob;
	int r = git_blob_create_from_buffer(&blob, repository, ignore, strlen(ignore));

	if (r >= 0)
		r = git_treebuilder_new(&builder, repository, NULL);
	if (r >= 0)
		r = git_treebuilder_insert(NULL, builder, ".gitignore", &blob, GIT_FILEMODE_BLOB);
	return r < 0 ? r : git_treebuilder_write(ret_tree, builder);
}

/* The same commit each time, so a probe that was killed half-way leaves nothing in the way. */
static int write_commit(git_repository *repository, git_oid *ret_commit)
{
	git_signature *signature CLEANUP(signature_done) = NULL;
	git_tree *tree CLEANUP(tree_done) = NULL;
	git_oid id;
	int r = write_tree(repository, &id);

	if (r >= 0)
		r = git_tree_lookup(&tree, repository, &id);
	if (r >= 0)
		r = git_signature_new(&signature, "sbx-reap probe", "sbx-reap@localhost", 0, 0);
	if (r >= 0)
		r = git_commit_create(ret_commit, repository, NULL, signature, signature, NULL,
			"a canary\n", tree, 0, NULL);
	return r;
}

static int make_repository(const char *path, git_repository **ret_repository)
{
	git_repository_init_options options;
	int r = git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);

	if (r < 0)
		return r;
	options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKPATH;
	options.initial_head = "main";
	return git_repository_init_ext(ret_repository, path, &options);
}

static int make_first_commit(git_repository *repository)
{
	git_reference *first CLEANUP(reference_done) = NULL;
	git_oid commit;
	int r = write_commit(repository, &commit);

	return r < 0 ? r : git_reference_create(&first, repository, main_ref, &commit, 1, NULL);
}

/* They are of a probe that was killed: what a pass locks there is another. */
static int remove_stale_locks(const char *repo, struct error *error)
{
	static const struct {
		const char *directory, *name;
	} locks[] = { { "", "config.lock" }, { "", "HEAD.lock" }, { "/refs/heads", "main.lock" } };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(locks) && r >= 0; i++) {
		char *path CLEANUP(mem_done) = mem_printf("%s%s", repo, locks[i].directory);
		int dir CLEANUP(fd_done) =
			open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (dir >= 0)
			r = file_remove(dir, locks[i].name, error);
		else if (errno != ENOENT)
			r = error_set(error, errno, "open %s", path);
	}
	return r;
}

int worktree_canary_repository(const char *repo, struct error *error)
{
	git_repository *repository CLEANUP(repository_done) = NULL;
	int r = worktree_git_begin(error);

	if (r >= 0)
		r = remove_stale_locks(repo, error);
	if (r < 0)
		return r;
	r = make_repository(repo, &repository);
	if (r >= 0)
		r = make_first_commit(repository);
	return r < 0 ? worktree_git_error(error, EIO, "make the repository", repo) : 0;
}

static int make_branch(git_repository *repository, const char *branch, git_reference **ret_branch)
{
	char *name CLEANUP(mem_done) = mem_printf("refs/heads/%s", branch);
	git_oid commit;
	int r = git_reference_name_to_id(&commit, repository, main_ref);

	return r < 0 ? r : git_reference_create(ret_branch, repository, name, &commit, 0, NULL);
}

int worktree_canary_make(const struct worktree_canary *canary, struct error *error)
{
	git_repository *repository CLEANUP(repository_done) = NULL;
	git_reference *branch CLEANUP(reference_done) = NULL;
	git_worktree *worktree CLEANUP(worktree_done) = NULL;
	git_worktree_add_options options;
	int r = worktree_git_open(canary->repo, &repository, error);

	if (r < 0)
		return r;
	r = git_worktree_add_options_init(&options, GIT_WORKTREE_ADD_OPTIONS_VERSION);
	if (r >= 0)
		r = make_branch(repository, canary->branch, &branch);
	options.ref = branch;
	if (r >= 0)
		r = git_worktree_add(&worktree, repository, canary->name, canary->tree, &options);
	return r < 0 ? worktree_git_error(error, EIO, "make the worktree", canary->tree) : 0;
}

int worktree_canary_has_branch(const struct worktree_canary *canary, struct error *error)
{
	git_repository *repository CLEANUP(repository_done) = NULL;
	git_oid commit;
	int r = worktree_git_open(canary->repo, &repository, error);

	return r < 0 ? r : worktree_branch_commit(repository, canary->branch, &commit, error);
}
