#include "worktree_salvaged.h"

#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "os/archive.h"
#include "os/dir_stream.h"
#include "worktree_git.h"
#include "worktree_repo.h"

#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>

bool worktree_salvage_name_is_of(const char *name, const char *run)
{
	return runid_valid(run) && text_starts(name, run) &&
	       (name[strlen(run)] == 0 || name[strlen(run)] == ',');
}

char *worktree_salvage_directory(const struct settings *settings)
{
	char *parent CLEANUP(mem_done) = pathname_parent(settings->database);

	return mem_printf("%s/salvage", parent);
}

/* Trailers. */

static char digit_value(char digit)
{
	return (char)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
}

/* Undoes text_escape(): "\xNN" is a byte, and nothing else has a backslash. */
static char *unescape(struct arena *arena, const char *text)
{
	char *bytes = arena_dup(arena, text), *to = bytes;

	for (const char *from = bytes; *from;)
		if (from[0] == '\\' && from[1] == 'x' && isxdigit((unsigned char)from[2]) &&
			isxdigit((unsigned char)from[3])) {
			*to++ = (char)(digit_value(from[2]) * 16 + digit_value(from[3]));
			from += 4;
		} else {
			*to++ = *from++;
		}
	*to = 0;
	return bytes;
}

static void trailer_take(
	const char *line, struct arena *arena, struct salvage_trailers *ret_trailers)
{
	const struct {
		const char *name;
		const char **value;
	} known[] = {
		{ "Sbx-Run: ", &ret_trailers->run },
		{ "Sbx-Tree: ", &ret_trailers->tree },
		{ "Sbx-Branch: ", &ret_trailers->branch },
		{ "Sbx-Index: ", &ret_trailers->index },
		{ "Sbx-Tip: ", &ret_trailers->tip },
		{ "Sbx-State: ", &ret_trailers->state },
	};
	static const char generation[] = "Sbx-Generation: ";

	if (text_starts(line, generation))
		(void)text_to_int64(
			line + strlen(generation), 0, INT64_MAX, &ret_trailers->generation);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_starts(line, known[i].name) && !*known[i].value)
			*known[i].value = unescape(arena, line + strlen(known[i].name));
}

void worktree_salvage_trailers(
	const char *message, struct arena *arena, struct salvage_trailers *ret_trailers)
{
	char *lines = arena_dup(arena, message), *line;

	*ret_trailers = (struct salvage_trailers){ 0 };
	while ((line = strsep(&lines, "\n")) != NULL)
		trailer_take(line, arena, ret_trailers);
}

/* Whether it is there. */

static enum tri ref_present(
	const struct salvage *salvage, struct arena *arena, const char **ret_note)
{
	git_repository *repository CLEANUP(repository_done) = NULL;
	struct error error = { 0 };
	git_oid id, recorded;
	int r = worktree_git_open(salvage->repo, &repository, &error);

	if (r == -ENOENT)
		*ret_note = "its repository is gone";
	else if (r < 0)
		*ret_note = arena_dup(arena, error.text);
	if (r < 0)
		return r == -ENOENT ? TRI_NO : TRI_UNKNOWN;
	r = git_reference_name_to_id(&id, repository, salvage->ref);
	if (r == GIT_ENOTFOUND) {
		*ret_note = "its ref is gone";
		return TRI_NO;
	}
	if (r < 0) {
		(void)worktree_git_error(&error, EIO, "look up", salvage->ref);
		*ret_note = arena_dup(arena, error.text);
		return TRI_UNKNOWN;
	}
	if (git_oid_fromstr(&recorded, salvage->commit) == 0 && git_oid_equal(&id, &recorded))
		return TRI_YES;
	*ret_note = "its ref is at another commit";
	return TRI_NO;
}

static enum tri archive_present(
	const struct salvage *salvage, struct arena *arena, const char **ret_note)
{
	struct stat stat;

	if (lstat(salvage->path, &stat) == 0 && S_ISREG(stat.st_mode))
		return TRI_YES;
	if (errno != ENOENT && errno != ENOTDIR) {
		*ret_note = arena_printf(arena, "its archive cannot be seen: %s", strerror(errno));
		return TRI_UNKNOWN;
	}
	*ret_note = "its archive is gone";
	return TRI_NO;
}

