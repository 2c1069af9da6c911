/*
 * The values of options: each function checks one and stores it in the field of struct options that
 * the option's row in the table (options.c) names. 0, or -EINVAL with what would be right; of a place
 * (option_place.c) also -ETIME when it lies on a mount that does not answer.
 * Private to option*.c.
 */
#pragma once

#include "options.h"

struct option_spec {
	const char *name;
	const char *value; /* what it is called in the help; NULL: a flag */
	const char *help;
	int (*take)(const struct option_spec *spec, struct options *options, const char *value,
		struct error *error);
	size_t offset;
	bool repeats;
	char letter; /* 0: none */
};

/*
 * An option as a verb with this set has it: what its value is called and what it does may depend on what
 * else there is.
 */
struct option_spec option_spec_of(enum option_id id, uint64_t set);

/* Room for growth, and yet bounded: what is said on a command line is kept in rows and files. */
enum { OPTION_TEXT_MAX = 500, OPTION_PATH_MAX = 4095 };

static inline void *option_field(const struct option_spec *spec, struct options *options)
{
	return (char *)options + spec->offset;
}

/* A byte below the space, or DEL. */
bool option_has_control(const char *text);

#define OPTION_TAKE(name)                                                               \
	int option_take_##name(const struct option_spec *spec, struct options *options, \
		const char *value, struct error *error)

OPTION_TAKE(flag);
OPTION_TAKE(text);
OPTION_TAKE(run);
OPTION_TAKE(file);
OPTION_TAKE(count);
OPTION_TAKE(span_s);
OPTION_TAKE(span_ms);
OPTION_TAKE(moment);
OPTION_TAKE(past);
OPTION_TAKE(since);
OPTION_TAKE(future);
OPTION_TAKE(pin_length);
OPTION_TAKE(place);
OPTION_TAKE(places);
OPTION_TAKE(repo);
OPTION_TAKE(container);
OPTION_TAKE(cgroup);
OPTION_TAKE(scope);
OPTION_TAKE(branch);
OPTION_TAKE(pid);
OPTION_TAKE(resource);
OPTION_TAKE(states);
OPTION_TAKE(reasons);
OPTION_TAKE(keys);
OPTION_TAKE(columns);

/* The operand DIR of restore. */
int option_take_directory(struct options *options, const char *word, struct error *error);
