/*
 * What is known of a run, each fact with where it comes from: what was told (row, marker, .keep
 * file), what was seen (git, engine, cgroups, process table), and what passes noted.
 */
#pragma once

#include "why_subject.h"

struct why_fact {
	const char *name;   /* "deadline" */
	const char *value;  /* not escaped; NULL: the moment is all */
	int64_t at_s;       /* 0: it is no moment */
	const char *source; /* "row", "marker /srv/sbx/r1.sbx"; NULL: it follows from the others */
};

enum { WHY_FACTS_MAX = 40 };

struct why_facts {
	struct why_fact items[WHY_FACTS_MAX];
	size_t count;
};

/* What is not known, or was never told, is left out. Strings are the arena's or the inventory's. */
void why_facts(const struct why_subject *subject, struct arena *arena, struct why_facts *ret_facts);

/* Who told of a resource, and who sees it: "row, marker; seen by git". In the arena. */
const char *why_resource_source(const struct resource *resource, struct arena *arena);
