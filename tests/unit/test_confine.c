/*
 * Every change that a file system knows, tried by a confined process on two equal directories: "in",
 * beneath which it may change something, and "out".
 */
#include "unit.h"

#include "base/clock.h"
#include "os/confine.h"
#include "os/errand.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

enum { LONG_MS = 60000, PATH_SIZE = 600 };

/* One of the two, as an attempt sees it: a descriptor, and what stands before every name. */
struct place {
	int dir;
	char prefix[PATH_SIZE];
};

struct path {
	char text[PATH_SIZE + 32];
};

static struct path in(const struct place *place, const char *name)
{
	struct path path;

	(void)snprintf(path.text, sizeof(path.text), "%s%s", place->prefix, name);
	return path;
}

static int answer(int r)
{
	return r < 0 ? -errno : 0;
}

static int opened(int fd)
{
	int owned CLEANUP(fd_done) = fd;

	return answer(owned);
}

/* ------------------------------------------------------------------------------------ the attempts */

static int try_unlink(const struct place *place)
{
	return answer(unlinkat(place->dir, in(place, "f").text, 0));
}

static int try_rmdir(const struct place *place)
{
	return answer(unlinkat(place->dir, in(place, "empty").text, AT_REMOVEDIR));
}

static int try_unlink_below(const struct place *place)
{
	return answer(unlinkat(place->dir, in(place, "d/f").text, 0));
}

static int try_rename(const struct place *place)
{
	return answer(
		renameat(place->dir, in(place, "f").text, place->dir, in(place, "other").text));
}

static int try_rename_over(const struct place *place)
{
	return answer(renameat(place->dir, in(place, "f").text, place->dir, in(place, "g").text));
}

static int try_exchange(const struct place *place)
{
	return answer(renameat2(
		place->dir, in(place, "f").text, place->dir, in(place, "d").text, RENAME_EXCHANGE));
}

static int try_move(const struct place *place)
{
	return answer(
		renameat(place->dir, in(place, "f").text, place->dir, in(place, "empty/f").text));
}

static int try_move_directory(const struct place *place)
{
	return answer(
		renameat(place->dir, in(place, "d").text, place->dir, in(place, "empty/d").text));
}

static int try_link(const struct place *place)
{
	return answer(
		linkat(place->dir, in(place, "f").text, place->dir, in(place, "linked").text, 0));
}

static int try_link_elsewhere(const struct place *place)
{
	return answer(
		linkat(place->dir, in(place, "f").text, place->dir, in(place, "empty/f").text, 0));
}

