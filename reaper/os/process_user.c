#include "process_user.h"

#include "proc.h"

#include <unistd.h>

enum { STATUS_TEXT = 4096 /* the lines that matter come first */ };

/* Of the system's own part of a user's session: systemd --user and its (sd-pam), which no run starts. */
static bool is_session_manager(int entry)
{
	char cgroups[PROC_TEXT], group[PROC_COMM];

	(void)snprintf(group, sizeof(group),
		"0::/user.slice/user-%u.slice/user@%u.service/init.scope\n", getuid(), getuid());
	return proc_read(entry, "cgroup", cgroups, sizeof(cgroups)) > 0 && strstr(cgroups, group);
}

bool process_is_another_users(int entry)
{
	char status[STATUS_TEXT];
	const char *line;
	unsigned uid;

	if (proc_read(entry, "status", status, sizeof(status)) < 0)
		return false;
	line = strstr(status, "\nUid:\t");
	if (!line || sscanf(line, "\nUid:\t%u", &uid) != 1)
		return false;
	return uid != getuid() || is_session_manager(entry);
}
