#include "worktree_salvage.h"

#include "base/clock.h"
#include "base/text.h"
#include "os/confine.h"
#include "os/dir.h"
#include "os/errand.h"
#include "os/signals.h"
#include "worktree_salvage_archive.h"
#include "worktree_salvage_risk.h"
#include "worktree_work.h"

#include <errno.h>

static int salvage_fail(
	const struct resource *resource, int code, const char *why, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(resource->locator);

	return error_say(error, code, "salvage %.200s: %s", shown, why);
}

/* The child writes beneath the common git directory and nowhere else (os/confine.h). */
static int commit_work(void *context, void *result, struct error *error)
{
	const struct salvage_ask *ask = context;
	int common CLEANUP(fd_done) = dir_open(ask->sight->common, error);
	int r = common < 0 ? common : confine_to(&common, 1, CONFINE_WRITE, error);

	return r < 0 ? r : salvage_commit_make(ask, result, error);
}

static int make_commit(
	struct salvage_ask *ask, struct salvage_committed *committed, struct error *error)
{
	const struct errand errand = {
		.work = commit_work,
		.context = ask,
		.what = "salvage",
		.keep = &ask->sight->tree,
		.keep_count = ask->sight->tree >= 0,
		.result = committed,
		.result_size = sizeof(*committed),
		.deadline_ms = ask->deadline_ms,
	};

	return errand_run(&errand, error);
}

struct archive_ask {
	struct salvage_ask *ask;
	int archives; /* open */
};

static int archive_work(void *context, void *result, struct error *error)
{
	const struct archive_ask *archive = context;
	int r = confine_to(&archive->archives, 1, CONFINE_WRITE, error);

	return r < 0 ? r : salvage_archive_make(archive->ask, archive->archives, result, error);
}

static int make_archive(
	struct salvage_ask *ask, struct arena *arena, struct salvage *salvage, struct error *error)
{
	char *path CLEANUP(mem_done) = NULL;
	int archives CLEANUP(fd_done) = salvage_archives_open(ask->settings, &path, error);
	struct archive_ask archive = { .ask = ask, .archives = archives };
	const int keep[] = { archives, ask->sight->tree };
	struct salvage_archived archived = { 0 };
	const struct errand errand = {
		.work = archive_work,
		.context = &archive,
		.what = "salvage",
		.keep = keep,
		.keep_count = ask->sight->tree >= 0 ? 2 : 1,
		.result = &archived,
		.result_size = sizeof(archived),
		.deadline_ms = ask->deadline_ms,
	};
	int r = archives < 0 ? archives : errand_run(&errand, error);

	if (r < 0)
		return r;
	salvage->form = SALVAGE_ARCHIVE;
	salvage->path = arena_printf(arena, "%s/%s", path, archived.name);
	salvage->bytes = archived.bytes;
	return 0;
}

static void tell_commit(
	const struct salvage_committed *committed, struct arena *arena, struct salvage *salvage)
{
	salvage->branch = *committed->branch ? arena_dup(arena, committed->branch) : NULL;
	salvage->ref = arena_dup(arena, committed->ref);
	salvage->commit = arena_dup(arena, committed->commit);
	salvage->bytes = committed->bytes;
}

static int stands_work(void *context, void *result, struct error *error)
{
	(void)result;
	return salvage_archive_stands(context, error);
}

static int archive_stands(struct salvage_ask *ask, struct error *error)
{
	const struct errand errand = {
		.work = stands_work,
		.context = ask,
		.what = "see what an archive would lose",
		.keep = &ask->sight->tree,
		.keep_count = ask->sight->tree >= 0,
		.deadline_ms = ask->deadline_ms,
	};

	return errand_run(&errand, error);
}

/* An archive in place of a commit that cannot be made, when it loses nothing. */
static int stand_in(struct salvage_ask *ask, const struct error *why, struct arena *arena,
	struct salvage *salvage, struct error *error)
{
	int r = archive_stands(ask, error);

	if (r == -ENOTSUP)
		error_prefix(error, "%s", why->text);
	if (r < 0)
		return r;
	salvage->branch = arena_dup(arena, ask->resource->branch);
	return make_archive(ask, arena, salvage, error);
}

/* Where there is a repository, first a commit in it: it holds HEAD and what is staged. */
static int salvage_any(
	struct salvage_ask *ask, struct arena *arena, struct salvage *salvage, struct error *error)
{
	struct salvage_committed committed = { 0 };
	struct error unsaid = { 0 };
	int r;

	if (ask->sight->own || !ask->sight->common)
		return stand_in(ask, &unsaid, arena, salvage, error);
	r = make_commit(ask, &committed, &unsaid);
	if (r < 0 && committed.unwritable)
		return stand_in(ask, &unsaid, arena, salvage, error);
	if (r < 0)
		return error_say(error, -r, "%s", unsaid.text);
	tell_commit(&committed, arena, salvage);
	return *committed.apart || ask->beyond & BEYOND_NESTED
		       ? make_archive(ask, arena, salvage, error)
		       : 0;
}

int worktree_salvage(const struct sight *sight, const struct worktree_judgement *judgement,
	const struct resource *resource, const struct settings *settings, struct effort *effort,
	struct arena *arena, struct salvage *ret_salvage, struct error *error)
{
	struct salvage_ask ask = {
		.sight = sight,
		.resource = resource,
		.settings = settings,
		.file_max = SALVAGE_FILE_MAX,
		.total_max = SALVAGE_TOTAL_MAX,
		.deadline_ms = effort->deadline_ms,
		.beyond = judgement->beyond,
	};
	struct salvage salvage = {
		.run = arena_dup(arena, resource->run),
		.generation = resource->generation,
		.made_s = clock_wall_s(),
		.tree = arena_dup(arena, resource->locator),
		.repo = sight->own ? NULL : arena_dup(arena, sight->common),
	};
	struct error unsaid = { 0 };
	int r;

	if (judgement->work == WORK_CLEAN || judgement->work == WORK_NONE)
		return 0;
	/* What more there is to keep was not looked at, also where some work was seen. */
	if (judgement->work == WORK_UNKNOWN || judgement->unseen)
		return judgement->unseen
			       ? salvage_fail(
					 resource, judgement->unseen_code, judgement->unseen, error)
			       : salvage_fail(resource, EIO, "unsaved work cannot be told", error);
	if (judgement->beyond & BEYOND_LENT)
		return salvage_fail(resource, EBUSY, judgement->note, error);
	r = salvage_any(&ask, arena, &salvage, &unsaid);
	if (r == -EBUSY && !signals_stop_wanted()) {
		/* It changed meanwhile, or a call failed once: a second look tells them apart. */
		unsaid = (struct error){ 0 };
		r = salvage_any(&ask, arena, &salvage, &unsaid);
	}
	if (r < 0)
		return salvage_fail(resource, -r, unsaid.text, error);
	*ret_salvage = salvage;
	return 1;
}
