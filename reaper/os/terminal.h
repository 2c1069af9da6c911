/*
 * What a descriptor that people may look at can show.
 */
#pragma once

#include "base/base.h"

struct terminal {
	size_t columns; /* 0: it is no terminal, and a program may read what is written there */
	bool colour;    /* a terminal with colours, and nobody who wants none */
	bool controls;  /* it obeys sequences like "to the beginning of the line" */
	bool utf8;      /* by the locale of whoever looks (LC_ALL, LC_CTYPE, LANG) */
};

/*
 * Asks the terminal for its width (TIOCGWINSZ, ioctl_tty(2)), unless COLUMNS says another one; 80
 * where neither knows. TERM=dumb, or none, means neither controls nor colours, NO_COLOR
 * (not empty) no colours.
 */
struct terminal terminal_ask(int fd);
