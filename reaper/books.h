/*
 * What the verbs that only keep the books work with: settings and database, no backend. (What looks
 * at the world opens a session.)
 */
#pragma once

#include "exit_code.h"
#include "options.h"
#include "state/store.h"

struct books {
	struct settings settings;
	struct store *store; /* NULL: STORE_READ, and nothing has ever been on record */
	int64_t now_s;
};

/*
 * Reads the settings and opens the database. EXIT_DONE, or another code after having said why.
 * books_done() in any case.
 */
enum exit_code books_open(
	const struct options *options, enum store_access access, struct books *ret_books);

/* The settings alone. */
enum exit_code books_open_settings(const struct options *options, struct books *ret_books);
void books_done(struct books *books);

/*
 * Loads the row of one run, or of all (NULL), into an inventory, which the caller frees.
 * EXIT_DONE, or another code after having said why.
 */
enum exit_code books_load(struct books *books, const char *run, struct inventory *ret_inventory);

/* Says that a run is neither a row nor a marker, and which one may be meant. */
void books_notice_unknown(const struct books *books, const char *run);

/* Names each root that cannot be seen, as the reason why an answer may lack something. EXIT_BLIND
 * when there is one, else EXIT_DONE. */
enum exit_code books_notice_lost_roots(const struct books *books);
