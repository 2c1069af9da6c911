#include "worktree_git.h"

#include "base/text.h"
#include "os/quiet_open.h"
#include "worktree_gitdir.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <sys/stat.h>

enum { COMMITS_WALKED_MAX = 5000000, CACHE_BYTES = 64 << 20, PACKS_OPEN = 128, HELD_MAX = 64 };

struct worktree_git {
	char *common;
	uint64_t dev, ino;
	git_repository *repository;
};

/*
 * For builds with the leak sanitizer, which looks for these names: what git_regexp_match() of 1.5.1
 * loses is the library's, see worktree_gits.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libpcre2-8.so\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

/*
 * Counts its callers, so the first of them sets the options. Lower case: the library compares
 * extensions as its configuration reader delivers them.
 */
static int library_begin(void)
{
	static const char *extensions[] = { "worktreeconfig", "partialclone", "relativeworktrees",
		"preciousobjects" };
	static const git_config_level_t levels[] = { GIT_CONFIG_LEVEL_PROGRAMDATA,
		GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL };
	int r = git_libgit2_init();

	assert(quiet_open_in_force());
	if (r != 1)
		return r;
	r = git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, ARRAY_SIZE(extensions));
	if (r >= 0)
		r = git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	for (size_t i = 0; i < ARRAY_SIZE(levels) && r >= 0; i++)
		r = git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
	if (r >= 0)
		r = git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, (ssize_t)CACHE_BYTES);
	if (r >= 0)
		r = git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	if (r >= 0)
		r = git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 0);
	if (r >= 0)
		r = git_libgit2_opts(GIT_OPT_SET_MWINDOW_FILE_LIMIT, (size_t)PACKS_OPEN);
	return r;
}

/*
 * What was short, when that was it. Of most failures the library keeps errno as the end of its message
 * and lets errno itself go when it tidies up; the program sets no locale.
 */
int worktree_git_cause(int otherwise)
{
	const git_error *last = git_error_last();
	static const int passing[] = { ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN,
		EINTR };

	if (!last)
		return otherwise;
	if (last->klass == GIT_ERROR_NOMEMORY)
		return ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(passing) && last->message; i++)
		if (text_ends(last->message, strerror(passing[i])))
			return passing[i];
	return otherwise;
}

int worktree_git_error(struct error *error, int code, const char *what, const char *which)
{
	const git_error *last = git_error_last();
	char *text CLEANUP(mem_done) =
		text_escape(last && last->message ? last->message : "no reason given");
	char *name CLEANUP(mem_done) = text_escape(which);

	return error_say(error, worktree_git_cause(code), "%s %s: %s", what, name, text);
}

int worktree_git_begin(struct error *error)
{
	return library_begin() < 0 ? worktree_git_error(error, EIO, "prepare", "libgit2") : 0;
}

int worktree_git_open(const char *common, git_repository **ret_repository, struct error *error)
{
	struct stat stat;
	int r;

	if (worktree_git_begin(error) < 0)
		return -EIO;
	if (fstatat(AT_FDCWD, common, &stat, AT_NO_AUTOMOUNT) < 0)
		return error_set(error, errno == ENOTDIR ? ENOENT : errno,
			"look at the git directory %s", common);
	r = worktree_gitdir_bounded(common, error);
	if (r < 0)
		return r;
	if (git_repository_open_ext(ret_repository, common,
		    GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_BARE |
			    GIT_REPOSITORY_OPEN_NO_DOTGIT,
		    NULL) < 0)
		return worktree_git_error(error, EIO, "open the git repository", common);
	return 0;
}

static void git_close(struct worktree_git *git)
{
	free(git->common);
	git_repository_free(git->repository);
}

void worktree_gits_done(struct worktree_gits *gits)
{
	for (size_t i = 0; i < gits->count; i++)
		git_close(&gits->list[i]);
	free(gits->list);
	*gits = (struct worktree_gits){ 0 };
}

/* The held one, while it is still the same directory; else its place is free again. */
static git_repository *gits_find(
	struct worktree_gits *gits, const char *common, const struct stat *stat)
{
	for (size_t i = 0; i < gits->count; i++) {
		struct worktree_git *git = &gits->list[i];

		if (!text_equal(git->common, common))
			continue;
		if (git->dev == stat->st_dev && git->ino == stat->st_ino)
			return git->repository;
		git_close(git);
		*git = gits->list[--gits->count];
		return NULL;
	}
	return NULL;
}

