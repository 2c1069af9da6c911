#include "processes.h"

#include "base/clock.h"
#include "base/text.h"
#include "proc.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>

enum { BOOT_ID = 36, ANCESTORS_MAX = 4096 };

static int boot_id_read(const char *path, char ret_boot_id[BOOT_ID + 1], struct error *error)
{
	char line[BOOT_ID + 2];
	ssize_t length = proc_read(AT_FDCWD, path, line, sizeof(line));

	if (length < 0)
		return error_set(error, (int)-length, "read %s", path);
	if (length < BOOT_ID || strspn(line, "0123456789abcdef-") != BOOT_ID)
		return error_say(error, EPROTO, "%s does not hold a boot id", path);
	memcpy(ret_boot_id, line, BOOT_ID);
	ret_boot_id[BOOT_ID] = 0;
	return 0;
}

int process_boot_id(char ret_boot_id[37], struct error *error)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	char *of_init CLEANUP(mem_done) = mem_printf("/proc/1/root%s", path);

	if (boot_id_read(of_init, ret_boot_id, NULL) == 0)
		return 0;
	return boot_id_read(path, ret_boot_id, error);
}

int process_entry_token(int entry, char *ret_token)
{
	char boot_id[BOOT_ID + 1];
	struct proc_stat stat;
	int r = proc_stat_read(entry, &stat);

	if (r < 0)
		return r;
	if (proc_stat_ended(&stat))
		return -ESRCH;
	r = process_boot_id(boot_id, NULL);
	if (r < 0)
		return r;
	(void)snprintf(ret_token, PROCESS_TOKEN, "%s:%" PRIu64, boot_id, stat.start_ticks);
	return 0;
}

static bool pidfd_ended(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) > 0;
}

/*
 * Opens the living process of that number and reads who it is. The pidfd comes first: when the
 * token read afterwards is the right one, the pidfd is that process, or one that ended before it
 * and that no signal can reach. A pidfd, -ESRCH when there is none, -errno.
 */
static int process_open(pid_t pid, char ret_token[PROCESS_TOKEN])
{
	int pidfd CLEANUP(fd_done) = pidfd_open(pid, 0);
	int entry CLEANUP(fd_done) = -EBADF;
	int r;

	if (pidfd < 0) /* EINVAL, or ENOENT since Linux 6.9: a thread that leads no process */
		return errno == ENOENT ? -EINVAL : -errno;
	entry = proc_open(pid);
	r = entry < 0 ? entry : process_entry_token(entry, ret_token);
	if (r == -ESRCH && !pidfd_ended(pidfd))
		return -EACCES; /* it runs, and /proc (mounted with hidepid) does not show it */
	return r < 0 ? r : TAKE_FD(pidfd);
}

int process_token(pid_t pid, char ret_token[PROCESS_TOKEN], struct error *error)
{
	char token[PROCESS_TOKEN];
	int pidfd CLEANUP(fd_done) = process_open(pid, token);

	if (pidfd == -ESRCH)
		return error_say(error, ESRCH, "there is no process %d", pid);
	if (pidfd < 0)
		return error_set(error, -pidfd, "look at process %d", pid);
	memcpy(ret_token, token, sizeof(token));
	return 0;
}

int process_start(pid_t pid, struct process_start *ret_start)
{
	char token[PROCESS_TOKEN];
	int r = process_token(pid, token, NULL);
	const char *ticks = r < 0 ? NULL : strrchr(token, ':');
	int64_t began = 0;

	if (r < 0)
		return r;
	if (!ticks || text_to_int64(ticks + 1, 0, INT64_MAX, &began) < 0)
		return -EPROTO;
	*ret_start = (struct process_start){
		.ticks = began,
		.age_s = clock_boot_ms() / 1000 - began / sysconf(_SC_CLK_TCK),
	};
	return 0;
}

enum tri process_alive(pid_t pid, const char *token)
{
	char now[PROCESS_TOKEN], boot_id[BOOT_ID + 1];
	int pidfd CLEANUP(fd_done) = process_open(pid, now);

	if (pidfd == -ESRCH)
		return TRI_NO;
	if (token && process_boot_id(boot_id, NULL) == 0 && !text_starts(token, boot_id))
		return TRI_NO;
	if (pidfd < 0 || !token)
		return TRI_UNKNOWN;
	return text_equal(token, now) ? TRI_YES : TRI_NO;
}

void process_comm(pid_t pid, char *ret_comm, size_t size)
{
	int entry CLEANUP(fd_done) = proc_open(pid);

	proc_comm(entry, ret_comm, size);
}

int process_above_us(pid_t pid)
{
	pid_t at = getpid();

	for (int steps = 0; at > 0 && steps < ANCESTORS_MAX; steps++) {
		int entry CLEANUP(fd_done) = -EBADF;
		struct proc_stat stat;
		int r;

		if (at == pid)
			return 1;
		entry = proc_open(at);
		r = entry < 0 ? entry : proc_stat_read(entry, &stat);
		if (r < 0)
			return r;
		at = stat.parent;
	}
	return at > 0 ? -ELOOP : 0;
}

/* Waits until the process has ended (a zombie is ended). 0, -ETIME, -EINTR, -errno. */
static int pidfd_wait(int pidfd, int64_t deadline_ms)
{
	int r = signals_wait(pidfd, POLLIN, deadline_ms);

	return r > 0 ? 0 : r < 0 ? r : -ETIME;
}

int process_kill(pid_t pid, const char *token, int64_t deadline_ms, struct error *error)
{
	char now[PROCESS_TOKEN], who[PROC_TEXT];
	int pidfd CLEANUP(fd_done) = process_open(pid, now);
	int r;

	if (pidfd == -ESRCH)
		return 0;
	if (pidfd < 0)
		return error_set(error, -pidfd, "look at process %d", pid);
	if (!text_equal(token, now))
		return 0; /* the number is another's now */
	if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) < 0)
		return errno == ESRCH ? 0 : error_set(error, errno, "kill process %d", pid);
	r = pidfd_wait(pidfd, deadline_ms);
	if (r == -ETIME)
		return error_say(error, ETIME, "%s was killed and has not ended in time",
			proc_describe(who, pid));
	if (r < 0)
		return error_set(error, -r, "wait for process %d", pid);
	return 1;
}
