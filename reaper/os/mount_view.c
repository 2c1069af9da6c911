#include "mount_view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

static const char here_name[] = "/proc/self/mountinfo";
static const char there_name[] = "/proc/1/mountinfo";

void mount_view_done(struct mount_view *view)
{
	mounts_done(&view->here);
	mounts_done(&view->there);
	fd_done(&view->here_fd);
	fd_done(&view->there_fd);
	*view = MOUNT_VIEW_NONE;
}

/* Whether the table changed since the file was opened or last asked so; yes when it is not open. */
static bool changed(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLPRI };

	return fd < 0 || poll(&poll_fd, 1, 0) != 0;
}

/* Opened before it is read: what happens in between shows as a change. */
static int open_anew(int *fd, const char *name, struct error *error)
{
	fd_done(fd);
	*fd = open(name, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? error_set(error, errno, "open %s", name) : 0;
}

static int read_anew(int *fd, const char *name, struct mount_table *table, struct error *error)
{
	int r = open_anew(fd, name, error);

	mounts_done(table);
	if (r == 0)
		r = mounts_read_from(*fd, name, table, error);
	if (r < 0)
		fd_done(fd);
	return r;
}

static int id_order(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* One id in common is enough: no mount is in two namespaces. */
static bool share_a_mount(const struct mount_table *a, const struct mount_table *b)
{
	uint64_t *ids CLEANUP(mem_done) = mem_grow(NULL, a->count, sizeof(*ids));
	bool shared = false;

	for (size_t i = 0; i < a->count; i++)
		ids[i] = a->mounts[i].id;
	qsort(ids, a->count, sizeof(*ids), id_order);
	for (size_t i = 0; i < b->count && !shared; i++)
		shared = bsearch(&b->mounts[i].id, ids, a->count, sizeof(*ids), id_order) != NULL;
	return shared;
}

static int look_there(struct mount_view *view, struct error *error)
{
	struct error unseen = { 0 };
	int r = read_anew(&view->there_fd, there_name, &view->there, &unseen);

	/* No PID 1 that we may see, or one without any mount that can be reached from our root. */
	if (r == -ENOENT || r == -EACCES || r == -EPERM || r == -EINVAL) {
		view->apart = false;
		return 0;
	}
	if (r < 0)
		return error_say(error, -r, "%s", unseen.text);
	view->apart = !share_a_mount(&view->here, &view->there);
	if (!view->apart)
		mounts_done(&view->there);
	return 0;
}

int mount_view_now(struct mount_view *view, struct error *error)
{
	bool first = view->here_fd < 0;
	int r = 0;

	if (changed(view->here_fd))
		r = read_anew(&view->here_fd, here_name, &view->here, error);
	if (r == 0 && (first || (view->apart && changed(view->there_fd))))
		r = look_there(view, error);
	if (r < 0)
		mount_view_done(view);
	return r;
}

int mount_view_anew(struct mount_view *view, struct error *error)
{
	mount_view_done(view);
	return mount_view_now(view, error);
}
