#include "worktree_saved.h"

#include <errno.h>
#include <sys/stat.h>

enum { SIZE_ASKED_FROM = 1 << 20 }; /* below it, hashing costs no more than asking */

int candidates_add(
	struct candidates *candidates, const git_oid *commit, bool contained, bool tracks)
{
	git_commit *found CLEANUP(commit_done) = NULL;
	git_tree *root = NULL;

	if (candidates->count == CANDIDATES_MAX)
		return 0;
	if (git_commit_lookup(&found, candidates->repository, commit) < 0 ||
		git_commit_tree(&root, found) < 0)
		return 0;
	candidates->list[candidates->count++] = (struct candidate){
		.root = root,
		.contained = contained,
		.tracks = tracks,
	};
	return 1;
}

void candidates_done(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->count; i++) {
		git_tree_free(candidates->list[i].tree);
		git_tree_free(candidates->list[i].root);
		free(candidates->list[i].directory);
	}
	candidates->count = 0;
}

/* The tree that one of these has under that name; NULL: it has none, or *ret_unreadable. */
static git_tree *tree_step(git_tree *above, const char *name, bool *ret_unreadable)
{
	const git_tree_entry *entry = git_tree_entry_byname(above, name);
	git_tree *tree = NULL;

	if (!entry || git_tree_entry_type(entry) != GIT_OBJECT_TREE)
		return NULL;
	*ret_unreadable =
		git_tree_lookup(&tree, git_tree_owner(above), git_tree_entry_id(entry)) < 0;
	return *ret_unreadable ? NULL : tree;
}

/*
 * Step by step, since the library's own search by path answers "not found" for a tree on the way that
 * it cannot read, exactly as for a path that is not there.
 */
static git_tree *tree_below(git_tree *root, const char *directory, bool *ret_unreadable)
{
	char *path CLEANUP(mem_done) = mem_dup(directory), *rest = NULL;
	git_tree *tree = NULL;

	*ret_unreadable = git_tree_dup(&tree, root) < 0;
	for (const char *name = strtok_r(path, "/", &rest); tree && name;
		name = strtok_r(NULL, "/", &rest)) {
		git_tree *above CLEANUP(tree_done) = tree;

		tree = tree_step(above, name, ret_unreadable);
	}
	return tree;
}

/* Walks come directory by directory, so remembering one tree is enough. */
static const git_tree_entry *candidate_entry(
	struct candidate *candidate, const char *directory, const char *name)
{
	if (!text_equal(candidate->directory, directory)) {
		free(candidate->directory);
		git_tree_free(candidate->tree);
		candidate->directory = mem_dup(directory);
		candidate->tree = tree_below(candidate->root, directory, &candidate->unreadable);
	}
	return candidate->tree ? git_tree_entry_byname(candidate->tree, name) : NULL;
}

bool candidates_track(struct candidates *candidates, const char *directory, const char *name)
{
	for (size_t i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->list[i];

		if (candidate->tracks &&
			(candidate_entry(candidate, directory, name) || candidate->unreadable))
			return true;
	}
	return false;
}

git_filemode_t candidates_mode(
	struct candidates *candidates, const char *directory, const char *name)
{
	for (size_t i = 0; i < candidates->count; i++) {
		const git_tree_entry *entry =
			candidate_entry(&candidates->list[i], directory, name);

		if (entry)
			return git_tree_entry_filemode(entry);
	}
	return GIT_FILEMODE_UNREADABLE;
}

bool candidates_id(struct candidates *candidates, const char *directory, const char *name,
	unsigned char *ret_id)
{
	for (size_t i = 0; i < candidates->count; i++) {
		const git_tree_entry *entry =
			candidate_entry(&candidates->list[i], directory, name);

		if (!entry)
			continue;
		memcpy(ret_id, git_tree_entry_id(entry)->id, GIT_OID_RAWSZ);
		return true;
	}
	return false;
}

/* The content of one file, read and hashed when the first candidate asks for it. */
struct content {
	int file;
	int64_t size;
	char *bytes;
	size_t length;
	bool read, unreadable, hashed, hashed_lf;
	git_oid id, id_lf; /* as it is; with "\n" for each "\r\n" */
};

static void content_done(struct content *content)
{
	free(content->bytes);
}

static bool content_read(struct content *content)
{
	ssize_t got;

	if (content->read)
		return !content->unreadable;
	content->read = true;
	content->unreadable = true;
	if (content->size > CONTENT_MAX)
		return false;
	content->bytes = mem_new((size_t)content->size + 1);
	while (content->length <= (size_t)content->size) {
		got = pread(content->file, content->bytes + content->length,
			(size_t)content->size + 1 - content->length, (off_t)content->length);
		if (got < 0 && errno != EINTR)
			return false;
		if (got == 0)
			break;
		content->length += got > 0 ? (size_t)got : 0;
	}
	content->unreadable = false;
	return true;
}

