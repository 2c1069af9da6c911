#include "unit.h"

#include "model.h"
#include "os/lock.h"
#include "state/db.h"
#include "state/runs.h"
#include "state/store.h"

#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { NOBODY = 12345, NOW = 1795966380 };

static const char *database(struct workdir *workdir)
{
	return workdir_path(workdir, "state.db");
}

static int open_close(struct workdir *workdir, enum store_access access, struct error *error)
{
	struct store *store = NULL;
	int r = store_open(database(workdir), access, &store, error);

	assert_true((r == 0) == (store != NULL));
	store_close(store);
	return r;
}

static void make(struct workdir *workdir)
{
	struct error error = { 0 };

	if (open_close(workdir, STORE_WRITE, &error) < 0)
		fail_msg("%s", error.text);
}

static void renew(struct workdir *workdir)
{
	struct store *store;

	assert_int_equal(store_open(database(workdir), STORE_RENEW, &store, NULL), 0);
	assert_int_equal(store_renewed(store, NULL), 0);
	store_close(store);
}

static void add_run(struct workdir *workdir, const char *run)
{
	struct store *store;

	assert_int_equal(store_open(database(workdir), STORE_WRITE, &store, NULL), 0);
	assert_int_equal(runs_register(store, &(struct record){ .run = run }, 60, NOW, NULL), 1);
	store_close(store);
}

static size_t count_runs(struct workdir *workdir, enum store_access access)
{
	struct inventory inventory = { 0 };
	struct store *store;
	size_t count;

	assert_int_equal(store_open(database(workdir), access, &store, NULL), 0);
	assert_int_equal(runs_load(store, &inventory, NULL, NULL), 0);
	count = inventory.run_count;
	inventory_done(&inventory);
	store_close(store);
	return count;
}

static int raw(struct workdir *workdir, const char *sql)
{
	sqlite3 *db;
	int r = sqlite3_open(database(workdir), &db);

	if (r == SQLITE_OK)
		r = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_close(db);
	return r;
}

/* Names and sizes of all entries, as one number that any change changes. */
static uint64_t listing(struct workdir *workdir)
{
	DIR *dir = opendir(workdir->path);
	struct dirent *entry;
	uint64_t sum = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct stat stat;
		uint64_t hash = 5381;

		assert_int_equal(fstatat(dirfd(dir), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW), 0);
		for (const char *c = entry->d_name; *c; c++)
			hash = hash * 33 + (unsigned char)*c;
		sum += hash * (uint64_t)(stat.st_size + 1);
	}
	closedir(dir);
	return sum;
}

static bool exists(struct workdir *workdir, const char *name)
{
	return faccessat(workdir->dir, name, F_OK, 0) == 0;
}

static void a_reader_finds_nothing_on_record_and_makes_no_file(void **state)
{
	struct workdir *workdir = *state;
	uint64_t before = listing(workdir);
	struct error error = { 0 };

	assert_int_equal(open_close(workdir, STORE_READ, &error), -ENOENT);
	assert_non_null(strstr(error.text, "never"));
	assert_int_equal(listing(workdir), before);
}

static void a_writer_makes_it_with_its_stamp_readable_for_all(void **state)
{
	struct workdir *workdir = *state;
	mode_t old = umask(077);
	struct stat stat;

	make(workdir);
	umask(old);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
			fstatat(workdir->dir, i ? "state.db" : "state.db.stamp", &stat, 0), 0);
		assert_int_equal(stat.st_mode & 07777, 0644);
	}
	assert_int_equal(open_close(workdir, STORE_READ, NULL), 0);
	assert_int_equal(open_close(workdir, STORE_WRITE, NULL), 0);
}

static void the_last_directory_is_made_and_no_other(void **state)
{
	struct workdir *workdir = *state;
	struct store *store;

	assert_int_equal(
		store_open(workdir_path(workdir, "a/b/x.db"), STORE_WRITE, &store, NULL), -ENOENT);
	assert_false(exists(workdir, "a"));
	assert_int_equal(
		store_open(workdir_path(workdir, "a/x.db"), STORE_READ, &store, NULL), -ENOENT);
	assert_false(exists(workdir, "a"));
	assert_int_equal(store_open(workdir_path(workdir, "a/x.db"), STORE_WRITE, &store, NULL), 0);
	store_close(store);
}

