/*
 * What of the kernel nothing here goes without. Linux 5.14 has all of it; an older one, or a filter of
 * system calls around us, has not.
 */
#pragma once

#include "base/base.h"

enum kernel_call { KERNEL_OPENAT2, KERNEL_PIDFD, KERNEL_CALLS };

/* Whether the call is there, by making it. */
bool kernel_has(enum kernel_call call);

/* Its name, with the manual's section, and the version of Linux that brought it. */
const char *kernel_call_name(enum kernel_call call);
const char *kernel_call_since(enum kernel_call call);

/* What uname(2) says: "Linux 6.1.0-18-amd64". The caller owns it. */
char *kernel_release(void);
