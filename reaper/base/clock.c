#include "clock.h"

#include <limits.h>
#include <time.h>

static int64_t clock_read_ms(clockid_t id)
{
	struct timespec now;
	int r = clock_gettime(id, &now);

	assert(r == 0);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_wall_s(void)
{
	return clock_read_ms(CLOCK_REALTIME) / 1000;
}

int64_t clock_boot_ms(void)
{
	return clock_read_ms(CLOCK_BOOTTIME);
}

int64_t clock_awake_ms(void)
{
	return clock_read_ms(CLOCK_MONOTONIC);
}

int64_t deadline_in_ms(int64_t from_now_ms)
{
	return clock_boot_ms() + from_now_ms;
}

int64_t deadline_left_ms(int64_t deadline_ms)
{
	int64_t left_ms = deadline_ms - clock_boot_ms();

	if (left_ms < 0)
		return 0;
	return left_ms > INT_MAX ? INT_MAX : left_ms;
}

int64_t deadline_sooner(int64_t deadline_ms, int64_t other_ms)
{
	return deadline_ms < other_ms ? deadline_ms : other_ms;
}