static bool content_is(struct content *content, const git_oid *id)
{
	if (!content_read(content))
		return false;
	if (!content->hashed &&
		git_odb_hash(&content->id, content->bytes, content->length, GIT_OBJECT_BLOB) < 0)
		return false;
	content->hashed = true;
	return git_oid_equal(&content->id, id);
}

/* Drops the "\r" of each "\r\n" in place. Only called when nothing compares the bytes any more. */
static size_t lines_unify(char *bytes, size_t length)
{
	size_t kept = 0;

	for (size_t i = 0; i < length; i++)
		if (bytes[i] != '\r' || i + 1 == length || bytes[i + 1] != '\n')
			bytes[kept++] = bytes[i];
	return kept;
}

/* A checkout with other line ends loses nothing when it goes. */
static bool content_is_lf(struct content *content, const git_oid *id)
{
	if (!content_read(content))
		return false;
	if (!content->hashed_lf) {
		char *copy CLEANUP(mem_done) = mem_new(content->length + 1);
		size_t length = content->length;

		if (length > 0)
			memcpy(copy, content->bytes, length);
		length = lines_unify(copy, length);
		if (git_odb_hash(&content->id_lf, copy, length, GIT_OBJECT_BLOB) < 0)
			return false;
		content->hashed_lf = true;
	}
	return git_oid_equal(&content->id_lf, id);
}

/* Spares reading a large file that cannot be the same: with "\r\n" it is at most twice as long. */
static bool size_fits(struct candidates *candidates, const git_oid *id, int64_t size)
{
	git_odb *odb CLEANUP(odb_done) = NULL;
	git_object_t type;
	size_t length;

	if (size < SIZE_ASKED_FROM)
		return true;
	if (git_repository_odb(&odb, candidates->repository) < 0 ||
		git_odb_read_header(&length, &type, odb, id) < 0)
		return true;
	return (uint64_t)size >= length && (uint64_t)size / 2 <= length;
}

static bool is_file_mode(git_filemode_t mode)
{
	return mode == GIT_FILEMODE_BLOB || mode == GIT_FILEMODE_BLOB_EXECUTABLE;
}

static enum saved candidate_answer(const struct candidate *candidate)
{
	return candidate->contained ? SAVED : SAVED_UNPUSHED;
}

enum saved candidates_compare_file(
	struct candidates *candidates, const char *directory, const char *name, int file)
{
	struct content content CLEANUP(content_done) = { .file = file };
	enum saved best = SAVED_NOWHERE;
	struct stat stat;

	if (fstat(file, &stat) < 0)
		return SAVED_NOWHERE;
	content.size = stat.st_size;
	for (size_t i = 0; i < candidates->count && best != SAVED; i++) {
		struct candidate *candidate = &candidates->list[i];
		const git_tree_entry *entry = candidate_entry(candidate, directory, name);
		const git_oid *id = entry ? git_tree_entry_id(entry) : NULL;

		if (!entry || !is_file_mode(git_tree_entry_filemode(entry)) ||
			!size_fits(candidates, id, content.size))
			continue;
		if ((content_is(&content, id) || content_is_lf(&content, id)) &&
			candidate_answer(candidate) > best)
			best = candidate_answer(candidate);
	}
	return best;
}

enum saved candidates_compare_link(
	struct candidates *candidates, const char *directory, const char *name, const char *link)
{
	git_oid id;

	if (git_odb_hash(&id, link, strlen(link), GIT_OBJECT_BLOB) < 0)
		return SAVED_NOWHERE;
	return candidates_compare_id(candidates, directory, name, id.id);
}

enum saved candidates_compare_id(struct candidates *candidates, const char *directory,
	const char *name, const unsigned char *id)
{
	enum saved best = SAVED_NOWHERE;

	for (size_t i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->list[i];
		const git_tree_entry *entry = candidate_entry(candidate, directory, name);

		if (entry && memcmp(git_tree_entry_id(entry)->id, id, GIT_OID_RAWSZ) == 0 &&
			candidate_answer(candidate) > best)
			best = candidate_answer(candidate);
	}
	return best;
}

bool candidates_have(struct candidates *candidates, const char *path, const unsigned char *id)
{
	char *directory CLEANUP(mem_done) = mem_dup(path);
	char *slash = strrchr(directory, '/');
	bool have;

	if (slash && !slash[1]) { /* of a sparse directory */
		*slash = 0;
		slash = strrchr(directory, '/');
	}
	if (slash)
		*slash = 0;
	have = candidates_compare_id(candidates, slash ? directory : "",
		       slash ? slash + 1 : directory, id) != SAVED_NOWHERE;
	return have;
}
