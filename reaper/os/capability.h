/* Which of root's powers we hold: for errors that say what is missing. */
#pragma once

#include "base/base.h"

/* Whether our effective set has a CAP_* of linux/capability.h (capabilities(7)). */
bool capability_held(unsigned capability);
