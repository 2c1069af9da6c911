/*
 * Being asked to stop: SIGTERM, SIGINT and SIGHUP are blocked and looked at between two steps, so
 * that no handler and no global variable is needed and no step is torn. A second one changes
 * nothing; SIGKILL is what every step is safe against anyway.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void signals_hold(void);
bool signals_stop_wanted(void);

/*
 * Waits for one of the events of poll(2) on a descriptor; a negative one is only waited with. 1;
 * 0 when the deadline (boot clock) has passed; -EINTR as soon as we are asked to stop; -errno.
 */
int signals_wait(int fd, short events, int64_t deadline_ms);
