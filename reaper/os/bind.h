/* A directory shown at a second place. Both lie where nobody but us can rename (os/dir.h, dir_trusted). */
#pragma once

#include "base/error.h"

/* Bind mounts the directory `source` over the directory `point`, both absolute. 0 or -errno. */
int bind_mount(const char *source, const char *point, struct error *error);

/* Takes it down again. 1; 0 when nothing is mounted there, or nothing is there; -errno. */
int bind_unmount(const char *point, struct error *error);
