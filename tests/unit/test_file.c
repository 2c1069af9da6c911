#include "unit.h"

#include "os/file.h"
#include "os/file_sweep.h"

#include "small_disk.h"
#include "tracer.h"
#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

static size_t entries(struct workdir *workdir)
{
	DIR *listing = opendir(workdir->path);
	size_t count = 0;

	assert_non_null(listing);
	while (readdir(listing))
		count++;
	closedir(listing);
	return count - 2;
}

static void what_was_written_is_read_back(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };
	char *bytes CLEANUP(mem_done) = NULL;
	struct stat stat;
	size_t length;
	mode_t old = umask(077);

	assert_int_equal(file_write(workdir->dir, "f", "a\0b", 3, 0644, &error), 0);
	umask(old);
	assert_int_equal(file_read(workdir->dir, "f", 3, &bytes, &length, &stat, &error), 0);
	assert_int_equal(length, 3);
	assert_memory_equal(bytes, "a\0b", 4);
	assert_int_equal(stat.st_mode & 07777, 0644);
	assert_int_equal(entries(workdir), 1);
}

static void an_empty_file_is_read_as_empty(void **state)
{
	struct workdir *workdir = *state;
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length = 7;

	workdir_write(workdir, "f", "", 0);
	assert_int_equal(file_read(workdir->dir, "f", 0, &bytes, &length, NULL, NULL), 0);
	assert_int_equal(length, 0);
	assert_string_equal(bytes, "");
}

static void one_byte_too_many_is_refused(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };
	char *bytes CLEANUP(mem_done) = NULL;
	char many[10000] = { 0 };
	size_t length = 7;

	workdir_write(workdir, "f", many, sizeof(many));
	assert_int_equal(
		file_read(workdir->dir, "f", sizeof(many) - 1, &bytes, &length, NULL, &error),
		-EFBIG);
	assert_null(bytes);
	assert_int_equal(
		file_read(workdir->dir, "f", sizeof(many), &bytes, &length, NULL, NULL), 0);
	assert_int_equal(length, sizeof(many));
}

static void only_regular_files_are_read(void **state)
{
	static const struct {
		const char *name;
		int answer;
	} cases[] = { { "missing", -ENOENT }, { "link", -ELOOP }, { "directory", -EINVAL },
		{ "fifo", -EINVAL }, { "socket", -EINVAL } };
	struct workdir *workdir = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	workdir_write(workdir, "target", "x", 1);
	assert_int_equal(symlinkat("target", workdir->dir, "link"), 0);
	assert_int_equal(mkdirat(workdir->dir, "directory", 0755), 0);
	assert_int_equal(mkfifoat(workdir->dir, "fifo", 0644), 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/socket",
		workdir->dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error = { 0 };
		char *bytes = NULL;
		size_t length;

		assert_int_equal(
			file_read(workdir->dir, cases[i].name, 10, &bytes, &length, NULL, &error),
			cases[i].answer);
		assert_int_equal(error.code, -cases[i].answer);
		assert_non_null(strstr(error.text, cases[i].name));
	}
}

static int reader(struct workdir *workdir, void *context)
{
	(void)context;
	for (int i = 0; i < 3000; i++) {
		char *bytes CLEANUP(mem_done) = NULL;
		size_t length;

		if (file_read(workdir->dir, "f", 9000, &bytes, &length, NULL, NULL) < 0)
			return 1;
		if (length != 5 && length != 9000)
			return 2;
		for (size_t at = 1; at < length; at++)
			if (bytes[at] != bytes[0])
				return 3;
	}
	return 0;
}

static void a_reader_sees_the_old_or_the_new_file_and_never_half(void **state)
{
	struct workdir *workdir = *state;
	char big[9000];
	pid_t pid;

	memset(big, 'b', sizeof(big));
	assert_int_equal(file_write(workdir->dir, "f", "aaaaa", 5, 0644, NULL), 0);
	pid = workdir_fork(reader, workdir, NULL);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(file_write(workdir->dir, "f", big, sizeof(big), 0644, NULL), 0);
		assert_int_equal(file_write(workdir->dir, "f", "aaaaa", 5, 0644, NULL), 0);
	}
	assert_int_equal(workdir_wait(pid), 0);
	assert_int_equal(entries(workdir), 1);
}

static void a_write_that_fails_leaves_the_old_file_and_no_other(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };

	assert_int_equal(mkdirat(workdir->dir, "f", 0755), 0);
	assert_int_equal(file_write(workdir->dir, "f", "a", 1, 0644, &error), -EISDIR);
	assert_non_null(strstr(error.text, "'f'"));
	assert_int_equal(entries(workdir), 1);
}

