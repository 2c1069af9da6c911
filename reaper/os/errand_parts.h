/* Private to errand*.c: an errand in two halves, for who has several at once. */
#pragma once

#include "errand.h"

/* The process that does one. */
struct child;

/* Starts it; what the errand points to must last until it is finished. 0, -errno: there is none. */
int errand_start(const struct errand *errand, struct child **ret_child, struct error *error);

/* Readable when it has ended. It is the child's. */
int errand_descriptor(const struct child *child);

/* Waits for it as errand_run() does, answers the same, and frees it. */
int errand_finish(struct child *child, struct error *error);
