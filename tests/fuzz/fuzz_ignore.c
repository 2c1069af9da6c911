/* A tree's .gitignore files (backend/worktree_ignore.h): the first line is the path asked about. */
#include "fuzz.h"

#include "backend/worktree_ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct ignore ignore CLEANUP(ignore_done) = { 0 };
	char *path CLEANUP(mem_done) = mem_new(length + 1), *deep CLEANUP(mem_done) = NULL;
	char *rules;
	size_t rest;

	if (length)
		memcpy(path, bytes, length);
	rules = memchr(path, '\n', length);
	if (!rules || rules == path || *path == '/')
		return 0; /* a path below a tree is neither empty nor absolute */
	*rules++ = 0;
	rest = length - (size_t)(rules - path);
	deep = mem_printf("a/b/%s", path);
	ignore_add(&ignore, "", rules, rest);
	MUST(ignore.count <= IGNORE_RULES_MAX);
	(void)ignore_matches(&ignore, path, false);
	(void)ignore_matches(&ignore, path, true);
	ignore_add(&ignore, "a/b", rules, rest);
	(void)ignore_matches(&ignore, deep, false);
	ignore_cut(&ignore, 0);
	MUST(!ignore_matches(&ignore, deep, true));
	return 0;
}
