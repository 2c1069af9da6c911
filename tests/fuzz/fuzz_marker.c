/* Markers and pins: <root>/<run>.sbx, <root>/<run>.keep (state/marker.h). */
#include "fuzz.h"

#include "base/runid.h"
#include "base/text.h"
#include "state/marker.h"

#include <errno.h>

static void check_resource(const struct resource *resource)
{
	MUST(resource->locator && *resource->locator);
	MUST(resource->proof == PROOF_MARKER);
	if (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH ||
		resource->kind == KIND_CGROUP)
		MUST(fuzz_path_clean(resource->locator));
	if (resource->repo)
		MUST(fuzz_path_clean(resource->repo));
}

static void check_record(const struct record *record)
{
	MUST(text_equal(record->run, "r1"));
	MUST(record->created_s > 0);
	MUST(record->ttl_s >= 0 && record->finished_s >= 0);
	MUST((record->finished_s == 0) == (record->outcome == OUTCOME_NONE));
	for (size_t i = 0; i < record->resource_count; i++)
		check_resource(&record->resources[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct settings settings;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct error error = { 0 };
	struct record *record;
	struct pin *pin;
	int r;

	fuzz_file("r1.sbx", bytes, length);
	fuzz_file("r1.keep", bytes, length);
	r = marker_read(
		fuzz_directory(), fuzz_directory_path(), "r1", &settings, &arena, &record, &error);
	MUST(r != -ENOENT && r <= 0);
	if (r == 0)
		check_record(record);
	else
		MUST(*error.text);
	error = (struct error){ 0 };
	r = keep_read(fuzz_directory(), "r1", &arena, &pin, &error);
	MUST(r != -ENOENT && r <= 0);
	if (r == 0)
		MUST(text_equal(pin->run, "r1") && pin->until_s >= 0);
	return 0;
}
