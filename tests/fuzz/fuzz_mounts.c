/* The mount table, whose paths a run can choose (os/mounts.h). */
#include "fuzz.h"

#include "base/text.h"
#include "os/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	char *copy CLEANUP(mem_done) = mem_new(length ? length : 1);
	struct error error = { 0 };

	if (length)
		memcpy(copy, bytes, length);
	if (mounts_parse(copy, length, &table, &error) < 0) {
		MUST(*error.text);
		return 0;
	}
	MUST(table.count > 0);
	for (size_t i = 0; i < table.count; i++) {
		const struct mount *mount = &table.mounts[i];

		MUST(*mount->point == '/' && mount->type && mount->source);
		MUST(mounts_below(&table, mount->point));
		MUST(mounts_of_type(&table, mount->type));
	}
	(void)mounts_below(&table, "/srv/ws/r1");
	return 0;
}
