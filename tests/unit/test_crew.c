#include "unit.h"

#include "os/crew.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BREADTH = 8, DEPTH = 4, ALL = 1 + 8 + 64 + 512 + 4096, ROOM = 4096 };

struct world {
	atomic_size_t done, most_waiting;
	atomic_int threads;
	pthread_barrier_t *together; /* where so many have to be at once */
};

struct job {
	struct crew_task task;
	unsigned depth;
};

static void job_work(struct crew_hand *hand, struct crew_task *task);

static struct crew_task *jobs(unsigned count, unsigned depth)
{
	struct crew_task *tasks = NULL;

	for (unsigned i = 0; i < count; i++) {
		struct job *job = mem_new(sizeof(*job));

		job->task = (struct crew_task){ job_work, tasks };
		job->depth = depth;
		tasks = &job->task;
	}
	return tasks;
}

/* The room of a thread is its own, and zeroed: the first task in it counts the thread. */
static void note_thread(struct crew_hand *hand)
{
	struct world *world = crew_context(hand);
	pthread_t *owner = crew_room(hand);
	const pthread_t none = { 0 };

	if (memcmp(owner, &none, sizeof(none)) == 0) {
		*owner = pthread_self();
		atomic_fetch_add(&world->threads, 1);
	}
	if (!pthread_equal(*owner, pthread_self()))
		abort();
}

static void job_work(struct crew_hand *hand, struct crew_task *task)
{
	struct job *job = (struct job *)task;
	struct world *world = crew_context(hand);
	size_t waiting = crew_waiting(hand);

	note_thread(hand);
	atomic_fetch_add(&world->done, 1);
	if (waiting > atomic_load(&world->most_waiting))
		atomic_store(&world->most_waiting, waiting);
	if (job->depth > 0)
		crew_add(hand, jobs(BREADTH, job->depth - 1));
	else
		crew_add(hand, NULL);
	free(job);
}

static void run(struct world *world, unsigned threads, unsigned depth)
{
	crew_run(threads, ROOM, world, jobs(1, depth));
}

static void all_that_comes_of_the_first_task_is_done(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= CREW_MOST; threads++) {
		struct world world = { 0 };

		run(&world, threads, DEPTH);
		assert_int_equal(world.done, ALL);
		assert_in_range(world.threads, 1, (int)threads);
	}
}

static void what_is_small_is_done_by_one(void **state)
{
	struct world world = { 0 };

	(void)state;
	run(&world, CREW_MOST, 0);
	assert_int_equal(world.done, 1);
	assert_int_equal(world.threads, 1);
}

/* Newest first: else all of a level would wait at once. */
static void what_waits_grows_with_the_depth_only(void **state)
{
	struct world world = { 0 };

	(void)state;
	run(&world, 1, DEPTH);
	assert_in_range(world.most_waiting, BREADTH, (size_t)BREADTH * DEPTH);
}

/* ---------------------------------------------------------------------------- side by side */

static void meet(struct crew_hand *hand, struct crew_task *task)
{
	struct world *world = crew_context(hand);

	note_thread(hand);
	(void)pthread_barrier_wait(world->together);
	free(task);
}

static void meet_all(struct crew_hand *hand, struct crew_task *task)
{
	struct crew_task *tasks = jobs(64, 0);

	for (struct crew_task *each = tasks; each; each = each->next)
		each->work = meet;
	crew_add(hand, tasks);
	free(task);
}

/* Hangs where they are not, until the alarm ends it. */
static void tasks_are_done_side_by_side(void **state)
{
	pthread_barrier_t barrier;
	struct world world = { .together = &barrier };
	struct crew_task *first = jobs(1, 0);

	(void)state;
	first->work = meet_all;
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	(void)alarm(60);
	crew_run(2, ROOM, &world, first);
	(void)alarm(0);
	assert_int_equal(world.threads, 2);
	(void)pthread_barrier_destroy(&barrier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_comes_of_the_first_task_is_done),
		cmocka_unit_test(what_is_small_is_done_by_one),
		cmocka_unit_test(what_waits_grows_with_the_depth_only),
		cmocka_unit_test(tasks_are_done_side_by_side),
	};

	return cmocka_run_group_tests_name("crew", tests, NULL, NULL);
}