enum tri worktree_salvaged_present(
	const struct salvage *salvage, struct arena *arena, const char **ret_note)
{
	enum tri present = TRI_YES;

	if (salvage->path)
		present = archive_present(salvage, arena, ret_note);
	if (present == TRI_YES && salvage->ref)
		present = ref_present(salvage, arena, ret_note);
	return present;
}

/* Finding them again. */

struct search {
	const struct salvaged_finder *finder;
	struct arena arena; /* of one find */
	git_repository *repository;
	const char *common; /* NULL: none */
};

static void search_done(struct search *search)
{
	git_repository_free(search->repository);
	arena_done(&search->arena);
}

/* The sizes of all files of a commit's tree; objects are asked for their headers alone. */
static int add_size(const char *root, const git_tree_entry *entry, void *context)
{
	struct {
		git_odb *odb;
		int64_t bytes;
	} *sum = context;
	git_object_t type;
	size_t length;

	(void)root;
	if (git_tree_entry_type(entry) != GIT_OBJECT_BLOB)
		return 0;
	if (git_odb_read_header(&length, &type, sum->odb, git_tree_entry_id(entry)) < 0)
		return -1;
	sum->bytes += (int64_t)length;
	return 0;
}

static int64_t commit_bytes(git_repository *repository, const git_commit *commit)
{
	git_tree *tree CLEANUP(tree_done) = NULL;
	git_odb *odb CLEANUP(odb_done) = NULL;
	struct {
		git_odb *odb;
		int64_t bytes;
	} sum = { 0 };

	if (git_repository_odb(&odb, repository) < 0 || git_commit_tree(&tree, commit) < 0)
		return 0;
	sum.odb = odb;
	return git_tree_walk(tree, GIT_TREEWALK_PRE, add_size, &sum) < 0 ? 0 : sum.bytes;
}

static int ref_found(struct search *search, git_reference *ref)
{
	const char *name = git_reference_name(ref);
	const git_oid *id = git_reference_target(ref);
	git_commit *commit CLEANUP(commit_done) = NULL;
	struct salvage_trailers trailers;
	char hex[GIT_OID_HEXSZ + 1];

	if (!id || git_commit_lookup(&commit, search->repository, id) < 0) {
		search->finder->odd(search->finder->context, name, "it is at no commit");
		return 0;
	}
	worktree_salvage_trailers(git_commit_message(commit), &search->arena, &trailers);
	if (!trailers.run ||
		!worktree_salvage_name_is_of(name + strlen(SALVAGE_REFS), trailers.run)) {
		search->finder->odd(
			search->finder->context, name, "its commit does not say whose it is");
		return 0;
	}
	git_oid_tostr(hex, sizeof(hex), id);
	return search->finder->found(
		search->finder->context, &(struct salvage){
						 .run = trailers.run,
						 .generation = trailers.generation,
						 .made_s = git_commit_time(commit),
						 .form = SALVAGE_COMMIT,
						 .tree = trailers.tree ? trailers.tree : "",
						 .branch = trailers.branch,
						 .repo = search->common,
						 .ref = name,
						 .commit = hex,
						 .bytes = commit_bytes(search->repository, commit),
					 });
}

int worktree_salvaged_refs(
	const char *repo, const struct salvaged_finder *finder, struct error *error)
{
	struct search search CLEANUP(search_done) = { .finder = finder };
	git_reference_iterator *iterator CLEANUP(ref_iterator_done) = NULL;
	char *common CLEANUP(mem_done) = NULL;
	git_reference *next;
	int r = worktree_repo_resolve(repo, &common, error);

	search.common = common;
	if (r == 0)
		r = worktree_git_open(common, &search.repository, error);
	if (r < 0)
		return r;
	if (git_reference_iterator_glob_new(&iterator, search.repository, SALVAGE_REFS "*") < 0)
		return worktree_git_error(error, EIO, "read the refs of", common);
	while ((r = git_reference_next(&next, iterator)) == 0) {
		git_reference *ref CLEANUP(reference_done) = next;

		r = ref_found(&search, ref);
		arena_done(&search.arena);
		if (r < 0)
			return r;
	}
	return r == GIT_ITEROVER ? 0 : worktree_git_error(error, EIO, "read the refs of", common);
}

/* What an archive tells of where it comes from. */
struct archive_origin {
	struct arena *arena;
	int64_t bytes;
	const char *tree;    /* the tree that git's record names */
	const char *pointer; /* the record that the tree names */
};

