/*
 * Private to state/: the row of a run as it is in the database, read within a transaction.
 */
#pragma once

#include "db.h"
#include "model.h"

struct run_row {
	struct record record; /* claim and claim_pass included */
	int64_t claim_s;
};

/* What a column says; NULL is none. */
enum outcome outcome_read(const char *name);

/* The row of SQL_RUN_EACH or SQL_RUN_GET that the query reached, without its resources. */
void run_row_read(struct query *query, struct arena *arena, struct run_row *ret_row);

/* Adds the row that a query of SQL_RESOURCE_EACH or SQL_RESOURCE_OF reached to its record. */
int resource_row_read(
	struct query *query, struct arena *arena, struct record *record, struct error *error);

/* The row with its resources. 1, 0 there is none, or -errno. */
int run_row_get(struct store *store, const char *run, struct arena *arena, struct run_row *ret_row,
	struct error *error);

/* A new row, and one resource of it. 0 or -errno (-EADDRINUSE: another run has registered it). */
int run_row_add(struct store *store, const struct run_row *row, struct error *error);
int resource_row_add(
	struct store *store, const char *run, const struct resource *resource, struct error *error);

/* The generation that a new row of this run gets. 0 or -errno. */
int run_row_generation(struct store *store, const char *run, int64_t now_s, int64_t *ret_generation,
	struct error *error);

/* Drops a row with its resources. 1, 0 there was none, or -errno. */
int run_row_delete(struct store *store, const char *run, struct error *error);

/* Gives a claim up, when there is one; a row that only the claim made goes with it. 0 or -errno. */
int run_row_unclaim(struct store *store, const struct run_row *row, struct error *error);

/* -EBUSY when it is being taken apart; else 0. */
int run_row_check_free(const struct run_row *row, struct error *error);
bool run_row_begun(const struct run_row *row);
