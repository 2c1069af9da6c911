/*
 * A git directory that lies in a tree is the run's own word. Before the library opens it by path,
 * nothing in it may make that hang or lead elsewhere.
 */
#pragma once

#include "base/error.h"
#include "settings.h"

/*
 * Whether the git directory holds directories, regular files and sockets only (a fifo would block
 * the library, a link would lead it away), its configuration includes no other, and it takes
 * neither refs (commondir) nor objects (alternates) from a place of its choosing: objects may be
 * borrowed from the configured repositories, and from what lies below a root. 0, -EINVAL with an
 * error that names what is wrong, -errno.
 */
int worktree_gitdir_plain(const char *path, const struct settings *settings, struct error *error);

/*
 * Whether the library may open a common git directory at all: it reads these files whole, and
 * follows includes without an end (ten deep, any number wide). What it opens is a regular file or
 * nothing (os/quiet_open.h). 0, -EINVAL, -EFBIG, -errno with an error that names what is wrong.
 */
int worktree_gitdir_bounded(const char *path, struct error *error);
