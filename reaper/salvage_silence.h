/*
 * Whether what was salvaged lies where nobody answers: then it is not touched (os/answering.h).
 */
#pragma once

#include "base/error.h"
#include "model.h"

struct salvage_silence {
	const struct settings *settings;
	struct text_list silent, answering; /* places that were asked */
};

/* 0; -ETIME it is not to be touched: the error names the place. Each place is asked once. */
int salvage_silence_ask(
	struct salvage_silence *silence, const struct salvage *salvage, struct error *error);
void salvage_silence_done(struct salvage_silence *silence);
