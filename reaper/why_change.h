/*
 * What would change the decision on a run: what has to happen, by itself at some moment or by
 * somebody, and what the policy says then.
 */
#pragma once

#include "why_subject.h"

struct why_change {
	const char *what; /* "the pin by anna ends"; not escaped */
	int64_t at_s;     /* when it happens by itself; 0: when somebody or something does it */
	bool decided;     /* whether it is known what follows */
	struct decision then;
};

enum { WHY_CHANGES_MAX = 24 };

struct why_changes {
	struct why_change items[WHY_CHANGES_MAX];
	size_t count;
};

/*
 * For every reason there is at least one. `then` is what rules 1 to 8 say at that moment if nothing
 * else changes: a lease that is over by then counts as over, whoever works in the tree as still there.
 * Strings live in the arena or are the inventory's.
 */
void why_changes(
	const struct why_subject *subject, struct arena *arena, struct why_changes *ret_changes);
