/*
 * Things that two runs claim: neither run may end by taking what is the other's as well.
 */
#pragma once

#include "model.h"

/*
 * Refuses every run whose record names what another run's record names too, whatever it is called
 * there: the same directory by another path (a bind mount of it), or one in the other's; the same
 * or an enclosing cgroup, also by a scope; the same container by name and by id; the same living
 * process. By what was seen, so after everything was looked at; and of all runs, since one alone
 * shares nothing.
 */
void sharing_check(struct inventory *inventory, const struct settings *settings);
