/*
 * A seal: what a decision about one run rests on, as a short text to compare. The report of a dry run
 * carries one for each run, and a pass that is given that report (--plan) acts only where it is still
 * the same. It is no proof of anything (apply proves each step anyway), and stands against chance and
 * change only: whoever could forge one may as well reap without a plan.
 */
#pragma once

#include "model.h"

enum { SEAL_TEXT = 17 /* 16 hex digits and NUL */ };

/*
 * Of everything that was told and seen of the run but what moves by itself: ages and the decision, its
 * failures, what --early asked for, and sizes. Returns buffer.
 */
const char *seal_of(const struct run *run, char buffer[SEAL_TEXT]);
