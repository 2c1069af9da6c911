/*
 * What a call of `register` says about a run, as a record: from the command line, completed with
 * what the run's row and marker say already and with what the backends see. Private to
 * cmd_register.c and probe_canary*.c.
 */
#pragma once

#include "model.h"
#include "options.h"

struct registration {
	struct arena arena;
	struct record record; /* resources are grown below */
	size_t resource_room;
};

/*
 * `row` and `marker`: what is on record, or NULL. 0; -EINVAL: the command line is wrong; -errno
 * otherwise. Changes nothing on the machine.
 */
int registration_build(struct registration *registration, const struct options *options,
	const struct settings *settings, const struct record *row, const struct record *marker,
	struct error *error);
void registration_done(struct registration *registration);
