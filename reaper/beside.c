#include "beside.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "state/marker.h"
#include "text_list.h"

#include <errno.h>

int beside_find_marker(const struct settings *settings, const char *run, struct arena *arena,
	const char **ret_root, struct record **ret_record, struct error *error)
{
	const char *found = NULL;

	for (size_t i = 0; i < settings->roots.count; i++) {
		const char *path = settings->roots.items[i];
		int root CLEANUP(fd_done) = dir_open(path, error);
		struct record *record;
		struct error fault = { 0 };
		int r;

		if (root < 0)
			return root;
		r = marker_read(root, path, run, settings, arena, &record, &fault);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return error_say(error, -r, "%s", fault.text);
		if (found)
			return error_say(error, EEXIST,
				"run %s has two markers, in %.160s and in %.160s; remove one", run,
				found, path);
		found = path;
		*ret_root = path;
		*ret_record = record;
	}
	return found != NULL;
}

int beside_write_marker(const char *root_path, const struct record *row,
	const struct record *marker, struct error *error)
{
	struct record written = *row;

	if (marker && marker->deadline_s > written.deadline_s)
		written.deadline_s = marker->deadline_s;
	if (written.deadline_s > written.created_s)
		written.ttl_s = written.deadline_s - written.created_s;
	return marker_write(root_path, &written, error);
}

/* The first root that has an entry "<run><ending>", of whatever type, or NULL. */
static const char *root_with(const struct settings *settings, const char *run, const char *ending)
{
	for (size_t i = 0; i < settings->roots.count; i++) {
		char *path CLEANUP(mem_done) =
			mem_printf("%s/%s%s", settings->roots.items[i], run, ending);
		uint64_t dev, ino;

		if (dir_identity(path, &dev, &ino, NULL) != -ENOENT)
			return settings->roots.items[i];
	}
	return NULL;
}

const char *beside_root(const struct settings *settings, const char *run, const struct record *row)
{
	const char *root = NULL;

	for (size_t i = 0; row && !root && i < row->resource_count; i++) {
		const struct resource *resource = &row->resources[i];

		if (resource->kind != KIND_WORKTREE)
			continue;
		if (text_list_above(&settings->lost_roots, resource->locator))
			return NULL;
		root = text_list_above(&settings->roots, resource->locator);
	}
	if (!root)
		root = root_with(settings, run, ".sbx");
	if (!root)
		root = root_with(settings, run, "");
	if (root || !settings->roots.count || settings->lost_roots.count)
		return root;
	return settings->roots.items[0];
}

bool beside_known(const struct settings *settings, const char *run)
{
	return root_with(settings, run, ".sbx") || root_with(settings, run, "");
}

int beside_each(const char *root_path, const char *ending, beside_entry *each, void *context,
	struct error *error)
{
	DIR *directory CLEANUP(stream_done) = NULL;
	const struct dirent *entry;
	int r, root CLEANUP(fd_done) = dir_open(root_path, error);

	if (root < 0)
		return root;
	directory = stream_open(root);
	if (!directory)
		return error_set(error, errno, "read root %s", root_path);
	while ((entry = stream_next(directory))) {
		size_t length = strlen(entry->d_name), tail = strlen(ending);
		char run[NAME_MAX + 1];

		if (length <= tail || !text_ends(entry->d_name, ending))
			continue;
		memcpy(run, entry->d_name, length - tail);
		run[length - tail] = 0;
		r = each(context, root, root_path, run);
		if (r < 0)
			return r;
	}
	return errno ? error_set(error, errno, "read root %s", root_path) : 0;
}

static int beside_remove(const struct settings *settings, const char *run,
	int (*remove_one)(const char *root_path, const char *run, struct error *error),
	struct error *error)
{
	int removed = 0, first = 0;

	for (size_t i = 0; i < settings->roots.count; i++) {
		int r = remove_one(settings->roots.items[i], run, error);

		if (r < 0)
			first = first ? first : r;
		else
			removed += r;
	}
	return first ? first : removed;
}

int beside_remove_markers(const struct settings *settings, const char *run, struct error *error)
{
	return beside_remove(settings, run, marker_remove, error);
}

int beside_remove_keeps(const struct settings *settings, const char *run, struct error *error)
{
	return beside_remove(settings, run, keep_remove, error);
}
