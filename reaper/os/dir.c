#include "dir.h"

#include "base/pathname.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

enum { OPEN_TRIES = 32 };

/*
 * glibc 2.36 has no wrapper for openat2(2). EAGAIN says that somewhere something was renamed or mounted
 * meanwhile, and to try again: for ever would give whoever renames in a loop our time.
 */
static int dir_openat2_as_told(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve };
	long fd = -1;

	for (int i = 0; i < OPEN_TRIES && fd < 0; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN && errno != EINTR)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

/*
 * Looking leaves no trace: what is only read keeps its access time, where we may say so (O_NOATIME
 * is for owners and CAP_FOWNER, EPERM otherwise, open(2)). With O_PATH the kernel refuses the flag.
 */
static int dir_openat2(int dir, const char *path, int flags, uint64_t resolve)
{
	int fd;

	if ((flags & (O_ACCMODE | O_PATH)) != O_RDONLY)
		return dir_openat2_as_told(dir, path, flags, resolve);
	fd = dir_openat2_as_told(dir, path, flags | O_NOATIME, resolve);
	return fd == -EPERM ? dir_openat2_as_told(dir, path, flags, resolve) : fd;
}

/* Sets the error for a path from outside: escaped, and cut so that the reason still fits. */
static int dir_fail(struct error *error, int code, const char *what, const char *path)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_set(error, code, "%s %.300s", what, shown);
}

int dir_open(const char *path, struct error *error)
{
	int fd;

	assert(path[0] == '/');
	fd = dir_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	return fd < 0 ? dir_fail(error, -fd, "open directory", path) : fd;
}

/*
 * A single name cannot leave its directory, and with RESOLVE_BENEATH one that is moved elsewhere while
 * it is opened would answer EXDEV, as if something were mounted there.
 */
int dir_open_below(int dir, const char *path, int flags, struct error *error)
{
	uint64_t beneath = dir_is_name(path) ? 0 : RESOLVE_BENEATH;
	int fd = dir_openat2(dir, path, flags, beneath | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);

	return fd < 0 ? dir_fail(error, -fd, "open", path) : fd;
}

int dir_open_through(int dir, const char *path, int flags)
{
	return dir_openat2(dir, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

int dir_open_up(int dir, int flags)
{
	return dir_openat2(dir, "..", flags | O_DIRECTORY, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

bool dir_is_name(const char *name)
{
	return *name && !strchr(name, '/') && !text_equal(name, ".") && !text_equal(name, "..");
}

int dir_make_passable(int dir)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	struct stat st;

	if (fstat(dir, &st) != 0)
		return -errno;
	assert(S_ISDIR(st.st_mode)); /* never a file: its mode belongs to all its links */
	if ((st.st_mode & S_IRWXU) == S_IRWXU || st.st_uid != geteuid())
		return 0;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	return chmod(link, (st.st_mode & ALLPERMS) | S_IRWXU) == 0 ? 0 : -errno;
}

int dir_look(int dir, const char *name, struct stat *ret_stat)
{
	struct statx stx;

	if (statx(dir, name,
		    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC | AT_EMPTY_PATH,
		    STATX_TYPE | STATX_INO, &stx) != 0)
		return -errno;
	*ret_stat = (struct stat){
		.st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.st_ino = stx.stx_ino,
		.st_mode = stx.stx_mode,
	};
	return 0;
}

int dir_identity(const char *path, uint64_t *ret_dev, uint64_t *ret_ino, struct error *error)
{
	struct stat st = { 0 };
	int r;

	assert(path[0] == '/');
	r = dir_look(AT_FDCWD, path, &st);
	if (r < 0)
		return dir_fail(error, -r, "look at", path);
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
	return 0;
}

bool dir_birth(int fd, char ret_birth[DIR_BIRTH])
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_BTIME, &stx) != 0 ||
		!(stx.stx_mask & STATX_BTIME))
		return false;
	(void)snprintf(ret_birth, DIR_BIRTH, "%lld.%09u", (long long)stx.stx_btime.tv_sec,
		stx.stx_btime.tv_nsec);
	return true;
}

