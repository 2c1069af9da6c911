/*
 * The hooks of a sweep's world: a program that notes beside the world who is run for whom, and whether the
 * tree of that run is there.
 */
#pragma once

#include "sweep_world.h"

/* Writes it. */
void sweep_hooks_make(const struct sweep_world *world);

/* Forgets what was noted. */
void sweep_hooks_reset(const struct sweep_world *world);

/* The settings that name it. */
void sweep_hooks_set(const struct sweep_world *world, FILE *settings);

/*
 * What is wrong with what was noted when a pass was killed and the next one ended well, or no pass was
 * killed (`killed` 0); NULL, or for the caller to free. Each run that is over is revoked while its tree is
 * there, and after is run for each that is gone: once, or once more for the one that was killed.
 */
char *sweep_hooks_fault(const struct sweep_world *world, size_t killed);
