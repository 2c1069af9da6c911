#include "worktree_ask.h"

#include "base/clock.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/errand.h"
#include "os/mount_view.h"
#include "worktree_branch_peers.h"
#include "worktree_census.h"
#include "worktree_identify.h"

#include <errno.h>
#include <limits.h>

enum { WORDS_MAX = 1024 };

int64_t worktree_ask_ms(const struct settings *settings)
{
	enum { PART = 4, LIMIT_MS = 30 * 1000 };
	int64_t part_ms = settings->limits.time_budget_ms / PART;

	return part_ms > 0 && part_ms < LIMIT_MS ? part_ms : LIMIT_MS;
}

/* What is handed back, flat. "" for NULL. */
struct judged {
	struct worktree_judgement judgement; /* its strings are in the fields below */
	char note[WORDS_MAX], unseen[WORDS_MAX];
};

struct viewed {
	struct branch_view view; /* its strings are in the fields below */
	char why[WORDS_MAX], held[WORDS_MAX];
};

static void words_put(char words[WORDS_MAX], const char *text)
{
	(void)snprintf(words, WORDS_MAX, "%s", text ? text : "");
}

static const char *words_take(struct arena *arena, const char *words)
{
	return *words ? arena_dup(arena, words) : NULL;
}

/* The view of mounts is a new one: the descriptors of the old are closed in here. */
static int judge_work(void *context, void *result, struct error *error)
{
	struct worktree_gits gits CLEANUP(worktree_gits_done) = { 0 };
	struct mount_view mounts CLEANUP(mount_view_done) = MOUNT_VIEW_NONE;
	struct worktree_place place = *(const struct worktree_place *)context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct judged *judged = result;

	(void)error;
	place.gits = &gits;
	place.mounts = &mounts;
	worktree_work_judge(&place, &arena, &judged->judgement);
	words_put(judged->note, judged->judgement.note);
	words_put(judged->unseen, judged->judgement.unseen);
	return 0;
}

void worktree_ask_work(const struct worktree_place *place, struct arena *arena,
	struct worktree_judgement *ret_judgement)
{
	struct worktree_place asked = *place;
	struct judged judged = { 0 };
	struct error error = { 0 };
	const struct errand errand = {
		.work = judge_work,
		.context = &asked,
		.what = "look for unsaved work",
		.keep = &place->tree,
		.keep_count = place->tree >= 0,
		.result = &judged,
		.result_size = sizeof(judged),
		.deadline_ms = place->deadline_ms,
	};
	int r;

	if (place->census)
		worktree_census_look(place->census);
	r = errand_run(&errand, &error);
	*ret_judgement = judged.judgement;
	if (r < 0)
		*ret_judgement = (struct worktree_judgement){ .work = WORK_UNKNOWN };
	ret_judgement->note = r < 0 ? arena_dup(arena, error.text) : words_take(arena, judged.note);
	ret_judgement->unseen = r < 0 ? ret_judgement->note : words_take(arena, judged.unseen);
	if (r < 0)
		ret_judgement->unseen_code = -r;
}

enum { BRANCHES_MOST = 1024, STAY_PART = 4 };

struct viewing {
	const struct branch_ask *asks;
	size_t count;
	int64_t each_ms;
};

struct views {
	size_t at; /* the one that it is at */
	struct viewed list[];
};

static void view_branch(struct branch_ask ask, struct viewed *viewed)
{
	struct arena arena CLEANUP(arena_done) = { 0 };

	worktree_branch_look(&ask, &arena, &viewed->view);
	words_put(viewed->why, viewed->view.why);
	words_put(viewed->held, viewed->view.held);
}

/* Comes back when a part of its time is over, so that the one after many slow ones has its share. */
static int view_branches(void *context, void *result, struct error *error)
{
	struct worktree_gits gits CLEANUP(worktree_gits_done) = { 0 };
	struct branch_peers peers CLEANUP(branch_peers_done) = { 0 };
	const struct viewing *viewing = context;
	struct views *views = result;
	int64_t stay_until_ms = deadline_in_ms(viewing->each_ms / STAY_PART);

	(void)error;
	for (views->at = 0; views->at < viewing->count; views->at++) {
		struct branch_ask ask = viewing->asks[views->at];

		if (views->at > 0 && deadline_left_ms(stay_until_ms) == 0)
			return 0;
		ask.gits = &gits;
		ask.peers = &peers;
		view_branch(ask, &views->list[views->at]);
	}
	return 0;
}

