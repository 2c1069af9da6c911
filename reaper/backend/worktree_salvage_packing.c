#include "worktree_salvage_packing.h"

#include "base/clock.h"
#include "base/text.h"
#include "worktree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

enum { PERMISSIONS = S_IRWXU | S_IRWXG | S_IRWXO, PIECE = 1 << 16 };

/* What has no file is not in an archive: git's record has the index that knows it. */
static bool is_packed(const struct salvage_node *node)
{
	return !salvage_node_is_unmade(node);
}

static bool is_folder(const struct salvage_node *node)
{
	return node->mode == GIT_FILEMODE_TREE || node->mode == GIT_FILEMODE_COMMIT;
}

static int path_fail(struct error *error, int code, const char *path, const char *why)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_say(error, code, "%.250s: %s", shown, why);
}

struct packer {
	const struct salvage_packing *packing;
	struct archive_writer *writer;
	struct text path;
	int64_t bytes;
	struct error *error;
};

static void packer_done(struct packer *packer)
{
	text_done(&packer->path);
}

static int pack_gone(struct packer *packer)
{
	return path_fail(
		packer->error, EBUSY, packer->path.data, "it changed while it was salvaged");
}

static int pack_link(struct packer *packer, int dir, const struct salvage_node *node)
{
	char target[PATH_MAX + 1];
	ssize_t length = readlinkat(dir, node->name, target, PATH_MAX);
	struct stat stat;

	if (length < 0 || fstatat(dir, node->name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISLNK(stat.st_mode))
		return pack_gone(packer);
	target[length] = 0;
	return archive_add(packer->writer, packer->path.data, &stat, -EBADF, target, 0,
		&packer->bytes, packer->error);
}

static int pack_file(struct packer *packer, int dir, const struct salvage_node *node)
{
	int file CLEANUP(fd_done) = open_unnoticed(dir, node->name, O_RDONLY | O_NONBLOCK, NULL);
	struct stat stat;

	if (file < 0 || fstat(file, &stat) < 0 || !S_ISREG(stat.st_mode) ||
		stat.st_size != node->size)
		return pack_gone(packer);
	return archive_add(packer->writer, packer->path.data, &stat, file, NULL, node->size,
		&packer->bytes, packer->error);
}

static int pack_nodes(struct packer *packer, int dir, const struct salvage_node *node);

static int pack_folder(struct packer *packer, int dir, const struct salvage_node *node)
{
	int below CLEANUP(fd_done) = open_unnoticed(dir, node->name, O_RDONLY | O_DIRECTORY, NULL);
	struct stat stat;
	int r;

	if (below < 0 || fstat(below, &stat) < 0)
		return pack_gone(packer);
	r = archive_add(packer->writer, packer->path.data, &stat, -EBADF, NULL, 0, &packer->bytes,
		packer->error);
	return r < 0 ? r : pack_nodes(packer, below, node);
}

static int pack_node(struct packer *packer, int dir, const struct salvage_node *node)
{
	if (deadline_left_ms(packer->packing->deadline_ms) == 0)
		return path_fail(packer->error, ETIME, packer->path.data, "the time is up");
	if (is_folder(node))
		return pack_folder(packer, dir, node);
	return node->mode == GIT_FILEMODE_LINK ? pack_link(packer, dir, node)
					       : pack_file(packer, dir, node);
}

/* Recursion is bounded by the depth of a plan. */
static int pack_nodes(struct packer *packer, int dir, const struct salvage_node *node)
{
	size_t length = packer->path.length;
	int r = 0;

	for (size_t i = 0; i < node->count && r == 0; i++) {
		if (!is_packed(node->sorted[i]))
			continue;
		text_add(&packer->path, "/");
		text_add(&packer->path, node->sorted[i]->name);
		r = pack_node(packer, dir, node->sorted[i]);
		packer->path.length = length;
		packer->path.data[length] = 0;
	}
	return r;
}

int salvage_packing_write(
	const struct salvage_packing *packing, struct archive_writer *writer, struct error *error)
{
	struct packer packer CLEANUP(packer_done) = {
		.packing = packing,
		.writer = writer,
		.error = error,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(packing->parts) && r == 0; i++) {
		const struct salvage_part *part = &packing->parts[i];

		if (!part->root)
			continue;
		packer.path.length = 0;
		text_add(&packer.path, part->prefix);
		r = pack_nodes(&packer, part->dir, part->root);
	}
	return r;
}

struct comparison {
	const struct salvage_packing *packing;
	uint64_t seen;
};

static int compare_fail(
	struct error *error, const struct archive_entry_seen *entry, const char *why)
{
	return path_fail(error, EUCLEAN, entry->path, why);
}

/* The node that an entry was made from; NULL: none. */
static const struct salvage_node *node_of(
	const struct salvage_packing *packing, const char *entry_path)
{
	for (size_t i = 0; i < ARRAY_SIZE(packing->parts); i++) {
		const struct salvage_part *part = &packing->parts[i];
		size_t length = strlen(part->prefix);

		if (part->root && text_starts(entry_path, part->prefix) &&
			entry_path[length] == '/')
			return salvage_node_below(part->root, entry_path + length + 1);
	}
	return NULL;
}

static int compare_content(const struct comparison *comparison,
	const struct archive_entry_seen *entry, const struct salvage_node *node,
	struct error *error)
{
	git_odb_stream *stream CLEANUP(odb_stream_done) =
		salvage_hash_begin(comparison->packing->hash, node->size, error);
	char *piece CLEANUP(mem_done) = mem_new(PIECE);
	ssize_t got = -EIO;
	git_oid id;
	int r = stream ? 0 : -EIO;

	while (r == 0 && (got = archive_content(entry, piece, PIECE, error)) > 0) {
		if (deadline_left_ms(comparison->packing->deadline_ms) == 0)
			return path_fail(error, ETIME, entry->path, "the time is up");
		r = salvage_hash_add(stream, piece, (size_t)got, error);
	}
	if (r < 0 || got < 0)
		return r < 0 ? r : (int)got;
	r = salvage_hash_end(stream, &id, error);
	if (r == 0 && !git_oid_equal(&id, &node->id))
		return compare_fail(error, entry, "read back, it is another content");
	return r;
}

static int compare_link(const struct archive_entry_seen *entry, const struct salvage_node *node,
	struct error *error)
{
	git_oid id;

	if (!entry->link ||
		git_odb_hash(&id, entry->link, strlen(entry->link), GIT_OBJECT_BLOB) < 0 ||
		!git_oid_equal(&id, &node->id))
		return compare_fail(error, entry, "read back, it is another link");
	return 0;
}

static int compare_entry(void *context, const struct archive_entry_seen *entry, struct error *error)
{
	struct comparison *comparison = context;
	const struct salvage_node *node = node_of(comparison->packing, entry->path);
	mode_t kind = entry->stat.st_mode & S_IFMT;

	if (!node || !is_packed(node))
		return compare_fail(error, entry, "in the archive, and not in the tree");
	comparison->seen++;
	if (is_folder(node))
		return kind == S_IFDIR ? 0 : compare_fail(error, entry, "it is no directory");
	if (node->mode == GIT_FILEMODE_LINK)
		return kind == S_IFLNK ? compare_link(entry, node, error)
				       : compare_fail(error, entry, "it is no link");
	if (kind != S_IFREG || entry->stat.st_size != node->size ||
		(entry->stat.st_mode & PERMISSIONS) != (node->permissions & PERMISSIONS))
		return compare_fail(error, entry, "read back, kind, size or mode differ");
	return compare_content(comparison, entry, node, error);
}

/* Recursion is bounded by the depth of a plan. */
static uint64_t count_packed(const struct salvage_node *node)
{
	uint64_t count = 0;

	for (size_t i = 0; i < node->count; i++) {
		const struct salvage_node *at = node->sorted[i];

		if (is_packed(at))
			count += 1 + count_packed(at);
	}
	return count;
}

int salvage_packing_check(
	const struct salvage_packing *packing, int dir, const char *name, struct error *error)
{
	struct comparison comparison = { .packing = packing };
	uint64_t wanted = 0;
	int r = archive_each(dir, name, compare_entry, &comparison, error);

	for (size_t i = 0; i < ARRAY_SIZE(packing->parts); i++)
		if (packing->parts[i].root)
			wanted += count_packed(packing->parts[i].root);
	/* The archive refuses to hold one path twice when it is unpacked, so a count will do. */
	if (r == 0 && comparison.seen != wanted)
		return error_say(error, EUCLEAN, "%s, read back, does not hold everything", name);
	return r;
}
