#include "apply_marker.h"

#include "base/pathname.h"
#include "os/dir.h"
#include "state/marker.h"

#include <errno.h>

/*
 * The marker as it is now, when it is still that of this run; NULL when it is gone, unreadable, or a
 * harness that uses the name again has written a new one meanwhile.
 */
static const struct record *marker_now(struct teardown *teardown)
{
	const struct record *seen = teardown->run->marker;
	char *root CLEANUP(mem_done) = NULL;
	int fd CLEANUP(fd_done) = -EBADF;
	struct record *now;

	if (!seen)
		return NULL;
	root = pathname_parent(teardown->run->marker_path);
	fd = dir_open(root, NULL);
	if (fd < 0 ||
		marker_read(fd, root, teardown->run->id, teardown->application->world->settings,
			&teardown->seen.arena, &now, NULL) < 0)
		return NULL;
	return now->created_s == seen->created_s ? now : NULL;
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
bool marker_changed(struct teardown *teardown)
{
	const struct record *then = teardown->run->marker;

	return then && !marker_says_same(marker_now(teardown), then);
}

int marker_drop(struct teardown *teardown)
{
	char *root CLEANUP(mem_done) = NULL;

	if (!marker_now(teardown))
		return 0;
	root = pathname_parent(teardown->run->marker_path);
	return marker_remove(root, teardown->run->id, &teardown->error);
}

int marker_stopped(struct teardown *teardown, int64_t now_s)
{
	const struct record *now = marker_now(teardown);
	char *root CLEANUP(mem_done) = NULL;
	struct record record;

	if (!now || now->finished_s) /* its harness was faster: what it says holds */
		return 0;
	record = *now;
	record.finished_s = now_s;
	record.outcome = OUTCOME_FAILED;
	root = pathname_parent(teardown->run->marker_path);
	return marker_write_end(root, &record, &teardown->error);
}
