/*
 * Reading that leaves no trace and cannot hang, for libraries that open files by themselves:
 * libgit2 1.5 has no option for it. This program's open() and opendir() take the place of libc's for
 * everything that is linked with it: a shared library's call goes to the first definition, and the
 * executable is searched first (ld.so(8)).
 *
 * What is opened for reading only is then opened without renewing its access time (O_NOATIME, for
 * owners and CAP_FOWNER, open(2)), and only when it is a regular file or a directory: a fifo that
 * nobody writes to would block for ever, and opening a device can do anything. The exception is what
 * a caller names in /dev, /proc or /sys. Everything else is opened as asked.
 */
#pragma once

#include "base/base.h"

/*
 * Whether open() of a library reaches this program's: a fact of how it was linked. Who relies on it
 * asserts it, which also makes the linker take this file from the static library.
 */
bool quiet_open_in_force(void);
