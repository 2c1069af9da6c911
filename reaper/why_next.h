/*
 * What a person may want to do about a run next, as commands that are right for its state and may be
 * pasted as they stand.
 */
#pragma once

#include "why_subject.h"

struct why_command {
	const char *what;    /* "end the pin" */
	const char *command; /* one line, quoted for a shell */
};

enum { WHY_COMMANDS_MAX = 16 };

struct why_commands {
	struct why_command items[WHY_COMMANDS_MAX];
	size_t count;
};

/* By the reason of its decision; strings live in the arena. */
void why_commands(
	const struct why_subject *subject, struct arena *arena, struct why_commands *ret_commands);

/* Of a run that is gone and has a history, and whose work may have been salvaged. */
void why_commands_gone(const struct why_subject *subject, bool salvaged, struct arena *arena,
	struct why_commands *ret_commands);
