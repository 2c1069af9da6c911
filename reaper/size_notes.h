/*
 * What an earlier pass measured, for who shows a plan. Loaded when everything is decided, so that nothing
 * can be decided by it.
 */
#pragma once

#include "base/error.h"
#include "model.h"

struct store;

/*
 * Fills `noted` of the runs that are not measured, where an earlier pass measured the very trees that are
 * there now, at most an hour ago. A child looks, in two seconds, and where it does not answer nothing is
 * noted. store NULL: there is none. 0, -errno when the database failed.
 */
int size_notes_load(struct store *store, struct inventory *inventory, struct error *error);
