/*
 * FNV-1a, 64 bits: a sum against chance, not against anybody who would forge one. Whatever single byte
 * differs, the sum does too.
 */
#pragma once

#include "base.h"

#define FNV_START UINT64_C(0xcbf29ce484222325)

/* The sum of what was summed up before, FNV_START at first, and these bytes. */
uint64_t fnv_add(uint64_t sum, const void *bytes, size_t length);
