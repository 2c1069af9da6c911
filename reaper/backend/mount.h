/* What the files of the mount backend share; its MUSTs are in mount.c. */
#pragma once

#include "backend.h"
#include "os/bus.h"
#include "os/mount_view.h"

struct mount_state {
	const struct settings *settings;
	struct mount_view view;
	struct bus *bus; /* connected when it is needed first */
};

/* "tmpfs scratch", "fuse.bindfs /srv/data": type and source, escaped, in the arena. */
const char *mount_described(struct arena *arena, const struct mount *mount);

/* discover of the backend table. */
void mount_discover(void *context, struct inventory *inventory, const char *only);
