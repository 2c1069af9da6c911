/*
 * What the commands that look at the world share: settings, database and backends, opened once and
 * closed together.
 */
#pragma once

#include "base/error.h"
#include "settings.h"
#include "world.h"

struct session {
	struct settings settings;
	struct store *store;
	struct roots_watch watch;
	struct world world; /* borrows all three */
};

/*
 * Opens the database and the backends by settings that were read, which are the session's from then on,
 * also when it fails. With STORE_READ a database that has never been is no error: session->store is NULL
 * then. 0 or -errno, which is -EUCLEAN for whatever is wrong with the database (EXIT_STATE), -EBUSY for
 * one that stayed locked; session_close is right in any case.
 */
int session_open(struct session *ret_session, struct settings *settings, enum store_access access,
	struct error *error);
void session_close(struct session *session);
