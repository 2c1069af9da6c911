/*
 * Reads the settings: /etc/sbx/reap.ini and then /etc/sbx/reap.d/ (*.ini, by name), or for a user
 * $XDG_CONFIG_HOME/sbx/reap.ini (~/.config) and reap.d beside it, or the one file named by
 * --config.
 */
#pragma once

#include "base/error.h"
#include "settings.h"

/*
 * Parses into a scratch copy and adopts it only when all is well. `path` NULL: the default places;
 * that none of them exists is an error that says where it looked (-ENOENT). Everything wrong is
 * -EINVAL with file and line and what would be right: an unknown section or key, a value out of
 * range, a key given twice that may not repeat, a root that is "/", a home directory, or that an
 * untrusted user could replace (-EPERM). A root that does not exist or cannot be opened goes to
 * lost_roots.
 */
int config_load(const char *path, struct settings *ret_settings, struct error *error);
void settings_done(struct settings *settings);

/* The settings as they are without any file, for tests and `check`. Owned by the caller. */
void settings_default(struct settings *ret_settings);
