/*
 * Which runs a pass, or a dry run, is for: those that --run names, those of the plan that a person
 * approved (--plan), or all; and what its options say of how to look and to plan.
 */
#pragma once

#include "exit_code.h"
#include "inventory.h"
#include "options.h"
#include "plan.h"
#include "state/approval.h"

struct choice {
	const struct text_list *runs;    /* empty: all, unless there is an approval */
	const struct text_list *early;   /* those of them that are wanted before their time */
	const struct approval *approval; /* NULL: none; else the runs are those of it */

	struct text_list none;
	struct approval plan;
};

/*
 * Reads the plan where one is given: from its file, or stdin; and puts into the settings, which are to be
 * opened next, what the options say instead of them. EXIT_DONE; EXIT_USAGE when the plan could not be
 * read, which is said, and the settings are freed. Borrows from the options and is not to be moved;
 * choice_done() in any case.
 */
enum exit_code choice_open(
	const struct options *options, struct settings *settings, struct choice *ret_choice);
void choice_done(struct choice *choice);

/* How to look for it, and to plan; `confirmed`: a person has seen the plan, or does not want to. */
struct inventory_request choice_request(
	const struct choice *choice, const struct options *options, struct progress *progress);
struct plan_wish choice_wish(const struct choice *choice, const struct options *options,
	const struct world *world, bool confirmed);

/* Says which of the runs are none that anything is known of: mistyped, or gone since. */
void choice_tell_missing(const struct choice *choice, const struct inventory *inventory);
