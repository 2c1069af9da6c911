/*
 * Who has locked parts of a file (fcntl(2), F_SETLK: what SQLite uses).
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

/*
 * The process, other than ourselves, that holds such a lock on the file: one to write before one to
 * read. 0: none that can be seen; on a filesystem whose files show another device number than the
 * kernel's own list (btrfs) none can. Asks /proc/locks and not the file: closing a descriptor of it
 * would drop our own locks on it.
 */
pid_t record_lock_holder(const char *path);
