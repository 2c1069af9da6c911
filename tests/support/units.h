/*
 * The cgroup backend on a booted systemd, and units of a slice of the tests' own, registered in each way
 * that there is. What cannot be done fails the test.
 */
#pragma once

#include "backend/backend.h"

#include <sys/types.h>

#define SLICE "sbx-test.slice"
#define SLICE_GROUP "/sbx.slice/sbx-test.slice"

static const char one[] = "sbx-test-one.service";
static const char two[] = "sbx-test-two.service";
static const char scope[] = "sbx-test-three.scope";
static const char in_slice[] = "--slice=" SLICE;

struct units {
	struct settings settings;
	void *state;
	struct inventory inventory;
	pid_t child; /* ended with the units */
};

int units_set_up(void **state);
int units_tear_down(void **state);      /* with all units of the names above */
void units_reopen(struct units *units); /* the backend anew */

/* Each way to register what has its processes in a service of the slice. */
struct resource units_by_group(void);
struct resource units_by_name(void);
struct resource units_by_slice(void);

void units_identify(struct units *units, struct resource *resource);
void units_probe(struct units *units, struct resource *resource);
int units_try_stop(struct units *units, const struct resource *resource, struct error *error);
int units_stop(struct units *units, const struct resource *resource);
int units_remove(struct units *units, const struct resource *resource);

int units_command(const char *line);    /* its exit code */
void units_until(const char *line);     /* it succeeds */
void units_stay_away(const char *unit); /* as long as a restart would take */

void units_are_gone(struct units *units, struct resource *resource);

/* Stopped, removed, and gone for good, in whichever way it was registered. */
void units_go(struct units *units, struct resource *resource);
