/*
 * Words as a shell takes them, for commands that a person is to paste.
 */
#pragma once

#include "text.h"

/*
 * Adds one word: as it is where nothing in it is special to a shell, else in single quotes; in
 * $'…' (bash, zsh, ksh) where it has bytes that must not reach a terminal, so that it is one harmless
 * line in any case. An empty one becomes ''. A word that a command could take for an option is the
 * caller's matter: "--" before it.
 */
void text_add_quoted(struct text *text, const char *word);
