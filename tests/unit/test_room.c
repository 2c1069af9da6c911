#include "unit.h"

#include "os/reserve.h"
#include "state/history.h"
#include "state/store.h"

#include "small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { NOW = 1795966380 };

static struct store *open_store(struct workdir *workdir)
{
	struct store *store = NULL;
	struct error error = { 0 };

	if (store_open(workdir_path(workdir, "state.db"), STORE_WRITE, &store, &error) < 0)
		fail_msg("%s", error.text);
	return store;
}

/* With the room that its first close puts by. */
static struct store *open_on_small_disk(struct workdir *workdir)
{
	small_disk(workdir);
	store_close(open_store(workdir));
	return open_store(workdir);
}

static off_t reserve_size(struct workdir *workdir)
{
	struct stat stat;

	return fstatat(workdir->dir, "state.db.reserve", &stat, 0) < 0 ? -1 : stat.st_size;
}

static int add(struct store *store, int64_t bytes, struct error *error)
{
	char detail[2001] = { 0 };

	memset(detail, 'd', sizeof(detail) - 1);
	return history_add(store,
		&(struct history_entry){ .at_s = NOW,
			.run = "r",
			.action = "reaped",
			.detail = detail,
			.bytes = bytes },
		error);
}

static void count(void *context, const struct history_entry *entry)
{
	int *next = context;

	assert_int_equal(entry->bytes, *next);
	(*next)++;
}

static void a_full_disk_takes_what_was_put_by_and_every_row_once(void **state)
{
	struct workdir *workdir = *state;
	struct store *store = open_on_small_disk(workdir);
	struct error error = { 0 };
	int added = 0, found = 0;

	assert_int_equal(reserve_size(workdir), RESERVE_SIZE);
	small_disk_fill_bytes(workdir);
	while (added < 10000 && add(store, added, &error) == 0)
		added++;
	assert_int_equal(error.code, ENOSPC);
	assert_in_range(added, 200, 9999); /* of 2 kB each, journal and all */
	assert_int_equal(reserve_size(workdir), -1);
	assert_int_equal(history_each(store, NULL, 0, count, &found, &error), 0);
	assert_int_equal(found, added);
	assert_int_equal(store_verify(store, NULL), 0);
	store_close(store);
	assert_int_equal(reserve_size(workdir), -1);
	small_disk_empty(workdir);
	store = open_store(workdir);
	assert_int_equal(add(store, added, NULL), 0);
	store_close(store);
	assert_int_equal(reserve_size(workdir), RESERVE_SIZE);
}

static void it_is_given_up_a_piece_at_a_time(void **state)
{
	struct workdir *workdir = *state;
	struct store *store = open_on_small_disk(workdir);

	small_disk_fill_bytes(workdir);
	for (int i = 0; i < 3; i++)
		assert_int_equal(add(store, i, NULL), 0);
	assert_int_equal(reserve_size(workdir), RESERVE_SIZE - RESERVE_PIECE);
	store_close(store);
}

static void no_inode_left_does_not_matter(void **state)
{
	struct workdir *workdir = *state;
	struct store *store = open_on_small_disk(workdir);

	store_close(store);
	small_disk_fill_inodes(workdir);
	store = open_store(workdir);
	assert_int_equal(add(store, 1, NULL), 0);
	assert_int_equal(reserve_size(workdir), RESERVE_SIZE);
	store_close(store);
	assert_int_equal(unlinkat(workdir->dir, "state.db-journal", 0), 0);
	small_disk_fill_inodes(workdir);
	store = open_store(workdir);
	assert_int_equal(add(store, 2, NULL), 0);
	store_close(store);
}

static void a_stamp_that_is_missing_on_a_full_disk_is_written_from_it_or_later(void **state)
{
	struct workdir *workdir = *state;

	store_close(open_on_small_disk(workdir));
	assert_int_equal(unlinkat(workdir->dir, "state.db.stamp", 0), 0);
	small_disk_fill_inodes(workdir);
	store_close(open_store(workdir));
	assert_true(workdir_has(workdir, "state.db.stamp"));
	assert_int_equal(unlinkat(workdir->dir, "state.db.stamp", 0), 0);
	small_disk_fill_inodes(workdir);
	store_close(open_store(workdir));
	assert_false(workdir_has(workdir, "state.db.stamp"));
	small_disk_empty(workdir);
	store_close(open_store(workdir));
	assert_true(workdir_has(workdir, "state.db.stamp"));
}

static void it_does_not_fill_the_disk_itself(void **state)
{
	struct workdir *workdir = *state;
	char *block CLEANUP(mem_done) = mem_new(5 << 20);

	small_disk(workdir);
	workdir_write(workdir, "full-most", block, 5 << 20);
	store_close(open_store(workdir));
	assert_int_equal(reserve_size(workdir), -1);
	small_disk_empty(workdir);
	store_close(open_store(workdir));
	assert_int_equal(reserve_size(workdir), RESERVE_SIZE);
}

static void a_reader_neither_makes_nor_takes_it(void **state)
{
	struct workdir *workdir = *state;
	struct store *store;

	store_close(open_on_small_disk(workdir));
	assert_int_equal(unlinkat(workdir->dir, "state.db.reserve", 0), 0);
	assert_int_equal(
		store_open(workdir_path(workdir, "state.db"), STORE_READ, &store, NULL), 0);
	assert_false(store_give_room(store));
	store_close(store);
	assert_int_equal(reserve_size(workdir), -1);
}

static void a_link_in_its_place_is_left_alone(void **state)
{
	struct workdir *workdir = *state;
	struct stat stat;

	store_close(open_on_small_disk(workdir));
	assert_int_equal(unlinkat(workdir->dir, "state.db.reserve", 0), 0);
	workdir_write(workdir, "precious", "precious", 8);
	assert_int_equal(symlinkat("precious", workdir->dir, "state.db.reserve"), 0);
	store_close(open_store(workdir));
	small_disk_fill_bytes(workdir);
	assert_true(reserve_give(workdir->dir, "state.db.reserve") < 0);
	assert_int_equal(unlinkat(workdir->dir, "state.db.reserve", 0), 0);
	assert_int_equal(linkat(workdir->dir, "precious", workdir->dir, "state.db.reserve", 0), 0);
	assert_true(reserve_give(workdir->dir, "state.db.reserve") < 0);
	assert_int_equal(fstatat(workdir->dir, "precious", &stat, 0), 0);
	assert_int_equal(stat.st_size, 8);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_full_disk_takes_what_was_put_by_and_every_row_once),
		TEST(it_is_given_up_a_piece_at_a_time),
		TEST(no_inode_left_does_not_matter),
		TEST(a_stamp_that_is_missing_on_a_full_disk_is_written_from_it_or_later),
		TEST(it_does_not_fill_the_disk_itself),
		TEST(a_reader_neither_makes_nor_takes_it),
		TEST(a_link_in_its_place_is_left_alone),
	};

	return cmocka_run_group_tests_name("room", tests, workdir_own_mounts, NULL);
}
