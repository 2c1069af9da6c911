/*
 * An endpoint on 127.0.0.1 that gives nothing and notes what it is told: to see whether a credential
 * can be carried to it. It needs nobody to attend to it: what is sent waits in the kernel.
 */
#pragma once

#include "base/error.h"

struct endpoint {
	int fd; /* -EBADF: none */
	uint16_t port;
};

/* 0 or -errno; endpoint_close in any case. */
int endpoint_open(struct endpoint *ret_endpoint, struct error *error);
void endpoint_close(struct endpoint *endpoint);

/* Whether anybody who connected since the last question began with this token. 1, 0, -errno. */
int endpoint_heard(const struct endpoint *endpoint, const char *token, struct error *error);
