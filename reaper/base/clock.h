/*
 * The one file that reads clocks. Records carry wall time (epoch seconds); waiting and time limits
 * use the boot clock (CLOCK_BOOTTIME: steps of the wall clock do not touch it, suspend counts).
 */
#pragma once

#include "base.h"

int64_t clock_wall_s(void);
int64_t clock_boot_ms(void);  /* since boot, with the time suspended */
int64_t clock_awake_ms(void); /* since boot, without it (CLOCK_MONOTONIC) */

/* A deadline is a moment of the boot clock in milliseconds. */
int64_t deadline_in_ms(int64_t from_now_ms);
int64_t deadline_left_ms(int64_t deadline_ms); /* never negative; fits poll(2) */
int64_t deadline_sooner(int64_t deadline_ms, int64_t other_ms);
