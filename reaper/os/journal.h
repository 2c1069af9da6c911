/*
 * The journal of systemd: entries with fields of their own, which a line on standard error cannot have.
 */
#pragma once

#include "base/error.h"

/*
 * Whether it hears what a service says (systemd-journald(8)). Nothing is sent. 1: somebody holds its
 * socket, which may be systemd, who starts it then; 0: nobody does; -errno.
 */
int journal_listens(struct error *error);

/* Whether a descriptor leads to it: then what is printed there is an entry, too. systemd.exec(5),
 * "$JOURNAL_STREAM": device and inode. */
bool journal_has(int fd);

struct journal_field {
	const char *name; /* "SBX_RUN" */
	const char *value;
};

/*
 * Sends one entry; a name may occur more than once. 0; also where there is no journal
 * (sd_journal_send(3)), so that journal_has() is asked before. -errno.
 */
int journal_send(const struct journal_field *fields, size_t count);
