/* Who is in a cgroup, for errors: cgroupfs_name_members(). */
#include "cgroup_files.h"
#include "cgroupfs.h"
#include "proc.h"

#include <fcntl.h>

enum { NAMED_MAX = 4 };

/* Who is in a group and below. */
struct named {
	struct text text;
	size_t count;
	bool frozen, threaded;
};

static void named_done(struct named *named)
{
	text_done(&named->text);
}

static void named_add(struct named *named, pid_t pid)
{
	char who[PROC_TEXT];

	if (named->count++ >= NAMED_MAX)
		return;
	if (named->text.length)
		text_add(&named->text, ", ");
	if (pid == 0) /* how a process outside of our pid namespace is shown */
		text_add(&named->text, "a process of another pid namespace");
	else
		text_add(&named->text, proc_describe(who, pid));
}

static int name_members(void *context, int group)
{
	struct named *named = context;
	int events CLEANUP(fd_done) = cgroup_file(group, "cgroup.events", O_RDONLY);
	struct text type CLEANUP(text_done) = { 0 };
	pid_t *pids CLEANUP(mem_done) = NULL;
	size_t count;

	if (cgroup_members(group, &pids, &count) < 0 || count == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		named_add(named, pids[i]);
	named->frozen |= events >= 0 && cgroup_event(events, "frozen") == 1;
	named->threaded |=
		cgroup_read(group, "cgroup.type", &type) >= 0 && text_starts(type.data, "threaded");
	return 0;
}

void cgroupfs_name_members(int group, struct text *text)
{
	struct named named CLEANUP(named_done) = { 0 };

	(void)cgroup_each(group, name_members, &named);
	text_add(text, named.count ? named.text.data : "a process that cannot be named");
	if (named.count > NAMED_MAX)
		text_addf(text, " and %zu more", named.count - NAMED_MAX);
	if (named.frozen)
		text_add(text, " (frozen)");
	if (named.threaded)
		text_add(text, " (a threaded group)");
}