static const char *content_line(
	const struct archive_entry_seen *entry, struct arena *arena, struct error *error)
{
	char line[4096 + 64];
	size_t length = 0;
	ssize_t n;

	while ((n = archive_content(entry, line + length, sizeof(line) - 1 - length, error)) > 0)
		length += (size_t)n;
	if (n < 0 || length == 0 || length == sizeof(line) - 1)
		return NULL;
	line[length] = 0;
	line[strcspn(line, "\n")] = 0;
	return arena_dup(arena, line);
}

static int origin_look(void *context, const struct archive_entry_seen *entry, struct error *error)
{
	struct archive_origin *origin = context;

	if (!S_ISREG(entry->stat.st_mode))
		return 0;
	origin->bytes += text_starts(entry->path, "tree/") ? entry->stat.st_size : 0;
	if (text_equal(entry->path, "record/gitdir"))
		origin->tree = content_line(entry, origin->arena, error);
	else if (text_equal(entry->path, "tree/.git"))
		origin->pointer = content_line(entry, origin->arena, error);
	return 0;
}

static const char *origin_tree(struct archive_origin *origin)
{
	char *tree CLEANUP(mem_done) = NULL;

	if (!origin->tree || !text_ends(origin->tree, "/.git"))
		return "";
	tree = pathname_parent(origin->tree);
	return arena_dup(origin->arena, tree);
}

/* "gitdir: <repo>/worktrees/NAME" */
static const char *origin_repo(struct archive_origin *origin)
{
	static const char prefix[] = "gitdir: ";
	char *list CLEANUP(mem_done) = NULL, *repo CLEANUP(mem_done) = NULL;

	if (!origin->pointer || !text_starts(origin->pointer, prefix) ||
		origin->pointer[strlen(prefix)] != '/')
		return NULL;
	list = pathname_parent(origin->pointer + strlen(prefix));
	repo = pathname_parent(list);
	return text_equal(pathname_last(list), "worktrees") ? arena_dup(origin->arena, repo) : NULL;
}

/* "<run>,<generation>.tar.zst"; a comma cannot stand in a run identifier. */
static bool archive_name_read(
	const char *name, struct arena *arena, const char **ret_run, int64_t *ret_generation)
{
	const char *comma = strchr(name, ',');
	char *run, *number;

	if (!comma || !text_ends(name, ARCHIVE_SUFFIX))
		return false;
	run = arena_dup_n(arena, name, (size_t)(comma - name));
	number = arena_dup(arena, comma + 1);
	number[strcspn(number, ".")] = 0;
	*ret_run = run;
	return runid_valid(run) && text_to_int64(number, 0, INT64_MAX, ret_generation) == 0;
}

static int archive_found(struct search *search, int dir, const char *path, const char *name)
{
	char *where CLEANUP(mem_done) = mem_printf("%s/%s", path, name);
	struct archive_origin origin = { .arena = &search->arena };
	struct error error = { 0 };
	struct salvage salvage = { .form = SALVAGE_ARCHIVE, .path = where };
	struct stat stat;

	if (!text_ends(name, ARCHIVE_SUFFIX))
		return 0;
	if (!archive_name_read(name, &search->arena, &salvage.run, &salvage.generation)) {
		search->finder->odd(
			search->finder->context, where, "its name does not say whose it is");
		return 0;
	}
	if (archive_each(dir, name, origin_look, &origin, &error) < 0 ||
		fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0) {
		search->finder->odd(search->finder->context, where,
			error.code ? error.text : "it cannot be read");
		return 0;
	}
	salvage.made_s = stat.st_mtim.tv_sec;
	salvage.tree = origin_tree(&origin);
	salvage.repo = origin_repo(&origin);
	salvage.bytes = origin.bytes;
	return search->finder->found(search->finder->context, &salvage);
}

int worktree_salvaged_archives(
	int dir, const char *path, const struct salvaged_finder *finder, struct error *error)
{
	struct search search CLEANUP(search_done) = { .finder = finder };
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry;

	if (!stream)
		return error_set(error, errno, "read the archives in %s", path);
	while ((entry = stream_next(stream)) != NULL) {
		int r = archive_found(&search, dir, path, entry->d_name);

		arena_done(&search.arena);
		if (r < 0)
			return r;
	}
	return errno ? error_set(error, errno, "read the archives in %s", path) : 0;
}