/* Asks one child, and takes what it told before it came back, hung or died: so many. */
static size_t ask_one_child(struct viewing *viewing, struct arena *arena,
	struct branch_view *ret_views, int *ret_answer, struct error *error)
{
	size_t size = sizeof(struct views) + viewing->count * sizeof(struct viewed);
	struct views *views CLEANUP(mem_done) = mem_new(size);
	const struct errand errand = {
		.work = view_branches,
		.context = viewing,
		.what = "look at its branch",
		.result = views,
		.result_size = size,
		.deadline_ms = deadline_in_ms(viewing->each_ms),
	};

	*ret_answer = errand_run(&errand, error);
	for (size_t i = 0; i < views->at; i++) {
		ret_views[i] = views->list[i].view;
		ret_views[i].why = words_take(arena, views->list[i].why);
		ret_views[i].held = words_take(arena, views->list[i].held);
	}
	return views->at;
}

static struct branch_view unseen(struct arena *arena, const struct error *error)
{
	return (struct branch_view){
		.answer = BRANCH_UNSEEN,
		.why = arena_dup(arena, error->text),
	};
}

void worktree_ask_branches(const struct branch_ask *asks, size_t count, int64_t each_ms,
	struct arena *arena, struct branch_view *ret_views)
{
	size_t at = 0;

	while (at < count) {
		size_t rest = count - at, told;
		struct viewing viewing = {
			.asks = asks + at,
			.count = rest < BRANCHES_MOST ? rest : BRANCHES_MOST,
			.each_ms = each_ms,
		};
		struct error error = { 0 };
		int r = 0;

		told = ask_one_child(&viewing, arena, ret_views + at, &r, &error);
		at += told;
		if (r < 0 && told < viewing.count)
			ret_views[at++] = unseen(arena, &error);
		while (r == -EINTR && at < count) /* who is asked to stop asks no more */
			ret_views[at++] = unseen(arena, &error);
	}
}

struct introduction {
	const struct settings *settings;
	const struct resource *resource;
};

struct identified {
	uint64_t dev, ino;
	char repo[PATH_MAX], record[PATH_MAX], branch[WORDS_MAX], base[WORDS_MAX], token[DIR_BIRTH];
};

/* What is recorded must be whole. */
static int put_whole(char *words, size_t size, const char *text, struct error *error)
{
	char *shown CLEANUP(mem_done) = NULL;

	if (snprintf(words, size, "%s", text ? text : "") < (int)size)
		return 0;
	shown = text_escape(words);
	return error_say(error, ENAMETOOLONG, "what a worktree names is too long: %.60s", shown);
}

static int identify(void *context, void *result, struct error *error)
{
	const struct introduction *introduction = context;
	struct resource resource = *introduction->resource;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct identified *identified = result;
	int r = worktree_identify(introduction->settings, &resource, &arena, error);

	identified->dev = resource.dev;
	identified->ino = resource.ino;
	if (r >= 0)
		r = put_whole(identified->repo, sizeof(identified->repo), resource.repo, error);
	if (r >= 0)
		r = put_whole(
			identified->record, sizeof(identified->record), resource.record, error);
	if (r >= 0)
		r = put_whole(
			identified->branch, sizeof(identified->branch), resource.branch, error);
	if (r >= 0)
		r = put_whole(identified->base, sizeof(identified->base), resource.base, error);
	if (r >= 0)
		r = put_whole(identified->token, sizeof(identified->token), resource.token, error);
	return r;
}

int worktree_ask_identity(const struct settings *settings, int64_t deadline_ms,
	struct resource *resource, struct arena *arena, struct error *error)
{
	struct introduction introduction = { settings, resource };
	struct identified identified = { 0 };
	const struct errand errand = {
		.work = identify,
		.context = &introduction,
		.what = "look at the worktree to register",
		.result = &identified,
		.result_size = sizeof(identified),
		.deadline_ms = deadline_ms,
	};
	int r = errand_run(&errand, error);

	if (r < 0)
		return r;
	resource->dev = identified.dev;
	resource->ino = identified.ino;
	resource->repo = words_take(arena, identified.repo);
	resource->record = words_take(arena, identified.record);
	resource->branch = words_take(arena, identified.branch);
	resource->base = words_take(arena, identified.base);
	resource->token = words_take(arena, identified.token);
	return r;
}
