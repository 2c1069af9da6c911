/*
 * Two harmless things that the unit of the reaper must be kept from, tried by itself and in earnest:
 * what is written down is what the kernel answered. Each is an errand, so that a filter that kills
 * for the attempt ends no pass.
 */
#pragma once

#include "base/error.h"

/* How far it came. */
enum trespass_step {
	TRESPASS_NOWHERE, /* not even begun */
	TRESPASS_OPEN,    /* refused was: making the file */
	TRESPASS_WRITE,
	TRESPASS_SOCKET,
	TRESPASS_CONNECT,
	TRESPASS_SEND,
	TRESPASS_THROUGH, /* all of it was done */
	TRESPASS_STEPS
};

struct trespass {
	enum trespass_step step;
	int code;              /* errno of that step; 0: it gave none, or nothing was refused */
	char note[ERROR_TEXT]; /* why there is none; "" */
};

/* "open", "connect" …; "through". */
const char *trespass_step_name(enum trespass_step step);

/* The step of that name, TRESPASS_STEPS for any other (NULL too). */
enum trespass_step trespass_step_of(const char *name);

/* Makes directory/<token> and writes the token into it; what is made is left there. */
struct trespass trespass_file(const char *directory, const char *token);

/* Connects to a port of 127.0.0.1 and sends the token. */
struct trespass trespass_network(uint16_t port, const char *token);
