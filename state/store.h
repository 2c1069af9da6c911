/*
 * The database: one SQLite file, journal_mode TRUNCATE (an unprivileged reader can open it
 * read-only without creating a file), STRICT tables, epoch seconds. Many processes use it at once:
 * every write is one short IMMEDIATE transaction with a busy time-out, and none is open while
 * anything is removed. A stamp beside it ("<path>.stamp") says that there has been one. Room that is
 * put by ("<path>.reserve") is given up when it must be written on a full disk. Whatever is made here
 * belongs to whom the directory belongs to.
 */
#pragma once

#include "base/error.h"

struct store;

enum store_access {
	STORE_READ, /* never creates or changes a file */
	/* Makes it, and its stamp, where neither has ever been; migrates an older one. */
	STORE_WRITE,
	/*
	 * check --new-database: makes a new one although a stamp says there was one, or goes on with
	 * one that was left unfinished. It is, and no other access opens it, until store_renewed().
	 */
	STORE_RENEW
};

/*
 * Opens the database. 0, or, with an error that says what would be right:
 *   -ENOENT     STORE_READ and there has never been one (no file, no stamp): nothing is on record
 *   -ENODATA    missing where one has been, or empty, or a new one that is not filled yet
 *   -EUCLEAN    not a database of ours (application_id), not the one that the stamp speaks of,
 *               corrupt, or reached by a link (its journal and lock would be another's)
 *   -EPROTO     of a newer version; STORE_READ: of an older one, which a writer has to migrate
 *   -EEXIST     STORE_RENEW and there is one
 *   -EBUSY      locked by somebody for longer than the busy time-out; STORE_READ: a writer was
 *               killed in the middle of a change, which the next one to write undoes
 *   -EACCES -EROFS -EIO -ENOSPC …
 * A damaged database is never made anew. The last directory of the path is made (0755) where its
 * parent exists, unless STORE_READ. path is absolute.
 */
int store_open(
	const char *path, enum store_access access, struct store **ret_store, struct error *error);
void store_close(struct store *store); /* and puts room by again, if it was not only read */

/* All that there was to fill a new one with is in it. 0 or -errno. */
int store_renewed(struct store *store, struct error *error);

/*
 * Gives up some of the room that is put by, for something beside the database that cannot be written
 * without. Whether there was any.
 */
bool store_give_room(struct store *store);

/*
 * Checks all that decides what a pass does, row by row and each index with its table, and of history
 * and passes, which may be large, only where the next row goes. For who is about to act on it: what is
 * read by an index that lacks a row is no error to SQLite. 0 or -EUCLEAN with the first finding.
 */
int store_verify_books(struct store *store, struct error *error);

/* The same, quick_check and foreign_key_check of the whole file, and whether every table is there. 0 or
 * -errno (-EUCLEAN: damaged) with the first finding. */
int store_verify(struct store *store, struct error *error);
