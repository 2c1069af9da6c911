/*
 * Threads that share one stack of tasks, newest first: of a tree that is gone through from its top
 * only what lies on the way down waits at any moment, as with one thread that goes depth first.
 * Further threads are started when there is work for them, so that what is small costs none. Only in
 * an errand's child: the program itself has one thread. Private to os/.
 */
#pragma once

#include "base/base.h"

enum { CREW_MOST = 16 }; /* threads */

struct crew;
struct crew_hand; /* one of the threads */

/* Stands first in the caller's struct. */
struct crew_task {
	void (*work)(struct crew_hand *hand, struct crew_task *task); /* the task is its own now */
	struct crew_task *next;
};

/*
 * Does the first task and all that come of it, on at most that many threads (1 to CREW_MOST, this one
 * among them); returns when nothing is left. Each thread has room of its own, zeroed at first, of
 * which nothing is touched that is not used. A thread that cannot be started is done without.
 */
void crew_run(unsigned threads, size_t room_size, void *context, struct crew_task *first);

/* What a task is given: the caller's, the thread's, and how many tasks wait. */
void *crew_context(const struct crew_hand *hand);
void *crew_room(const struct crew_hand *hand);
size_t crew_waiting(const struct crew_hand *hand);

/* Adds tasks, linked by `next`, the one to be done first in front. NULL: none. */
void crew_add(struct crew_hand *hand, struct crew_task *tasks);
