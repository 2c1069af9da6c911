/*
 * sbx-reap why: the run that is explained, with all that its decision rests on. What is said of it
 * (why_facts.h, why_change.h, why_next.h) is made of this alone: no I/O, no clock.
 */
#pragma once

#include "policy.h"

struct why_subject {
	const struct run *run;
	const struct inventory *inventory;
	const struct settings *settings;
	/* What each command has to end with, " --config FILE", quoted; "": nothing. */
	const char *manner;
};

static inline struct question why_question(const struct why_subject *subject)
{
	return (struct question){
		.facts = &subject->run->facts,
		.host = &subject->inventory->host,
		.settings = &subject->settings->policy,
		.now_s = subject->inventory->now_s,
	};
}
