/*
 * What lies beside the root. Its place may be in a directory of others, so there is one directory in
 * between that is ours and closed, and from there all goes by descriptors: whatever is put in place of
 * a name on the way, nothing of others is written, unmounted or removed.
 */
#include "probe_canary_parts.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "os/bind.h"
#include "os/dir.h"
#include "os/empty_dir.h"
#include "os/file.h"
#include "os/file_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { MOUNT_WAIT_MS = 60 * 1000 };

static const char canary_text[] = "A canary of 'sbx-reap probe'. It must stay as it is.\n";

int canary_directory(int dir, const char *name, struct error *error)
{
	if (mkdirat(dir, name, 0700) < 0)
		return error_set(error, errno, "make %s", name);
	return dir_open_below(dir, name, O_RDONLY | O_DIRECTORY, error);
}

int canary_file(int dir, const char *name, struct error *error)
{
	return file_write(dir, name, canary_text, strlen(canary_text), 0600, error);
}

/* The directory that is shared by probes. A descriptor, -ENOENT, -EPERM when it is another's. */
static int around_open(int parent, const char *around, struct error *error)
{
	int dir CLEANUP(fd_done) =
		dir_open_below(parent, pathname_last(around), O_RDONLY | O_DIRECTORY, NULL);
	struct stat st;

	if (dir < 0)
		return dir == -ENOENT ? dir : error_set(error, -dir, "open %s", around);
	if (fstat(dir, &st) < 0)
		return error_set(error, errno, "look at %s", around);
	if (!dir_is_closed(&st))
		return error_say(error, EPERM,
			"%s is not ours alone (mode 0700), so it is no place for a probe", around);
	return TAKE_FD(dir);
}

static int around_make(const char *around, struct error *error)
{
	char *above CLEANUP(mem_done) = pathname_parent(around);
	int parent CLEANUP(fd_done) = dir_open(above, error);

	if (parent < 0)
		return parent;
	if (mkdirat(parent, pathname_last(around), 0700) < 0 && errno != EEXIST)
		return error_set(error, errno, "make %s", around);
	return around_open(parent, around, error);
}

/* The second bind is nobody's business: taking the first one down must not take it, too. */
static int fill(const struct probe_canaries *canaries, int outside, struct error *error)
{
	int kept CLEANUP(fd_done) = canary_directory(outside, "kept", error);
	int r = kept < 0 ? kept : canary_file(kept, "canary", error);

	return r < 0 ? r : canaries_show(canaries, kept, outside, canaries->shown, error);
}

int canaries_show(const struct probe_canaries *canaries, int kept, int dir, const char *point,
	struct error *error)
{
	int at CLEANUP(fd_done) = canary_directory(dir, pathname_last(point), error);
	int r = at < 0 ? at : bind_mount(kept, at, error);

	if (r >= 0)
		r = bus_mount_wait(canaries->bus, point, deadline_in_ms(MOUNT_WAIT_MS), error);
	if (r < 0)
		error_prefix(error, "%s", point);
	return r;
}

int outside_make(const struct probe_canaries *canaries, struct error *error)
{
	int around CLEANUP(fd_done) = around_make(canaries->around, error);
	int outside CLEANUP(fd_done) =
		around < 0 ? around
			   : canary_directory(around, pathname_last(canaries->outside), error);

	return outside < 0 ? outside : fill(canaries, outside, error);
}

int outside_kept(const struct probe_canaries *canaries, struct error *error)
{
	char *above CLEANUP(mem_done) = pathname_parent(canaries->around);
	int parent CLEANUP(fd_done) = dir_open(above, error);
	int around CLEANUP(fd_done) =
		parent < 0 ? parent : around_open(parent, canaries->around, error);
	char *below CLEANUP(mem_done) = mem_printf("%s/kept", pathname_last(canaries->outside));

	return around < 0 ? around : dir_open_below(around, below, O_RDONLY | O_DIRECTORY, error);
}

/* ------------------------------------------------------------------------------------------ away */

/* The canary, and what is left of one whose writing was broken off. */
static int empty_kept(int outside, struct error *error)
{
	int kept CLEANUP(fd_done) = dir_open_below(outside, "kept", O_RDONLY | O_DIRECTORY, NULL);
	int r;

	if (kept < 0)
		return kept == -ENOENT ? 0 : error_set(error, -kept, "open kept");
	r = file_sweep(kept, error);
	return r < 0 ? r : file_remove(kept, "canary", error);
}

static int empty(int around, const char *name, struct error *error)
{
	int outside CLEANUP(fd_done) = dir_open_below(around, name, O_RDONLY | O_DIRECTORY, NULL);
	int r;

	if (outside < 0)
		return outside == -ENOENT ? 0 : error_set(error, -outside, "open %s", name);
	r = bind_unmount(outside, "shown", error);
	if (r >= 0)
		r = empty_kept(outside, error);
	if (r >= 0)
		r = empty_dir_remove(outside, "kept", error);
	return r < 0 ? r : empty_dir_remove(outside, "shown", error);
}

static int take_from(int around, const char *outside, struct error *error)
{
	const char *name = pathname_last(outside);
	struct stat there;
	int r = empty(around, name, error);

	if (r >= 0)
		r = empty_dir_remove(around, name, error);
	if (r < 0)
		return r;
	if (fstatat(around, name, &there, AT_SYMLINK_NOFOLLOW) == 0)
		return error_say(error, ENOTEMPTY, "%s is not empty", outside);
	return errno == ENOENT ? 0 : error_set(error, errno, "look at %s", outside);
}

int outside_take_away(const struct probe_canaries *canaries, struct error *error)
{
	char *above CLEANUP(mem_done) = pathname_parent(canaries->around);
	int parent CLEANUP(fd_done) = dir_open(above, NULL);
	int around CLEANUP(fd_done) =
		parent < 0 ? parent : around_open(parent, canaries->around, error);
	int r;

	if (around == -ENOENT) /* already gone is success */
		return 0;
	if (parent < 0)
		return error_set(error, -parent, "open %s", above);
	if (around < 0)
		return around;
	r = take_from(around, canaries->outside, error);
	/* Those of probes that failed may lie beside it. */
	return r < 0 ? r : empty_dir_remove(parent, pathname_last(canaries->around), error);
}
