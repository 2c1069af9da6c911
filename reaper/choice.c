#include "choice.h"

#include "base/text.h"
#include "config.h"
#include "notice.h"
#include "report.h"
#include "run_guess.h"

#include <errno.h>

/* Of a hundred thousand runs with ten resources each; more is no plan. */
enum { PLAN_MAX = 512 << 20 };

static void plan_file_done(FILE **file)
{
	if (*file && *file != stdin)
		(void)fclose(*file);
}

static int read_all(FILE *file, struct text *text, struct error *error)
{
	char piece[1 << 16];
	size_t length;

	while ((length = fread(piece, 1, sizeof(piece), file)) > 0) {
		if (text->length + length > PLAN_MAX)
			return error_say(error, EFBIG, "it is larger than 512 MB: no plan is");
		text_add_n(text, piece, length);
	}
	if (ferror(file))
		return error_set(error, errno, "read it");
	return text->length ? 0 : error_say(error, EINVAL, "it is empty");
}

static int read_file(const char *path, struct approval *ret_approval, struct error *error)
{
	FILE *file CLEANUP(plan_file_done) = text_equal(path, "-") ? stdin : fopen(path, "re");
	struct text text CLEANUP(text_done) = { 0 };
	char host[HOST_TEXT];
	int r;

	if (!file)
		return error_set(error, errno, "open it");
	r = read_all(file, &text, error);
	return r < 0 ? r
		     : approval_parse(
			       text.data, text.length, report_host(host), ret_approval, error);
}

void choice_done(struct choice *choice)
{
	approval_done(&choice->plan);
	*choice = (struct choice){ 0 };
}

static int choice_read(
	const struct options *options, struct choice *ret_choice, struct error *error)
{
	char *shown CLEANUP(mem_done) = NULL;
	int r;

	*ret_choice = (struct choice){
		.runs = &options->runs,
		.early = options->early ? &options->runs : &ret_choice->none,
	};
	if (!options->plan)
		return 0;
	r = read_file(options->plan, &ret_choice->plan, error);
	if (r < 0) {
		shown = text_escape(options->plan);
		error_prefix(error, "--plan %.200s", shown);
		return r;
	}
	ret_choice->approval = &ret_choice->plan;
	ret_choice->runs = &ret_choice->plan.runs;
	ret_choice->early = &ret_choice->plan.early;
	return 0;
}

enum exit_code choice_open(
	const struct options *options, struct settings *settings, struct choice *ret_choice)
{
	struct error error = { 0 };

	if (choice_read(options, ret_choice, &error) < 0) {
		settings_done(settings);
		notice("%s", error.text);
		return EXIT_USAGE;
	}
	if (options->time_budget_ms >= 0)
		settings->limits.time_budget_ms = options->time_budget_ms;
	return EXIT_DONE;
}

struct inventory_request choice_request(
	const struct choice *choice, const struct options *options, struct progress *progress)
{
	return (struct inventory_request){
		.early = choice->early,
		.chosen = choice->runs,
		.progress = progress,
		.now_s = options->now_s,
		.size = options->size ? SIZE_MEASURE : SIZE_SKIP,
	};
}

struct plan_wish choice_wish(const struct choice *choice, const struct options *options,
	const struct world *world, bool confirmed)
{
	return (struct plan_wish){
		.world = world,
		.confirmed = confirmed,
		.only = choice->runs,
		.approval = choice->approval,
		.max_runs = options->max >= 0 ? options->max : world->settings->limits.max_runs,
	};
}

void choice_tell_missing(const struct choice *choice, const struct inventory *inventory)
{
	for (size_t i = 0; i < choice->runs->count; i++) {
		const char *run = choice->runs->items[i];

		char *shown CLEANUP(mem_done) = text_escape(run), *guess CLEANUP(mem_done) = NULL;

		if (inventory_find(inventory, run))
			continue;
		guess = choice->approval ? mem_dup("") : run_guess_seen(inventory, run);
		notice(choice->approval ? "run %s of the plan is there no more%s"
					: "nothing is known of run %s%s",
			shown, guess);
	}
}