static int try_create(const struct place *place)
{
	return opened(openat(
		place->dir, in(place, "new").text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static int try_mkdir(const struct place *place)
{
	return answer(mkdirat(place->dir, in(place, "new").text, 0700));
}

static int try_symlink(const struct place *place)
{
	return answer(symlinkat("f", place->dir, in(place, "new").text));
}

static int try_fifo(const struct place *place)
{
	return answer(mknodat(place->dir, in(place, "new").text, S_IFIFO | 0600, 0));
}

static int try_socket(const struct place *place)
{
	return answer(mknodat(place->dir, in(place, "new").text, S_IFSOCK | 0600, 0));
}

static int try_device(const struct place *place)
{
	return answer(mknodat(place->dir, in(place, "new").text, S_IFCHR | 0600, 0));
}

static int try_write(const struct place *place)
{
	return opened(openat(place->dir, in(place, "f").text, O_WRONLY | O_CLOEXEC));
}

static int try_append(const struct place *place)
{
	return opened(openat(place->dir, in(place, "f").text, O_RDWR | O_APPEND | O_CLOEXEC));
}

static int try_cut(const struct place *place)
{
	return opened(openat(place->dir, in(place, "f").text, O_RDONLY | O_TRUNC | O_CLOEXEC));
}

static int try_truncate(const struct place *place)
{
	char path[2 * PATH_SIZE];

	if (place->dir == AT_FDCWD)
		return answer(truncate(in(place, "f").text, 1));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", place->dir, in(place, "f").text);
	return answer(truncate(path, 1));
}

static const struct attempt {
	const char *name;
	int (*attempt)(const struct place *place);
	int abi;              /* from which on the kernel can forbid it (or allow it to some) */
	bool remover, writer; /* who may do it beneath its directory */
} attempts[] = {
	{ "unlink", try_unlink, 1, true, true },
	{ "rmdir", try_rmdir, 1, true, true },
	{ "unlink below", try_unlink_below, 1, true, true },
	{ "rename", try_rename, 1, false, true },
	{ "rename over another", try_rename_over, 1, false, true },
	{ "exchange", try_exchange, 1, false, true },
	{ "move to another directory", try_move, 1, false, true },
	{ "move a directory to another", try_move_directory, 2, true, true },
	{ "link", try_link, 1, false, true },
	{ "link in another directory", try_link_elsewhere, 1, false, true },
	{ "create a file", try_create, 1, false, true },
	{ "make a directory", try_mkdir, 1, true, true },
	{ "make a symlink", try_symlink, 1, false, true },
	{ "make a fifo", try_fifo, 1, false, false },
	{ "make a socket", try_socket, 1, false, false },
	{ "make a device", try_device, 1, false, false },
	{ "open for writing", try_write, 1, false, true },
	{ "open for appending", try_append, 1, false, true },
	{ "cut when opening", try_cut, 3, false, true },
	{ "truncate", try_truncate, 3, false, true },
};

/* --------------------------------------------------------------------------------- how it is tried */

struct trial {
	int allowed; /* the descriptor of "in" */
	enum confine_right right;
	int (*attempt)(const struct place *place);
	struct place place;
};

static int confine_and_try(void *context, void *result, struct error *error)
{
	const struct trial *trial = context;
	int r;

	(void)result;
	r = confine_to(&trial->allowed, 1, trial->right, error);
	if (r != 1)
		return r < 0 ? -ENOTRECOVERABLE : -ENOSYS;
	return trial->attempt(&trial->place);
}

static int try_it(struct trial *trial)
{
	const int keep[] = { trial->allowed, trial->place.dir };
	const struct errand errand = {
		.work = confine_and_try,
		.context = trial,
		.keep = keep,
		.keep_count = ARRAY_SIZE(keep),
		.deadline_ms = deadline_in_ms(LONG_MS),
	};

	return errand_run(&errand, NULL);
}

static void make_place(struct workdir *workdir, const char *name)
{
	static const char *const dirs[] = { "", "d", "empty" }, *const files[] = { "f", "g",
		"d/f" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		char *path CLEANUP(mem_done) = mem_printf("%s/%s", name, dirs[i]);

		workdir_make(workdir, path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *path CLEANUP(mem_done) = mem_printf("%s/%s", name, files[i]);

		workdir_fill(workdir, path);
	}
}

static void make_places(struct workdir *workdir)
{
	make_place(workdir, "in");
	make_place(workdir, "out");
	assert_return_code(symlinkat("../out", workdir->dir, "in/link"), errno);
}

/* What stands below, with size, mode and link count of each: "" when it is not there. */
static char *look(struct workdir *workdir, const char *name)
{
	char *command CLEANUP(mem_done) =
		mem_printf("find '%s' -printf '%%P %%y %%s %%m %%n %%i\n' | sort",
			workdir_path(workdir, name));
	FILE *listing = popen(command, "re");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(listing);
	assert_true(getdelim(&text, &size, 0, listing) >= 0);
	assert_int_equal(pclose(listing), 0);
	return text;
}

static bool refused(int r)
{
	return r == -EACCES || r == -EXDEV;
}

enum way { BY_PATH, BY_DESCRIPTOR, BY_LINK, WAYS };

/* The place as an attempt reaches it; the descriptor is the caller's. */
static struct place place_of(struct workdir *workdir, const char *name, enum way way)
{
	const char *path = workdir_path(workdir, way == BY_LINK ? "in" : name);
	struct place place = { .dir = AT_FDCWD };

	if (way == BY_PATH) {
		(void)snprintf(place.prefix, sizeof(place.prefix), "%s/", path);
		return place;
	}
	place.dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(place.dir, errno);
	if (way == BY_LINK)
		(void)snprintf(place.prefix, sizeof(place.prefix), "link/");
	return place;
}

static int try_at(void **state, const struct attempt *attempt, enum confine_right right,
	const char *inside, const char *name, enum way way)
{
	int allowed CLEANUP(fd_done) =
		open(workdir_path(*state, inside), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct trial trial = {
		.allowed = allowed,
		.right = right,
		.attempt = attempt->attempt,
		.place = place_of(*state, name, way),
	};
	int r = try_it(&trial);

	if (trial.place.dir != AT_FDCWD)
		(void)close(trial.place.dir);
	return r;
}

/* Whether this kernel can forbid it at all, with that right. */
static bool within_abi(const struct attempt *attempt, enum confine_right right)
{
	int abi = confine_abi(NULL);

	return abi >= attempt->abi && abi >= (right == CONFINE_WRITE ? 2 : 1);
}

static void expect_outside_whole(void **state, enum confine_right right)
{
	char *before CLEANUP(mem_done) = NULL, *after CLEANUP(mem_done) = NULL;

	make_places(*state);
	before = look(*state, "out");
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		if (!within_abi(&attempts[i], right))
			continue;
		for (enum way way = BY_PATH; way < WAYS; way++) {
			int r = try_at(state, &attempts[i], right, "in", "out", way);

			if (!refused(r))
				fail_msg("%s, way %d: %d", attempts[i].name, way, r);
		}
	}
	after = look(*state, "out");
	assert_string_equal(before, after);
}

static void outside_a_remover_changes_nothing_in_whatever_way(void **state)
{
	expect_outside_whole(state, CONFINE_REMOVE);
}

static void outside_a_writer_changes_nothing_in_whatever_way(void **state)
{
	expect_outside_whole(state, CONFINE_WRITE);
}

static void expect_inside(void **state, enum confine_right right)
{
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		bool may = right == CONFINE_WRITE ? attempts[i].writer : attempts[i].remover;
		char name[8];
		int r;

		if (!within_abi(&attempts[i], right))
			continue;
		(void)snprintf(name, sizeof(name), "%zu", i);
		make_place(*state, name);
		r = try_at(state, &attempts[i], right, name, name, BY_DESCRIPTOR);
		if (may ? r != 0 : !refused(r))
			fail_msg("%s: %d", attempts[i].name, r);
	}
}

static void inside_a_remover_removes_and_does_nothing_else(void **state)
{
	expect_inside(state, CONFINE_REMOVE);
}

static void inside_a_writer_writes_and_makes_no_devices(void **state)
{
	expect_inside(state, CONFINE_WRITE);
}

/* --------------------------------------------------------------------------- across, and the rest */

static int try_move_out(const struct place *place)
{
	return answer(
		renameat(place->dir, in(place, "in/f").text, place->dir, in(place, "out/n").text));
}

static int try_move_in(const struct place *place)
{
	return answer(
		renameat(place->dir, in(place, "out/f").text, place->dir, in(place, "in/n").text));
}

static int try_link_in(const struct place *place)
{
	return answer(
		linkat(place->dir, in(place, "out/f").text, place->dir, in(place, "in/n").text, 0));
}

static int try_remove_itself(const struct place *place)
{
	return answer(unlinkat(place->dir, in(place, "in/empty").text, AT_REMOVEDIR));
}

static int try_run(const struct place *place)
{
	char *const argv[] = { mem_dup("true"), NULL };

	(void)place;
	(void)execv("/bin/true", argv);
	return -errno;
}

static int try_unmount(const struct place *place)
{
	return answer(umount2(in(place, "in/d").text, UMOUNT_NOFOLLOW));
}

static int try_read(const struct place *place)
{
	return opened(openat(place->dir, in(place, "out/f").text, O_RDONLY | O_CLOEXEC));
}

static int has_no_new_privileges(const struct place *place)
{
	(void)place;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static int try_in(void **state, int (*attempt)(const struct place *place), const char *allowed)
{
	struct trial trial = {
		.allowed = open(workdir_path(*state, allowed), O_PATH | O_DIRECTORY | O_CLOEXEC),
		.right = confine_abi(NULL) < 2 ? CONFINE_REMOVE : CONFINE_WRITE,
		.attempt = attempt,
		.place = place_of(*state, ".", BY_PATH),
	};
	int r = try_it(&trial);

	(void)close(trial.allowed);
	return r;
}

static void nothing_is_carried_across(void **state)
{
	char *before CLEANUP(mem_done) = NULL, *after CLEANUP(mem_done) = NULL;

	make_places(*state);
	before = look(*state, ".");
	assert_true(refused(try_in(state, try_move_out, "in")));
	assert_true(refused(try_in(state, try_move_in, "in")));
	assert_true(refused(try_in(state, try_link_in, "in")));
	after = look(*state, ".");
	assert_string_equal(before, after);
}

static void the_directory_itself_belongs_to_what_it_is_in(void **state)
{
	make_places(*state);
	assert_int_equal(try_in(state, try_remove_itself, "in/empty"), -EACCES);
	assert_true(workdir_has(*state, "in/empty"));
	assert_int_equal(try_in(state, try_remove_itself, "in"), 0);
	assert_false(workdir_has(*state, "in/empty"));
}

static void no_program_is_run_nothing_unmounted_and_reading_stays(void **state)
{
	const char *at;

	make_places(*state);
	at = workdir_path(*state, "in/d");
	assert_return_code(mount(at, at, NULL, MS_BIND, NULL), errno);
	assert_int_equal(try_in(state, try_run, "in"), -EACCES);
	assert_int_equal(try_in(state, try_unmount, "in"), -EPERM);
	assert_int_equal(try_in(state, try_read, "in"), 0);
	assert_int_equal(try_in(state, has_no_new_privileges, "in"), 1);
	assert_return_code(umount2(at, UMOUNT_NOFOLLOW), errno);
}

static int confine_to_no_directory(void *context, void *result, struct error *error)
{
	const int dirs[] = { -EBADF };

	(void)context;
	(void)result;
	return confine_to(dirs, 1, CONFINE_REMOVE, error);
}

static void a_wall_that_cannot_be_built_is_an_error(void **state)
{
	const struct errand errand = {
		.work = confine_to_no_directory,
		.deadline_ms = deadline_in_ms(LONG_MS),
	};
	struct error error = { 0 };

	(void)state;
	assert_true(confine_abi(NULL) > 0); /* without it nothing here is tested */
	assert_int_equal(errand_run(&errand, &error), -EBADF);
	assert_non_null(strstr(error.text, "confine: allow changes beneath a directory"));
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(outside_a_remover_changes_nothing_in_whatever_way),
		workdir_test(outside_a_writer_changes_nothing_in_whatever_way),
		workdir_test(inside_a_remover_removes_and_does_nothing_else),
		workdir_test(inside_a_writer_writes_and_makes_no_devices),
		workdir_test(nothing_is_carried_across),
		workdir_test(the_directory_itself_belongs_to_what_it_is_in),
		workdir_test(no_program_is_run_nothing_unmounted_and_reading_stays),
		workdir_test(a_wall_that_cannot_be_built_is_an_error),
	};

	return cmocka_run_group_tests_name("confine", tests, workdir_own_mounts, NULL);
}