static void a_symlinked_directory_is_no_obstacle(void **state)
{
	struct workdir *workdir = *state;
	struct store *store;

	assert_int_equal(mkdirat(workdir->dir, "real", 0755), 0);
	assert_int_equal(symlinkat("real", workdir->dir, "link"), 0);
	assert_int_equal(
		store_open(workdir_path(workdir, "link/x.db"), STORE_WRITE, &store, NULL), 0);
	store_close(store);
	assert_true(exists(workdir, "real/x.db"));
}

static void missing_or_empty_where_one_has_been_is_never_an_empty_database(void **state)
{
	struct workdir *workdir = *state;

	make(workdir);
	for (int empty = 0; empty < 2; empty++) {
		struct error error = { 0 };
		uint64_t before;

		(void)unlinkat(workdir->dir, "state.db", 0);
		if (empty)
			workdir_write(workdir, "state.db", "", 0);
		before = listing(workdir);
		assert_int_equal(open_close(workdir, STORE_READ, &error), -ENODATA);
		assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -ENODATA);
		assert_non_null(strstr(error.text, "--new-database"));
		assert_int_equal(listing(workdir), before);
	}
}

static void an_empty_file_without_a_stamp_becomes_a_database(void **state)
{
	struct workdir *workdir = *state;

	workdir_write(workdir, "state.db", "", 0);
	assert_int_equal(open_close(workdir, STORE_READ, NULL), -ENOENT);
	make(workdir);
	assert_int_equal(open_close(workdir, STORE_READ, NULL), 0);
}

static void a_missing_stamp_is_written_again(void **state)
{
	struct workdir *workdir = *state;

	make(workdir);
	assert_int_equal(unlinkat(workdir->dir, "state.db.stamp", 0), 0);
	assert_int_equal(open_close(workdir, STORE_READ, NULL), 0);
	assert_false(exists(workdir, "state.db.stamp"));
	make(workdir);
	assert_true(exists(workdir, "state.db.stamp"));
	make(workdir);
}

static void a_new_one_is_made_on_purpose_only_where_none_is(void **state)
{
	struct workdir *workdir = *state;

	make(workdir);
	assert_int_equal(open_close(workdir, STORE_RENEW, NULL), -EEXIST);
	workdir_write(workdir, "state.db", "damaged", 7);
	assert_int_equal(open_close(workdir, STORE_RENEW, NULL), -EEXIST);
	assert_int_equal(unlinkat(workdir->dir, "state.db", 0), 0);
	renew(workdir);
	make(workdir);
}

static void a_new_one_that_is_not_filled_is_opened_by_nobody_else_and_gone_on_with(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };

	make(workdir);
	assert_int_equal(unlinkat(workdir->dir, "state.db", 0), 0);
	assert_int_equal(open_close(workdir, STORE_RENEW, NULL), 0);
	assert_int_equal(open_close(workdir, STORE_READ, &error), -ENODATA);
	assert_non_null(strstr(error.text, "being made anew"));
	assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -ENODATA);
	assert_int_equal(open_close(workdir, STORE_RENEW, NULL), 0);
	renew(workdir);
	make(workdir);
	assert_int_equal(open_close(workdir, STORE_RENEW, NULL), -EEXIST);
}

static void another_database_in_its_place_is_refused(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };

	make(workdir);
	assert_int_equal(raw(workdir, "UPDATE meta SET identity = lower(hex(randomblob(16)))"), 0);
	assert_int_equal(open_close(workdir, STORE_READ, &error), -EUCLEAN);
	assert_non_null(strstr(error.text, "stamp"));
	assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -EUCLEAN);
	assert_int_equal(unlinkat(workdir->dir, "state.db.stamp", 0), 0);
	make(workdir);
}

static void a_stamp_of_rubbish_is_not_a_missing_stamp(void **state)
{
	struct workdir *workdir = *state;

	make(workdir);
	workdir_write(workdir, "state.db.stamp", "x", 1);
	assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -EUCLEAN);
	workdir_write(workdir, "state.db.stamp", "", 0);
	assert_int_equal(open_close(workdir, STORE_READ, NULL), -EUCLEAN);
}

static void rubbish_is_refused_and_left_as_it_is(void **state)
{
	struct workdir *workdir = *state;
	char rubbish[5000];
	uint64_t before;

	memset(rubbish, 'r', sizeof(rubbish));
	for (size_t length = 1; length <= sizeof(rubbish); length += 833) {
		workdir_write(workdir, "state.db", rubbish, length);
		before = listing(workdir);
		assert_int_equal(open_close(workdir, STORE_READ, NULL), -EUCLEAN);
		assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -EUCLEAN);
		assert_int_equal(listing(workdir), before);
	}
	assert_int_equal(unlinkat(workdir->dir, "state.db", 0), 0);
	assert_int_equal(mkfifoat(workdir->dir, "state.db", 0644), 0);
	assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -EUCLEAN);
}

