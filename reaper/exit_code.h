/*
 * What the program answers to whoever started it (DESIGN.md, section 5). main() turns the answer of
 * a verb into the process's exit status; nothing else exits.
 */
#pragma once

enum exit_code {
	EXIT_DONE = 0,      /* done, or nothing due */
	EXIT_ATTENTION = 1, /* something due could not be done, or a person is needed */
	EXIT_USAGE = 2,
	EXIT_DUE = 3,    /* only with --exit-code: the plan is not empty */
	EXIT_STATE = 65, /* bad configuration or state; nothing was touched */
	EXIT_BLIND = 69, /* a source could not be read, so runs were kept undecided */
	EXIT_LOCKED = 75 /* another pass holds the lock */
};

/* The one to report when both hold: the first of 2, 65, 75, 1, 69, 3. */
enum exit_code exit_code_worse(enum exit_code a, enum exit_code b);

/* What an errno of the state or of a command means: EXIT_STATE when settings or database are not
 * usable, EXIT_ATTENTION otherwise. Takes it positive or negative. */
enum exit_code exit_code_of_error(int code);
