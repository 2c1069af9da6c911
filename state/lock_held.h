/*
 * How many passes in a row found the lock held by another one. Errors as in runs.h.
 */
#pragma once

#include "base/error.h"
#include "store.h"

struct lock_held {
	int64_t since_s, count;
};

/* Counts one more pass that found it held; fills in what they come to. 0. */
int lock_held_add(
	struct store *store, int64_t now_s, struct lock_held *ret_held, struct error *error);

/* A pass has it. Within a transaction too. 0. */
int lock_held_clear(struct store *store, struct error *error);
