#include "record.h"

struct resource *record_add(struct arena *arena, struct record *record)
{
	size_t count = record->resource_count;
	struct resource *grown;

	/* Full at 0, 1, 2, 4, 8 …: the room doubles, and the old one stays with the arena. */
	if ((count & (count - 1)) == 0) {
		grown = arena_new(arena, (count ? count * 2 : 1) * sizeof(*grown));
		if (count)
			memcpy(grown, record->resources, count * sizeof(*grown));
		record->resources = grown;
	}
	record->resource_count++;
	return &record->resources[count];
}
