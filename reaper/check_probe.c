/* What probes left that were broken off or failed. */
#include "check.h"

#include "base/shell.h"
#include "os/lock.h"
#include "probe_canary.h"

struct looking {
	struct check *check;
	size_t broken_off;
};

/* A probe_remains_entry. */
static void say_left(void *context, const char *id, const char *outside, enum probe_remains remains)
{
	struct looking *looking = context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct text quoted CLEANUP(text_done) = { 0 };

	looking->broken_off += remains == PROBE_BROKEN_OFF;
	if (remains != PROBE_LEFT)
		return;
	check_say(looking->check, LEVEL_WARN, "probe",
		arena_printf(
			&arena, "probe %s failed, and its canaries stay for you to look at", id));
	check_say_more("then:");
	text_add_quoted(&quoted, outside);
	check_say_more(arena_printf(&arena,
		"umount %s/shown && rm -r --one-file-system %s && sbx-reap unpin " PROBE_PINNED
		"%s",
		quoted.data, quoted.data, id));
}

void check_probe(struct check *check)
{
	struct looking looking = { .check = check };
	char *lock CLEANUP(mem_done) = mem_printf("%s.probe.lock", check->books.settings.database);
	struct error error = { 0 };
	char holder[LOCK_HOLDER];

	if (!check->books.store || !check->books.settings.roots.count)
		return;
	if (probe_remains_each(check->books.store, say_left, &looking, &error) < 0)
		check_say_error(check, LEVEL_BAD, "probe", &error);
	if (looking.broken_off && !lock_describe_holder(lock, holder))
		check_say(check, LEVEL_WARN, "probe",
			"a probe was broken off; the next one takes away what it left: "
			"'sbx-reap probe'");
}
