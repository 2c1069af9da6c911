/*
 * Ending what runs in a cgroup: cgroupfs_kill().
 *
 * Killing pid by pid loses against a process that forks, and a pid that was read may be another's
 * when it is signalled. So the kernel's own cgroup.kill comes first; without it the group is frozen
 * (nothing in it forks any more), every member is opened as a pidfd, the members are read once
 * more from the same descriptor, and only who is in both lists is signalled.
 */
#include "cgroup_files.h"
#include "cgroupfs.h"
#include "proc.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>

enum {
	KILL_AGAIN_MS = 500, /* who was moved into the group meanwhile is killed too */
	FREEZE_MS = 200,
	BATCH = 256 /* pidfds open at a time */
};

/* One member that was listed, held so that its number cannot become another's. */
struct target {
	pid_t member; /* as listed: a process, or a thread of it */
	pid_t leader;
	int pidfd;
};

static bool members_hold(const pid_t *pids, size_t count, pid_t pid)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pids[middle] < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && pids[low] == pid;
}

static struct target target_open(pid_t member)
{
	struct target target = { .member = member, .pidfd = -EBADF };

	if (member <= 0)
		return target;
	target.leader = proc_leader(member);
	if (target.leader > 0)
		target.pidfd = pidfd_open(target.leader, 0);
	return target;
}

/* 0 when it was signalled or is not in the group any more. */
static int target_kill(const struct target *target, const pid_t *now, size_t now_count)
{
	if (target->pidfd < 0 || !members_hold(now, now_count, target->member))
		return 0;
	if (target->leader != target->member && proc_leader(target->member) != target->leader)
		return 0;
	if (pidfd_send_signal(target->pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return -errno;
	return 0;
}

static int batch_kill(int group, const pid_t *pids, size_t count, struct error *error)
{
	struct target targets[BATCH];
	pid_t *now CLEANUP(mem_done) = NULL;
	size_t now_count = 0;
	int first = 0, r;

	assert(count <= BATCH);
	for (size_t i = 0; i < count; i++)
		targets[i] = target_open(pids[i]);
	r = cgroup_members(group, &now, &now_count);
	for (size_t i = 0; i < count; i++) {
		int killed = r < 0 ? r : target_kill(&targets[i], now, now_count);

		if (killed < 0 && first == 0)
			first = error_set(error, -killed, "kill pid %d", targets[i].leader);
		fd_done(&targets[i].pidfd);
	}
	return first;
}

static int group_kill_members(void *context, int group)
{
	struct error *error = context;
	pid_t *pids CLEANUP(mem_done) = NULL;
	size_t count = 0;
	int r = cgroup_members(group, &pids, &count);

	if (r == -ENOENT || r == -ENODEV)
		return 0;
	if (r < 0)
		return error_set(error, -r, "list the processes of a cgroup");
	for (size_t done = 0; done < count && r >= 0; done += BATCH)
		r = batch_kill(
			group, pids + done, count - done < BATCH ? count - done : BATCH, error);
	return r;
}

/* A frozen process dies of SIGKILL without being thawed (cgroup v2 only). */
static int group_kill_one_by_one(int group, int events, int64_t deadline_ms, struct error *error)
{
	bool frozen = cgroup_write(group, "cgroup.freeze", "1") == 0;
	int r;

	if (frozen)
		(void)cgroup_event_wait(events, "frozen", 1,
			deadline_sooner(deadline_ms, deadline_in_ms(FREEZE_MS)));
	r = cgroup_each(group, group_kill_members, error);
	if (frozen)
		(void)cgroup_write(group, "cgroup.freeze", "0");
	return r;
}

int cgroupfs_kills(const struct cgroupfs *cgroupfs, const char *path)
{
	int group CLEANUP(fd_done) = cgroupfs_open_group(cgroupfs, path, NULL);

	if (group < 0)
		return group;
	if (faccessat(group, "cgroup.kill", F_OK, 0) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

static int group_kill(int group, int events, int64_t deadline_ms, struct error *error)
{
	int r = cgroup_write(group, "cgroup.kill", "1");

	if (r == -ENODEV)
		return 0; /* gone */
	return r < 0 ? group_kill_one_by_one(group, events, deadline_ms, error) : 0;
}

static int holds_us(void *context, int group)
{
	pid_t *pids CLEANUP(mem_done) = NULL;
	size_t count = 0;

	(void)context;
	if (cgroup_members(group, &pids, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (pids[i] == getpid() || pids[i] == gettid())
			return 1;
	return 0;
}

static int group_still_populated(int group, struct error *error)
{
	struct text who CLEANUP(text_done) = { 0 };

	cgroupfs_name_members(group, &who);
	return error_say(error, ETIME, "killed, and not ended in time: %s", who.data);
}

int cgroupfs_kill(int group, int64_t deadline_ms, struct error *error)
{
	int events CLEANUP(fd_done) = -EBADF;
	bool populated;
	int r = cgroupfs_populated(group, &populated, error);

	if (r < 0 || !populated)
		return r;
	if (cgroup_each(group, holds_us, NULL) == 1)
		return error_say(error, EPERM, "we are in this cgroup ourselves");
	events = cgroup_file(group, "cgroup.events", O_RDONLY);
	if (events < 0)
		return events == -ENOENT ? 0 : error_set(error, -events, "open cgroup.events");
	do {
		r = group_kill(group, events, deadline_ms, error);
		if (r < 0)
			return r;
		r = cgroup_event_wait(events, "populated", 0,
			deadline_sooner(deadline_ms, deadline_in_ms(KILL_AGAIN_MS)));
	} while (r == -ETIME && deadline_left_ms(deadline_ms) > 0);
	if (r == -ETIME)
		return group_still_populated(group, error);
	return r < 0 ? error_set(error, -r, "wait for a cgroup to become empty") : 1;
}