static void a_truncated_database_is_refused(void **state)
{
	struct workdir *workdir = *state;
	struct stat stat;

	make(workdir);
	assert_int_equal(fstatat(workdir->dir, "state.db", &stat, 0), 0);
	for (off_t length = stat.st_size - 1; length > 0; length -= 4000) {
		assert_int_equal(truncate(database(workdir), length), 0);
		assert_int_equal(open_close(workdir, STORE_READ, NULL), -EUCLEAN);
		assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -EUCLEAN);
	}
}

/*
 * Whatever is broken, the answer is an error or the truth, and verify finds what reads pass over.
 */
static void a_page_of_rubbish_is_found(void **state)
{
	struct workdir *workdir = *state;
	struct store *store;
	struct error error = { 0 };
	char rubbish[4096];
	int fd;

	make(workdir);
	for (int i = 0; i < 200; i++) {
		char run[16];

		(void)snprintf(run, sizeof(run), "r%d", i);
		if (i % 50 == 0)
			add_run(workdir, run);
	}
	memset(rubbish, 0x5a, sizeof(rubbish));
	fd = openat(workdir->dir, "state.db", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, rubbish, sizeof(rubbish), 4L * 4096), sizeof(rubbish));
	close(fd);
	assert_int_equal(store_open(database(workdir), STORE_READ, &store, NULL), 0);
	assert_int_equal(store_verify(store, &error), -EUCLEAN);
	store_close(store);
}

static void a_whole_database_passes_the_check(void **state)
{
	struct workdir *workdir = *state;
	struct store *store;

	add_run(workdir, "r1");
	assert_int_equal(store_open(database(workdir), STORE_READ, &store, NULL), 0);
	assert_int_equal(store_verify(store, NULL), 0);
	store_close(store);
	assert_int_equal(raw(workdir, "PRAGMA foreign_keys = OFF; INSERT INTO resource"
				      " (run, kind, locator, dev, ino)"
				      " VALUES ('gone', 'volume', 'v', 0, 0)"),
		0);
	assert_int_equal(store_open(database(workdir), STORE_READ, &store, NULL), 0);
	assert_int_equal(store_verify(store, NULL), -EUCLEAN);
	store_close(store);
}

static void the_database_of_another_program_is_refused(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };

	assert_int_equal(raw(workdir, "CREATE TABLE t (x); PRAGMA application_id = 77"), 0);
	assert_int_equal(open_close(workdir, STORE_WRITE, &error), -EUCLEAN);
	assert_non_null(strstr(error.text, "another program"));
	assert_int_equal(unlinkat(workdir->dir, "state.db", 0), 0);
	assert_int_equal(raw(workdir, "CREATE TABLE t (x)"), 0);
	assert_int_equal(open_close(workdir, STORE_READ, NULL), -EUCLEAN);
}

static void a_newer_version_is_refused(void **state)
{
	struct workdir *workdir = *state;

	make(workdir);
	assert_int_equal(raw(workdir, "PRAGMA user_version = 1000"), 0);
	assert_int_equal(open_close(workdir, STORE_READ, NULL), -EPROTO);
	assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -EPROTO);
}

/* In a child without any privilege: what store_open and a read answer, as a positive number. */
static int as_nobody(struct workdir *workdir, void *context)
{
	enum store_access *access = context;
	struct inventory inventory = { 0 };
	struct store *store = NULL;
	int r;

	if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return 254;
	r = store_open(database(workdir), *access, &store, NULL);
	if (r == 0)
		r = runs_load(store, &inventory, NULL, NULL);
	if (r == 0)
		r = (int)inventory.run_count == 1 ? 0 : -253;
	inventory_done(&inventory);
	store_close(store);
	return -r;
}

static int ask_nobody(struct workdir *workdir, enum store_access access)
{
	return workdir_wait(workdir_fork(as_nobody, workdir, &access));
}

static void an_unprivileged_reader_lists_without_making_a_file(void **state)
{
	struct workdir *workdir = *state;
	uint64_t before;

	add_run(workdir, "r1");
	before = listing(workdir);
	assert_int_equal(ask_nobody(workdir, STORE_READ), 0);
	assert_int_equal(ask_nobody(workdir, STORE_WRITE), EACCES);
	assert_int_equal(listing(workdir), before);
	assert_int_equal(unlinkat(workdir->dir, "state.db-journal", 0), 0);
	before = listing(workdir);
	assert_int_equal(ask_nobody(workdir, STORE_READ), 0);
	assert_int_equal(listing(workdir), before);
}

