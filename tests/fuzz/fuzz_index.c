/* git's index of a worktree, which the run writes (backend/worktree_index.h). */
#include "fuzz.h"

#include "backend/worktree_index.h"

static int check_entry(void *context, const struct index_entry *entry)
{
	size_t *count = context;

	MUST(entry->path && entry->stage <= 3);
	return ++*count > 100000 ? -1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *copy CLEANUP(mem_done) = mem_new(length ? length : 1);
	struct error error = { 0 };
	size_t count = 0;

	if (length)
		memcpy(copy, bytes, length);
	if (index_each(copy, length, check_entry, &count, &error) < 0 && count <= 100000)
		MUST(*error.text);
	return 0;
}
