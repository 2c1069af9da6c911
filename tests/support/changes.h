/* Changes to a world with one worktree, and what it is judged to hold afterwards. */
#pragma once

#include "git_fixture.h"

struct change {
	const char *command;
	enum work work;
	const char *note; /* part of what it must say; NULL: anything */
};

/* What the backend says of a tree; *ret_note is never NULL. */
enum work judge(struct git_fixture *fixture, struct resource *resource, const char **ret_note);

/* Makes one change. With marker_only neither branch nor base is on record. */
void check_change(
	void **state, const struct change *change, enum branch_rule rule, bool marker_only);

/* Each change is made to a world of its own. */
void check_changes(void **state, const struct change *changes, size_t count, enum branch_rule rule,
	bool marker_only);
