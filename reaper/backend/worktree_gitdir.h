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
 * neither refs (commondir) nor objects (alternates) from a place of its choosing; `lenders` are the
 * repositories from which objects may be borrowed. 0, -EINVAL with an error that names what is
 * wrong, -errno.
 */
int worktree_gitdir_plain(const char *path, const struct text_list *lenders, struct error *error);
