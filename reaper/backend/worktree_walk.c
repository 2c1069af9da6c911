#include "worktree_walk.h"

#include "base/clock.h"
#include "os/dir.h"
#include "os/dir_stream.h"

#include <limits.h>
#include <sys/stat.h>

/* Files are compared while their directory is read, directories entered after it was: so the trees
 * of the candidates are looked up once for each directory. */
struct names {
	char **list;
	size_t count, room;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

static void names_add(struct names *names, const char *name)
{
	if (names->count == names->room) {
		names->room = names->room * 2 + 8;
		names->list = mem_grow(names->list, names->room, sizeof(*names->list));
	}
	names->list[names->count++] = mem_dup(name);
}

/* O_NOATIME is for owners and CAP_FOWNER only (open(2)). */
int open_unnoticed(int dir, const char *name, int flags, struct error *error)
{
	struct error unsaid = { 0 };
	int fd = dir_open_below(dir, name, flags | O_NOATIME, &unsaid);

	return fd == -EPERM ? dir_open_below(dir, name, flags, error)
	       : fd < 0     ? error_say(error, -fd, "%s", unsaid.text)
			    : fd;
}

static void walk_unknown(struct worktree_walk *walk, const char *path, int code)
{
	char *escaped CLEANUP(mem_done) = text_escape(*path ? path : ".");
	char *what CLEANUP(mem_done) = mem_printf("%s cannot be read: %s", escaped, strerror(code));

	findings_unknown(walk->findings, code, what);
}

static void walk_saved(struct worktree_walk *walk, const char *path, enum saved saved)
{
	switch (saved) {
	case SAVED_NOWHERE:
		findings_unsaved(walk->findings, path,
			walk->candidates->count ? "not saved in any commit that counts"
						: "there is no commit to compare it with");
		return;
	case SAVED_UNPUSHED:
		findings_unpushed(
			walk->findings, path, "only in commits that no other ref contains");
		return;
	case SAVED:
		return;
	}
}

static void look_link(struct worktree_walk *walk, int dir, const char *directory, const char *name,
	const char *path)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(dir, name, target, sizeof(target) - 1);

	if (length < 0) {
		if (errno != ENOENT)
			walk_unknown(walk, path, errno);
		return;
	}
	target[length] = 0;
	walk_saved(walk, path, candidates_compare_link(walk->candidates, directory, name, target));
}

static void look_file(struct worktree_walk *walk, int dir, const char *directory, const char *name,
	const char *path)
{
	int file CLEANUP(fd_done) = -EBADF;

	if (walk->candidates->count == 0) {
		walk_saved(walk, path, SAVED_NOWHERE);
		return;
	}
	file = open_unnoticed(dir, name, O_RDONLY | O_NONBLOCK, NULL);
	if (file == -ENOENT)
		return;
	if (file == -EXDEV) {
		walk->crossing(walk->context, path);
		return;
	}
	if (file < 0) {
		walk_unknown(walk, path, -file);
		return;
	}
	walk_saved(walk, path, candidates_compare_file(walk->candidates, directory, name, file));
}

/* One file or link. What is no content (a socket, a fifo, a device) git does not keep either. */
static void look_entry(struct worktree_walk *walk, int dir, const char *directory, const char *name,
	unsigned type, bool ignored)
{
	size_t length = walk->path.length;
	bool tracked;

	if (type != DT_REG && type != DT_LNK)
		return;
	tracked = candidates_track(walk->candidates, directory, name);
	text_add(&walk->path, length ? "/" : "");
	text_add(&walk->path, name);
	if (tracked || !(ignored || ignore_matches(&walk->ignore, walk->path.data, false))) {
		if (type == DT_LNK)
			look_link(walk, dir, directory, name, walk->path.data);
		else
			look_file(walk, dir, directory, name, walk->path.data);
	}
	walk->path.length = length;
	walk->path.data[length] = 0;
}

