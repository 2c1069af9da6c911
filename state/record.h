/*
 * Private to state/: a record that grows while it is read.
 */
#pragma once

#include "model.h"

/* A new resource of the record, zeroed, in the arena; good until the next one is added. */
struct resource *record_add(struct arena *arena, struct record *record);
