/* Reads of libraries leave no trace and cannot hang: open() and opendir() as a library calls them. */
#include "unit.h"
#include "workdir.h"

#include "os/quiet_open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* So old that any reading renews it, also where mounted relatime (mount(8)). */
static void make_old(struct workdir *workdir, const char *name)
{
	const struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_nsec = UTIME_OMIT } };

	assert_return_code(utimensat(workdir->dir, name, times, 0), errno);
}

static bool is_old(struct workdir *workdir, const char *name)
{
	struct stat stat;

	assert_return_code(fstatat(workdir->dir, name, &stat, 0), errno);
	return stat.st_atim.tv_sec == 1000000000;
}

static void calls_of_libraries_reach_it(void **state)
{
	(void)state;
	assert_true(quiet_open_in_force());
}

static void reading_renews_no_access_time(void **state)
{
	struct workdir *workdir = *state;
	int fd CLEANUP(fd_done) = -EBADF;
	DIR *stream;
	char byte;

	workdir_fill(workdir, "file");
	workdir_make(workdir, "dir");
	workdir_make(workdir, "dir/below");
	make_old(workdir, "file");
	make_old(workdir, "dir");
	fd = open(workdir_path(workdir, "file"), O_RDONLY);
	assert_return_code(fd, errno);
	assert_int_equal(read(fd, &byte, 1), 1);
	stream = opendir(workdir_path(workdir, "dir"));
	assert_non_null(stream);
	while (readdir(stream))
		;
	assert_int_equal(closedir(stream), 0);
	assert_true(is_old(workdir, "file"));
	assert_true(is_old(workdir, "dir"));
}

static void what_the_library_reads_renews_none_either(void **state)
{
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "config");
	git_config *config = NULL;
	int32_t value = 0;

	workdir_write(workdir, "config", "[a]\n\tb = 7\n", 11);
	make_old(workdir, "config");
	assert_return_code(git_libgit2_init(), 0);
	assert_int_equal(git_config_open_ondisk(&config, path), 0);
	assert_int_equal(git_config_get_int32(&value, config, "a.b"), 0);
	git_config_free(config);
	assert_int_equal(value, 7);
	assert_true(is_old(workdir, "config"));
}

static void a_stranger_without_privilege_reads_as_ever(void **state)
{
	struct workdir *workdir = *state;
	int fd, saved;

	workdir_fill(workdir, "file");
	assert_return_code(seteuid(12345), errno);
	fd = open(workdir_path(workdir, "file"), O_RDONLY);
	saved = errno;
	assert_return_code(seteuid(0), errno);
	assert_return_code(fd, saved);
	fd_done(&fd);
}

static int refusal(const char *path, int flags)
{
	int fd CLEANUP(fd_done) = open(path, flags);

	return fd < 0 ? errno : 0;
}

static void fifos_and_devices_are_refused_at_once(void **state)
{
	struct workdir *workdir = *state;

	assert_return_code(mkfifoat(workdir->dir, "fifo", 0644), errno);
	assert_return_code(mknodat(workdir->dir, "null", S_IFCHR | 0644, makedev(1, 3)), errno);
	assert_return_code(symlinkat("/dev/zero", workdir->dir, "zero"), errno);
	assert_return_code(symlinkat("fifo", workdir->dir, "link"), errno);
	assert_int_equal(refusal(workdir_path(workdir, "fifo"), O_RDONLY), ENXIO);
	assert_int_equal(refusal(workdir_path(workdir, "link"), O_RDONLY), ENXIO);
	assert_int_equal(refusal(workdir_path(workdir, "null"), O_RDONLY), ENXIO);
	assert_int_equal(refusal(workdir_path(workdir, "zero"), O_RDONLY), ENXIO);
	assert_int_equal(refusal(workdir_path(workdir, "none"), O_RDONLY), ENOENT);
	assert_int_equal(refusal(workdir_path(workdir, "link"), O_RDONLY | O_NOFOLLOW), ELOOP);
	assert_int_equal(refusal("/dev/null", O_RDONLY), 0);
	assert_int_equal(refusal("/proc/self/stat", O_RDONLY), 0);
}

static void what_writes_is_opened_as_asked(void **state)
{
	struct workdir *workdir = *state;
	struct stat stat;
	int fd = open(workdir_path(workdir, "new"), O_RDWR | O_CREAT | O_EXCL, 0640);

	assert_return_code(fd, errno);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_return_code(fstat(fd, &stat), errno);
	assert_int_equal(stat.st_mode & 0777, 0640);
	fd_done(&fd);
	fd = open(workdir->path, O_RDWR | O_TMPFILE, 0600);
	assert_return_code(fd, errno);
	fd_done(&fd);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_libraries_reach_it),
		case_of(reading_renews_no_access_time),
		case_of(what_the_library_reads_renews_none_either),
		case_of(a_stranger_without_privilege_reads_as_ever),
		case_of(fifos_and_devices_are_refused_at_once),
		case_of(what_writes_is_opened_as_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
