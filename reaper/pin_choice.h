/*
 * The runs that a filter on the command line chooses, of those that list shows: for verbs that would
 * else be given their names.
 */
#pragma once

#include "exit_code.h"
#include "model.h"
#include "options.h"

/*
 * Looks at the host as list does, and takes what --state, --if-reason and --older let through and
 * what `fits`. More than one is named on stdout, and only taken with --yes: else EXIT_ATTENTION, with
 * nothing done. EXIT_DONE with none where there is none, which is said; another code after having
 * said why. The list is the caller's.
 */
enum exit_code pin_choice(const struct options *options, bool (*fits)(const struct run *run),
	struct text_list *ret_runs);
