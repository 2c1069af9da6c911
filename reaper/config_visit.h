/*
 * The settings of a visit: one repository that somebody named on the command line (--repo), by no
 * settings file and with books of its own.
 */
#pragma once

#include "base/error.h"
#include "settings.h"

/*
 * Of the repository with this common git directory (absolute, without a symlink in it). Roots are those
 * of <main working tree>/.claude/worktrees and .worktrees that are there, reached by no symlink (a
 * repository's content must not choose a root); of one without a main working tree, the same in it and
 * beside it; and the further `roots`. Adopts worktrees, keeps what holds unsaved work, knows no
 * engines, minds no full disk and has no brake, since it never acts without somebody's yes. When root
 * visits another user's repository, that user is an owner. 0, -ENOENT a further root is not there,
 * -EINVAL, -EPERM as config_load() says of roots, -errno.
 */
int config_visit(const char *common, const struct text_list *roots, struct settings *ret_settings,
	struct error *error);
