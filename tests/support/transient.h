/* Transient units of a running systemd, for tests: made with systemd-run(1), by name. */
#pragma once

#include <sys/types.h>

/* A scope in the slice in which sleeps a process; active on return. Its pid (systemd-run's). */
pid_t transient_scope(const char *unit, const char *slice);

/* A service with extra options of systemd-run and a command; started on return. */
void transient_service(const char *unit, const char *options, const char *command);

/* Stops it and resets it, whatever it is. */
void transient_end(const char *unit);

/* Whether systemctl says that the unit is in that state ("active", "failed", "inactive"). */
int transient_is(const char *unit, const char *state);

/* Waits (some seconds at most) until it is. */
void transient_wait(const char *unit, const char *state);
