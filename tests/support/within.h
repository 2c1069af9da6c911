/* The limits of a removal that has so long, with as many threads as suit the filesystem. */
#pragma once

#include "base/clock.h"
#include "os/rmtree.h"

#define WITHIN_MS(ms) (&(const struct rmtree_limits){ .deadline_ms = deadline_in_ms(ms) })
