/* What a pass says of itself (--json), judged by what it left. */
#pragma once

#include "sweep_world.h"

/*
 * NULL, or what is wrong with it, for the caller to free: no valid report where one is due, a run that
 * is said to be reaped and is not, an exit code 0 with something due left, a sanitizer's finding, a
 * failed assertion. `status` is that of the traced process; `stopped`: what was due may be deferred.
 */
char *sweep_report_fault(const struct sweep_world *world, int status, bool stopped);

/* NULL, or, for the caller to free: the unsaved work could not be kept, and a person is to look. */
char *sweep_report_hasty(const struct sweep_world *world);

/*
 * The same for a pass that was asked to stop: that is nobody's failure. It ends with 0 when it has
 * deferred what it had not begun; with 69 and the source that it broke off when it was still looking;
 * with 1 when it has left a run in the middle. `ret_partial` gets what sweep_world_describe() has to
 * say of each such run, a line each.
 */
char *sweep_report_stop_fault(
	const struct sweep_world *world, int status, struct text *ret_partial);

/*
 * The exit code of the last pass, what it said, each source that it could not read, and each run with
 * its verdict: for a complaint, and for the caller to free.
 */
char *sweep_report_said(const struct sweep_world *world, int code);

/*
 * Lets a pass finish what an earlier one has failed to do. NULL, or what it left, for the caller to
 * free. Salvage that failed is tried again after an hour, or when somebody asks for that: so it is.
 */
char *sweep_report_end_fault(struct sweep_world *world);
