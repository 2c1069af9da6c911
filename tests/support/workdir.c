#include "workdir.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct workdir_owned {
	struct workdir workdir;
	struct arena arena;
};

int workdir_setup(void **state)
{
	struct workdir_owned *owned = mem_new(sizeof(*owned));
	const char *top = getenv("TMPDIR");

	owned->workdir.path = mem_printf("%s/sbx-test-XXXXXX", top && *top ? top : "/tmp");
	if (!mkdtemp(owned->workdir.path) || chmod(owned->workdir.path, 0755) < 0)
		return -1;
	owned->workdir.dir = open(owned->workdir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &owned->workdir;
	return owned->workdir.dir < 0 ? -1 : 0;
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat;
	(void)type;
	(void)ftw;
	return remove(path);
}

int workdir_teardown(void **state)
{
	struct workdir_owned *owned = *state;

	(void)nftw(owned->workdir.path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	(void)close(owned->workdir.dir);
	free(owned->workdir.path);
	arena_done(&owned->arena);
	free(owned);
	return 0;
}

const char *workdir_path(struct workdir *workdir, const char *name)
{
	struct workdir_owned *owned = (struct workdir_owned *)workdir;

	return arena_printf(&owned->arena, "%s/%s", workdir->path, name);
}

void workdir_write(struct workdir *workdir, const char *name, const void *bytes, size_t length)
{
	int fd = openat(workdir->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length || fchmod(fd, 0644) < 0)
		abort();
	(void)close(fd);
}

pid_t workdir_fork(int (*child)(struct workdir *workdir, void *context), struct workdir *workdir,
	void *context)
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0) {
		/* It ends with us, also when a failed assertion has jumped over its kill. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(child(workdir, context));
	}
	return pid;
}

int workdir_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}
