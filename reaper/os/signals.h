/*
 * Being asked to stop: SIGTERM, SIGINT and SIGHUP are blocked and looked at between two steps, so
 * that no handler and no global variable is needed and no step is torn. A second one changes
 * nothing; SIGKILL is what every step is safe against anyway.
 */
#pragma once

#include <stdbool.h>

void signals_hold(void);
bool signals_stop_wanted(void);