static void an_unreadable_database_is_not_a_missing_one(void **state)
{
	struct workdir *workdir = *state;

	add_run(workdir, "r1");
	assert_int_equal(fchmodat(workdir->dir, "state.db", 0600, 0), 0);
	assert_int_equal(ask_nobody(workdir, STORE_READ), EACCES);
	assert_int_equal(chmod(workdir->path, 0700), 0);
	assert_int_equal(ask_nobody(workdir, STORE_READ), EACCES);
}

static void what_root_leaves_beside_it_belongs_to_its_owner(void **state)
{
	struct workdir *workdir = *state;
	mode_t old = umask(077);
	struct stat stat;

	make(workdir);
	assert_int_equal(unlinkat(workdir->dir, "state.db-journal", 0), 0);
	assert_int_equal(fchownat(workdir->dir, "state.db", NOBODY, NOBODY, 0), 0);
	add_run(workdir, "r1");
	umask(old);
	assert_int_equal(fstatat(workdir->dir, "state.db-journal", &stat, 0), 0);
	assert_int_equal(stat.st_uid, NOBODY);
	assert_int_equal(stat.st_gid, NOBODY);
	assert_int_equal(stat.st_mode & 07777, 0644);
}

static int lock_as_nobody(struct workdir *workdir, void *context)
{
	(void)context;
	if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return 254;
	return lock_take(workdir_path(workdir, "service/state.db.lock"), NOW, NULL) < 0;
}

static int write_as_nobody(struct workdir *workdir, void *context)
{
	struct store *store = NULL;
	int r;

	(void)context;
	if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return 254;
	r = store_open(workdir_path(workdir, "service/state.db"), STORE_WRITE, &store, NULL);
	if (r == 0)
		r = runs_register(store, &(struct record){ .run = "r2" }, 60, NOW, NULL) - 1;
	store_close(store);
	return -r;
}

static void expect_of_nobody(struct workdir *workdir, const char *name)
{
	struct stat stat;

	if (fstatat(workdir->dir, name, &stat, 0) < 0)
		fail_msg("%s is missing", name);
	if (stat.st_uid != NOBODY || stat.st_gid != NOBODY)
		fail_msg("%s belongs to %u:%u", name, stat.st_uid, stat.st_gid);
}

static void what_root_makes_in_the_directory_of_a_user_is_his_to_write(void **state)
{
	static const char *const names[] = { "service/state.db", "service/state.db-journal",
		"service/state.db.stamp", "service/state.db.reserve", "service/state.db.lock" };
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, "service/state.db");
	struct store *store;
	int fd;

	workdir_make(workdir, "service");
	assert_int_equal(fchownat(workdir->dir, "service", NOBODY, NOBODY, 0), 0);
	for (int round = 0; round < 2; round++) {
		char run[] = { 'r', (char)('a' + round), 0 };

		assert_int_equal(store_open(path, STORE_WRITE, &store, NULL), 0);
		assert_int_equal(
			runs_register(store, &(struct record){ .run = run }, 60, NOW, NULL), 1);
		store_close(store);
		fd = lock_take(workdir_path(workdir, "service/state.db.lock"), NOW, NULL);
		assert_return_code(fd, errno);
		close(fd);
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			expect_of_nobody(workdir, names[i]);
		if (round == 0) {
			assert_int_equal(
				workdir_wait(workdir_fork(write_as_nobody, workdir, NULL)), 0);
			assert_int_equal(
				workdir_wait(workdir_fork(lock_as_nobody, workdir, NULL)), 0);
		}
	}
}

static void the_directory_that_root_makes_in_that_of_a_user_is_his(void **state)
{
	struct workdir *workdir = *state;
	struct store *store;

	workdir_make(workdir, "home");
	assert_int_equal(fchownat(workdir->dir, "home", NOBODY, NOBODY, 0), 0);
	assert_int_equal(store_open(workdir_path(workdir, "home/service/state.db"), STORE_WRITE,
				 &store, NULL),
		0);
	store_close(store);
	expect_of_nobody(workdir, "home/service");
	expect_of_nobody(workdir, "home/service/state.db");
}

