/*
 * What the files of the model share: the settings, three-valued arithmetic, and what they ask each other.
 * For model_host.c, model_heard.c, model_keeps.c, model_rules.c and model_after.c only.
 */
#pragma once

#include "model_rules.h"

/* The settings that model_world.c writes. */
enum {
	LEASE_S = 15 * 60,
	GRACE_S = 5 * 60,
	KEEP_OK_S = 10 * 60,
	KEEP_FAILED_S = 3600,
	KEEP_ABANDONED_S = 3600,
	KEEP_ORPHAN_S = 3600,
	MARK_TTL_S = 3600,
	/* DESIGN, 6.4 */
	STEP_S = 5 * 60,
	FUTURE_WAIT_S = 86400,
	/* Steps too small to be seen move what is counted on the wall clock. */
	UNSEEN_S = 1500
};

static inline enum maybe most(enum maybe a, enum maybe b)
{
	return a > b ? a : b;
}

static inline enum maybe least(enum maybe a, enum maybe b)
{
	return a < b ? a : b;
}

static inline int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* YES from `most_s` on, NO before `least_s`. */
static inline enum maybe since(int64_t now_s, int64_t least_s, int64_t most_s)
{
	if (now_s >= most_s)
		return YES;
	return now_s < least_s ? NO : MAYBE;
}

/* model_host.c */
enum maybe model_clock_stepped(const struct model *model);

/* model_heard.c: told of a run, by whatever means */
int64_t model_created_s(const struct model_run *run);
bool model_is_recorded(const struct model_run *run);
bool model_is_finished(const struct model_run *run);
void model_finish(struct model_record *record, int64_t now_s, bool failed);
void model_forget(struct model_run *run);

/* model_keeps.c */
enum maybe model_is_pinned(const struct model *model, const struct model_run *run);
enum maybe model_owns_tree(
	const struct model *model, const struct model_run *run, const struct sight *sight);
enum maybe model_is_refused(const struct model_run *run, const struct sight *sight);
enum maybe model_is_locked(const struct model_run *run, const struct sight *sight);
enum maybe model_is_occupied(
	const struct model *model, const struct model_run *run, const struct sight *sight);
enum maybe model_owns_container(const struct model_run *run, const struct sight *sight);
enum maybe model_is_unseen(
	const struct model *model, const struct model_run *run, const struct sight *sight);
enum maybe model_is_in_future(const struct model *model, const struct model_run *run);
enum maybe model_clock_keeps(const struct model *model, const struct model_run *run);
