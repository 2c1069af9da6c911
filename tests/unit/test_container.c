/*
 * The container backend against an engine that fails on cue. What real engines do is in
 * tests/integration/test_container.c. Cnn: field cases that are reproduced here.
 */
#include "unit.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "base/text.h"
#include "stub.h"

#include <errno.h>
#include <sys/stat.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define IMAGE "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define MADE "1795966380"
#define MADE_TEXT "2026-11-29T15:33:00.25Z"

#define LISTED(id, label)                                                                   \
	"{\"Id\":\"" id "\",\"Names\":[\"/c\"],\"ImageID\":\"" IMAGE "\",\"Created\":" MADE \
	",\"State\":\"running\",\"Labels\":{" label "}}"
#define INSPECTED_AS(id, name, status, running)                                             \
	"{\"Id\":\"" id "\",\"Name\":\"/" name "\",\"Image\":\"" IMAGE                      \
	"\",\"Created\":\"" MADE_TEXT "\",\"State\":{\"Status\":\"" status                  \
	"\",\"Running\":" running ",\"Paused\":false},\"Config\":{\"Labels\":{\"sbx.run\":" \
	"\"r1\"}}}"
#define INSPECTED INSPECTED_AS(ID, "c", "running", "true")
#define EXITED INSPECTED_AS(ID, "c", "exited", "false")
#define NETWORK(held)                                                \
	"{\"Id\":\"" ID "\",\"Name\":\"n\",\"Created\":\"" MADE_TEXT \
	"\",\"Labels\":{\"sbx.run\":\"r1\"},\"Containers\":{" held "}}"
#define NONE "{\"message\":\"no such container\"}"

#define PING                                          \
	{                                             \
		.request = "GET /_ping", .body = "OK" \
	}
#define LIST(text)                                               \
	{                                                        \
		.request = "GET /containers/json?", .body = text \
	}
#define NO_VOLUMES                                                                       \
	{                                                                                \
		.request = "GET /volumes?", .body = "{\"Volumes\":[],\"Warnings\":null}" \
	}
#define NO_NETWORKS                                       \
	{                                                 \
		.request = "GET /networks?", .body = "[]" \
	}
#define CLEAN_IMAGE                                                                 \
	{                                                                           \
		.request = "GET /images/", .body = "{\"Config\":{\"Labels\":null}}" \
	}
#define INSPECT(text)                                                  \
	{                                                              \
		.request = "GET /containers/" ID "/json", .body = text \
	}
#define KILL                                                             \
	{                                                                \
		.request = "POST /containers/" ID "/kill", .status = 204 \
	}
#define DELETE_CALL "DELETE /containers/" ID "?force=1&v=1"
#define END                     \
	{                       \
		.request = NULL \
	}

/* What hangs is given up soon; what answers has time, however busy the machine is. */
enum { SOON_MS = 1000, PATIENCE_MS = 60 * 1000, MADE_S = 1795966380 };

struct bench {
	struct stub stub;
	char *engines[2];
	struct settings settings;
	void *backend;
	struct inventory inventory;
};

static void bench_done(struct bench *bench)
{
	container_backend.close(bench->backend);
	inventory_done(&bench->inventory);
	stub_stop(&bench->stub);
}

/* A backend with the stub for its engine; `more`: a second one. */
static bool hangs(const struct stub_answer *answers)
{
	for (; answers->request; answers++)
		if (answers->way == STUB_HANG || answers->way == STUB_DRIP)
			return true;
	return false;
}

static void bench_up(struct bench *bench, const struct stub_answer *answers, char *more)
{
	struct error error = { 0 };

	stub_start(&bench->stub, answers);
	bench->engines[0] = bench->stub.url;
	bench->engines[1] = more;
	bench->settings.engines = (struct text_list){ bench->engines, more ? 2 : 1 };
	bench->settings.label = (char[]){ "sbx.run" };
	bench->settings.limits.engine_timeout_ms = hangs(answers) ? SOON_MS : PATIENCE_MS;
	assert_int_equal(container_backend.open(&bench->settings, &bench->backend, &error), 0);
}

static struct resource *found(struct bench *bench, const char *run, size_t index)
{
	struct run *it = inventory_find(&bench->inventory, run);

	if (!it || it->resource_count <= index) {
		fail_msg("run %s has no resource %zu", run, index);
		abort(); /* fail_msg() does not return, and does not say so */
	}
	return &it->resources[index];
}

/* Container ID as a record of r1 tells it. */
static struct resource told(void)
{
	return (struct resource){
		.run = "r1", .kind = KIND_CONTAINER, .proof = PROOF_ROW, .locator = ID, .token = ID
	};
}

static int act(struct bench *bench,
	int (*effect)(void *state, const struct resource *resource, struct effort *effort,
		struct error *error),
	const struct resource *resource, int64_t within_ms, struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(within_ms) };

	return effect(bench->backend, resource, &effort, error);
}

static int discard(struct bench *bench, const struct resource *resource, int64_t within_ms)
{
	struct error error = { 0 };
	int r = act(bench, container_backend.effects->remove, resource, within_ms, &error);

	assert_int_equal(r < 0, error.code != 0);
	return r;
}

/* ---- looking ---- */

