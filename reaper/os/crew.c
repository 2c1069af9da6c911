#include "crew.h"

#include <pthread.h>
#include <sys/mman.h>

enum {
	CREW_STACK = 1 << 18, /* bytes; a task needs little */
	CREW_WORTH = 4 /* tasks that wait, for each thread there is, before another is started */
};

struct crew_hand {
	struct crew *crew;
	void *room;
	pthread_t thread;
};

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct crew_task *stack;
	size_t waiting;
	unsigned count, limit, idle; /* threads */
	bool alone;                  /* no more can be started */
	size_t room_size;
	void *context;
	struct crew_hand hands[CREW_MOST];
};

static void *crew_work(void *context);

/* Memory of the kernel's own, which is there from the first touch on. */
static void *room_new(size_t size)
{
	void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return room == MAP_FAILED ? NULL : room;
}

static bool hand_start(struct crew *crew, struct crew_hand *hand)
{
	pthread_attr_t attributes;
	int code;

	*hand = (struct crew_hand){ .crew = crew, .room = room_new(crew->room_size) };
	if (!hand->room)
		return false;
	code = pthread_attr_init(&attributes);
	assert(code == 0);
	(void)pthread_attr_setstacksize(&attributes, CREW_STACK);
	code = pthread_create(&hand->thread, &attributes, crew_work, hand);
	(void)pthread_attr_destroy(&attributes);
	if (code != 0)
		(void)munmap(hand->room, crew->room_size);
	return code == 0;
}

/* Under the lock. */
static void crew_grow(struct crew *crew)
{
	if (crew->alone || crew->count == crew->limit || crew->idle > 0 ||
		crew->waiting < (size_t)CREW_WORTH * crew->count)
		return;
	if (hand_start(crew, &crew->hands[crew->count]))
		crew->count++;
	else
		crew->alone = true;
}

void crew_add(struct crew_hand *hand, struct crew_task *tasks)
{
	struct crew *crew = hand->crew;
	struct crew_task **end = &tasks;
	size_t count = 0;

	for (; *end; end = &(*end)->next)
		count++;
	if (!count)
		return;
	pthread_mutex_lock(&crew->lock);
	*end = crew->stack;
	crew->stack = tasks;
	crew->waiting += count;
	crew_grow(crew);
	if (crew->idle > 0)
		pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
}

/* Waits for one. NULL: nothing waits, and nobody is at work who could add something. */
static struct crew_task *crew_take(struct crew *crew)
{
	struct crew_task *task;

	pthread_mutex_lock(&crew->lock);
	crew->idle++;
	while (!crew->stack && crew->idle < crew->count)
		pthread_cond_wait(&crew->changed, &crew->lock);
	task = crew->stack;
	if (task) {
		crew->stack = task->next;
		crew->waiting--;
		crew->idle--;
	} else {
		pthread_cond_broadcast(&crew->changed);
	}
	pthread_mutex_unlock(&crew->lock);
	return task;
}

static void *crew_work(void *context)
{
	struct crew_hand *hand = context;
	struct crew_task *task;

	while ((task = crew_take(hand->crew)))
		task->work(hand, task);
	return NULL;
}

void *crew_context(const struct crew_hand *hand)
{
	return hand->crew->context;
}

void *crew_room(const struct crew_hand *hand)
{
	return hand->room;
}

size_t crew_waiting(const struct crew_hand *hand)
{
	size_t waiting;

	pthread_mutex_lock(&hand->crew->lock);
	waiting = hand->crew->waiting;
	pthread_mutex_unlock(&hand->crew->lock);
	return waiting;
}

void crew_run(unsigned threads, size_t room_size, void *context, struct crew_task *first)
{
	struct crew crew = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.stack = first,
		.waiting = 1,
		.count = 1,
		.limit = threads,
		.room_size = room_size,
		.context = context,
	};

	assert(threads >= 1 && threads <= CREW_MOST);
	first->next = NULL;
	crew.hands[0] = (struct crew_hand){ .crew = &crew, .room = room_new(room_size) };
	if (!crew.hands[0].room)
		abort();
	(void)crew_work(&crew.hands[0]);
	for (unsigned i = 1; i < crew.count; i++)
		(void)pthread_join(crew.hands[i].thread, NULL);
	for (unsigned i = 0; i < crew.count; i++)
		(void)munmap(crew.hands[i].room, room_size);
	(void)pthread_cond_destroy(&crew.changed);
	(void)pthread_mutex_destroy(&crew.lock);
}
