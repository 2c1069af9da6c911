/*
 * The name of a pass: in reports, history and the rows it claims.
 */
#pragma once

#include "base/base.h"

enum { PASS_ID = 40 };

/* A new identifier, "20261129T153300Z-1f2e3d4c": sorts by time, never repeats. Returns buffer. */
const char *pass_id(char buffer[PASS_ID], int64_t now_s);
