#include "worktree_findings.h"

#include <inttypes.h>

static char *in_words(const char *path, const char *what)
{
	char *escaped CLEANUP(mem_done) = text_escape(path);

	return mem_printf("%s: %s", escaped, what);
}

void findings_unsaved(struct findings *findings, const char *path, const char *what)
{
	findings->unsaved++;
	if (!findings->first)
		findings->first = in_words(path, what);
}

void findings_unpushed(struct findings *findings, const char *path, const char *what)
{
	findings->unpushed++;
	if (!findings->first_unpushed)
		findings->first_unpushed = in_words(path, what);
}

void findings_unknown(struct findings *findings, int code, const char *what)
{
	assert(code > 0);
	if (findings->unknown)
		return;
	findings->unknown = mem_dup(what);
	findings->unknown_code = code;
}

static const char *counted(struct arena *arena, const char *first, uint64_t count)
{
	if (count == 1)
		return arena_dup(arena, first);
	return arena_printf(arena, "%s, and %" PRIu64 " more", first, count - 1);
}

/* Work that was seen is an answer even where something else could not be looked at. */
enum work findings_work(const struct findings *findings, struct arena *arena, const char **ret_note)
{
	if (findings->unsaved) {
		*ret_note = counted(arena, findings->first, findings->unsaved);
		return WORK_DIRTY;
	}
	if (findings->unknown) {
		*ret_note = arena_dup(arena, findings->unknown);
		return WORK_UNKNOWN;
	}
	if (findings->unpushed) {
		*ret_note = counted(arena, findings->first_unpushed, findings->unpushed);
		return WORK_UNPUSHED;
	}
	*ret_note = NULL;
	return WORK_CLEAN;
}

void findings_done(struct findings *findings)
{
	free(findings->first);
	free(findings->first_unpushed);
	free(findings->unknown);
	*findings = (struct findings){ 0 };
}
