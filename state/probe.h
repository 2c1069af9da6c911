/*
 * The last probe (sbx-reap probe): what it asks of the next pass of the unit, what that pass found,
 * and whether anybody judged it. One row, or none. Errors as in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

/* What an attempt that had to be blocked came to. */
struct probe_attempt {
	const char *step; /* the one that ended it, in the words of os/trespass.h */
	int64_t code;     /* errno of that step; 0: none was told */
	const char *note; /* why there is none; NULL */
};

struct probe {
	int64_t asked_s;
	const char *directory; /* outside of what the unit may write */
	int64_t port;          /* of an endpoint on 127.0.0.1 */
	const char *token;     /* random; grants nothing */
	int64_t answered_s;    /* 0: no pass has answered */
	const char *pass;      /* that answered; NULL */
	struct probe_attempt file, network;
	int64_t judged_s; /* 0: nobody has judged it */
};

/* Asks; whatever was asked before is forgotten. 0. */
int probe_ask(struct store *store, const struct probe *probe, struct error *error);

/* What was asked last, in the arena; *ret_probe is NULL where nothing ever was. 0. */
int probe_get(
	struct store *store, struct arena *arena, struct probe **ret_probe, struct error *error);

/*
 * Writes down answered_s, pass and both attempts. 1; 0 when another probe asks by now (another
 * token), or this one is answered or judged already.
 */
int probe_answer(struct store *store, const struct probe *probe, struct error *error);

/* What one probe came to, for whoever counts: what it looked at, and "ok" or what else. */
struct probe_result {
	const char *check, *outcome;
	int64_t at_s;
};

/* Puts these in the place of those of the probe before, all with one moment. Of two of one check the
 * one that is not ok stays. 0. */
int probe_set_results(struct store *store, const struct probe_result *results, size_t count,
	int64_t now_s, struct error *error);

/* Calls back for each, by name. 0. */
int probe_each_result(struct store *store,
	void (*each)(void *context, const struct probe_result *result), void *context,
	struct error *error);

/* It is judged, or given up. 1; 0 when another one asks by now, or it was judged already. */
int probe_judge(struct store *store, const char *token, int64_t now_s, struct error *error);
