/* A directory shown at a second place, both open: no path can lead elsewhere. */
#pragma once

#include "base/error.h"

/* Bind mounts the directory `source` over the directory `point`. 0 or -errno. */
int bind_mount(int source, int point, struct error *error);

/* Takes down what is mounted at the entry `name` of an open directory. 1; 0 when nothing is mounted
 * there, or nothing is there; -errno. */
int bind_unmount(int dir, const char *name, struct error *error);
