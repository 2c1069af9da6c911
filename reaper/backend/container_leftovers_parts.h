/* What the two halves of container_leftovers.h share. */
#pragma once

#include "container_leftovers.h"
#include "os/census.h"

void leftovers_add(struct leftovers *leftovers, const struct leftover *leftover);

/* A word for a shell: as it is where that is harmless, else in $'', with every odd byte as \xNN. */
const char *leftovers_word(struct leftovers *leftovers, const char *text);

void leftovers_find_processes(struct leftovers *leftovers, const struct census *census);
