#include "check.h"

#include "os/cgroupfs.h"
#include "os/confine.h"
#include "os/kernel.h"

#include <errno.h>

static const char *const losses[] = {
	[KERNEL_OPENAT2] =
		"nothing below a root can be opened safely, so nothing is read or removed",
	[KERNEL_PIDFD] = "no process can be ended or waited for safely, so nothing is looked at",
};

void check_kernel(struct check *check)
{
	char *release CLEANUP(mem_done) = kernel_release();
	bool whole = true;

	for (enum kernel_call call = 0; call < KERNEL_CALLS; call++) {
		char *detail CLEANUP(mem_done) = NULL;
		char *right CLEANUP(mem_done) = NULL;

		if (kernel_has(call))
			continue;
		whole = false;
		detail = mem_printf("%s cannot be called (%s): %s", kernel_call_name(call), release,
			losses[call]);
		right = mem_printf(
			"Linux %s brought it and 5.14 has all that is needed; if this is "
			"newer, a filter of system calls around it forbids the call",
			kernel_call_since(call));
		check_say(check, LEVEL_BAD, "kernel", detail);
		check_say_more(right);
	}
	if (whole)
		check_say(check, LEVEL_OK, "kernel", release);
}

void check_wall(struct check *check)
{
	struct error error = { 0 };
	int abi = confine_abi(&error);

	if (abi > 0) {
		check_say(check, LEVEL_OK, "landlock", "confines whatever deletes a tree");
	} else if (abi == 0) {
		check_say(check, LEVEL_WARN, "landlock",
			"this kernel has none: trees are deleted without a second wall");
		check_say_more("Linux 5.13 brought it; where it is built in, lsm=landlock,… on the "
			       "kernel's command line switches it on");
	} else {
		check_say_error(check, LEVEL_BAD, "landlock", &error);
	}
}

/* Asked of the first that is there: the root of all groups never has the file. */
static void check_group_kill(struct check *check, const struct cgroupfs *cgroupfs)
{
	char *slice CLEANUP(mem_done) = mem_printf("/%s", check->books.settings.cgroup_root);
	char *own CLEANUP(mem_done) = NULL;
	int kills;

	if (cgroupfs_own(&own, NULL) < 0)
		own = NULL;
	kills = cgroupfs_kills(cgroupfs, slice);
	if (kills == -ENOENT && own && own[1])
		kills = cgroupfs_kills(cgroupfs, own);
	if (kills != 0)
		return;
	check_say(check, LEVEL_WARN, "cgroup.kill",
		"this kernel has none: the processes of a group are frozen and killed one by one");
	check_say_more("Linux 5.14 brought it");
}

void check_cgroups(struct check *check)
{
	struct cgroupfs *cgroupfs;
	struct error error = { 0 };
	int r = cgroupfs_open(&cgroupfs, &error);

	if (r == 0) {
		check_say(check, LEVEL_OK, "cgroup v2", cgroupfs_mount(cgroupfs));
		check_group_kill(check, cgroupfs);
		cgroupfs_close(cgroupfs);
		return;
	}
	check_say_error(check, r == -ENOENT ? LEVEL_WARN : LEVEL_BAD, "cgroup v2", &error);
	check_say_more("what runs in a registered cgroup can be neither seen nor ended: such a run "
		       "is kept; "
		       "others are not concerned");
	check_say_more("mount it: mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 cgroup2 "
		       "/sys/fs/cgroup/unified");
}
