#include "check.h"

#include "backend/container_leftovers.h"

void check_leftovers(struct check *check)
{
	struct leftovers leftovers CLEANUP(leftovers_done) = { 0 };
	struct error error = { 0 };

	if (leftovers_find(&leftovers, &error) < 0) {
		check_say_error(check, LEVEL_WARN, "leftovers", &error);
		return;
	}
	for (size_t i = 0; i < leftovers.count; i++) {
		check_say(check, LEVEL_WARN, "leftover", leftovers.items[i].detail);
		check_say_more(leftovers.items[i].command);
	}
	if (leftovers.more) {
		char *more CLEANUP(mem_done) = mem_printf("and %zu more", leftovers.more);

		check_say(check, LEVEL_WARN, "leftover", more);
	}
	if (leftovers.blind)
		check_say(check, LEVEL_WARN, "leftovers", leftovers.blind);
	else if (!leftovers.count)
		check_say(check, LEVEL_OK, "leftovers", "no container left anything behind");
}
