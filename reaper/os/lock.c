#include "lock.h"
#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "base/timespan.h"
#include "errand.h"
#include "file.h"
#include "proc.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { HINT_MAX = 160, /* "PID EPOCH TOKEN\n" */ COMMAND_MS = 1000, COMMAND_MAX = 200 };

/* What the holder wrote about itself. */
struct hint {
	char text[HINT_MAX + 1];
	int64_t pid, since_s;
	const char *token; /* of processes.h, within text; NULL: it is not there */
};

static int lock_make(const char *path)
{
	char *directory CLEANUP(mem_done) = pathname_parent(path);
	int dir CLEANUP(fd_done) = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : file_make(dir, pathname_last(path), O_RDWR, 0600);
}

static int lock_open_there(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int lock_fail(int code, const char *path, struct error *error)
{
	return error_set(error, code, "open the lock file '%s'", path);
}

static int lock_check_open(int fd, const char *path, struct error *error)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return error_set(error, errno, "look at the lock file '%s'", path);
	if (!S_ISREG(stat.st_mode))
		return error_say(error, EINVAL, "the lock file '%s' is not a regular file", path);
	if (stat.st_nlink != 1) /* what is written to it would go into somebody's file */
		return error_say(error, EUCLEAN,
			"the lock file '%s' has %llu names instead of one: remove this one "
			"while no pass runs, it is made anew",
			path, (unsigned long long)stat.st_nlink);
	return 0;
}

int lock_check(const char *path, struct error *error)
{
	int fd CLEANUP(fd_done) = lock_open_there(path);

	if (fd < 0)
		return fd == -ENOENT ? 0 : lock_fail(-fd, path, error);
	return lock_check_open(fd, path, error);
}

static int lock_open(const char *path, struct error *error)
{
	int fd CLEANUP(fd_done) = lock_open_there(path);
	int r;

	if (fd == -ENOENT)
		fd = lock_make(path);
	if (fd == -EEXIST) /* another was faster; nobody ever removes it */
		fd = lock_open_there(path);
	if (fd < 0)
		return lock_fail(-fd, path, error);
	r = lock_check_open(fd, path, error);
	return r < 0 ? r : TAKE_FD(fd);
}

/* False when it has not written yet, or it cannot be read. */
static bool hint_read(int fd, struct hint *ret_hint)
{
	char *rest = ret_hint->text, *pid, *since;
	ssize_t length = pread(fd, rest, HINT_MAX, 0);

	if (length <= 0 || rest[length - 1] != '\n')
		return false;
	rest[length - 1] = 0;
	pid = text_word(&rest);
	since = text_word(&rest);
	ret_hint->token = text_word(&rest);
	return pid && since && text_to_int64(pid, 1, INT32_MAX, &ret_hint->pid) == 0 &&
	       text_to_int64(since, 0, MOMENT_MAX_S, &ret_hint->since_s) == 0;
}

static int lock_refuse(int fd, const char *path, struct error *error)
{
	char moment[TIMESPAN_TEXT];
	struct hint hint = { 0 };

	if (!hint_read(fd, &hint))
		return error_say(error, EBUSY, "another pass holds the lock '%s'", path);
	return error_say(error, EBUSY, "another pass holds the lock '%s': pid %lld, since %s", path,
		(long long)hint.pid, moment_format(moment, hint.since_s));
}

/* A full disk does not stop the one program that could free it: the lock is held all the same. */
static void hint_write(int fd, int64_t now_s)
{
	char hint[HINT_MAX + 1], token[PROCESS_TOKEN] = "";
	int length;

	(void)process_token(getpid(), token, NULL);
	length = snprintf(hint, sizeof(hint), "%d %lld%s%s\n", getpid(), (long long)now_s,
		*token ? " " : "", token);
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, hint, (size_t)length, 0);
}

int lock_take(const char *path, int64_t now_s, struct error *error)
{
	int fd CLEANUP(fd_done) = lock_open(path, error);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return lock_refuse(fd, path, error);
		return error_set(error, errno, "lock '%s'", path);
	}
	hint_write(fd, now_s);
	return TAKE_FD(fd);
}

/* In a child: it waits for a process that is stuck while its memory changes. */
static int read_command(void *context, void *result, struct error *error)
{
	int entry = *(const int *)context;
	char *command = result;
	ssize_t length = proc_read(entry, "cmdline", command, COMMAND_MAX);

	(void)error;
	for (ssize_t i = 0; i + 1 < length; i++)
		if (!command[i])
			command[i] = ' ';
	return length > 0;
}

/* Its command line, or its name where that cannot be had in time. The caller frees it. */
static char *command_of(int entry)
{
	char command[COMMAND_MAX] = "", comm[PROC_COMM];
	const struct errand errand = {
		.work = read_command,
		.context = &entry,
		.keep = &entry,
		.keep_count = 1,
		.result = command,
		.result_size = sizeof(command),
		.deadline_ms = deadline_in_ms(COMMAND_MS),
	};
	struct error unsaid = { 0 };

	if (errand_run(&errand, &unsaid) > 0) {
		command[sizeof(command) - 1] = 0;
		return text_escape_prose(command);
	}
	proc_comm(entry, comm, sizeof(comm));
	return mem_dup(comm);
}

static const char *state_in_words(char state)
{
	switch (state) {
	case 'T':
		return "stopped by a signal (SIGCONT lets it go on)";
	case 't':
		return "stopped by a debugger";
	case 'D':
		return "waiting in the kernel (state D)";
	case 'R':
		return "running";
	default:
		return "sleeping";
	}
}

bool lock_describe_holder(const char *path, char ret_text[LOCK_HOLDER])
{
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *command CLEANUP(mem_done) = NULL;
	int entry CLEANUP(fd_done) = -EBADF;
	char token[PROCESS_TOKEN] = "";
	struct proc_stat stat;
	struct hint hint = { 0 };

	ret_text[0] = 0;
	if (fd < 0 || !hint_read(fd, &hint) || !hint.token)
		return false;
	entry = proc_open((pid_t)hint.pid);
	if (entry < 0 || process_entry_token(entry, token) < 0 || !text_equal(token, hint.token) ||
		proc_stat_read(entry, &stat) < 0 || proc_stat_ended(&stat))
		return false;
	command = command_of(entry);
	(void)snprintf(ret_text, LOCK_HOLDER, "pid %lld (%s), %s", (long long)hint.pid, command,
		state_in_words(stat.state));
	return true;
}
