/*
 * Reads the settings: /etc/sbx/reap.ini and then /etc/sbx/reap.d/ (*.ini, by name), or for a user
 * $XDG_CONFIG_HOME/sbx/reap.ini (~/.config) and reap.d beside it, or the one file named by
 * --config. A later file overrides single values of an earlier one and adds to lists.
 */
#pragma once

#include "base/error.h"
#include "settings.h"

/*
 * Parses into a scratch copy and adopts it only when all is well. `path` NULL: the default places;
 * that none of them exists is an error that says where it looked (-ENOENT). Everything wrong is
 * -EINVAL with file and line and what would be right: an unknown section or key, a value out of
 * range, a key given twice in one file that may not repeat, a root that is "/", a home directory,
 * or that an untrusted user could replace (-EPERM). A root that does not exist or cannot be opened
 * goes to lost_roots. A settings file itself must be one that only root or we can write (-EPERM).
 */
int config_load(const char *path, struct settings *ret_settings, struct error *error);
void settings_done(struct settings *settings);

/* The files that config_load would read, in that order. 0, -ENOENT as above, -errno. */
int config_files(const char *path, struct text_list *ret_files, struct error *error);

/* The settings as they are without any file, for tests and `check`. Owned by the caller. */
void settings_default(struct settings *ret_settings);