/* In a directory that its owner may not write in there is nobody whose it should be. */
static void a_directory_closed_to_its_owner_is_no_obstacle_to_root(void **state)
{
	struct workdir *workdir = *state;
	struct store *store;

	workdir_make(workdir, "service");
	assert_int_equal(fchownat(workdir->dir, "service", NOBODY, NOBODY, 0), 0);
	assert_int_equal(fchmodat(workdir->dir, "service", 0555, 0), 0);
	assert_int_equal(
		store_open(workdir_path(workdir, "service/state.db"), STORE_WRITE, &store, NULL),
		0);
	store_close(store);
}

static void a_database_of_two_names_or_behind_a_link_is_refused(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };
	uint64_t before;

	make(workdir);
	assert_int_equal(linkat(workdir->dir, "state.db", workdir->dir, "again.db", 0), 0);
	before = listing(workdir);
	assert_int_equal(open_close(workdir, STORE_WRITE, &error), -EUCLEAN);
	assert_non_null(strstr(error.text, "2 names"));
	assert_int_equal(open_close(workdir, STORE_READ, NULL), -EUCLEAN);
	assert_int_equal(listing(workdir), before);
	assert_int_equal(unlinkat(workdir->dir, "state.db", 0), 0);
	for (int i = 0; i < 2; i++) { /* to a database, and to nothing */
		error = (struct error){ 0 };
		assert_int_equal(
			symlinkat(i ? "nowhere" : "again.db", workdir->dir, "state.db"), 0);
		assert_int_equal(open_close(workdir, STORE_WRITE, &error), -EUCLEAN);
		assert_non_null(strstr(error.text, "symbolic link"));
		assert_int_equal(open_close(workdir, STORE_READ, NULL), -EUCLEAN);
		assert_int_equal(open_close(workdir, STORE_RENEW, NULL), -EUCLEAN);
		assert_int_equal(unlinkat(workdir->dir, "state.db", 0), 0);
	}
	assert_false(exists(workdir, "nowhere"));
}

/* What is refused is to be looked at as it was. */
static void refusing_touches_nothing(void **state)
{
	struct workdir *workdir = *state;
	uint64_t before;

	make(workdir);
	assert_int_equal(unlinkat(workdir->dir, "state.db-journal", 0), 0);
	assert_int_equal(unlinkat(workdir->dir, "state.db.reserve", 0), 0);
	assert_int_equal(raw(workdir, "PRAGMA user_version = 1000"), 0);
	before = listing(workdir);
	assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -EPROTO);
	assert_int_equal(listing(workdir), before);
	assert_int_equal(raw(workdir, "PRAGMA user_version = 1; UPDATE meta SET identity ="
				      " lower(hex(randomblob(16)))"),
		0);
	before = listing(workdir);
	assert_int_equal(open_close(workdir, STORE_WRITE, NULL), -EUCLEAN);
	assert_int_equal(listing(workdir), before);
}

struct holder {
	const char *sql;
	int ready[2];
	unsigned seconds; /* 0: until it is killed */
};

static int hold(struct workdir *workdir, void *context)
{
	struct holder *holder = context;
	sqlite3 *db;

	if (sqlite3_open(database(workdir), &db) != SQLITE_OK ||
		sqlite3_exec(db, holder->sql, NULL, NULL, NULL) != SQLITE_OK)
		return 1;
	(void)!write(holder->ready[1], "x", 1);
	if (holder->seconds)
		sleep(holder->seconds);
	else
		pause();
	return 0;
}

static pid_t start_holder(struct workdir *workdir, struct holder *holder)
{
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(holder->ready, O_CLOEXEC), 0);
	pid = workdir_fork(hold, workdir, holder);
	close(holder->ready[1]);
	assert_int_equal(read(holder->ready[0], &byte, 1), 1);
	close(holder->ready[0]);
	return pid;
}

static void kill_holder(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(workdir_wait(pid), 255);
}

static void a_lock_for_longer_than_the_time_out_is_busy(void **state)
{
	struct workdir *workdir = *state;
	struct holder holder = { .sql = "BEGIN EXCLUSIVE" };
	struct error error = { 0 };
	char *who CLEANUP(mem_done) = NULL;
	pid_t pid;

	make(workdir);
	pid = start_holder(workdir, &holder);
	who = mem_printf("longer than 5 s: pid %d (test_store)", pid);
	assert_int_equal(open_close(workdir, STORE_READ, &error), -EBUSY);
	assert_non_null(strstr(error.text, "locked by another process"));
	assert_non_null(strstr(error.text, who));
	kill_holder(pid);
	assert_int_equal(open_close(workdir, STORE_READ, NULL), 0);
}

