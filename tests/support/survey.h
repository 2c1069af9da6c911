/*
 * The spots of a pass: a call, and the place of the program that makes it. A pass makes ten thousand
 * calls, most of them again and again from the same place for the next file, object or run; what fails
 * there fails in the same way. So a sweep need not try each, but each spot. All workers share one.
 */
#pragma once

#include "place.h"
#include "sweep_world.h"

enum { SPOTS_MAX = 16384 };

struct spot {
	long call;
	struct place place;
	size_t times; /* that an undisturbed pass comes by */
};

struct survey {
	int lock;
	unsigned depth;               /* see survey_place() */
	size_t calls, count;          /* all that were seen; the spots */
	struct spot spots[SPOTS_MAX]; /* in the order in which a pass comes by first */
};

/* Shared with all children; never freed. */
struct survey *survey_new(unsigned depth);

/*
 * place_of() as deep as this survey looks. All openat2() are made by one function, since libc has none:
 * so who calls that counts as well.
 */
struct place survey_place(const struct survey *survey, const struct tracer_call *call);

/* Makes an undisturbed pass, unless another worker has, or is about to. */
void survey_make(struct survey *survey, struct sweep_world *world, const long *calls,
	size_t call_count, int limit_s);
