/*
 * Private to probe_canary*.c.
 */
#pragma once

#include "base/error.h"
#include "model.h"
#include "probe_canary.h"

/* The row of a run, or NULL; in the inventory, which the caller frees. */
const struct record *canary_row(
	const struct probe_canaries *canaries, const char *run, struct inventory *inventory);

/* A picture of all that stands for a canary: tree, marker, pin and git's record. 0 or -errno. */
int canary_picture(const struct probe_canary *canary, struct text *picture, struct error *error);

/* Gives all of them the names that go with `id`. Settings are there, and in them a root, beside which
 * `outside` is where it is NULL. */
void canaries_name(struct probe_canaries *canaries, const char *id, const char *outside);

/* Pins the pinned one, or gives its pin another reason. 0 or -errno. */
int canaries_pin(
	const struct probe_canaries *canaries, enum probe_remains remains, struct error *error);

/* Makes a directory, or a file as canaries are, in an open one. A descriptor, 0; -errno. */
int canary_directory(int dir, const char *name, struct error *error);
int canary_file(int dir, const char *name, struct error *error);

/*
 * probe_canary_outside.c: makes what lies outside; opens what is shown elsewhere (a descriptor); takes
 * all of it away, of which what is gone already is success. 0 or -errno.
 */
int outside_make(const struct probe_canaries *canaries, struct error *error);
int outside_kept(const struct probe_canaries *canaries, struct error *error);
int outside_take_away(const struct probe_canaries *canaries, struct error *error);

/* Binds `kept` at a new directory `point` in the open `dir`, until systemd has seen it. 0 or -errno. */
int canaries_show(const struct probe_canaries *canaries, int kept, int dir, const char *point,
	struct error *error);
