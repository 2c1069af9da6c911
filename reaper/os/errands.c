#include "errands.h"

#include "base/clock.h"
#include "errand_parts.h"
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

enum { LEAST = 2 };

struct desk {
	const struct errands *errands;
	size_t next; /* the first that was not begun */
	size_t room, busy;
	struct child *children[ERRANDS_MOST]; /* NULL: free */
	size_t places[ERRANDS_MOST];
	int queue; /* epoll(7): readable when one of them has ended */
};

static void desk_done(struct desk *desk)
{
	fd_done(&desk->queue);
}

static size_t processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count < LEAST ? LEAST : count > ERRANDS_MOST ? ERRANDS_MOST : (size_t)count;
}

static void tell(const struct desk *desk, size_t place, int answer)
{
	desk->errands->done(desk->errands->context, place, answer);
}

/* What cannot be waited for beside the others is waited for at once. */
static void begin(struct desk *desk, size_t seat)
{
	size_t place = desk->next++;
	struct errand *errand = &desk->errands->items[place];
	struct epoll_event event = { .events = EPOLLIN };
	struct child *child;
	int r;

	errand->deadline_ms =
		deadline_sooner(deadline_in_ms(desk->errands->each_ms), desk->errands->end_ms);
	r = errand_start(errand, &child, NULL);
	if (r < 0) {
		tell(desk, place, r);
		return;
	}
	if (epoll_ctl(desk->queue, EPOLL_CTL_ADD, errand_descriptor(child), &event) < 0) {
		tell(desk, place, errand_finish(child, NULL));
		return;
	}
	desk->children[seat] = child;
	desk->places[seat] = place;
	desk->busy++;
}

static bool may_go_on(const struct desk *desk)
{
	return desk->next < desk->errands->count && deadline_left_ms(desk->errands->end_ms) > 0 &&
	       !signals_stop_wanted();
}

static void begin_some(struct desk *desk)
{
	for (size_t i = 0; i < desk->room; i++)
		while (!desk->children[i] && may_go_on(desk))
			begin(desk, i);
}

static bool is_over(const struct desk *desk, size_t seat)
{
	struct pollfd ended = { errand_descriptor(desk->children[seat]), POLLIN, 0 };

	return poll(&ended, 1, 0) > 0 ||
	       deadline_left_ms(desk->errands->items[desk->places[seat]].deadline_ms) == 0 ||
	       signals_stop_wanted();
}

static void wait_for_one(struct desk *desk)
{
	int64_t soonest_ms = desk->errands->end_ms;

	for (size_t i = 0; i < desk->room; i++)
		if (desk->children[i])
			soonest_ms = deadline_sooner(
				soonest_ms, desk->errands->items[desk->places[i]].deadline_ms);
	(void)signals_wait(desk->queue, POLLIN, soonest_ms);
	for (size_t i = 0; i < desk->room; i++) {
		struct child *child = desk->children[i];

		if (!child || !is_over(desk, i))
			continue;
		desk->children[i] = NULL;
		desk->busy--;
		tell(desk, desk->places[i], errand_finish(child, NULL));
	}
}

void errands_run(const struct errands *errands)
{
	struct desk desk CLEANUP(desk_done) = {
		.errands = errands,
		.room = processors(),
		.queue = epoll_create1(EPOLL_CLOEXEC),
	};

	do {
		begin_some(&desk);
		if (desk.busy)
			wait_for_one(&desk);
	} while (desk.busy || may_go_on(&desk));
	while (desk.next < errands->count)
		tell(&desk, desk.next++, signals_stop_wanted() ? -EINTR : -ETIME);
}