static void removing_is_idempotent_and_spares_directories_and_targets(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };

	workdir_write(workdir, "f", "x", 1);
	assert_int_equal(symlinkat("f", workdir->dir, "link"), 0);
	assert_int_equal(file_remove(workdir->dir, "link", &error), 1);
	assert_int_equal(faccessat(workdir->dir, "f", F_OK, 0), 0);
	assert_int_equal(file_remove(workdir->dir, "f", &error), 1);
	assert_int_equal(file_remove(workdir->dir, "f", &error), 0);
	assert_int_equal(mkdirat(workdir->dir, "d", 0755), 0);
	assert_true(file_remove(workdir->dir, "d", &error) < 0);
	assert_int_equal(faccessat(workdir->dir, "d", F_OK, 0), 0);
}

static void what_root_writes_in_the_directory_of_a_user_is_his(void **state)
{
	struct workdir *workdir = *state;
	struct stat stat;

	assert_int_equal(fchown(workdir->dir, 12345, 54321), 0);
	assert_int_equal(file_write(workdir->dir, "f", "a", 1, 0644, NULL), 0);
	assert_int_equal(file_make_directory(workdir->dir, "d", 0755), 0);
	assert_int_equal(file_make_directory(workdir->dir, "d", 0755), -EEXIST);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(fstatat(workdir->dir, i ? "d" : "f", &stat, 0), 0);
		assert_int_equal(stat.st_uid, 12345);
		assert_int_equal(stat.st_gid, 54321);
	}
	/* And he is root again. */
	assert_int_equal(fchown(workdir->dir, 0, 0), 0);
	assert_int_equal(file_write(workdir->dir, "f", "b", 1, 0644, NULL), 0);
	assert_int_equal(fstatat(workdir->dir, "f", &stat, 0), 0);
	assert_int_equal(stat.st_uid, 0);
}

static void what_is_added_is_added_whole_or_not_at_all(void **state)
{
	struct workdir *workdir = *state;
	char *bytes CLEANUP(mem_done) = NULL, *more CLEANUP(mem_done) = mem_new(10000);
	size_t length;

	small_disk(workdir);
	workdir_write(workdir, "f", "one\n", 4);
	small_disk_fill_bytes(workdir);
	small_disk_fill_inodes(workdir);
	assert_int_equal(file_write(workdir->dir, "f", "a", 1, 0644, NULL), -ENOSPC);
	assert_int_equal(file_append(workdir->dir, "f", "two\n", 4, 100, NULL), 0);
	assert_int_equal(file_append(workdir->dir, "f", more, 10000, 20000, NULL), -ENOSPC);
	assert_int_equal(file_append(workdir->dir, "f", "three\n", 6, 13, NULL), -EFBIG);
	assert_int_equal(file_read(workdir->dir, "f", 20000, &bytes, &length, NULL, NULL), 0);
	assert_string_equal(bytes, "one\ntwo\n");
	assert_int_equal(length, 8);
}

static void nothing_is_added_behind_a_link_or_to_a_file_of_two_names(void **state)
{
	struct workdir *workdir = *state;

	workdir_write(workdir, "f", "x", 1);
	assert_int_equal(symlinkat("f", workdir->dir, "link"), 0);
	assert_int_equal(file_append(workdir->dir, "link", "y", 1, 10, NULL), -ELOOP);
	assert_int_equal(linkat(workdir->dir, "f", workdir->dir, "g", 0), 0);
	assert_int_equal(file_append(workdir->dir, "g", "y", 1, 10, NULL), -EINVAL);
	assert_int_equal(file_append(workdir->dir, "gone", "y", 1, 10, NULL), -ENOENT);
	assert_int_equal(mkfifoat(workdir->dir, "fifo", 0600), 0);
	assert_int_equal(file_append(workdir->dir, "fifo", "y", 1, 10, NULL), -ENXIO);
}

/* As a process that was killed leaves it: with the name, and not locked. */
static void leave(struct workdir *workdir, const char *name)
{
	workdir_write(workdir, name, "half", 4);
}