static void no_engine_configured_is_neither_yes_nor_no(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct settings settings = { .label = (char[]){ "sbx.run" } };
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct resource resource = told();
	struct error error = { 0 };
	void *backend = NULL;

	(void)state;
	assert_int_equal(container_backend.open(&settings, &backend, &error), 0);
	container_backend.discover(backend, &inventory, NULL);
	assert_int_equal(inventory.source_count, 1);
	assert_int_equal(inventory.sources[0].ok, TRI_UNKNOWN);
	assert_null(inventory.sources[0].at);
	container_backend.probe(backend, &resource, &arena);
	assert_int_equal(resource.present, TRI_UNKNOWN);
	assert_int_equal(resource.alive, TRI_UNKNOWN);
	assert_non_null(resource.note);
	container_backend.close(backend);
}

static void an_engine_that_cannot_be_read_never_means_none(void **state)
{
	static const struct {
		const char *what;
		struct stub_answer answers[4];
	} cases[] = {
		{ "hangs", { { .request = "", .way = STUB_HANG } } },
		{ "drips", { PING, { .request = "", .way = STUB_DRIP } } },
		{ "floods", { PING, { .request = "GET /containers", .way = STUB_FLOOD } } },
		{ "hangs up", { PING, { .request = "", .way = STUB_HANG_UP } } },
		{ "is no HTTP", { { .request = "", .way = STUB_RAW, .body = "220 smtp\r\n" } } },
		{ "is no engine",
			{ { .request = "",
				.way = STUB_RAW,
				.body = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK" } } },
		{ "names no version, and else answers well",
			{ { .request = "GET /_ping",
				  .way = STUB_RAW,
				  .body = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK" },
				NO_VOLUMES, { .request = "", .body = "[]" } } },
		{ "fails",
			{ PING, { .request = "", .status = 500, .body = "{\"message\":\"x\"}" } } },
		{ "knows no lists", { PING, END } },
		{ "says 204", { PING, { .request = "", .status = 204 } } },
		{ "is cut", { PING, { .request = "", .body = "[{\"Id\":\"" } } },
		{ "is an object", { PING, { .request = "", .body = "{}" } } },
		{ "is null", { PING, { .request = "", .body = "null" } } },
		{ "is empty", { PING, { .request = "", .body = "" } } },
		{ "lists numbers", { PING, { .request = "", .body = "[1]" } } },
		{ "leaves the id out", { PING, { .request = "", .body = "[{}]" } } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench bench CLEANUP(bench_done) = { 0 };
		struct resource resource = told();
		struct arena arena CLEANUP(arena_done) = { 0 };

		bench_up(&bench, cases[i].answers, NULL);
		container_backend.discover(bench.backend, &bench.inventory, NULL);
		if (bench.inventory.sources[0].ok != TRI_NO)
			fail_msg("an engine that %s was taken for a good one", cases[i].what);
		assert_non_null(bench.inventory.sources[0].error);
		assert_int_equal(bench.inventory.run_count, 0);
		container_backend.probe(bench.backend, &resource, &arena);
		if (resource.present != TRI_UNKNOWN || resource.alive != TRI_UNKNOWN)
			fail_msg("an engine that %s was believed", cases[i].what);
		assert_non_null(resource.note);
	}
}

static void an_absent_engine_is_unknown_and_so_is_its_container(void **state)
{
	static const struct stub_answer answers[] = { PING, LIST("[]"), NO_VOLUMES, NO_NETWORKS,
		{ .request = "GET /containers/", .status = 404, .body = NONE }, END };
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct resource resource = told();
	char absent[] = "unix:///nonexistent/engine.sock";

	(void)state;
	bench_up(&bench, answers, absent);
	container_backend.discover(bench.backend, &bench.inventory, NULL);
	assert_int_equal(bench.inventory.source_count, 2);
	assert_int_equal(bench.inventory.sources[0].ok, TRI_YES);
	assert_int_equal(bench.inventory.sources[1].ok, TRI_NO);
	assert_string_equal(bench.inventory.sources[1].at, absent);
	/* The other one may have it. */
	container_backend.probe(bench.backend, &resource, &arena);
	assert_int_equal(resource.present, TRI_UNKNOWN);
	/* It was found here before. */
	resource = told();
	resource.at = bench.stub.url;
	container_backend.probe(bench.backend, &resource, &arena);
	assert_int_equal(resource.present, TRI_NO);
	/* C15: an engine that is not configured any more. */
	resource.at = "unix:///run/other.sock";
	container_backend.probe(bench.backend, &resource, &arena);
	assert_int_equal(resource.present, TRI_UNKNOWN);
	assert_non_null(strstr(resource.note, "/run/other.sock"));
}

static void a_hanging_engine_costs_one_time_out(void **state)
{
	static const struct stub_answer answers[] = { PING,
		{ .request = "GET /containers", .way = STUB_HANG }, END };
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };

	(void)state;
	bench_up(&bench, answers, NULL);
	for (int i = 0; i < 50; i++) {
		struct resource resource = told();

		container_backend.probe(bench.backend, &resource, &arena);
		assert_int_equal(resource.present, TRI_UNKNOWN);
	}
	assert_int_equal(stub_count(&bench.stub, "GET /containers"), 1);
}

static void ownership_is_compared_here_and_not_left_to_the_filter(void **state)
{
	static const struct stub_answer answers[] = { PING,
		LIST("[" LISTED(ID, "\"sbx.run\":\"r1\"") "," LISTED(
			ID2, "\"sbx.run\":\"r10\"") "," LISTED(ID2, "\"other\":\"r1\"") "]"),
		CLEAN_IMAGE,
		{ .request = "GET /volumes?",
			.body = "{\"Volumes\":[{\"Name\":\"v\",\"Labels\":{\"x\":\"a\"},"
				"\"CreatedAt\":\"" MADE_TEXT "\"},{\"Name\":\"w\",\"Labels\":null,"
				"\"CreatedAt\":\"" MADE_TEXT "\"}]}" },
		NO_NETWORKS, END };
	struct bench bench CLEANUP(bench_done) = { 0 };

	(void)state;
	bench_up(&bench, answers, NULL);
	container_backend.discover(bench.backend, &bench.inventory, "r1");
	assert_int_equal(bench.inventory.sources[0].ok, TRI_YES);
	assert_int_equal(bench.inventory.run_count, 1);
	assert_int_equal(bench.inventory.runs[0]->resource_count, 1);
	assert_int_equal(found(&bench, "r1", 0)->proof, PROOF_LABEL);
	assert_int_equal(found(&bench, "r1", 0)->made_s, 1795966380);
	inventory_done(&bench.inventory);
	container_backend.discover(bench.backend, &bench.inventory, NULL);
	assert_int_equal(bench.inventory.run_count, 2);
	/* One label and nothing else in each filter. */
	assert_int_equal(
		stub_count(&bench.stub,
			"GET /volumes?filters=%7B%22label%22%3A%5B%22sbx.run%3Dr1%22%5D%7D\n"),
		1);
}

static void volumes_of_one_name_at_two_engines_are_two(void **state)
{
	static const struct stub_answer answers[] = { PING, LIST("[]"),
		{ .request = "GET /volumes?",
			.body = "{\"Volumes\":[{\"Name\":\"v\",\"Labels\":{\"sbx.run\":\"r1\"},"
				"\"CreatedAt\":\"" MADE_TEXT "\"}]}" },
		NO_NETWORKS, END };
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct stub second;

	(void)state;
	stub_start(&second, answers);
	bench_up(&bench, answers, second.url);
	for (int look = 0; look < 2; look++) { /* a second one finds the same */
		container_backend.discover(bench.backend, &bench.inventory, NULL);
		assert_int_equal(found(&bench, "r1", 1)->kind, KIND_VOLUME);
		assert_int_equal(bench.inventory.runs[0]->resource_count, 2);
		assert_string_equal(found(&bench, "r1", 0)->at, bench.stub.url);
		assert_string_equal(found(&bench, "r1", 1)->at, second.url);
		assert_false(resource_is(found(&bench, "r1", 0), found(&bench, "r1", 1)));
	}
	stub_stop(&second);
}

/* Labelled as the run's, and in the path of a request they would lead elsewhere. */
static void names_that_no_engine_gives_prove_nothing(void **state)
{
	static const char *const names[] = { "../containers/c", "v?force=1", "-v", "v w",
		"\\u001b[31m", "", "v/../../images/x", "\\u202ev", "v\\u0000w" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *list CLEANUP(mem_done) =
			mem_printf("{\"Volumes\":[{\"Name\":\"%s\",\"Labels\":{\"sbx.run\":\"r1\"},"
				   "\"CreatedAt\":\"" MADE_TEXT "\"}]}",
				names[i]);
		const struct stub_answer answers[] = { PING, LIST("[]"),
			{ .request = "GET /volumes?", .body = list }, NO_NETWORKS, END };
		struct bench bench CLEANUP(bench_done) = { 0 };
		struct resource *resource;

		bench_up(&bench, answers, NULL);
		container_backend.discover(bench.backend, &bench.inventory, NULL);
		if (strstr(names[i], "u0000")) { /* it could be anything's: the source is none */
			assert_int_equal(bench.inventory.sources[0].ok, TRI_NO);
			assert_int_equal(bench.inventory.run_count, 0);
			continue;
		}
		resource = found(&bench, "r1", 0);
		assert_int_equal(resource->proof, PROOF_NONE);
		assert_non_null(resource->note);
		resource->proof = PROOF_LABEL; /* if it were, it would not be sent either */
		assert_int_equal(discard(&bench, resource, 1000), -EINVAL);
		assert_int_equal(stub_count(&bench.stub, ""), stub_count(&bench.stub, "GET"));
	}
}

static void the_state_says_whether_it_is_alive(void **state)
{
	static const struct {
		const char *status;
		enum tri alive;
	} cases[] = {
		{ "created", TRI_NO },
		{ "running", TRI_YES },
		{ "paused", TRI_YES },
		{ "restarting", TRI_YES },
		{ "stopping", TRI_YES },
		{ "stopped", TRI_NO },
		{ "exited", TRI_NO },
		{ "removing", TRI_NO },
		{ "dead", TRI_NO },
		{ "dreaming", TRI_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *list CLEANUP(mem_done) =
			mem_printf("[{\"Id\":\"" ID "\",\"Names\":[],\"ImageID\":\"" IMAGE
				   "\",\"Created\":1,\"State\":\"%s\",\"Labels\":"
				   "{\"sbx.run\":\"r1\"}}]",
				cases[i].status);
		const struct stub_answer answers[] = { PING, LIST(list), CLEAN_IMAGE, NO_VOLUMES,
			NO_NETWORKS, END };
		struct bench bench CLEANUP(bench_done) = { 0 };

		bench_up(&bench, answers, NULL);
		container_backend.discover(bench.backend, &bench.inventory, NULL);
		assert_int_equal(bench.inventory.sources[0].ok, TRI_YES);
		assert_int_equal(found(&bench, "r1", 0)->alive, cases[i].alive);
	}
}

static void what_an_image_says_decides_whether_a_label_proves(void **state)
{
	static const struct {
		struct stub_answer image;
		unsigned proof;
		enum tri present; /* unknown is no no: the run must not go without it */
	} cases[] = {
		{ CLEAN_IMAGE, PROOF_LABEL, TRI_YES },
		{ { .request = "GET /images/", .body = "{\"Config\":{}}" }, PROOF_LABEL, TRI_YES },
		{ { .request = "GET /images/",
			  .body = "{\"Config\":{\"Labels\":{\"sbx.run\":\"other\"}}}" },
			PROOF_NONE, TRI_YES },
		{ { .request = "GET /images/", .body = "{\"Config\":{\"Labels\":7}}" }, PROOF_LABEL,
			TRI_UNKNOWN },
		{ { .request = "GET /images/", .body = "{}" }, PROOF_LABEL, TRI_UNKNOWN },
		{ { .request = "GET /images/", .status = 404, .body = "{\"message\":\"none\"}" },
			PROOF_NONE, TRI_YES },
		{ { .request = "GET /images/", .status = 500 }, PROOF_LABEL, TRI_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct stub_answer answers[] = { PING,
			LIST("[" LISTED(ID, "\"sbx.run\":\"r1\"") "," LISTED(
				ID2, "\"sbx.run\":\"r1\"") "]"),
			cases[i].image, NO_VOLUMES, NO_NETWORKS, END };
		struct bench bench CLEANUP(bench_done) = { 0 };

		bench_up(&bench, answers, NULL);
		container_backend.discover(bench.backend, &bench.inventory, NULL);
		for (size_t j = 0; j < 2; j++) {
			assert_int_equal(found(&bench, "r1", j)->proof, cases[i].proof);
			assert_int_equal(found(&bench, "r1", j)->present, cases[i].present);
			assert_int_equal(!found(&bench, "r1", j)->note,
				cases[i].proof == PROOF_LABEL && cases[i].present == TRI_YES);
		}
		/* The answer is remembered, also that there was none. */
		assert_int_equal(stub_count(&bench.stub, "GET /images/"), 1);
	}
}

static void a_creation_date_of_year_one_is_unknown(void **state)
{
	static const struct stub_answer answers[] = { PING, LIST("[]"),
		{ .request = "GET /volumes?",
			.body = "{\"Volumes\":[{\"Name\":\"v\",\"Labels\":{\"sbx.run\":\"r1\"},"
				"\"CreatedAt\":\"0001-01-01T00:00:00Z\"}]}" },
		NO_NETWORKS, END };
	const struct record record = { .created_s = 100 };
	struct bench bench CLEANUP(bench_done) = { 0 };

	(void)state; /* C08 */
	bench_up(&bench, answers, NULL);
	inventory_run(&bench.inventory, "r1")->row = &record;
	container_backend.discover(bench.backend, &bench.inventory, NULL);
	assert_int_equal(found(&bench, "r1", 0)->made_s, 0);
	assert_int_equal(found(&bench, "r1", 0)->proof, PROOF_NONE);
}

static void a_label_does_not_take_what_another_run_s_record_names(void **state)
{
	static const struct stub_answer answers[] = { PING,
		LIST("[" LISTED(ID, "\"sbx.run\":\"r2\"") "]"), CLEAN_IMAGE, NO_VOLUMES,
		NO_NETWORKS, END };
	struct bench bench CLEANUP(bench_done) = { 0 };
	const struct resource resource = told();

	(void)state;
	bench_up(&bench, answers, NULL);
	(void)run_add_resource(&bench.inventory, inventory_run(&bench.inventory, "r1"), &resource);
	container_backend.discover(bench.backend, &bench.inventory, NULL);
	assert_int_equal(found(&bench, "r2", 0)->proof, PROOF_NONE);
	assert_non_null(found(&bench, "r2", 0)->note);
}

/* A claim that an earlier pass began, whether or not somebody had registered the run. */
static void what_was_made_after_a_removal_began_is_a_later_run_s(void **state)
{
	static const struct {
		int64_t begun_s;
		bool registered;
		enum proof proof;
	} cases[] = {
		{ MADE_S - 60, false, PROOF_NONE },
		{ MADE_S, false, PROOF_NONE },
		{ MADE_S + 1, false, PROOF_LABEL },
		{ MADE_S - 60, true, PROOF_NONE },
		{ MADE_S + 1, true, PROOF_LABEL },
	};
	static const struct stub_answer answers[] = { PING,
		LIST("[" LISTED(ID, "\"sbx.run\":\"r1\"") "]"), CLEAN_IMAGE, NO_VOLUMES,
		NO_NETWORKS, END };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench bench CLEANUP(bench_done) = { 0 };
		const struct record row = {
			.run = "r1",
			.registered = cases[i].registered,
			.created_s = MADE_S - 3600,
			.claim = CLAIM_BEGUN_REAP,
			.claim_begun_s = cases[i].begun_s,
		};

		bench_up(&bench, answers, NULL);
		inventory_run(&bench.inventory, "r1")->row = &row;
		container_backend.discover(bench.backend, &bench.inventory, NULL);
		assert_int_equal(found(&bench, "r1", 0)->proof, cases[i].proof);
	}
}

static void a_found_container_joins_the_registered_one(void **state)
{
	static const struct stub_answer answers[] = { PING,
		LIST("[" LISTED(ID, "\"sbx.run\":\"r1\"") "]"), CLEAN_IMAGE, NO_VOLUMES,
		NO_NETWORKS, END };
	const struct record record = { .created_s = 1795966380 + 86400 };
	struct bench bench CLEANUP(bench_done) = { 0 };
	const struct resource resource = told();
	struct run *run;

	(void)state;
	bench_up(&bench, answers, NULL);
	run = inventory_run(&bench.inventory, "r1");
	run->row = &record;
	(void)run_add_resource(&bench.inventory, run, &resource);
	container_backend.discover(bench.backend, &bench.inventory, NULL);
	assert_int_equal(run->resource_count, 1);
	assert_int_equal(run->resources[0].proof, PROOF_ROW);
	assert_string_equal(run->resources[0].at, bench.stub.url);
	assert_null(run->resources[0].note);
}

static void podman_s_own_list_serves_where_the_compatible_one_fails(void **state)
{
	static const struct stub_answer answers[] = {
		{ .request = "GET /_ping",
			.way = STUB_RAW,
			.body = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nLibpod-Api-Version: "
				"4.3.1-rhel\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" },
		{ .request = "GET /containers/json?",
			.status = 500,
			.body = "{\"message\":\"layer\"}" },
		{ .request = "GET /v4.3.1/libpod/containers/json?all=true",
			.body = "[{\"Id\":\"" ID
				"\",\"Names\":[\"c\"],\"ImageID\":\"\",\"Created\":"
				"\"" MADE_TEXT "\",\"State\":\"exited\",\"Labels\":{\"sbx.run\":"
				"\"r1\"}}]" },
		{ .request = "GET /containers/" ID,
			.status = 500,
			.body = "{\"message\":\"layer\"}" },
		NO_VOLUMES, NO_NETWORKS, END
	};
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct resource resource = told();

	(void)state;
	bench_up(&bench, answers, NULL);
	container_backend.discover(bench.backend, &bench.inventory, NULL);
	assert_int_equal(bench.inventory.sources[0].ok, TRI_YES);
	assert_int_equal(found(&bench, "r1", 0)->made_s, 1795966380);
	assert_int_equal(found(&bench, "r1", 0)->alive, TRI_NO);
	container_backend.probe(bench.backend, &resource, &bench.inventory.arena);
	assert_int_equal(resource.present, TRI_YES);
	assert_int_equal(resource.alive, TRI_NO);
}

static void only_the_engine_s_own_word_is_absence(void **state)
{
	static const struct {
		struct stub_answer answer;
		enum tri present;
	} cases[] = {
		{ { .request = "GET /c", .status = 404, .body = NONE }, TRI_NO },
		{ { .request = "GET /c",
			  .status = 500,
			  .body = "{\"cause\":\"no such container\",\"message\":\"x\"}" },
			TRI_NO },
		{ { .request = "GET /c",
			  .status = 404,
			  .body = "{\"message\":\"page not found\"}" },
			TRI_UNKNOWN },
		{ { .request = "GET /c", .status = 404, .body = "Not Found" }, TRI_UNKNOWN },
		{ { .request = "GET /c", .status = 400, .body = NONE }, TRI_UNKNOWN },
		{ { .request = "GET /c", .body = "{\"Id\":\"" ID "\"}" }, TRI_UNKNOWN },
		/* The name trap: something else is called like the id that was registered. */
		{ { .request = "GET /c", .body = INSPECTED_AS(ID2, ID, "running", "true") },
			TRI_NO },
		{ { .request = "GET /c", .body = INSPECTED }, TRI_YES },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct stub_answer answers[] = { PING, cases[i].answer, END };
		struct bench bench CLEANUP(bench_done) = { 0 };
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct resource resource = told();

		bench_up(&bench, answers, NULL);
		container_backend.probe(bench.backend, &resource, &arena);
		if (resource.present != cases[i].present)
			fail_msg("case %zu: %s", i, tri_name(resource.present));
		assert_int_equal(!resource.note, cases[i].present != TRI_UNKNOWN);
		if (cases[i].present != TRI_YES) {
			assert_int_equal(
				discard(&bench, &resource, 500) >= 0, cases[i].present == TRI_NO);
			assert_int_equal(stub_count(&bench.stub, "POST"), 0);
			assert_int_equal(stub_count(&bench.stub, "DELETE"), 0);
		}
	}
}

static void what_an_engine_says_is_shown_short_and_harmless(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct text said = { 0 };
	struct stub_answer answers[] = { PING, { .request = "", .status = 500 }, END };

	(void)state;
	text_add(&said, "{\"message\":\"\\u001b[31m\\nFAKE LINE ");
	for (int i = 0; i < 10000; i++)
		text_add(&said, "x\xc3\xa9");
	text_add(&said, "\"}");
	answers[1].body = said.data;
	bench_up(&bench, answers, NULL);
	container_backend.discover(bench.backend, &bench.inventory, NULL);
	assert_non_null(strstr(bench.inventory.sources[0].error, "\\x1b[31m\\x0aFAKE"));
	for (const char *c = bench.inventory.sources[0].error; *c; c++)
		assert_true((unsigned char)*c >= 0x20);
	assert_true(strlen(bench.inventory.sources[0].error) < 480);
	text_done(&said);
}

static void references_that_no_engine_takes_are_refused_at_registration(void **state)
{
	static const char *const refs[] = { "", "-x", "a/b", "../x", "a b", "a?x=1", "\xff",
		(ID ID "0") };
	static const struct stub_answer answers[] = { PING, END };
	struct bench bench CLEANUP(bench_done) = { 0 };

	(void)state;
	bench_up(&bench, answers, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(refs); i++) {
		struct resource resource = { .kind = KIND_CONTAINER, .locator = refs[i] };
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct error error = { 0 };

		assert_int_equal(
			container_backend.identify(bench.backend, &resource, &arena, &error),
			-EINVAL);
		assert_non_null(strstr(error.text, "at most 128"));
		/* From a record it may come all the same: it is never sent. */
		container_backend.probe(bench.backend, &resource, &arena);
		assert_int_equal(resource.present, TRI_UNKNOWN);
	}
	assert_string_equal(bench.stub.log, "");
}

static void an_engine_that_cannot_be_asked_does_not_stop_a_registration(void **state)
{
	static const struct stub_answer answers[] = { { .request = "", .way = STUB_HANG_UP }, END };
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct resource resource = { .kind = KIND_CONTAINER, .locator = "c", .run = "r1" };
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct error error = { 0 };

	(void)state;
	bench_up(&bench, answers, NULL);
	assert_int_equal(container_backend.identify(bench.backend, &resource, &arena, &error), 0);
	assert_string_equal(resource.locator, "c");
	assert_null(resource.token);
}

static void a_name_that_two_engines_know_is_ambiguous(void **state)
{
	static const struct stub_answer answers[] = { PING,
		{ .request = "GET /containers/c/json", .body = INSPECTED }, END };
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct resource resource = { .kind = KIND_CONTAINER, .locator = "c", .run = "r1" };
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct error error = { 0 };
	struct stub second;

	(void)state;
	stub_start(&second, answers);
	bench_up(&bench, answers, second.url);
	assert_int_equal(
		container_backend.identify(bench.backend, &resource, &arena, &error), -EINVAL);
	assert_non_null(strstr(error.text, second.url));
	stub_stop(&second);
}

static void only_unix_sockets_are_engines(void **state)
{
	static const char *const urls[] = { "tcp://127.0.0.1:2375", "unix://relative", "/run/x",
		"http://x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		char *url CLEANUP(mem_done) = mem_dup(urls[i]);
		struct settings settings = { .engines = { &url, 1 },
			.label = (char[]){ "sbx.run" } };
		struct error error = { 0 };
		void *backend = NULL;

		assert_int_equal(container_backend.open(&settings, &backend, &error), -EINVAL);
		assert_non_null(strstr(error.text, urls[i]));
		assert_null(backend);
	}
}

/* ---- acting ---- */

static const struct {
	const char *what;
	struct stub_answer answers[6];
	int r;
	unsigned deletes; /* 0: any number */
} removals[] = {
	{ "succeeds",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 1 }, KILL,
			{ DELETE_CALL, 204, NULL, STUB_REPLY, 0 },
			{ "GET /c", 404, NONE, STUB_REPLY, 0 } },
		1, 1 },
	{ "is busy twice (C02)",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 3 }, KILL,
			{ DELETE_CALL, 500, "{\"message\":\"busy\"}", STUB_REPLY, 2 },
			{ DELETE_CALL, 204, NULL, STUB_REPLY, 0 },
			{ "GET /c", 404, NONE, STUB_REPLY, 0 } },
		1, 3 },
	{ "fails for good",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 0 }, KILL,
			{ DELETE_CALL, 500, "{\"message\":\"busy\"}", STUB_REPLY, 0 } },
		-EIO, 3 },
	{ "fails and forgets (C03)",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 1 }, KILL,
			{ DELETE_CALL, 500, "{\"message\":\"busy\"}", STUB_REPLY, 0 },
			{ "GET /c", 404, NONE, STUB_REPLY, 0 } },
		1, 1 },
	{ "is at it for ever (C01)",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 0 }, KILL,
			{ DELETE_CALL, 409, "{\"message\":\"in progress\"}", STUB_REPLY, 0 } },
		-ETIME, 0 },
	{ "is at it already",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 4 }, KILL,
			{ DELETE_CALL, 409, "{\"message\":\"in progress\"}", STUB_REPLY, 0 },
			{ "GET /c", 404, NONE, STUB_REPLY, 0 } },
		1, 4 },
	{ "takes longer than a request may",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 1 }, KILL,
			{ DELETE_CALL, 200, NULL, STUB_HANG, 1 },
			{ "GET /c", 404, NONE, STUB_REPLY, 0 } },
		1, 1 },
	{ "says yes and does nothing",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 0 }, KILL,
			{ DELETE_CALL, 204, NULL, STUB_REPLY, 0 } },
		-ETIME, 0 },
	{ "refuses",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 0 }, KILL,
			{ DELETE_CALL, 400, "{\"message\":\"no\"}", STUB_REPLY, 0 } },
		-EIO, 3 },
	{ "dies",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 1 }, KILL,
			{ DELETE_CALL, 200, NULL, STUB_HANG_UP, 0 },
			{ "GET /c", 200, NULL, STUB_HANG_UP, 0 } },
		-ECONNRESET, 1 },
	{ "cannot kill it",
		{ PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 1 },
			{ "POST /c", 409, "{\"message\":\"not running\"}", STUB_REPLY, 0 },
			{ DELETE_CALL, 204, NULL, STUB_REPLY, 0 },
			{ "GET /c", 404, NONE, STUB_REPLY, 0 } },
		1, 1 },
};

