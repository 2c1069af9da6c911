#include "salvage_text.h"

#include "base/text.h"
#include "base/timespan.h"

const char *salvage_form_name(enum salvage_form form)
{
	switch (form) {
	case SALVAGE_COMMIT:
		return "commit";
	case SALVAGE_ARCHIVE:
		return "archive";
	}
	abort();
}

int64_t salvage_ends_s(const struct salvage *salvage, const struct policy_settings *policy)
{
	return salvage->made_s > MOMENT_MAX_S - policy->salvage_keep_s
		       ? 0
		       : salvage->made_s + policy->salvage_keep_s;
}

const char *salvage_where(const struct salvage *salvage, struct arena *arena)
{
	char *first CLEANUP(mem_done) =
		text_escape(salvage->form == SALVAGE_COMMIT ? salvage->ref : salvage->path);
	char *repo CLEANUP(mem_done) = NULL;

	if (salvage->form == SALVAGE_ARCHIVE)
		return arena_dup(arena, first);
	repo = text_escape(salvage->repo);
	return arena_printf(arena, "%s in %s", first, repo);
}

void salvage_json(struct json_out *json, const char *key, const struct salvage *salvage,
	const struct policy_settings *policy)
{
	json_object(json, key);
	json_text(json, "run", salvage->run);
	json_int(json, "generation", salvage->generation);
	json_moment(json, "made", salvage->made_s);
	json_moment(json, "ends", salvage_ends_s(salvage, policy));
	json_text(json, "form", salvage_form_name(salvage->form));
	json_bytes(json, "tree", salvage->tree);
	json_bytes(json, "branch", salvage->branch);
	json_bytes(json, "repo", salvage->repo);
	json_bytes(json, "ref", salvage->ref);
	json_text(json, "commit", salvage->commit);
	json_bytes(json, "path", salvage->path);
	json_int(json, "bytes", salvage->bytes);
	json_object_end(json);
}
