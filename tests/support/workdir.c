#include "workdir.h"

#include "unit.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct workdir_owned {
	struct workdir workdir;
	struct arena arena;
};

static bool own_mounts;

int workdir_own_mounts(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		print_error("these tests mount things and need root: %s\n", strerror(errno));
		return -1;
	}
	own_mounts = true;
	return 0;
}

static int directory_open(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int workdir_setup(void **state)
{
	struct workdir_owned *owned = mem_new(sizeof(*owned));
	const char *top = getenv("TMPDIR");
	char *path = mem_printf("%s/sbx-test-XXXXXX", top && *top ? top : "/tmp");

	if (!mkdtemp(path) || chmod(path, 0755) < 0)
		return -1;
	/* Bound to itself, so that one lazy unmount takes all mounts in it along. */
	if (own_mounts && mount(path, path, NULL, MS_BIND, NULL) != 0)
		return -1;
	owned->workdir.path = path;
	owned->workdir.dir = directory_open(path);
	*state = &owned->workdir;
	return owned->workdir.dir < 0 ? -1 : 0;
}

static void run(char *const argv[])
{
	static char *const environment[] = { NULL };
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environment) == 0)
		(void)waitpid(pid, NULL, 0);
}

/* By other hands than those under test. */
int workdir_teardown(void **state)
{
	struct workdir_owned *owned = *state;
	char *path = owned->workdir.path;
	char script[] = "chattr -R -f -i -a \"$0\"; rm -rf \"$0\"";
	char sh[] = "/bin/sh", option[] = "-c";

	(void)close(owned->workdir.dir);
	while (own_mounts && umount2(path, MNT_DETACH) == 0)
		;
	run((char *const[]){ sh, option, script, path, NULL });
	free(path);
	arena_done(&owned->arena);
	free(owned);
	return 0;
}

void workdir_in_memory(struct workdir *workdir)
{
	assert_return_code(mount("sbx-test", workdir->path, "tmpfs", 0, "mode=0755"), errno);
	(void)close(workdir->dir);
	workdir->dir = directory_open(workdir->path);
	assert_return_code(workdir->dir, errno);
}

const char *workdir_path(struct workdir *workdir, const char *name)
{
	struct workdir_owned *owned = (struct workdir_owned *)workdir;

	return arena_printf(&owned->arena, "%s/%s", workdir->path, name);
}

int workdir_open(struct workdir *workdir)
{
	int dir = directory_open(workdir->path);

	assert_return_code(dir, errno);
	return dir;
}

void workdir_make(struct workdir *workdir, const char *name)
{
	assert_return_code(mkdirat(workdir->dir, name, 0755), errno);
}

void workdir_fill(struct workdir *workdir, const char *name)
{
	int fd CLEANUP(fd_done) =
		openat(workdir->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	char content[8192];

	memset(content, 'x', sizeof(content));
	assert_return_code(fd, errno);
	assert_int_equal(write(fd, content, sizeof(content)), sizeof(content));
}

bool workdir_has(struct workdir *workdir, const char *name)
{
	struct stat stat;

	return fstatat(workdir->dir, name, &stat, AT_SYMLINK_NOFOLLOW) == 0;
}

void workdir_write(struct workdir *workdir, const char *name, const void *bytes, size_t length)
{
	int fd CLEANUP(fd_done) =
		openat(workdir->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_return_code(fd, errno);
	assert_int_equal(write(fd, bytes, length), length);
	assert_return_code(fchmod(fd, 0644), errno);
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
