/*
 * Runs a program that the administrator named, for what only a site knows: the one place where this
 * program starts another. It is run with our rights, so a file that anybody else could have written is
 * not.
 */
#pragma once

#include "base/error.h"

/* What is told where hook_run() answers 1. */
#define HOOK_LEFT "what it had started does not die"

struct hook {
	const char *path;         /* absolute */
	char *const *environment; /* all that it gets, ends with NULL */
	int64_t timeout_ms;
};

/*
 * Runs it and waits: with that environment and no arguments, in "/", umask 022, every signal as it is by
 * default and none blocked, standard input from /dev/null, output and errors to us, no other descriptor,
 * in a session and process group of its own. Whatever it has started and left ends with it: killed, also
 * what left its group.
 *
 * 0: it ended with exit code 0; 1: so it did, but left a process that does not die, which is no reason
 * to do again what is done, and to leave another one. Otherwise -errno with an error that says how it
 * ended, and the end of what it printed, escaped: -ECHILD it failed, -ETIME it was not done in time,
 * -EINTR we are asked to stop (both killed), -EPERM, -ENOENT and the like: as hook_check().
 * Nothing of it that can be killed is left when we die.
 */
int hook_run(const struct hook *hook, struct error *error);

/*
 * Whether the file may be run: a regular, executable file that nobody but root and our effective user
 * can write, replace or lead elsewhere. It, every directory on the way and every symlink belong to one
 * of the two and are not writable by group or others; a directory above may be when it is sticky, but
 * then it has no symlink on the way in it. 0, -EPERM with what would be right, -ENOENT, -errno. Asked in
 * a child, since the path may lie behind a mount that does not answer: -ETIME.
 */
int hook_check(const char *path, struct error *error);