static void what_a_killed_write_left_is_swept_away_and_nothing_else(void **state)
{
	static const char *const others[] = { ".f.sbx-new-abc", ".f.sbx-new-abcdeF",
		"f.sbx-new-abcdef", ".sbx-new-abcdef", ".f.sbx-new-abcdefg", "f" };
	struct workdir *workdir = *state;
	struct error error = { 0 };

	leave(workdir, ".f.sbx.sbx-new-abc234");
	leave(workdir, ".g.keep.sbx-new-zzzzzz");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		leave(workdir, others[i]);
	workdir_make(workdir, ".d.sbx-new-abcdef");
	assert_int_equal(symlinkat("f", workdir->dir, ".l.sbx-new-abcdef"), 0);
	leave(workdir, ".theirs.sbx-new-abcdef");
	assert_int_equal(fchownat(workdir->dir, ".theirs.sbx-new-abcdef", 12345, 12345, 0), 0);
	assert_int_equal(file_sweep(workdir->dir, &error), 2);
	assert_int_equal(entries(workdir), ARRAY_SIZE(others) + 3);
	assert_int_equal(file_sweep(workdir->dir, &error), 0);
}

static void what_is_being_written_is_not_swept_away(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };
	int fd CLEANUP(fd_done) = -EBADF;

	leave(workdir, ".f.sbx.sbx-new-abc234");
	fd = openat(workdir->dir, ".f.sbx.sbx-new-abc234", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(file_sweep(workdir->dir, &error), 0);
	assert_int_equal(entries(workdir), 1);
}

static int write_again_and_again(struct workdir *workdir, void *context)
{
	struct error error = { 0 };

	(void)context;
	for (int i = 0; i < 300; i++)
		if (file_write(workdir->dir, "f", "whole", 5, 0644, &error) < 0) {
			fprintf(stderr, "%s\n", error.text);
			return 1;
		}
	return 0;
}

static void writing_and_sweeping_go_on_side_by_side(void **state)
{
	struct workdir *workdir = *state;
	pid_t writer = workdir_fork(write_again_and_again, workdir, NULL);
	siginfo_t info = { 0 };

	while (waitid(P_PID, (id_t)writer, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid)
		assert_true(file_sweep(workdir->dir, NULL) >= 0);
	assert_int_equal(workdir_wait(writer), 0);
	assert_int_equal(entries(workdir), 1);
}

/* ------------------------------------------------------------------------- one call that fails */

struct second_sync {
	struct workdir *workdir;
	int calls, fails_with;
};

static int fail_second(void *context, const struct tracer_call *call)
{
	struct second_sync *sync = context;

	(void)call;
	return ++sync->calls == 2 ? -sync->fails_with : TRACER_GO_ON;
}

static int write_new(void *context)
{
	const struct second_sync *sync = context;
	struct error error = { 0 };
	int r = file_write(sync->workdir->dir, "file", "new", 3, 0644, &error);

	/* What it answers passes through an exit code, why through its being said. */
	return strstr(error.text, strerror(sync->fails_with)) ? -r : 0;
}

/* Who took it for a full disk made do in another way, and did it twice. */
static void where_only_the_directory_is_not_synced_the_name_is_in_place_and_why_is_said(
	void **state)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT };
	static const long calls[] = { SYS_fsync };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct second_sync sync = { .workdir = *state, .fails_with = errors[i] };
		const struct trace trace = {
			.calls = calls,
			.call_count = 1,
			.program = write_new,
			.program_context = &sync,
			.on_call = fail_second,
			.context = &sync,
			.limit_s = 60,
		};
		char *bytes CLEANUP(mem_done) = NULL;
		size_t length;
		int status;

		(void)unlinkat(sync.workdir->dir, "file", 0);
		status = tracer_run(&trace);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), EINPROGRESS);
		assert_int_equal(
			file_read(sync.workdir->dir, "file", 10, &bytes, &length, NULL, NULL), 0);
		assert_string_equal(bytes, "new");
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_written_is_read_back),
		TEST(an_empty_file_is_read_as_empty),
		TEST(one_byte_too_many_is_refused),
		TEST(only_regular_files_are_read),
		TEST(a_reader_sees_the_old_or_the_new_file_and_never_half),
		TEST(a_write_that_fails_leaves_the_old_file_and_no_other),
		TEST(what_root_writes_in_the_directory_of_a_user_is_his),
		TEST(where_only_the_directory_is_not_synced_the_name_is_in_place_and_why_is_said),
		TEST(what_is_added_is_added_whole_or_not_at_all),
		TEST(nothing_is_added_behind_a_link_or_to_a_file_of_two_names),
		TEST(what_a_killed_write_left_is_swept_away_and_nothing_else),
		TEST(what_is_being_written_is_not_swept_away),
		TEST(writing_and_sweeping_go_on_side_by_side),
		TEST(removing_is_idempotent_and_spares_directories_and_targets),
	};

	return cmocka_run_group_tests_name("file", tests, workdir_own_mounts, NULL);
}
