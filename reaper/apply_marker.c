#include "apply_marker.h"

#include "base/pathname.h"
#include "os/dir.h"
#include "state/marker.h"

#include <errno.h>

/* What came of reading it says nothing about the marker. (One that is not trusted any more is another.) */
static bool is_unread(int r)
{
	return r < 0 && r != -ENOENT && r != -EPERM && r != -EINVAL;
}

/*
 * The marker as it is now, when it is still that of this run: 1; 0 when there was none, it is gone, not
 * trusted any more, or a harness that uses the name again has written a new one meanwhile; -errno.
 */
static int marker_now(struct teardown *teardown, const struct record **ret_now, struct error *error)
{
	const struct record *seen = teardown->run->marker;
	char *root CLEANUP(mem_done) = NULL;
	int fd CLEANUP(fd_done) = -EBADF;
	struct error unsaid = { 0 };
	struct record *now;
	int r;

	if (!seen)
		return 0;
	root = pathname_parent(teardown->run->marker_path);
	fd = dir_open(root, &unsaid);
	r = fd < 0 ? fd
		   : marker_read(fd, root, teardown->run->id,
			     teardown->application->world->settings, &teardown->seen.arena, &now,
			     &unsaid);
	if (is_unread(r))
		return error_say(error, -r, "read its marker: %s", unsaid.text);
	if (r < 0 || now->created_s != seen->created_s)
		return 0;
	*ret_now = now;
	return 1;
}

bool marker_says_same(const struct record *now, const struct record *then)
{
	if (!now || !then)
		return now == then;
	return now->created_s == then->created_s && now->ttl_s == then->ttl_s &&
	       now->finished_s == then->finished_s && now->outcome == then->outcome;
}

/*
 * Where it says another beginning, end or time budget, a harness speaks of another run or has taken
 * the end back; and one that is gone proves nothing any more.
 */
enum tri marker_changed(struct teardown *teardown)
{
	const struct record *then = teardown->run->marker, *now = NULL;
	int r = marker_now(teardown, &now, NULL);

	if (r < 0)
		return TRI_UNKNOWN;
	return then && !marker_says_same(now, then) ? TRI_YES : TRI_NO;
}

int marker_drop(struct teardown *teardown)
{
	char *root CLEANUP(mem_done) = NULL;
	const struct record *now;
	int r = marker_now(teardown, &now, &teardown->error);

	if (r <= 0)
		return r;
	root = pathname_parent(teardown->run->marker_path);
	return marker_remove(root, teardown->run->id, &teardown->error);
}

int marker_stopped(struct teardown *teardown, int64_t now_s)
{
	const struct record *now;
	char *root CLEANUP(mem_done) = NULL;
	struct record record;
	int r = marker_now(teardown, &now, &teardown->error);

	if (r <= 0 || now->finished_s) /* its harness was faster: what it says holds */
		return r < 0 ? r : 0;
	record = *now;
	record.finished_s = now_s;
	record.outcome = OUTCOME_FAILED;
	root = pathname_parent(teardown->run->marker_path);
	return marker_write_end(root, &record, &teardown->error);
}