/* The content of a .gitignore; *ret_length is what was read, which is less when it is cut meanwhile. */
static int ignore_bytes(int file, size_t size, char *bytes, size_t *ret_length)
{
	*ret_length = 0;
	while (*ret_length < size) {
		ssize_t got = read(file, bytes + *ret_length, size - *ret_length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		*ret_length += (size_t)got;
	}
	return 0;
}

int worktree_ignore_read(struct ignore *ignore, int dir, const char *path)
{
	int file CLEANUP(fd_done) = open_unnoticed(dir, ".gitignore", O_RDONLY | O_NONBLOCK, NULL);
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length;
	struct stat stat;
	int r;

	/* A link says nothing, gitignore(5). */
	if (file == -ENOENT || file == -ELOOP || file == -ENXIO)
		return 0;
	if (file == -EXDEV) {
		ignore->overflown = true;
		return 0;
	}
	if (file < 0)
		return file;
	if (fstat(file, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return 0;
	if (stat.st_size > IGNORE_FILE_MAX) {
		ignore->overflown = true;
		return 0;
	}
	bytes = mem_new((size_t)stat.st_size + 1);
	r = ignore_bytes(file, (size_t)stat.st_size, bytes, &length);
	if (r == 0)
		ignore_add(ignore, path, bytes, length);
	return r;
}

/* A tree chooses no time to spend: one file can be a gigabyte, one .gitignore 4096 patterns. */
static bool walk_exhausted(struct worktree_walk *walk)
{
	if (walk->deadline_ms && deadline_left_ms(walk->deadline_ms) == 0) {
		findings_unknown(walk->findings, ETIME, "the tree takes too long to look at");
		walk->entries = WALK_ENTRIES_MAX;
	}
	if (++walk->entries > WALK_ENTRIES_MAX)
		findings_unknown(walk->findings, EFBIG, "the tree has too many entries to look at");
	return walk->entries > WALK_ENTRIES_MAX || walk->findings->unsaved > WALK_UNSAVED_MAX;
}

static void found_repository(struct worktree_walk *walk, const char *directory)
{
	findings_unsaved(walk->findings, directory, "a repository within the tree");
	walk->findings->beyond |= BEYOND_NESTED;
}

/* Of what is not ignored each file is compared; where all is ignored a bare repository hides. */
int worktree_hides_bare(int dir)
{
	static const struct {
		const char *name;
		mode_t type;
	} parts[] = { { "HEAD", S_IFREG }, { "objects", S_IFDIR }, { "refs", S_IFDIR } };
	struct stat stat;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (fstatat(dir, parts[i].name, &stat, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
			return errno == ENOENT ? 0 : -errno;
		if ((stat.st_mode & S_IFMT) != parts[i].type)
			return 0;
	}
	return 1;
}

static void look_dirent(struct worktree_walk *walk, int dir, const char *directory,
	const struct dirent *entry, bool ignored, struct names *directories)
{
	const char *name = entry->d_name;
	unsigned type;

	if (text_equal(name, ".git")) {
		if (*directory)
			found_repository(walk, directory);
		return;
	}
	type = stream_type(dir, entry);
	if (type == DT_DIR)
		names_add(directories, name);
	else if (type == DT_UNKNOWN && errno != ENOENT)
		walk_unknown(walk, directory, errno);
	else
		look_entry(walk, dir, directory, name, type, ignored);
}

static void read_directory(struct worktree_walk *walk, int dir, const char *directory, bool ignored,
	struct names *directories)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry = NULL;

	while (stream && (entry = stream_next(stream)) && !walk_exhausted(walk))
		look_dirent(walk, dir, directory, entry, ignored, directories);
	if (!entry && errno)
		walk_unknown(walk, directory, errno);
}

static void walk_directory(struct worktree_walk *walk, int dir, bool ignored, unsigned depth);

static bool directory_empty(int dir)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);

	return stream && !stream_next(stream) && errno == 0;
}

/* Enters one directory below; walk->path is that directory's then. Takes nothing. */
static void walk_below(struct worktree_walk *walk, int dir, const char *directory, const char *name,
	bool ignored, unsigned depth)
{
	bool submodule = candidates_mode(walk->candidates, directory, name) == GIT_FILEMODE_COMMIT;
	int below CLEANUP(fd_done) = open_unnoticed(dir, name, O_RDONLY | O_DIRECTORY, NULL);

	if (below == -ENOENT)
		return;
	if (below == -EXDEV) {
		if (!ignored && !ignore_matches(&walk->ignore, walk->path.data, true))
			walk->crossing(walk->context, walk->path.data);
	} else if (below < 0) {
		walk_unknown(walk, walk->path.data, -below);
	} else if (depth == WALK_DEPTH_MAX) {
		findings_unsaved(walk->findings, walk->path.data, "too deep to be looked at");
	} else if (!submodule) {
		ignored = ignored || ignore_matches(&walk->ignore, walk->path.data, true);
		walk_directory(walk, below, ignored, depth + 1);
	} else if (!directory_empty(below)) {
		walk->submodule(walk->context, below, walk->path.data);
	}
}

/* Recursion is bounded by WALK_DEPTH_MAX. */
static void walk_directory(struct worktree_walk *walk, int dir, bool ignored, unsigned depth)
{
	struct names directories CLEANUP(names_done) = { 0 };
	char *directory CLEANUP(mem_done) = mem_dup(walk->path.data);
	size_t rules = walk->ignore.count, length = walk->path.length;
	int r;

	r = ignored ? worktree_hides_bare(dir)
		    : worktree_ignore_read(&walk->ignore, dir, directory);
	if (r < 0)
		walk_unknown(walk, directory, -r);
	else if (r > 0)
		found_repository(walk, directory);
	read_directory(walk, dir, directory, ignored, &directories);
	for (size_t i = 0; i < directories.count && walk->entries <= WALK_ENTRIES_MAX; i++) {
		text_add(&walk->path, length ? "/" : "");
		text_add(&walk->path, directories.list[i]);
		walk_below(walk, dir, directory, directories.list[i], ignored, depth);
		walk->path.length = length;
		walk->path.data[length] = 0;
	}
	ignore_cut(&walk->ignore, rules);
}

void worktree_walk(struct worktree_walk *walk, int tree)
{
	text_add(&walk->path, "");
	walk_directory(walk, tree, false, 0);
}

void worktree_walk_done(struct worktree_walk *walk)
{
	ignore_done(&walk->ignore);
	text_done(&walk->path);
}
