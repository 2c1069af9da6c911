/*
 * Passes: proof that each ran, and what the clocks said then. Errors as in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

struct pass_clocks {
	int64_t wall_s, boot_ms, awake_ms; /* base/clock.h */
	char boot_id[37];
	int64_t resumed_s; /* when a pass first saw that the host had slept; 0: it has not */
	int64_t step_s;    /* by how much the wall clock was set since the pass before */
};

struct pass_counts {
	int64_t runs, reaped, partial, failed, stopped, bytes_freed;
	int exit_code;
	const char *blind; /* sources that could not be read, in words; NULL: none */
};

/* The clocks of the last pass that began. 1, 0 there was none. */
int pass_last(struct store *store, struct pass_clocks *ret_clocks, struct error *error);

/* When the last pass ended that had nothing to say (exit code 0). 1, 0 there was none. */
int pass_last_done(struct store *store, int64_t *ret_ended_s, struct error *error);

/* The clocks of this moment; resumed_s and step_s are 0. 0 or -errno. */
int pass_clocks_now(struct pass_clocks *ret_clocks, struct error *error);

/*
 * Compares the clocks of two moments: when this host last booted, whether it slept since (a gain of
 * boot over awake time of more than a minute within one boot: resumed_s is then now->wall_s,
 * otherwise last->resumed_s is handed on while the boot is the same), and whether wall and boot
 * clock went apart by more than five minutes within one boot, or the wall clock went back by as much
 * over a boot. Pure. `last` NULL: no pass before.
 */
void pass_compare(
	const struct pass_clocks *last, const struct pass_clocks *now, struct host_facts *ret_host);

/*
 * Records the beginning and the end of a pass. `pass`: its identifier. Where the wall clock was set,
 * the moments of all sightings and failures move along in the same transaction, so that what they
 * age stays as old as it was; afterwards none is later than now, also without a step. The beginning
 * ends the row of passes that found the lock held. 0.
 */
int pass_begin(struct store *store, const char *pass, const struct pass_clocks *clocks,
	struct error *error);
int pass_end(struct store *store, const char *pass, int64_t now_s, const struct pass_counts *counts,
	struct error *error);
