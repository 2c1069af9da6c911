#include "protection.h"

#include "capability.h"
#include "dir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

enum { PROTECTING_FLAGS = FS_IMMUTABLE_FL | FS_APPEND_FL };

/*
 * The same inode opened for reading, whatever its name stands for by now: O_PATH will not do for an
 * ioctl. O_NONBLOCK: not even a lease of somebody holds us up (fcntl(2), F_SETLEASE).
 */
static int reopen(int fd)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	int again;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

static bool is_subvolume(int dir)
{
	struct statfs fs;
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_ino == BTRFS_FIRST_FREE_OBJECTID &&
	       S_ISDIR(st.st_mode) && fstatfs(dir, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC;
}

int protection_lift_subvolume(int dir)
{
	int fd CLEANUP(fd_done) = -EBADF;
	uint64_t flags;

	if (!is_subvolume(dir))
		return 0;
	fd = reopen(dir);
	if (fd < 0)
		return fd;
	if (ioctl(fd, BTRFS_IOC_SUBVOL_GETFLAGS, &flags) != 0)
		return -errno;
	if (!(flags & BTRFS_SUBVOL_RDONLY))
		return 0;
	flags &= ~(uint64_t)BTRFS_SUBVOL_RDONLY;
	return ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags) == 0 ? 1 : -errno;
}

static bool no_such_flags(int code)
{
	return code == ENOTTY || code == EOPNOTSUPP || code == ENOSYS || code == EINVAL;
}

/* The links are counted while the flag is there, and so cannot become more before it goes. */
static int lift_flags(int thing)
{
	int fd CLEANUP(fd_done) = reopen(thing), flags = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
		return no_such_flags(errno) ? 0 : -errno;
	if (!(flags & PROTECTING_FLAGS))
		return 0;
	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) && st.st_nlink != 1)
		return -EMLINK;
	flags &= ~PROTECTING_FLAGS;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0 ? 1 : -errno;
}

int protection_lift(int fd)
{
	struct stat st;
	int writable, r;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	writable = protection_lift_subvolume(fd);
	if (writable < 0)
		return writable;
	r = lift_flags(fd);
	return r == 0 ? writable : r;
}

int protection_lift_entry(int dir, const char *name)
{
	int thing CLEANUP(fd_done) = dir_open_below(dir, name, O_PATH | O_NOFOLLOW, NULL);

	return thing < 0 ? thing : protection_lift(thing);
}

/* The flag that protects it, by statx(2), which opens nothing; NULL: none. */
static const char *flag_of(const struct statx *stx)
{
	if (stx->stx_attributes & STATX_ATTR_IMMUTABLE)
		return "immutable";
	return stx->stx_attributes & STATX_ATTR_APPEND ? "append-only" : NULL;
}

static bool look(int dir, const char *name, struct statx *ret_stx)
{
	return statx(dir, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		       STATX_TYPE | STATX_NLINK, ret_stx) == 0;
}

const char *protection_of(int dir)
{
	struct statx stx;

	return look(dir, "", &stx) ? flag_of(&stx) : NULL;
}

/* Whether a flag is the cause: then it is told, with what keeps us from lifting it. */
static bool explain_flags(struct text *text, int dir, const char *name)
{
	struct statx stx;
	const char *flag = look(dir, name, &stx) ? flag_of(&stx) : NULL;

	if (!flag)
		return false;
	text_addf(text, " (%s %s", *name ? "it is" : "its directory is", flag);
	if (*name && S_ISREG(stx.stx_mode) && stx.stx_nlink > 1)
		text_add(text, ", and it has other hard links");
	else if (!capability_held(CAP_LINUX_IMMUTABLE))
		text_add(text, ", and we lack CAP_LINUX_IMMUTABLE");
	text_addf(text, ": chattr -%c)", *flag);
	return true;
}

static void explain_owners(struct text *text, int code, int dir, const char *name)
{
	const unsigned power = code == EPERM ? CAP_FOWNER : CAP_DAC_OVERRIDE;
	struct stat entry, above;

	if (fstat(dir, &above) != 0 ||
		fstatat(dir, name, &entry, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return;
	text_addf(text, " (it belongs to uid %u, its directory to uid %u; we are uid %u",
		entry.st_uid, above.st_uid, geteuid());
	if (!capability_held(power))
		text_addf(text, " without %s",
			power == CAP_FOWNER ? "CAP_FOWNER" : "CAP_DAC_OVERRIDE");
	text_add(text, ")");
}

void protection_explain(struct text *text, int code, int dir, const char *name)
{
	if (code == EROFS)
		text_add(text,
			" (the filesystem, a btrfs subvolume that we may not change, or what the "
			"unit may write to: sbx-reap check)");
	if (code != EPERM && code != EACCES)
		return;
	if (code == EPERM && *name && explain_flags(text, dir, name))
		return;
	if (code == EPERM && explain_flags(text, dir, ""))
		return;
	if (*name)
		explain_owners(text, code, dir, name);
}
