#include "scratch.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static bool own_mounts;

int scratch_own_mounts(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		print_error("these tests mount things and need root: %s\n", strerror(errno));
		return -1;
	}
	own_mounts = true;
	return 0;
}

int scratch_make(void **state)
{
	const char *parent = getenv("TMPDIR");
	char *path = mem_printf("%s/sbx-unit-XXXXXX", parent ? parent : "/tmp");

	if (!mkdtemp(path))
		return -1;
	/* Bound to itself, so that one lazy unmount takes all mounts in it along. */
	if (own_mounts && mount(path, path, NULL, MS_BIND, NULL) != 0)
		return -1;
	*state = path;
	return 0;
}

static void run(char *const argv[])
{
	static char *const environment[] = { NULL };
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environment) == 0)
		(void)waitpid(pid, NULL, 0);
}

/* By other hands than those under test. */
int scratch_remove(void **state)
{
	char *path = *state;
	char script[] = "chattr -R -f -i -a \"$0\"; rm -rf \"$0\"";
	char sh[] = "/bin/sh", option[] = "-c";

	while (own_mounts && umount2(path, MNT_DETACH) == 0)
		;
	run((char *const[]){ sh, option, script, path, NULL });
	free(path);
	return 0;
}

void scratch_in_memory(void **state)
{
	assert_return_code(mount("sbx-unit", *state, "tmpfs", 0, "mode=0755"), errno);
}

char *scratch_path(void **state, const char *name)
{
	return mem_printf("%s/%s", (const char *)*state, name);
}

void scratch_dir(void **state, const char *name)
{
	char *path CLEANUP(mem_done) = scratch_path(state, name);

	assert_return_code(mkdir(path, 0755), errno);
}

void scratch_file(void **state, const char *name)
{
	char *path CLEANUP(mem_done) = scratch_path(state, name);
	int fd CLEANUP(fd_done) = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	char content[8192];

	memset(content, 'x', sizeof(content));
	assert_return_code(fd, errno);
	assert_int_equal(write(fd, content, sizeof(content)), sizeof(content));
}

bool scratch_exists(void **state, const char *name)
{
	char *path CLEANUP(mem_done) = scratch_path(state, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

int scratch_open(void **state)
{
	int fd = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_return_code(fd, errno);
	return fd;
}
