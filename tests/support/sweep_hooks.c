#include "sweep_hooks.h"

#include "unit.h"

#include <errno.h>
#include <sys/stat.h>

static char *program_path(const struct sweep_world *world)
{
	return mem_printf("%s/hook", world->base);
}

static char *notes_path(const struct sweep_world *world)
{
	return mem_printf("%s/hooks-run", world->base);
}

/* Nothing but what the shell does itself: each process more is some dozen points more. */
void sweep_hooks_make(const struct sweep_world *world)
{
	char *path CLEANUP(mem_done) = program_path(world);
	char *notes CLEANUP(mem_done) = notes_path(world);
	FILE *file CLEANUP(file_done) = fopen(path, "we");

	assert_non_null(file);
	(void)fprintf(file,
		"#!/bin/sh\n[ -e %s/$SBX_RUN/a.txt ] && tree=there || tree=gone\n"
		"echo $SBX_HOOK $SBX_RUN $tree >>%s\n",
		world->root, notes);
	assert_return_code(fchmod(fileno(file), 0755), errno);
}

void sweep_hooks_reset(const struct sweep_world *world)
{
	char *notes CLEANUP(mem_done) = notes_path(world);

	(void)unlink(notes);
}

void sweep_hooks_set(const struct sweep_world *world, FILE *settings)
{
	char *path CLEANUP(mem_done) = program_path(world);

	(void)fprintf(settings, "[hooks]\nrevoke = %s\nafter = %s\n", path, path);
}

/* Whom it has to be run for, and what it sees then. */
static const char *const wanted[] = { "revoke all there", "revoke unsaved there",
	"revoke overdue there", "revoke pinned there", "after all gone", "after unsaved gone" };

static bool note(size_t counts[ARRAY_SIZE(wanted)], const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (text_equal(line, wanted[i])) {
			counts[i]++;
			return true;
		}
	return false;
}

char *sweep_hooks_fault(const struct sweep_world *world, size_t killed)
{
	char *notes CLEANUP(mem_done) = notes_path(world);
	FILE *file CLEANUP(file_done) = fopen(notes, "re");
	size_t counts[ARRAY_SIZE(wanted)] = { 0 }, all = 0;
	char line[128];

	for (; file && fgets(line, sizeof(line), file); all++) {
		line[strcspn(line, "\n")] = 0;
		if (!note(counts, line))
			return mem_printf("a hook is run for what it must not be: %s", line);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (counts[i] == 0)
			return mem_printf("a hook is not run: %s", wanted[i]);
	return all <= ARRAY_SIZE(wanted) + killed
		       ? NULL
		       : mem_printf("hooks are run %zu times, and need be %zu", all,
				 ARRAY_SIZE(wanted));
}
