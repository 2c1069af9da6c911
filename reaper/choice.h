/*
 * Which runs a pass, or a dry run, is for: those that --run names, those of the plan that a person
 * approved (--plan), or all.
 */
#pragma once

#include "exit_code.h"
#include "options.h"
#include "state/approval.h"

struct choice {
	const struct text_list *runs;    /* empty: all, unless there is an approval */
	const struct text_list *early;   /* those of them that are wanted before their time */
	const struct approval *approval; /* NULL: none; else the runs are those of it */

	struct text_list none;
	struct approval plan;
};

/*
 * Reads the plan where one is given: from its file, or stdin. 0, or -errno with an error that names
 * it. Borrows from the options and is not to be moved; choice_done() in any case.
 */
int choice_read(const struct options *options, struct choice *ret_choice, struct error *error);
void choice_done(struct choice *choice);

/* How a command answers when it could not be read. */
enum exit_code choice_refused(const struct error *error);

/* Says which of the runs are none that anything is known of: mistyped, or gone since. */
void choice_tell_missing(const struct choice *choice, const struct inventory *inventory);