int worktree_gits_get(struct worktree_gits *gits, const char *common,
	git_repository **ret_repository, struct error *error)
{
	struct stat stat = { 0 };
	int r;

	/* When it cannot be looked at, opening it says why. */
	(void)fstatat(AT_FDCWD, common, &stat, AT_NO_AUTOMOUNT);
	*ret_repository = gits_find(gits, common, &stat);
	if (*ret_repository)
		return 0;
	r = worktree_git_open(common, ret_repository, error);
	if (r < 0)
		return r;
	if (gits->count == HELD_MAX)
		git_close(&gits->list[--gits->count]);
	gits->list = mem_grow(gits->list, gits->count + 1, sizeof(*gits->list));
	gits->list[gits->count++] = (struct worktree_git){
		.common = mem_dup(common),
		.dev = stat.st_dev,
		.ino = stat.st_ino,
		.repository = *ret_repository,
	};
	return 0;
}

static bool ref_counts(const char *name, enum refs_counted counted)
{
	bool branch = text_starts(name, "refs/heads/");
	bool remote = text_starts(name, "refs/remotes/");

	switch (counted) {
	case REFS_SURVIVING:
		return branch || remote || text_starts(name, "refs/tags/") ||
		       text_starts(name, "refs/sbx/salvage/");
	case REFS_REMOTE:
		return remote;
	case REFS_OWN:
		return !remote && !text_equal(name, "refs/stash");
	case REFS_BRANCHES:
		return branch || remote;
	}
	return false;
}

static int id_compare(const void *a, const void *b)
{
	return git_oid_cmp(a, b);
}

static void commits_add(struct worktree_commits *commits, const git_oid *id)
{
	if ((commits->count & (commits->count + 1)) == 0)
		commits->ids =
			mem_grow(commits->ids, commits->count * 2 + 2, sizeof(*commits->ids));
	commits->ids[commits->count++] = *id;
}

static void commits_unite(struct worktree_commits *commits)
{
	size_t kept = 0;

	if (commits->count > 0)
		qsort(commits->ids, commits->count, sizeof(*commits->ids), id_compare);
	for (size_t i = 0; i < commits->count; i++)
		if (i == 0 || !git_oid_equal(&commits->ids[i], &commits->ids[kept - 1]))
			commits->ids[kept++] = commits->ids[i];
	commits->count = kept;
}

void worktree_commits_add(struct worktree_commits *commits, const git_oid *id)
{
	commits->ids = mem_grow(commits->ids, commits->count + 2, sizeof(*commits->ids));
	commits->ids[commits->count++] = *id;
	commits_unite(commits);
}

/* The commit of a ref; NULL when its object is none, or is missing. */
static void ref_tell(git_reference *ref, worktree_ref_seen *seen, void *context)
{
	git_object *commit CLEANUP(object_done) = NULL;

	if (git_reference_type(ref) != GIT_REFERENCE_DIRECT)
		return;
	if (git_reference_peel(&commit, ref, GIT_OBJECT_COMMIT) == 0)
		seen(context, git_reference_name(ref), git_object_id(commit));
	else
		seen(context, git_reference_name(ref), NULL);
}

int worktree_refs_each(git_repository *repository, enum refs_counted counted,
	worktree_ref_seen *seen, void *context, struct error *error)
{
	git_reference_iterator *iterator CLEANUP(ref_iterator_done) = NULL;
	int r = git_reference_iterator_new(&iterator, repository);

	while (r >= 0) {
		git_reference *ref CLEANUP(reference_done) = NULL;

		r = git_reference_next(&ref, iterator);
		if (r < 0)
			break;
		if (ref_counts(git_reference_name(ref), counted))
			ref_tell(ref, seen, context);
	}
	if (r != GIT_ITEROVER)
		return worktree_git_error(
			error, EIO, "list the refs of", git_repository_path(repository));
	return 0;
}

struct gathering {
	struct worktree_commits commits;
	const char *excepted; /* a whole name, or NULL */
};

static void gathering_done(struct gathering *gathering)
{
	worktree_commits_done(&gathering->commits);
}

/* A worktree_ref_seen. */
static void gather_ref(void *context, const char *name, const git_oid *commit)
{
	struct gathering *gathering = context;

	if (text_equal(name, gathering->excepted))
		return;
	if (commit)
		commits_add(&gathering->commits, commit);
	else
		gathering->commits.others++;
}