const char *dir_differs(const struct dir_known *told, const struct dir_known *seen)
{
	bool births = told->birth && *told->birth && seen->birth && *seen->birth;

	if ((told->dev || told->ino) &&
		(told->ino != seen->ino || (!births && told->dev != seen->dev)))
		return "another one than the one that was registered";
	if (births && !text_equal(told->birth, seen->birth))
		return "a younger one, with the inode of the one that was registered";
	return NULL;
}

static bool dir_owner_trusted(uid_t uid, const uid_t *owners, size_t owner_count)
{
	bool trusted = uid == 0 || uid == geteuid();

	for (size_t i = 0; i < owner_count; i++)
		trusted |= uid == owners[i];
	return trusted;
}

/*
 * Whether others than the owner may write. With an access control list the group bits of the mode
 * are the mask of all that the list names (acl(5)), so group 0 then proves nothing.
 */
static bool dir_others_write(int dir, const struct stat *st)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];

	if (st->st_mode & S_IWOTH)
		return true;
	if (!(st->st_mode & S_IWGRP))
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	return st->st_gid != 0 || getxattr(link, "system.posix_acl_access", NULL, 0) > 0;
}

/* One component of dir_trusted: `path` is what it is called so far, for messages. */
static int dir_component_trusted(int dir, const char *path, bool is_parent, const uid_t *owners,
	size_t owner_count, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path);
	struct stat st;

	if (fstat(dir, &st) != 0)
		return dir_fail(error, errno, "look at", path);
	if (S_ISLNK(st.st_mode))
		return error_say(
			error, EPERM, "%.300s is a symlink: name the directory itself", shown);
	if (!S_ISDIR(st.st_mode))
		return dir_fail(error, ENOTDIR, "look at", path);
	if (!dir_owner_trusted(st.st_uid, owners, owner_count))
		return error_say(error, EPERM,
			"%.300s belongs to uid %u, who is neither root nor ourselves nor an owner",
			shown, st.st_uid);
	if (dir_others_write(dir, &st) && !(is_parent && (st.st_mode & S_ISVTX)))
		return error_say(error, EPERM,
			"%.300s (uid %u, gid %u, mode %04o) can be written by others: chmod go-w",
			shown, st.st_uid, st.st_gid, st.st_mode & ALLPERMS);
	return 0;
}

bool dir_is_closed(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IRWXG | S_IRWXO));
}

int dir_closed(const char *path)
{
	char *at CLEANUP(mem_done) = mem_dup(path);

	for (;;) {
		struct stat st;
		char *parent;

		if (stat(at, &st) != 0)
			return -errno;
		if (dir_is_closed(&st))
			return 1;
		if (text_equal(at, "/"))
			return 0;
		parent = pathname_parent(at);
		free(at);
		at = parent;
	}
}

int dir_trusted(const char *path, const uid_t *owners, size_t owner_count, struct error *error)
{
	char *clean CLEANUP(mem_done) = path[0] == '/' ? pathname_clean(path, NULL) : NULL;
	int dir CLEANUP(fd_done) = -EBADF;
	size_t end = 1;
	int r;

	if (!text_equal(clean, path))
		return dir_fail(error, EINVAL, "not a clean absolute path:", path);
	dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_set(error, errno, "open /");
	r = dir_component_trusted(dir, "/", path[1], owners, owner_count, error);
	while (r == 0 && path[end]) {
		size_t length = strcspn(path + end, "/");
		char *name CLEANUP(mem_done) = mem_printf("%.*s", (int)length, path + end);
		char *so_far CLEANUP(mem_done) = mem_printf("%.*s", (int)(end + length), path);
		int next = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (next < 0)
			return dir_fail(error, errno, "open", so_far);
		fd_done(&dir);
		dir = next;
		end += length + (path[end + length] == '/');
		r = dir_component_trusted(dir, so_far, path[end], owners, owner_count, error);
	}
	return r;
}
