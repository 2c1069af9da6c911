/*
 * Where in the program a traced process makes a call: a number made of the innermost return addresses
 * into the program that its stack holds, at most `depth` of them. The same in each run of one build,
 * wherever it is loaded; libraries leave no part of it.
 *
 * The stack is read as it lies, without tables of frames: an address that an earlier call has left
 * there, and nobody overwrote, counts as well.
 */
#pragma once

#include "tracer.h"

struct place {
	uint64_t number;
	uint64_t names; /* one made of the functions' names alone: the same in other builds, too */
};

struct place place_of(const struct tracer_call *call, unsigned depth);
