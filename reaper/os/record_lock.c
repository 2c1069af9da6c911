#include "record_lock.h"

#include "base/text.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

/*
 * One line of proc_locks(5): "5: POSIX  ADVISORY  WRITE 3456 fe:01:1234 0 EOF"; who only waits for it
 * has "->" before POSIX, and one of another pid namespace is 0. Whether it is of that file.
 */
static bool line_read(char *line, const char *file, pid_t *ret_pid, bool *ret_writes)
{
	const char *number = text_word(&line), *type = text_word(&line), *how = text_word(&line);
	const char *what = text_word(&line), *pid = text_word(&line), *of = text_word(&line);
	int64_t value;

	if (!number || !how || !text_equal(type, "POSIX") || !what || !pid ||
		!text_equal(of, file) || text_to_int64(pid, 1, INT32_MAX, &value) < 0)
		return false;
	*ret_pid = (pid_t)value;
	*ret_writes = text_equal(what, "WRITE");
	return true;
}

pid_t record_lock_holder(const char *path)
{
	FILE *stream CLEANUP(file_done) = fopen("/proc/locks", "re");
	char *line CLEANUP(mem_done) = NULL, *file CLEANUP(mem_done) = NULL;
	bool writes = false;
	pid_t found = 0;
	struct stat stat;
	size_t room = 0;

	if (!stream || lstat(path, &stat) < 0)
		return 0;
	file = mem_printf("%02x:%02x:%llu", major(stat.st_dev), minor(stat.st_dev),
		(unsigned long long)stat.st_ino);
	while (!writes && getline(&line, &room, stream) > 0) {
		pid_t pid;
		bool this_writes;

		if (!line_read(line, file, &pid, &this_writes) || pid == getpid())
			continue;
		if (!found || this_writes)
			found = pid;
		writes = this_writes;
	}
	return found;
}
