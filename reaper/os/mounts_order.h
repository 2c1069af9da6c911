/* The order of a mount table, private to os/: what the lookups of mounts.h rest on. */
#pragma once

#include "mounts.h"

/* Fills in by_path. */
void mounts_sort(struct mount_table *table);
