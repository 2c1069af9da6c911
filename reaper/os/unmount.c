#include "unmount.h"

#include "base/clock.h"
#include "base/text.h"
#include "dir.h"
#include "errand.h"
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* One that answers at all answers at once; a slow network has some seconds. */
enum { ANSWER_MS = 3000 };

bool unmount_allowed(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	return data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

bool mount_is_served(const struct mount *mount)
{
	static const char *const types[] = { "fuse", "fuseblk", "nfs", "nfs4", "cifs", "smb3", "9p",
		"ceph", "afs", "lustre", "gfs2", "ocfs2", "virtiofs", "autofs" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_equal(mount->type, types[i]))
			return true;
	return text_starts(mount->type, "fuse.");
}

uint64_t mount_id_of(int fd)
{
	char name[40];

	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	return proc_mount_id(AT_FDCWD, name);
}

/* The directory that the mount point is in, and its name there. */
struct place {
	int dir;
	const char *name; /* within unmount->below */
};

static void place_done(struct place *place)
{
	fd_done(&place->dir);
}

/* 0, -ENOENT when it is not there any more, -errno. */
static int place_open(const struct unmount *unmount, struct place *place, struct error *error)
{
	const char *slash = strrchr(unmount->below, '/');
	char *parent CLEANUP(mem_done) = NULL;

	place->name = slash ? slash + 1 : unmount->below;
	if (slash)
		parent = mem_printf("%.*s", (int)(slash - unmount->below), unmount->below);
	place->dir = dir_open_through(
		unmount->tree, parent ? parent : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW);
	if (place->dir == -ENOENT)
		return -ENOENT;
	return place->dir < 0 ? error_set(error, -place->dir, "open its directory") : 0;
}

/*
 * Opens the mount's root without asking its filesystem. The descriptor, which keeps the mount busy;
 * -ENOENT when nothing is mounted there any more, -ESTALE when something else is, -errno.
 */
static int place_prove(
	const struct unmount *unmount, const struct place *place, struct error *error)
{
	int fd = openat(place->dir, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	uint64_t id;

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : error_set(error, errno, "open it");
	id = mount_id_of(fd);
	if (id == unmount->mount->id)
		return fd;
	(void)close(fd);
	if (id == mount_id_of(place->dir))
		return -ENOENT;
	return error_say(error, ESTALE, "another mount is in its place");
}

static int take_flags(const struct unmount *unmount, int flags, struct error *error)
{
	struct place place CLEANUP(place_done) = { .dir = -EBADF };
	char *path CLEANUP(mem_done) = NULL;
	int r = place_open(unmount, &place, error), root;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	root = place_prove(unmount, &place, error); /* MUST 1 */
	if (root < 0)
		return root == -ENOENT ? 0 : root;
	(void)close(root);
	path = mem_printf("/proc/self/fd/%d/%s", place.dir, place.name);
	if (umount2(path, flags | UMOUNT_NOFOLLOW) == 0)
		return 1;
	return error_set(error, errno, "unmount it");
}

static int take_work(void *context, void *result, struct error *error)
{
	(void)result;
	return take_flags(context, 0, error);
}

static int detach_work(void *context, void *result, struct error *error)
{
	(void)result;
	return take_flags(context, MNT_DETACH, error);
}

/* A number among the options of the filesystem, "user_id=1000"; the default when it is not there. */
static uint32_t option_number(const char *options, const char *name, uint32_t otherwise)
{
	const char *at = strstr(options, name);

	return at ? (uint32_t)strtoul(at + strlen(name), NULL, 10) : otherwise;
}

/*
 * A FUSE mount without allow_other answers its owner only, and others with EACCES before its server
 * is asked (fuse_allow_current_process() in fs/fuse/dir.c); so we ask as that user.
 */
static int become_owner(const struct mount *mount)
{
	uint32_t user = option_number(mount->super, "user_id=", 0);
	uint32_t group = option_number(mount->super, "group_id=", 0);

	if (!text_starts(mount->type, "fuse") || (!user && !group))
		return 0;
	if (setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0)
		return -errno;
	return 0;
}

static bool means_dead(int code)
{
	return code == ENOTCONN || code == ECONNABORTED || code == ESHUTDOWN || code == EHOSTDOWN ||
	       code == ESTALE || code == ENOLINK || code == ETIMEDOUT;
}

static int ask_work(void *context, void *result, struct error *error)
{
	const struct unmount *unmount = context;
	struct place place CLEANUP(place_done) = { .dir = -EBADF };
	int root CLEANUP(fd_done) = -EBADF;
	struct statx stx;
	int r = place_open(unmount, &place, error);

	(void)result;
	if (r == 0)
		r = root = place_prove(unmount, &place, error);
	if (r < 0)
		return r;
	r = become_owner(unmount->mount);
	if (r < 0)
		return error_set(error, -r, "ask its server as its owner");
	if (statx(root, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stx) == 0)
		return 1;
	return means_dead(errno) ? 0 : error_set(error, errno, "ask its server");
}

static int run(
	const struct unmount *unmount, errand_work *work, int64_t deadline_ms, struct error *error)
{
	struct unmount copy = *unmount;
	const struct errand errand = {
		.work = work,
		.context = &copy,
		.what = work == ask_work ? "ask its server" : "unmount it",
		.keep = &unmount->tree,
		.keep_count = 1,
		.deadline_ms = deadline_ms,
	};

	return errand_run(&errand, error);
}

int unmount_ask(const struct unmount *unmount, struct error *error)
{
	struct error unsaid = { 0 };
	int64_t soon_ms = deadline_in_ms(ANSWER_MS);
	int r;

	if (unmount->deadline_ms < soon_ms)
		return error_say(error, ETIME, "no time is left to ask its server");
	r = run(unmount, ask_work, soon_ms, &unsaid);
	if (r == -ETIME)
		return 0;
	return r < 0 && unsaid.code ? error_say(error, -r, "%s", unsaid.text) : r;
}

int unmount_take(const struct unmount *unmount, struct error *error)
{
	return run(unmount, take_work, unmount->deadline_ms, error);
}

int unmount_detach(const struct unmount *unmount, struct error *error)
{
	return run(unmount, detach_work, unmount->deadline_ms, error);
}
