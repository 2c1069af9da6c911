/*
 * The words that were most likely meant by one that nobody knows: of a verb, of a run.
 */
#pragma once

#include "base.h"

enum { SPELLING_NEAREST = 3 };

/* Filled word by word; begin with `word` alone. The words are borrowed. */
struct spelling {
	const char *word;
	const char *nearest[SPELLING_NEAREST]; /* the nearest first, then in the order of asking */
	size_t distances[SPELLING_NEAREST];
	size_t count;
};

/*
 * Takes in a word that is known. It is near when at most two letters are added, dropped, changed or
 * two neighbours are swapped, and that is less than half of it; or when it goes on where the other
 * one ends, "agent-17" and "agent-17-20261130", from four letters on. The word itself is not near.
 */
void spelling_consider(struct spelling *spelling, const char *known);

/* "; is 'r1' meant?", "; is 'r1', 'r2' or 'r3' meant?", escaped; "" for none. The caller frees it. */
char *spelling_text(const struct spelling *spelling);
