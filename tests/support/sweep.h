/*
 * A sweep: the same small world is made again and again, something goes wrong at the 1st, 2nd, 3rd …
 * point of it, and what came of that is judged. Several processes share the points; each has a world,
 * a mount and a pid namespace of its own, so that nothing of this machine is seen or touched.
 */
#pragma once

#include "sweep_world.h"

enum sweep_answer {
	SWEEP_TRIED,
	SWEEP_MISSED, /* what it aims at did not come this time */
	SWEEP_PASSED  /* there is no such point: the series ends */
};

struct sweep {
	const char *what; /* "a pass was killed" */
	sweep_world_program *program;
	size_t series; /* how many */
	const char *(*name)(size_t series);
	/* Point `number`, from 1, of a series. What is wrong it says with sweep_complain(). */
	enum sweep_answer (*point)(struct sweep_world *world, size_t series, size_t number);
};

/* Runs all points, and says how many. Fails the test when any complained. */
void sweep_run(const struct sweep *sweep);

void sweep_complain(const char *format, ...) PRINTF_LIKE(1, 2);

/* cmocka group set-up and teardown of these programs: the cgroup that all worlds are below. */
int sweep_set_up(void **state);
int sweep_tear_down(void **state);