static void removal_follows_what_the_engine_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(removals); i++) {
		struct bench bench CLEANUP(bench_done) = { 0 };
		const struct resource resource = told();
		int r;

		bench_up(&bench, removals[i].answers, NULL);
		r = discard(&bench, &resource, removals[i].r == -ETIME ? 1500 : PATIENCE_MS);
		if (r != removals[i].r)
			fail_msg("an engine that %s: %d", removals[i].what, r);
		if (removals[i].deletes)
			assert_int_equal(stub_count(&bench.stub, "DELETE"), removals[i].deletes);
		assert_true(stub_count(&bench.stub, "DELETE") < 30);
	}
}

static void stopping_waits_for_the_end_and_no_longer_than_it_may(void **state)
{
	static const struct {
		struct stub_answer answers[6];
		int r;
	} cases[] = {
		{ { PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 3 }, KILL, INSPECT(EXITED) }, 1 },
		{ { PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 1 }, KILL,
			  { "GET /c", 404, NONE, STUB_REPLY, 0 } },
			1 },
		{ { PING, INSPECT(EXITED) }, 0 },
		{ { PING, { "GET /c", 404, NONE, STUB_REPLY, 0 } }, 0 },
		{ { PING, INSPECT(INSPECTED), KILL }, -ETIME },
		/* Podman, of a container whose process died behind its back. */
		{ { PING, { "GET /c", 200, INSPECTED, STUB_REPLY, 1 },
			  { "POST /containers/" ID "/kill", 500,
				  "{\"cause\":\"container state improper\",\"message\":\"x\"}",
				  STUB_REPLY, 0 },
			  { "POST /containers/" ID "/stop?t=0", 204, NULL, STUB_REPLY, 0 },
			  INSPECT(INSPECTED_AS(ID, "c", "stopping", "false")) },
			1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench bench CLEANUP(bench_done) = { 0 };
		const struct resource resource = told();
		struct error error = { 0 };
		int r;

		bench_up(&bench, cases[i].answers, NULL);
		r = act(&bench, container_backend.effects->stop, &resource,
			cases[i].r == -ETIME ? 600 : PATIENCE_MS, &error);
		if (r != cases[i].r)
			fail_msg("case %zu: %d %s", i, r, error.text);
		assert_int_equal(stub_count(&bench.stub, "DELETE"), 0);
		assert_int_equal(stub_count(&bench.stub, "POST /containers/" ID "/stop"),
			i == ARRAY_SIZE(cases) - 1);
	}
}

