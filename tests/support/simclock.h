/*
 * A simulated host clock for one test program, in memory that its children share: wall, boot and
 * awake clock each differ from the real one by an amount that the test moves, and the boot id is the
 * test's. To be included by exactly one file of a program: it stands in front of libc's clock_gettime,
 * and of openat for the file that the boot id is read from. The clocks run on by themselves, so
 * deadlines and poll(2) are as real as ever. Times of files stay the machine's; so start from the real
 * time (as simclock_start does) and do not go far behind it.
 */
#pragma once

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

enum { SIMCLOCK_BOOT_ID = 36, SIMCLOCK_UP_S = 86400 };

static struct simclock {
	int64_t wall_ns, boot_ns, awake_ns; /* added to the real ones */
	char boot_id[SIMCLOCK_BOOT_ID + 1]; /* a line of the file: 36 characters and a newline */
	unsigned boots;
	bool frozen; /* wall_ns is the wall clock itself */
} * simclock;        /* NULL: not started, all is real */

#define SIMCLOCK_NS_OF_S INT64_C(1000000000)

static inline int64_t simclock_real_ns(clockid_t id)
{
	struct timespec now;

	(void)syscall(SYS_clock_gettime, id, &now);
	return (int64_t)now.tv_sec * SIMCLOCK_NS_OF_S + now.tv_nsec;
}

static inline int64_t simclock_wall_ns(void)
{
	return simclock->wall_ns + (simclock->frozen ? 0 : simclock_real_ns(CLOCK_REALTIME));
}

/* The wall clock as the program sees it, in seconds. */
static inline int64_t simclock_now_s(void)
{
	return simclock_wall_ns() / SIMCLOCK_NS_OF_S;
}

/*
 * From now on only the test moves the wall clock, so that all that happens between two moves is at
 * one moment. The program takes it for a step when that lasts more than five real minutes.
 */
static inline void simclock_freeze_wall(void)
{
	simclock->wall_ns = simclock_wall_ns();
	simclock->frozen = true;
}

static inline void simclock_new_boot(int64_t up_s)
{
	simclock->boot_ns = up_s * SIMCLOCK_NS_OF_S - simclock_real_ns(CLOCK_BOOTTIME);
	simclock->awake_ns = up_s * SIMCLOCK_NS_OF_S - simclock_real_ns(CLOCK_MONOTONIC);
	(void)snprintf(simclock->boot_id, sizeof(simclock->boot_id),
		"%08x-5bad-4b00-8000-000000000000", simclock->boots++);
	simclock->boot_id[SIMCLOCK_BOOT_ID] = '\n';
}

/* The real time, on a host that has been up for a day. Again: back to that. */
static inline void simclock_start(void)
{
	if (!simclock)
		simclock = mmap(NULL, sizeof(*simclock), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert(simclock != MAP_FAILED);
	memset(simclock, 0, sizeof(*simclock));
	simclock_new_boot(SIMCLOCK_UP_S);
}

/* Time goes by, the host awake. */
static inline void simclock_advance(int64_t seconds)
{
	simclock->wall_ns += seconds * SIMCLOCK_NS_OF_S;
	simclock->boot_ns += seconds * SIMCLOCK_NS_OF_S;
	simclock->awake_ns += seconds * SIMCLOCK_NS_OF_S;
}

/* The host sleeps for so long. */
static inline void simclock_suspend(int64_t seconds)
{
	simclock->wall_ns += seconds * SIMCLOCK_NS_OF_S;
	simclock->boot_ns += seconds * SIMCLOCK_NS_OF_S;
}

/* Somebody sets the wall clock, forward or back. */
static inline void simclock_step(int64_t seconds)
{
	simclock->wall_ns += seconds * SIMCLOCK_NS_OF_S;
}

/* The host was off for so long, and is up since `up_s`. Ending its processes is the caller's. */
static inline void simclock_reboot(int64_t off_s, int64_t up_s)
{
	simclock->wall_ns += (off_s + up_s) * SIMCLOCK_NS_OF_S;
	simclock_new_boot(up_s);
}

static inline int64_t simclock_ns(clockid_t id, int64_t real_ns)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return simclock_wall_ns();
	case CLOCK_BOOTTIME:
		return real_ns + simclock->boot_ns;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
		return real_ns + simclock->awake_ns;
	default: /* processor times */
		return real_ns;
	}
}

/* A hook of the test program at every look at the wall clock; NULL: none. */
static void (*simclock_looked)(void);

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): names without underscores */
int clock_gettime(clockid_t id, struct timespec *now)
{
	int64_t ns;

	if (id == CLOCK_REALTIME && simclock_looked)
		simclock_looked();
	if (syscall(SYS_clock_gettime, id, now) != 0)
		return -1;
	if (!simclock)
		return 0;
	ns = simclock_ns(id, (int64_t)now->tv_sec * SIMCLOCK_NS_OF_S + now->tv_nsec);
	now->tv_sec = ns / SIMCLOCK_NS_OF_S;
	now->tv_nsec = ns % SIMCLOCK_NS_OF_S;
	return 0;
}

static inline int simclock_open_boot_id(void)
{
	int fd = memfd_create("boot_id", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (pwrite(fd, simclock->boot_id, sizeof(simclock->boot_id), 0) !=
		sizeof(simclock->boot_id)) {
		(void)close(fd);
		errno = EIO;
		return -1;
	}
	return fd;
}

/* Our own, and PID 1's, which is asked first. */
static inline bool simclock_is_boot_id(const char *path)
{
	return strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ||
	       strcmp(path, "/proc/1/root/proc/sys/kernel/random/boot_id") == 0;
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (simclock && simclock_is_boot_id(path))
		return simclock_open_boot_id();
	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
