#include "survey.h"

#include "unit.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRAPPED = 2 }; /* functions of ours between a call and who means it */

struct survey *survey_new(unsigned depth)
{
	struct survey *survey = mmap(
		NULL, sizeof(*survey), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(survey != MAP_FAILED);
	survey->lock = memfd_create("survey", MFD_CLOEXEC);
	assert_return_code(survey->lock, errno);
	survey->depth = depth;
	return survey;
}

struct place survey_place(const struct survey *survey, const struct tracer_call *call)
{
	return place_of(call, survey->depth + (call->number == SYS_openat2 ? WRAPPED : 0));
}

static struct spot *spot_at(struct survey *survey, long call, struct place place)
{
	for (size_t i = 0; i < survey->count; i++)
		if (survey->spots[i].call == call && survey->spots[i].place.number == place.number)
			return &survey->spots[i];
	assert(survey->count < SPOTS_MAX);
	survey->spots[survey->count] = (struct spot){ .call = call, .place = place };
	return &survey->spots[survey->count++];
}

static int on_call(void *context, const struct tracer_call *call)
{
	struct survey *survey = context;

	spot_at(survey, call->number, survey_place(survey, call))->times++;
	survey->calls++;
	return TRACER_GO_ON;
}

void survey_make(struct survey *survey, struct sweep_world *world, const long *calls,
	size_t call_count, int limit_s)
{
	const struct trace trace = {
		.calls = calls,
		.call_count = call_count,
		.on_call = on_call,
		.context = survey,
		.limit_s = limit_s,
	};

	/* Of the process, so that a worker that dies lets it go. */
	assert_return_code(lockf(survey->lock, F_LOCK, 0), errno);
	if (!survey->calls) {
		sweep_world_reset(world);
		(void)sweep_world_trace(world, "--json", &trace);
	}
	assert_return_code(lockf(survey->lock, F_ULOCK, 0), errno);
}
