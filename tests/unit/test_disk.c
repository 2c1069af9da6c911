#include "unit.h"

#include "disk.h"
#include "progress.h"
#include "workdir.h"

enum { LONG_MS = 10 * 60 * 1000, RUNS = 12 };

static void add_tree(struct inventory *inventory, struct run *run, const char *path)
{
	run_add_resource(inventory, run,
		&(const struct resource){ .kind = KIND_PATH, .proof = PROOF_ROW, .locator = path })
		->present = TRI_YES;
}

/* Runs with a tree each, that of the n-th with n files; every third has a second one. */
static void make(struct workdir *workdir, struct inventory *inventory)
{
	char name[32], file[48];

	for (int i = 0; i < RUNS; i++) {
		struct run *run;

		(void)snprintf(name, sizeof(name), "r%02d", i % 100);
		run = inventory_run(inventory, name);
		for (int j = 0; j < (i % 3 == 0 ? 2 : 1); j++) {
			(void)snprintf(name, sizeof(name), "tree-%02d-%d", i % 100, j % 10);
			if (!workdir_has(workdir, name)) {
				workdir_make(workdir, name);
				for (int k = 0; k < i; k++) {
					(void)snprintf(file, sizeof(file), "%s/%02d", name, k);
					workdir_fill(workdir, file);
				}
			}
			add_tree(inventory, run, workdir_path(workdir, name));
		}
	}
	(void)inventory_run(inventory, "without"); /* nothing of it takes space */
}

static void count(struct progress *progress)
{
	progress->bytes_freed++; /* nobody else counts in it here */
}

static void side_by_side_is_the_same_as_one_after_the_other(void **state)
{
	struct inventory alone = { 0 }, together = { 0 };
	struct progress progress = { .tell = count };
	struct workdir *workdir = *state;

	make(workdir, &alone);
	make(workdir, &together);
	for (size_t i = 0; i < alone.run_count; i++)
		disk_measure_run(alone.runs[i], INT64_MAX);
	disk_measure_runs(&together, LONG_MS, &progress);
	for (size_t i = 0; i < RUNS; i++) {
		const struct run *run = together.runs[i];

		assert_true(run->measured);
		assert_int_equal(run->bytes_least, 0);
		assert_in_range(run->bytes, 8192 * i * (1 + (i % 3 == 0)), INT64_MAX);
		assert_int_equal(run->bytes, alone.runs[i]->bytes);
		for (size_t j = 0; j < run->resource_count; j++)
			assert_int_equal(
				run->resources[j].bytes, alone.runs[i]->resources[j].bytes);
	}
	assert_true(together.runs[RUNS]->measured);
	assert_int_equal(together.runs[RUNS]->bytes, -1);
	assert_int_equal(progress.all, RUNS);
	assert_int_equal(progress.done, RUNS);
	assert_int_equal(progress.bytes_freed, RUNS + 1);
	inventory_done(&alone);
	inventory_done(&together);
}

static void without_time_nothing_is_known(void **state)
{
	struct inventory inventory = { 0 };

	make(*state, &inventory);
	disk_measure_runs(&inventory, 0, NULL);
	for (size_t i = 0; i < RUNS; i++) {
		assert_true(inventory.runs[i]->measured);
		assert_int_equal(inventory.runs[i]->bytes, -1);
		assert_int_equal(inventory.runs[i]->bytes_least, 0);
	}
	inventory_done(&inventory);
}

/* The sum of what could be measured is not the size of the run. */
static void a_run_of_which_a_part_is_not_measured_is_at_least_so_large(void **state)
{
	struct inventory inventory = { 0 };
	struct workdir *workdir = *state;
	struct run *run = inventory_run(&inventory, "r1");

	workdir_make(workdir, "tree");
	workdir_fill(workdir, "tree/file");
	workdir_fill(workdir, "no-directory");
	add_tree(&inventory, run, workdir_path(workdir, "tree"));
	add_tree(&inventory, run, workdir_path(workdir, "no-directory/tree"));
	disk_measure_runs(&inventory, LONG_MS, NULL);
	assert_int_equal(run->bytes, -1);
	assert_in_range(run->bytes_least, 8192, 1 << 20);
	assert_int_equal(run->resources[0].bytes, run->bytes_least);
	assert_int_equal(run->resources[1].bytes, -1);
	inventory_done(&inventory);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(side_by_side_is_the_same_as_one_after_the_other),
		TEST(without_time_nothing_is_known),
		TEST(a_run_of_which_a_part_is_not_measured_is_at_least_so_large),
	};

	return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