static struct resource labelled(enum kind kind, const char *locator)
{
	return (struct resource){ .run = "r1",
		.kind = kind,
		.proof = PROOF_LABEL,
		.locator = locator,
		.token = kind == KIND_VOLUME ? NULL : locator };
}

static void a_network_loses_stale_endpoints_and_keeps_those_in_use(void **state)
{
	static const struct {
		struct stub_answer answers[8];
		int r;
		unsigned deletes, disconnects;
	} cases[] = {
		/* C05: endpoints for a moment after the container is gone. */
		{ { PING, { "GET /networks/" ID, 200, NETWORK(""), STUB_REPLY, 3 },
			  { "DELETE /networks/" ID, 403, "{\"message\":\"active\"}", STUB_REPLY,
				  1 },
			  { "DELETE /networks/" ID, 204, NULL, STUB_REPLY, 0 },
			  { "GET /networks/" ID, 404, NONE, STUB_REPLY, 0 } },
			1, 2, 0 },
		{ { PING, { "GET /networks/" ID, 200, NETWORK(""), STUB_REPLY, 0 },
			  { "DELETE /networks/" ID, 403, "{\"message\":\"active\"}", STUB_REPLY,
				  0 } },
			-EBUSY, 3, 0 },
		{ { PING,
			  { "GET /networks/" ID, 200,
				  NETWORK("\"" ID2 "\":{\"Name\":\"x\"},\"ep-1\":{\"Name\":\"y\"}"),
				  STUB_REPLY, 2 },
			  { "GET /containers/" ID2, 404, NONE, STUB_REPLY, 0 },
			  { "GET /containers/y/json", 404, NONE, STUB_REPLY, 0 },
			  { "POST /networks/" ID "/disconnect", 200, NULL, STUB_REPLY, 0 },
			  { "DELETE /networks/" ID, 204, NULL, STUB_REPLY, 0 },
			  { "GET /networks/" ID, 404, NONE, STUB_REPLY, 0 } },
			1, 1, 2 },
		{ { PING,
			  { "GET /networks/" ID, 200, NETWORK("\"" ID2 "\":{\"Name\":\"x\"}"),
				  STUB_REPLY, 0 },
			  { "GET /containers/" ID2, 200, INSPECTED_AS(ID2, "x", "exited", "false"),
				  STUB_REPLY, 0 } },
			-EBUSY, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench bench CLEANUP(bench_done) = { 0 };
		const struct resource resource = labelled(KIND_NETWORK, ID);
		int r;

		bench_up(&bench, cases[i].answers, NULL);
		r = discard(&bench, &resource, removals[i].r == -ETIME ? 1500 : PATIENCE_MS);
		if (r != cases[i].r)
			fail_msg("case %zu: %d", i, r);
		assert_int_equal(stub_count(&bench.stub, "DELETE"), cases[i].deletes);
		assert_int_equal(stub_count(&bench.stub, "POST"), cases[i].disconnects);
	}
}

static void proof_is_asked_for_again_before_anything_goes(void **state)
{
	static const struct stub_answer answers[] = { PING, INSPECT(INSPECTED), CLEAN_IMAGE,
		{ .request = "GET /volumes/v",
			.body = "{\"Name\":\"v\",\"Labels\":{\"sbx.run\":\"r1\"},\"CreatedAt\":"
				"\"" MADE_TEXT "\"}" },
		END };
	struct resource cases[] = {
		labelled(KIND_CONTAINER, ID), /* made before its run */
		labelled(KIND_CONTAINER, ID), /* made after its end */
		labelled(KIND_CONTAINER, ID), /* labelled for another run */
		labelled(KIND_VOLUME, "v"),
	};

	(void)state;
	cases[0].span_from_s = 1795966380 + 301;
	cases[1].span_to_s = 1795966380 - 301;
	cases[2].run = "r2";
	cases[3].span_from_s = 1795966380 + 301;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench bench CLEANUP(bench_done) = { 0 };
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct error error = { 0 };

		bench_up(&bench, answers, NULL);
		container_backend.probe(bench.backend, &cases[i], &arena);
		assert_true(cases[i].contradicts);
		assert_int_equal(discard(&bench, &cases[i], 1000), -ESTALE);
		if (cases[i].kind == KIND_CONTAINER)
			assert_int_equal(act(&bench, container_backend.effects->stop, &cases[i],
						 1000, &error),
				-ESTALE);
		assert_int_equal(stub_count(&bench.stub, "POST"), 0);
		assert_int_equal(stub_count(&bench.stub, "DELETE"), 0);
	}
}