int worktree_commits_gather(git_repository *repository, enum refs_counted counted,
	const char *except, struct worktree_commits *ret_commits, struct error *error)
{
	char *excepted CLEANUP(mem_done) = except ? mem_printf("refs/heads/%s", except) : NULL;
	struct gathering gathering CLEANUP(gathering_done) = { .excepted = excepted };
	int r = worktree_refs_each(repository, counted, gather_ref, &gathering, error);

	if (r < 0)
		return r;
	commits_unite(&gathering.commits);
	*ret_commits = gathering.commits;
	gathering.commits = (struct worktree_commits){ 0 };
	return 0;
}

void worktree_commits_done(struct worktree_commits *commits)
{
	free(commits->ids);
	*commits = (struct worktree_commits){ 0 };
}

static void id_not_owned(void *id)
{
	(void)id; /* it lives in the arena */
}

struct reached {
	struct arena arena;
	void *index;
	struct worktree_commits queue;
};

static void reached_done(struct reached *reached)
{
	tdestroy(reached->index, id_not_owned);
	worktree_commits_done(&reached->queue);
	arena_done(&reached->arena);
}

static void reached_add(struct reached *reached, const git_oid *id)
{
	git_oid *copy;

	if (tfind(id, &reached->index, id_compare))
		return;
	copy = arena_new(&reached->arena, sizeof(*copy));
	*copy = *id;
	if (!tsearch(copy, &reached->index, id_compare))
		abort();
	commits_add(&reached->queue, id);
}

/* Everything reachable, where parents may be missing: 1.5.1 does not know shallow histories. */
static int contained_in_shallow(
	git_repository *repository, const git_oid *commit, const struct worktree_commits *in)
{
	struct reached reached CLEANUP(reached_done) = { 0 };

	for (size_t i = 0; i < in->count; i++)
		reached_add(&reached, &in->ids[i]);
	for (size_t done = 0; done < reached.queue.count && done < COMMITS_WALKED_MAX; done++) {
		git_commit *at CLEANUP(commit_done) = NULL;

		if (git_oid_equal(&reached.queue.ids[done], commit))
			return 1;
		if (git_commit_lookup(&at, repository, &reached.queue.ids[done]) < 0)
			continue;
		for (unsigned i = 0; i < git_commit_parentcount(at); i++)
			reached_add(&reached, git_commit_parent_id(at, i));
	}
	return 0;
}

int worktree_commit_contained(git_repository *repository, const git_oid *commit,
	const struct worktree_commits *in, struct error *error)
{
	char id[GIT_OID_HEXSZ + 1];
	int r;

	if (in->count == 0)
		return 0;
	if (bsearch(commit, in->ids, in->count, sizeof(*in->ids), id_compare))
		return 1;
	if (git_repository_is_shallow(repository) > 0)
		return contained_in_shallow(repository, commit, in);
	r = git_graph_reachable_from_any(repository, commit, in->ids, in->count);
	if (r >= 0)
		return r > 0;
	return worktree_git_error(error, EIO, "find the refs that contain commit",
		git_oid_tostr(id, sizeof(id), commit));
}

/* 1, 0 there is no such ref, -errno. */
static int ref_commit(
	git_repository *repository, const char *name, git_oid *ret_commit, struct error *error)
{
	git_reference *ref CLEANUP(reference_done) = NULL;
	git_object *commit CLEANUP(object_done) = NULL;
	int r = git_reference_lookup(&ref, repository, name);

	if (r == GIT_ENOTFOUND)
		return 0;
	if (r == GIT_EINVALIDSPEC)
		return worktree_git_error(error, EINVAL, "look up", name);
	if (r < 0)
		return worktree_git_error(error, EIO, "look up", name);
	r = git_reference_peel(&commit, ref, GIT_OBJECT_COMMIT);
	if (r == GIT_ENOTFOUND && git_reference_type(ref) == GIT_REFERENCE_SYMBOLIC)
		return 0;
	if (r < 0)
		return worktree_git_error(error, EIO, "read the commit of", name);
	*ret_commit = *git_object_id(commit);
	return 1;
}

int worktree_branch_commit(
	git_repository *repository, const char *branch, git_oid *ret_commit, struct error *error)
{
	char *name CLEANUP(mem_done) = mem_printf("refs/heads/%s", branch);

	return ref_commit(repository, name, ret_commit, error);
}

int worktree_head_commit(
	git_repository *repository, const char *head, git_oid *ret_commit, struct error *error)
{
	static const char prefix[] = "ref: ";

	if (text_starts(head, prefix))
		return ref_commit(repository, head + sizeof(prefix) - 1, ret_commit, error);
	if (strlen(head) != GIT_OID_HEXSZ || git_oid_fromstr(ret_commit, head) < 0)
		return error_say(error, EINVAL, "HEAD names neither a ref nor a commit");
	return 1;
}
