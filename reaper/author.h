/*
 * Whose words are put on record.
 */
#pragma once

#include "options.h"

/*
 * --by, or whoever typed it: behind sudo that is not root. NULL: nobody that can be named. Good until
 * the next call.
 */
const char *author_of(const struct options *options);
