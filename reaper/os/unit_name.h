/* Names of systemd's units, as systemd.unit(5) and systemd-escape(1) have them, and words in them. */
#pragma once

#include "base/base.h"

/*
 * Of the unit of an absolute, clean mount point: "/srv/a-b" is "srv-a\x2db.mount". NULL when it would
 * be longer than a name can be (255 bytes). The caller owns it.
 */
char *unit_name_of_mount(const char *point);

/*
 * A path as one word of a setting that takes several (ReadWritePaths=): quoted where it must be, and
 * without specifiers (systemd.unit(5)). Control characters, which no setting can have, are shown as
 * \\xNN. The caller owns it.
 */
char *unit_setting_path(const char *path);
