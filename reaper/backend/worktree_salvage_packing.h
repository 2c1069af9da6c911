/*
 * Plans as the entries of an archive: written, and compared with what stands in one.
 */
#pragma once

#include "os/archive.h"
#include "worktree_salvage_plan.h"

struct salvage_part {
	const char *prefix;              /* "tree" */
	int dir;                         /* open */
	const struct salvage_node *root; /* NULL: there is none */
};

struct salvage_packing {
	struct salvage_part parts[2];
	const struct salvage_hash *hash;
	int64_t deadline_ms;
};

/* Adds every file, link and directory. 0; -EBUSY: it is not what was planned; -errno. */
int salvage_packing_write(
	const struct salvage_packing *packing, struct archive_writer *writer, struct error *error);

/*
 * Reads an archive and compares it in both directions: paths, kinds, modes, sizes, targets, content.
 * 0; -EUCLEAN: it is not the same; -errno.
 */
int salvage_packing_check(
	const struct salvage_packing *packing, int dir, const char *name, struct error *error);