static void a_lock_for_a_moment_is_waited_for(void **state)
{
	struct workdir *workdir = *state;
	struct holder holder = { .sql = "BEGIN EXCLUSIVE", .seconds = 1 };
	pid_t pid;

	make(workdir);
	pid = start_holder(workdir, &holder);
	add_run(workdir, "r1");
	assert_int_equal(workdir_wait(pid), 0);
}

/* cache_spill writes pages before the commit, so that the kill leaves a hot journal. */
static void a_writer_killed_in_the_middle_is_undone_by_the_next(void **state)
{
	struct workdir *workdir = *state;
	struct holder holder = {
		.sql = "PRAGMA journal_mode = TRUNCATE; PRAGMA cache_size = 5;"
		       "PRAGMA cache_spill = 1; BEGIN IMMEDIATE;"
		       "DELETE FROM run; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL"
		       " SELECT i + 1 FROM n WHERE i < 3000)"
		       " INSERT INTO pin (run, reason) SELECT 'p' || i,"
		       " hex(zeroblob(100)) FROM n"
	};
	struct error error = { 0 };
	struct stat stat;

	add_run(workdir, "r1");
	kill_holder(start_holder(workdir, &holder));
	assert_int_equal(fstatat(workdir->dir, "state.db-journal", &stat, 0), 0);
	assert_true(stat.st_size > 0);
	assert_int_equal(open_close(workdir, STORE_READ, &error), -EBUSY);
	assert_non_null(strstr(error.text, "killed in the middle"));
	assert_int_equal(ask_nobody(workdir, STORE_READ), EBUSY);
	assert_int_equal(count_runs(workdir, STORE_WRITE), 1);
	assert_int_equal(count_runs(workdir, STORE_READ), 1);
}

static int create(struct workdir *workdir, void *context)
{
	(void)context;
	return -open_close(workdir, STORE_WRITE, NULL);
}

static void many_may_make_it_at_once(void **state)
{
	struct workdir *workdir = *state;

	for (int round = 0; round < 5; round++) {
		pid_t pids[6];

		for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
			pids[i] = workdir_fork(create, workdir, NULL);
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
			assert_int_equal(workdir_wait(pids[i]), 0);
		assert_int_equal(open_close(workdir, STORE_READ, NULL), 0);
		assert_int_equal(unlinkat(workdir->dir, "state.db", 0), 0);
		assert_int_equal(unlinkat(workdir->dir, "state.db.stamp", 0), 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_reader_finds_nothing_on_record_and_makes_no_file),
		TEST(a_writer_makes_it_with_its_stamp_readable_for_all),
		TEST(the_last_directory_is_made_and_no_other),
		TEST(a_symlinked_directory_is_no_obstacle),
		TEST(missing_or_empty_where_one_has_been_is_never_an_empty_database),
		TEST(an_empty_file_without_a_stamp_becomes_a_database),
		TEST(a_missing_stamp_is_written_again),
		TEST(a_new_one_is_made_on_purpose_only_where_none_is),
		TEST(a_new_one_that_is_not_filled_is_opened_by_nobody_else_and_gone_on_with),
		TEST(another_database_in_its_place_is_refused),
		TEST(a_stamp_of_rubbish_is_not_a_missing_stamp),
		TEST(rubbish_is_refused_and_left_as_it_is),
		TEST(a_truncated_database_is_refused),
		TEST(a_page_of_rubbish_is_found),
		TEST(a_whole_database_passes_the_check),
		TEST(the_database_of_another_program_is_refused),
		TEST(a_newer_version_is_refused),
		TEST(an_unprivileged_reader_lists_without_making_a_file),
		TEST(an_unreadable_database_is_not_a_missing_one),
		TEST(what_root_leaves_beside_it_belongs_to_its_owner),
		TEST(what_root_makes_in_the_directory_of_a_user_is_his_to_write),
		TEST(the_directory_that_root_makes_in_that_of_a_user_is_his),
		TEST(a_directory_closed_to_its_owner_is_no_obstacle_to_root),
		TEST(a_database_of_two_names_or_behind_a_link_is_refused),
		TEST(refusing_touches_nothing),
		TEST(a_lock_for_longer_than_the_time_out_is_busy),
		TEST(a_lock_for_a_moment_is_waited_for),
		TEST(a_writer_killed_in_the_middle_is_undone_by_the_next),
		TEST(many_may_make_it_at_once),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
