/*
 * Private to state/: what the database looks like, and how an older one becomes that.
 */
#pragma once

#include "db.h"

enum {
	SCHEMA_APPLICATION_ID = 0x53425852, /* "SBXR", for file(1) and for us */
	SCHEMA_UNFINISHED_ID = 0x5342584e   /* "SBXN": made anew, and not filled yet */
};

/* Of a new database: 32 hexadecimal digits that its stamp repeats. */
enum { IDENTITY_LENGTH = 32 };

enum schema_state {
	SCHEMA_FRESH, /* nothing in it at all */
	SCHEMA_OLDER,
	SCHEMA_CURRENT,
	SCHEMA_UNFINISHED /* of whatever version we know */
};

/* 0; -EUCLEAN when it is not ours, -EPROTO when it is newer than this program. */
int schema_look(struct store *store, enum schema_state *ret_state, struct error *error);

/*
 * Brings it up to date, one transaction a step, and marks it with `id`, one of the above. `made`, when
 * not NULL, is called before a fresh one is committed, and a negative answer of it undoes everything;
 * when the database is not fresh any more by then it is not called. 0; -ENODATA when another process
 * has marked it with the other id meanwhile; -errno.
 */
int schema_migrate(struct store *store, int id,
	int (*made)(void *context, const char *identity, struct error *error), void *context,
	struct error *error);

/* It is filled: from now on it is a database like any other. 0 or -errno. */
int schema_finish(struct store *store, struct error *error);

/* The identity that the database carries. 0 or -errno. */
int schema_identity(
	struct store *store, char ret_identity[IDENTITY_LENGTH + 1], struct error *error);
