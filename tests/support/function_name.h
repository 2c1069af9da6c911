/* What the functions of this program are called, as the linker has noted it: also those that are static. */
#pragma once

#include <stdint.h>

/*
 * The function that an address of the program lies in; "" when none is noted. Without what compilers add
 * to the name of a part or a copy of one (".part.0", ".cold"). Valid until the program ends.
 */
const char *function_name(uint64_t address);
