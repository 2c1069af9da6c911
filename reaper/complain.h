/*
 * How a command says that it failed.
 */
#pragma once

#include "base/error.h"
#include "exit_code.h"

/* Writes "sbx-reap: <text>" to standard error and answers what that errno means as an exit code. */
enum exit_code complain(const struct error *error, int code);
