/* Whether the journal hears what a service says (systemd-journald(8)). */
#pragma once

#include "base/error.h"

/*
 * Nothing is sent. 1: somebody holds its socket, which may be systemd, who starts it then; 0: nobody
 * does; -errno.
 */
int journal_listens(struct error *error);
