/*
 * Who keeps a mount busy, for the error that says it could not be unmounted. Costs a look at every
 * open file of every process, so it is asked only then.
 */
#pragma once

#include "mounts.h"

enum { HOLDER_TEXT = 400 };

/*
 * Names one process that has its working directory, its root, its program, an open file or a mapped
 * file in the mount, or in the same mount as its own namespace shows it: "pid 12 (sleep): working
 * directory", escaped. False, and an empty text, when none can be seen: the kernel itself may hold it
 * (a loop device or swap on a file in it), or a process that we may not look at. Gives up at the
 * deadline (boot clock).
 */
bool mount_holder(const struct mount *mount, int64_t deadline_ms, char ret_text[HOLDER_TEXT]);
