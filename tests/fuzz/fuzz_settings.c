/* Settings files, key by key (config_draft.h); the directories they name are not looked at. */
#include "fuzz.h"

#include "base/pathname.h"
#include "config.h"
#include "config_draft.h"
#include "os/ini_file.h"

static void check_paths(const struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		MUST(fuzz_path_clean(list->items[i]));
}

static void check_settings(const struct settings *settings)
{
	const int64_t spans[] = { settings->policy.ttl_s, settings->policy.lease_s,
		settings->policy.deadline_grace_s, settings->policy.keep_ok_s,
		settings->policy.keep_failed_s, settings->policy.keep_abandoned_s,
		settings->policy.keep_orphan_s, settings->policy.pin_for_s,
		settings->policy.history_s, settings->policy.salvage_keep_s,
		settings->limits.max_runs, settings->limits.time_budget_ms,
		settings->limits.engine_timeout_ms, settings->limits.kill_timeout_ms };

	for (size_t i = 0; i < ARRAY_SIZE(spans); i++)
		MUST(spans[i] >= 0 && spans[i] <= INT64_C(11) * 366 * 86400 * 1000);
	MUST(settings->policy.unsaved <= UNSAVED_DISCARD);
	MUST(settings->policy.branch <= BRANCH_DELETE);
	MUST(settings->adopt <= ADOPT_WORKTREES);
	MUST(fuzz_path_clean(settings->database));
	MUST(*settings->cgroup_root && *settings->cgroup_root != '/');
	check_paths(&settings->repos);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct draft draft CLEANUP(config_draft_done) = { .file = mem_dup("reap.ini") };
	char *text CLEANUP(mem_done) = mem_new(length + 1);
	struct error error = { 0 };

	settings_default(&draft.settings);
	if (length)
		memcpy(text, bytes, length);
	if (ini_file_parse("reap.ini", text, length, config_key_take, &draft, &error) < 0)
		MUST(*error.text);
	check_settings(&draft.settings);
	for (size_t i = 0; i < draft.root_count; i++)
		MUST(fuzz_path_clean(draft.roots[i].path));
	return 0;
}
