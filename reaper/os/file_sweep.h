/* What file_write() leaves behind when it is killed. */
#pragma once

#include "base/error.h"

/*
 * Removes from a directory the temporary files of file_write() that are ours or its owner's and that
 * nobody writes any more: who writes one has it locked. How many, or -errno with the first that could not go.
 */
int file_sweep(int dir, struct error *error);