static void looking_changes_nothing(void **state)
{
	static const struct stub_answer answers[] = { PING,
		LIST("[" LISTED(ID, "\"sbx.run\":\"r1\"") "]"), CLEAN_IMAGE, NO_VOLUMES,
		NO_NETWORKS, INSPECT(INSPECTED), END };
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct resource resource = told();

	(void)state;
	bench_up(&bench, answers, NULL);
	container_backend.discover(bench.backend, &bench.inventory, NULL);
	container_backend.probe(bench.backend, &resource, &bench.inventory.arena);
	assert_int_equal(resource.alive, TRI_YES);
	assert_true(stub_count(&bench.stub, "GET") >= 5);
	assert_int_equal(stub_count(&bench.stub, ""), stub_count(&bench.stub, "GET"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_engine_configured_is_neither_yes_nor_no),
		cmocka_unit_test(an_engine_that_cannot_be_read_never_means_none),
		cmocka_unit_test(an_absent_engine_is_unknown_and_so_is_its_container),
		cmocka_unit_test(a_hanging_engine_costs_one_time_out),
		cmocka_unit_test(ownership_is_compared_here_and_not_left_to_the_filter),
		cmocka_unit_test(volumes_of_one_name_at_two_engines_are_two),
		cmocka_unit_test(names_that_no_engine_gives_prove_nothing),
		cmocka_unit_test(the_state_says_whether_it_is_alive),
		cmocka_unit_test(what_an_image_says_decides_whether_a_label_proves),
		cmocka_unit_test(a_creation_date_of_year_one_is_unknown),
		cmocka_unit_test(a_label_does_not_take_what_another_run_s_record_names),
		cmocka_unit_test(what_was_made_after_a_removal_began_is_a_later_run_s),
		cmocka_unit_test(a_found_container_joins_the_registered_one),
		cmocka_unit_test(podman_s_own_list_serves_where_the_compatible_one_fails),
		cmocka_unit_test(only_the_engine_s_own_word_is_absence),
		cmocka_unit_test(what_an_engine_says_is_shown_short_and_harmless),
		cmocka_unit_test(references_that_no_engine_takes_are_refused_at_registration),
		cmocka_unit_test(an_engine_that_cannot_be_asked_does_not_stop_a_registration),
		cmocka_unit_test(a_name_that_two_engines_know_is_ambiguous),
		cmocka_unit_test(only_unix_sockets_are_engines),
		cmocka_unit_test(removal_follows_what_the_engine_does),
		cmocka_unit_test(stopping_waits_for_the_end_and_no_longer_than_it_may),
		cmocka_unit_test(a_network_loses_stale_endpoints_and_keeps_those_in_use),
		cmocka_unit_test(proof_is_asked_for_again_before_anything_goes),
		cmocka_unit_test(looking_changes_nothing),
	};

	return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
