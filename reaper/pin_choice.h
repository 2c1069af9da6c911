/*
 * The runs that a filter on the command line chooses, of those that list shows: for verbs that would
 * else be given their names.
 */
#pragma once

#include "exit_code.h"
#include "model.h"
#include "options.h"

/*
 * Looks at the host as list does, and takes what --state, --if-reason, --older and --in-repo let
 * through and what `fits`. More than one is named on stdout, and only taken with --yes: else
 * EXIT_ATTENTION, with nothing done. With those that are taken `act` is called; what could not be
 * seen is said, and then the answer is no better than EXIT_BLIND. EXIT_DONE where there is none, which
 * is said.
 */
enum exit_code pin_choice(const struct options *options, bool (*fits)(const struct run *run),
	enum exit_code (*act)(const struct options *options, const struct text_list *runs));
