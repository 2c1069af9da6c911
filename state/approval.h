/*
 * What a person approved: the report of a dry run (--json), read in again. Of it only the names of the
 * runs that were to be stopped or reaped count, and their seals. It widens nothing: which of them are
 * due is decided anew, by the same rules as ever.
 */
#pragma once

#include "base/error.h"
#include "model.h"

struct approval {
	struct text_list runs;  /* to stop or to reap; sorted */
	char **seals;           /* of each, in the same order */
	struct text_list early; /* those of them that --early had asked for */
};

/*
 * Reads the report of a dry run of this host. 0; -EINVAL when it is none, says what it is instead and
 * what would be right. Sets *ret_approval only then; approval_done() is right in any case.
 */
int approval_parse(const char *bytes, size_t length, const char *host,
	struct approval *ret_approval, struct error *error);
void approval_done(struct approval *approval);

bool approval_has(const struct approval *approval, const char *run);

/* Whether that run was approved, and under this seal. */
bool approval_holds(const struct approval *approval, const char *run, const char *seal);
