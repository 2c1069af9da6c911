/* Names of systemd's units, as systemd.unit(5) and systemd-escape(1) have them. */
#pragma once

#include "base/base.h"

/*
 * Of the unit of an absolute, clean mount point: "/srv/a-b" is "srv-a\x2db.mount". NULL when it would
 * be longer than a name can be (255 bytes). The caller owns it.
 */
char *unit_name_of_mount(const char *point);
