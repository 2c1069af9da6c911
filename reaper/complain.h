/*
 * How a command says that it failed.
 */
#pragma once

#include "base/error.h"
#include "exit_code.h"

/* A notice() with the text of the error; answers what that errno means as an exit code. */
enum exit_code complain(const struct error *error, int code);
