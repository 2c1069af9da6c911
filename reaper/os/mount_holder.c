#include "mount_holder.h"

#include "base/pathname.h"
#include "base/text.h"
#include "dir_stream.h"
#include "errand.h"
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

enum { NAMESPACES_MAX = 64, NAMESPACE_TEXT = 48, COMM_SHOWN = 64 };

/* The mount as one namespace has it. */
struct sight {
	char name[NAMESPACE_TEXT]; /* "mnt:[4026531841]" */
	uint64_t id;               /* 0: it is not there */
};

struct search {
	const struct mount *mount;
	struct sight sights[NAMESPACES_MAX];
	size_t sight_count;
};

/* One process that is looked at. */
struct suspect {
	int entry;
	uint64_t id; /* of the mount in its namespace */
	const char *how;
	bool elsewhere; /* in another namespace than ours */
};

static bool namespace_of(int entry, char ret_name[NAMESPACE_TEXT])
{
	ssize_t length = readlinkat(entry, entry == AT_FDCWD ? "/proc/self/ns/mnt" : "ns/mnt",
		ret_name, NAMESPACE_TEXT - 1);

	ret_name[length > 0 ? length : 0] = 0;
	return length > 0;
}

/*
 * The mount itself, where it is in that table; else what shows the same part of the same filesystem
 * there, at the same place if there is such a one: several runs may have one directory bound in.
 */
static uint64_t id_in(const struct mount_table *table, const struct mount *mount)
{
	uint64_t here = 0, any = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct mount *other = &table->mounts[i];

		if (other->id == mount->id)
			return mount->id;
		if (other->dev != mount->dev || !text_equal(other->root, mount->root))
			continue;
		if (text_equal(other->point, mount->point))
			here = other->id; /* the last one is on top */
		else if (!any)
			any = other->id;
	}
	return here ? here : any;
}

static uint64_t id_there(const struct search *search, int entry)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	int file CLEANUP(fd_done) = openat(entry,
		entry == AT_FDCWD ? "/proc/self/mountinfo" : "mountinfo", O_RDONLY | O_CLOEXEC);

	if (file < 0 || mounts_read_from(file, "mountinfo", &table, NULL) < 0)
		return 0;
	return id_in(&table, search->mount);
}

/* Of the first are ours; what does not fit into the memory is read again each time. */
static uint64_t id_for(struct search *search, struct suspect *suspect)
{
	struct sight sight;

	if (!namespace_of(suspect->entry, sight.name))
		return search->mount->id;
	for (size_t i = 0; i < search->sight_count; i++)
		if (text_equal(search->sights[i].name, sight.name)) {
			suspect->elsewhere = i > 0;
			return search->sights[i].id;
		}
	suspect->elsewhere = true;
	sight.id = id_there(search, suspect->entry);
	if (search->sight_count < NAMESPACES_MAX)
		search->sights[search->sight_count++] = sight;
	return sight.id;
}

static bool holds_link(struct suspect *suspect, const char *link, const char *how)
{
	int fd CLEANUP(fd_done) = openat(suspect->entry, link, O_PATH | O_CLOEXEC);
	char name[40];

	if (fd < 0)
		return false;
	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	if (proc_mount_id(AT_FDCWD, name) != suspect->id)
		return false;
	suspect->how = how;
	return true;
}

static DIR *listing_open(int entry, const char *name)
{
	int fd = openat(entry, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !listing)
		(void)close(fd);
	return listing;
}

static const char *next_number(DIR *listing)
{
	for (const struct dirent *entry; listing && (entry = readdir(listing));)
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			return entry->d_name;
	return NULL;
}

static bool holds_file(struct suspect *suspect)
{
	DIR *listing CLEANUP(stream_done) = listing_open(suspect->entry, "fdinfo");
	const char *name;

	suspect->how = "an open file";
	while ((name = next_number(listing)))
		if (proc_mount_id(dirfd(listing), name) == suspect->id)
			return true;
	return false;
}

/* By path, since maps has no mount: a hint, and only for who sees the mount where we do. */
static bool holds_mapping(struct suspect *suspect, const char *point)
{
	int fd = openat(suspect->entry, "maps", O_RDONLY | O_CLOEXEC);
	FILE *file CLEANUP(file_done) = fd < 0 ? NULL : fdopen(fd, "re");
	char line[PATH_MAX + 256];
	bool found = false;

	if (fd >= 0 && !file)
		(void)close(fd);
	while (file && !found && !suspect->elsewhere && fgets(line, sizeof(line), file)) {
		const char *path = strchr(line, '/');

		found = path && pathname_below(path, point);
	}
	suspect->how = "a mapped file";
	return found;
}

static bool holds(struct search *search, struct suspect *suspect)
{
	suspect->id = id_for(search, suspect);
	if (!suspect->id)
		return false;
	return holds_link(suspect, "cwd", "working directory") ||
	       holds_link(suspect, "root", "root") || holds_link(suspect, "exe", "its program") ||
	       holds_file(suspect) || holds_mapping(suspect, search->mount->point);
}

static bool describe_holder(struct search *search, pid_t pid, char *text)
{
	int entry CLEANUP(fd_done) = proc_open(pid);
	struct suspect suspect = { .entry = entry };
	char comm[COMM_SHOWN];

	if (entry < 0 || !holds(search, &suspect))
		return false;
	proc_comm(entry, comm, sizeof(comm));
	(void)snprintf(text, HOLDER_TEXT, "pid %d (%s): %s%s", pid, comm, suspect.how,
		suspect.elsewhere ? " in another mount namespace" : "");
	return true;
}

static int search_work(void *context, void *result, struct error *error)
{
	struct search search = { .mount = context, .sight_count = 1 };
	DIR *listing CLEANUP(stream_done) = opendir("/proc");
	const char *name;

	(void)error;
	search.sights[0].id = id_there(&search, AT_FDCWD);
	(void)namespace_of(AT_FDCWD, search.sights[0].name);
	while ((name = next_number(listing))) {
		pid_t pid = (pid_t)strtol(name, NULL, 10);

		if (pid != getpid() && describe_holder(&search, pid, result))
			return 1;
	}
	return 0;
}

bool mount_holder(const struct mount *mount, int64_t deadline_ms, char ret_text[HOLDER_TEXT])
{
	struct mount copy = *mount;
	const struct errand errand = {
		.work = search_work,
		.context = &copy,
		.result = ret_text,
		.result_size = HOLDER_TEXT,
		.deadline_ms = deadline_ms,
	};
	struct error error = { 0 };

	ret_text[0] = 0;
	if (errand_run(&errand, &error) > 0)
		return true;
	ret_text[0] = 0;
	return false;
}
