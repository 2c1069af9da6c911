/*
 * Turns what the backends saw into the facts that the policy decides on.
 */
#pragma once

#include "model.h"

/*
 * Fills the facts of a run that was told and probed: contradictions, locks, blindness (a source or
 * a resource that could not be looked at), liveness, what is left besides the tree. Not facts.work.
 */
void facts_derive(struct inventory *inventory, struct run *run, const struct settings *settings);

/* Whether a resource is the run's, so that it may be removed. */
bool resource_proven(const struct resource *resource);

/* Whether it stays while the tree of its run stays: the tree, its branch, what is mounted in it. */
bool resource_of_tree(const struct run *run, const struct resource *resource);

/* Whether something of it is left: itself, its git record, or what was set aside. */
bool resource_left(const struct resource *resource);

/*
 * Whether policy keeps it on purpose (an unmerged branch), so that its being there is no leftover.
 */
bool resource_kept(const struct resource *resource);
