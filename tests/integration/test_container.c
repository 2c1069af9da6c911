/*
 * The container backend against a real engine: the socket in SBX_TEST_ENGINE, with the image
 * sbx-test, as tests/lab/engine-lab.sh sets it up.
 */
#include "unit.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "base/text.h"
#include "os/http.h"

#include <errno.h>

#define IMAGE "\"Image\":\"sbx-test\",\"Cmd\":[\"/bin/sleep\",\"100000\"],"

enum { WAIT_MS = 60 * 1000 };

struct bench {
	struct http *http;
	const char *socket;
	char *url;
	char *engines[1];
	struct settings settings;
	void *backend;
	bool podman;
	char run[64];
};

static struct bench bench;

/* Asks the engine itself, past the code under test. The status; *ret_body may be NULL. */
static long ask(const char *method, const char *path, const char *body, char **ret_body)
{
	const struct http_call call = { method, path, body, 64 * 1024 * 1024,
		deadline_in_ms(WAIT_MS) };
	struct http_reply reply = { 0 };
	struct error error = { 0 };
	long status;

	if (http_request(bench.http, &call, &reply, &error) < 0)
		fail_msg("%s", error.text);
	status = reply.status;
	if (ret_body)
		*ret_body = TAKE_PTR(reply.body);
	http_reply_done(&reply);
	return status;
}

/* The text behind the first `"field":"` of a body; the caller owns it. */
static char *field(const char *body, const char *name)
{
	char *key CLEANUP(mem_done) = mem_printf("\"%s\":\"", name);
	const char *found = body ? strstr(body, key) : NULL;

	if (!found) {
		fail_msg("no %s in %.400s", name, body ? body : "nothing");
		abort(); /* fail_msg() does not return, and does not say so */
	}
	found += strlen(key);
	return mem_printf("%.*s", (int)strcspn(found, "\""), found);
}

static void must(long status, long wanted, const char *what, const char *body)
{
	if (status != wanted)
		fail_msg("%s: %ld: %.400s", what, status, body ? body : "");
}

/* Makes a container that carries the run's label (run NULL: none) and our own; its full id. */
static char *make(const char *name, const char *run, const char *more)
{
	char *label CLEANUP(mem_done) = run ? mem_printf("\"sbx.run\":\"%s\",", run) : mem_dup("");
	char *body CLEANUP(mem_done) = mem_printf(
		"{" IMAGE "%s\"Labels\":{%s\"sbx.test\":\"%d\"}}", more, label, (int)getpid());
	char *path CLEANUP(mem_done) = mem_printf("/containers/create?name=%s", name);
	char *answer CLEANUP(mem_done) = NULL;

	must(ask("POST", path, body, &answer), 201, "create", answer);
	return field(answer, "Id");
}

static void order(const char *method, const char *format, const char *id, long wanted)
{
	char *path CLEANUP(mem_done) = NULL, *answer CLEANUP(mem_done) = NULL;
	const char *rest = strchr(format, '*');

	path = rest ? mem_printf("%.*s%s%s", (int)(rest - format), format, id, rest + 1)
		    : mem_dup(format);
	must(ask(method, path, NULL, &answer), wanted, path, answer);
}

static char *make_running(const char *name, const char *run, const char *more)
{
	char *id = make(name, run, more);

	order("POST", "/containers/*/start", id, 204);
	return id;
}

static long status_of(const char *what, const char *id)
{
	char *path CLEANUP(mem_done) =
		mem_printf("/%s/%s%s", what, id, strcmp(what, "containers") == 0 ? "/json" : "");

	return ask("GET", path, NULL, NULL);
}

static void make_labelled(const char *what, const char *name, const char *run)
{
	char *path CLEANUP(mem_done) = mem_printf("/%s/create", what);
	char *label CLEANUP(mem_done) = run ? mem_printf("\"sbx.run\":\"%s\",", run) : mem_dup("");
	char *body CLEANUP(mem_done) = mem_printf(
		"{\"Name\":\"%s\",\"Labels\":{%s\"sbx.test\":\"%d\"}}", name, label, (int)getpid());
	char *answer CLEANUP(mem_done) = NULL;

	must(ask("POST", path, body, &answer), 201, path, answer);
}

/* ---- what is asked of the backend ---- */

static void discover(struct inventory *inventory, const char *only)
{
	container_backend.discover(bench.backend, inventory, only);
	assert_int_equal(inventory->source_count, 1);
	if (inventory->sources[0].ok != TRI_YES)
		fail_msg("%s", inventory->sources[0].error);
	assert_string_equal(inventory->sources[0].at, bench.url);
	assert_string_equal(inventory->sources[0].name, "containers");
}

static struct resource *seen(struct inventory *inventory, const char *run, const char *locator)
{
	struct run *found = inventory_find(inventory, run);

	for (size_t i = 0; found && i < found->resource_count; i++)
		if (text_equal(found->resources[i].locator, locator))
			return &found->resources[i];
	return NULL;
}

static int act(int (*effect)(void *state, const struct resource *resource, struct effort *effort,
		       struct error *error),
	const struct resource *resource)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(WAIT_MS) };
	struct error error = { 0 };
	int r = effect(bench.backend, resource, &effort, &error);

	if (r < 0)
		print_message("  %s\n", error.text);
	return r;
}

static int stop(const struct resource *resource)
{
	return act(container_backend.effects->stop, resource);
}

static int discard(const struct resource *resource)
{
	return act(container_backend.effects->remove, resource);
}

/* A resource as a record tells it. */
static struct resource told(const char *locator)
{
	return (struct resource){ .run = bench.run,
		.kind = KIND_CONTAINER,
		.proof = PROOF_ROW,
		.locator = locator,
		.span_from_s = clock_wall_s() };
}

/* ---- tests ---- */

static void a_labelled_container_goes_with_its_anonymous_volume(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *named CLEANUP(mem_done) = mem_printf("%s-named", bench.run);
	char *mounts CLEANUP(mem_done) = mem_printf(
		"\"Volumes\":{\"/data\":{}},\"HostConfig\":{\"Binds\":[\"%s:/n\"]},", named);
	char *id CLEANUP(mem_done) = NULL, *inspected CLEANUP(mem_done) = NULL;
	char *path CLEANUP(mem_done) = NULL, *anonymous CLEANUP(mem_done) = NULL;
	struct resource *resource;
	const char *mount;

	(void)state;
	make_labelled("volumes", named, NULL);
	id = make_running("sbx-it-one", bench.run, mounts);
	path = mem_printf("/containers/%s/json", id);
	assert_int_equal(ask("GET", path, NULL, &inspected), 200);
	mount = strstr(inspected, "\"Mounts\":[");
	for (anonymous = field(mount, "Name"); strcmp(anonymous, named) == 0;) {
		mount = strstr(mount, named) + 1;
		mount = strstr(mount, "\"Name\"");
		free(anonymous);
		anonymous = field(mount, "Name");
	}
	assert_int_equal(status_of("volumes", anonymous), 200);

	discover(&inventory, NULL);
	resource = seen(&inventory, bench.run, id);
	assert_non_null(resource);
	assert_int_equal(resource->kind, KIND_CONTAINER);
	assert_int_equal(resource->proof, PROOF_LABEL);
	assert_string_equal(resource->token, id);
	assert_string_equal(resource->at, bench.url);
	assert_int_equal(resource->present, TRI_YES);
	assert_int_equal(resource->alive, TRI_YES);
	assert_true(resource->made_s > clock_wall_s() - 120);

	assert_int_equal(stop(resource), 1);
	assert_int_equal(stop(resource), 0);
	assert_int_equal(discard(resource), 1);
	assert_int_equal(status_of("containers", id), 404);
	assert_int_equal(status_of("volumes", anonymous), 404);
	assert_int_equal(status_of("volumes", named), 200);
	assert_int_equal(discard(resource), 0);
	assert_int_equal(stop(resource), 0);
	container_backend.probe(bench.backend, resource, &inventory.arena);
	assert_int_equal(resource->present, TRI_NO);
	assert_int_equal(resource->alive, TRI_NO);
}

static void runs_with_similar_names_are_told_apart(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *longer CLEANUP(mem_done) = mem_printf("%s0", bench.run);
	char *dotted CLEANUP(mem_done) = mem_printf("%s.a+b=c@d", bench.run);
	char *a CLEANUP(mem_done) = make("sbx-it-a", bench.run, "");
	char *b CLEANUP(mem_done) = make("sbx-it-b", longer, "");
	char *c CLEANUP(mem_done) = make("sbx-it-c", dotted, "");

	(void)state;
	discover(&inventory, bench.run);
	assert_non_null(seen(&inventory, bench.run, a));
	assert_null(inventory_find(&inventory, longer));
	assert_null(inventory_find(&inventory, dotted));
	assert_int_equal(discard(seen(&inventory, bench.run, a)), 1);
	assert_int_equal(status_of("containers", b), 200);
	assert_int_equal(status_of("containers", c), 200);
	inventory_done(&inventory);
	discover(&inventory, dotted);
	assert_non_null(seen(&inventory, dotted, c));
	assert_int_equal(inventory.run_count, 1);
}

static void labels_that_name_no_run_are_foreign(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	static const char *const labels[] = { "../../etc", "-rf", "a b", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		char name[] = "sbx-it-odd0";
		char *id CLEANUP(mem_done) = NULL;

		name[sizeof(name) - 2] = (char)('0' + i);
		id = make(name, labels[i], "");
		discover(&inventory, NULL);
		assert_non_null(seen(&inventory, labels[i], id));
		assert_int_equal(seen(&inventory, labels[i], id)->proof, PROOF_NONE);
		inventory_done(&inventory);
	}
}

static void a_container_from_outside_of_the_run_s_span_is_foreign(void **state)
{
	const struct record cases[] = {
		{ .created_s = clock_wall_s() + 3600 },
		{ .created_s = clock_wall_s() - 7200, .finished_s = clock_wall_s() - 3600 },
		{ .created_s = clock_wall_s() - 7200, .finished_s = clock_wall_s() },
	};
	static const unsigned proofs[] = { PROOF_NONE, PROOF_NONE, PROOF_LABEL };
	char *id CLEANUP(mem_done) = make("sbx-it-span", bench.run, "");

	(void)state;
	make_labelled("volumes", bench.run, bench.run);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };

		/* Within one pass a doubt stays a doubt, so each case is a pass of its own. */
		container_backend.close(bench.backend);
		assert_int_equal(container_backend.open(&bench.settings, &bench.backend, NULL), 0);
		inventory_run(&inventory, bench.run)->row = &cases[i];
		discover(&inventory, NULL);
		assert_int_equal(seen(&inventory, bench.run, id)->proof, proofs[i]);
		assert_int_equal(seen(&inventory, bench.run, bench.run)->proof, proofs[i]);
		assert_int_equal(!seen(&inventory, bench.run, id)->note, proofs[i] != PROOF_NONE);
	}
}

static void a_label_from_the_image_proves_nothing(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *id CLEANUP(mem_done) = make("sbx-it-origin", bench.run, "");
	char *path CLEANUP(mem_done) = mem_printf("/commit?container=%s&repo=sbx-labelled", id);
	char *answer CLEANUP(mem_done) = NULL, *heir CLEANUP(mem_done) = NULL;

	(void)state;
	must(ask("POST", path, "{}", &answer), 201, path, answer);
	free(answer);
	answer = NULL;
	must(ask("POST", "/containers/create?name=sbx-it-heir", "{\"Image\":\"sbx-labelled\"}",
		     &answer),
		201, "create", answer);
	heir = field(answer, "Id");
	discover(&inventory, NULL);
	assert_int_equal(seen(&inventory, bench.run, id)->proof, PROOF_LABEL);
	assert_non_null(seen(&inventory, bench.run, heir));
	assert_int_equal(seen(&inventory, bench.run, heir)->proof, PROOF_NONE);
	order("DELETE", "/containers/*?force=1", heir, 204);
	assert_int_equal(ask("DELETE", "/images/sbx-labelled", NULL, NULL), 200);
}

static void a_reference_becomes_the_full_id_at_registration(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *id CLEANUP(mem_done) = make("sbx-it-named", NULL, "");
	char *brief CLEANUP(mem_done) = mem_printf("%.12s", id);
	const char *const refs[] = { "sbx-it-named", brief, id };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refs); i++) {
		struct resource resource = told(refs[i]);
		struct error error = { 0 };

		assert_int_equal(
			container_backend.identify(bench.backend, &resource, &arena, &error), 0);
		assert_string_equal(resource.locator, id);
		assert_string_equal(resource.token, id);
		assert_string_equal(resource.at, bench.url);
	}
}

static void a_container_of_another_run_cannot_be_registered(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *id CLEANUP(mem_done) = make("sbx-it-theirs", "someone-else", "");
	struct resource resource = told("sbx-it-theirs");
	struct error error = { 0 };

	(void)state;
	assert_int_equal(
		container_backend.identify(bench.backend, &resource, &arena, &error), -EINVAL);
	assert_non_null(strstr(error.text, "someone-else"));
	/* Told nonetheless, it contradicts, and is not touched. */
	resource = told(id);
	container_backend.probe(bench.backend, &resource, &arena);
	assert_true(resource.contradicts);
	assert_int_equal(discard(&resource), -ESTALE);
	assert_int_equal(status_of("containers", id), 200);
}

static void a_name_registered_early_is_resolved_later(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct resource resource = told("sbx-it-later");
	struct error error = { 0 };
	char *id CLEANUP(mem_done) = NULL, *next CLEANUP(mem_done) = NULL;

	(void)state;
	assert_int_equal(container_backend.identify(bench.backend, &resource, &arena, &error), 0);
	assert_string_equal(resource.locator, "sbx-it-later");
	assert_null(resource.token);
	container_backend.probe(bench.backend, &resource, &arena);
	assert_int_equal(resource.present, TRI_NO);
	id = make_running("sbx-it-later", NULL, "");
	container_backend.probe(bench.backend, &resource, &arena);
	assert_int_equal(resource.present, TRI_YES);
	assert_int_equal(resource.alive, TRI_YES);
	assert_false(resource.contradicts);
	assert_string_equal(resource.token, id);
	assert_int_equal(discard(&resource), 1);
	assert_int_equal(status_of("containers", id), 404);
	/* Whoever gets the name next is another. */
	next = make("sbx-it-later", NULL, "");
	container_backend.probe(bench.backend, &resource, &arena);
	assert_int_equal(resource.present, TRI_NO);
	assert_int_equal(discard(&resource), 0);
	assert_int_equal(status_of("containers", next), 200);
}

static void a_name_that_is_older_than_the_run_contradicts(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *id CLEANUP(mem_done) = make("sbx-it-old", NULL, "");
	struct resource resource = told("sbx-it-old");

	(void)state;
	resource.span_from_s = clock_wall_s() + 3600;
	container_backend.probe(bench.backend, &resource, &arena);
	assert_int_equal(resource.present, TRI_YES);
	assert_true(resource.contradicts);
	assert_non_null(resource.note);
	assert_null(resource.token);
	assert_int_equal(discard(&resource), -ESTALE);
	assert_int_equal(status_of("containers", id), 200);
}

static void whatever_state_it_is_in_it_stops_and_goes(void **state)
{
	static const struct {
		const char *more, *then;
		bool running;
		int stopped;
	} cases[] = {
		{ "", NULL, false, 0 },
		{ "", NULL, true, 1 },
		{ "", "/containers/*/pause", true, 1 },
		{ "", "/containers/*/kill", true, 0 },
		{ "\"HostConfig\":{\"RestartPolicy\":{\"Name\":\"always\"}},", NULL, true, 1 },
		{ "\"HostConfig\":{\"AutoRemove\":true},", NULL, true, 1 },
		{ "\"StopTimeout\":300,\"Entrypoint\":[\"/bin/sh\",\"-c\",\"trap : TERM; while :; "
		  "do "
		  "sleep 1; done\"],",
			NULL, true, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena arena CLEANUP(arena_done) = { 0 };
		char *id CLEANUP(mem_done) = make("sbx-it-state", bench.run, cases[i].more);
		struct resource resource = told(id);
		int64_t began_ms = clock_boot_ms();
		int r;

		print_message("  case %zu\n", i);
		if (cases[i].running)
			order("POST", "/containers/*/start", id, 204);
		if (cases[i].then) {
			order("POST", cases[i].then, id, 204);
			if (strstr(cases[i].then, "kill"))
				(void)ask("POST", "/containers/sbx-it-state/wait", NULL, NULL);
		}
		r = stop(&resource);
		assert_true(r == cases[i].stopped);
		container_backend.probe(bench.backend, &resource, &arena);
		assert_int_equal(resource.alive, TRI_NO);
		assert_true(discard(&resource) >= 0);
		assert_int_equal(status_of("containers", id), 404);
		assert_true(clock_boot_ms() - began_ms < 30 * 1000);
	}
}

static void removing_needs_no_stop_before(void **state)
{
	char *id CLEANUP(mem_done) = make_running("sbx-it-busy", bench.run,
		"\"StopTimeout\":300,\"Entrypoint\":[\"/bin/sh\",\"-c\",\"trap : TERM; while :; do "
		"sleep 1; done\"],");
	struct resource resource = told(id);
	int64_t began_ms = clock_boot_ms();

	(void)state;
	assert_int_equal(discard(&resource), 1);
	assert_true(clock_boot_ms() - began_ms < 20 * 1000);
	assert_int_equal(status_of("containers", id), 404);
}

static void volumes_and_networks_go_after_their_containers(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *name CLEANUP(mem_done) = mem_printf("%s-net", bench.run);
	char *volume CLEANUP(mem_done) = mem_printf("%s-vol", bench.run);
	char *mode CLEANUP(mem_done) = mem_printf(
		"\"HostConfig\":{\"NetworkMode\":\"%s\",\"Binds\":[\"%s:/v\"]},", name, volume);
	char *id CLEANUP(mem_done) = NULL, *network CLEANUP(mem_done) = NULL;
	char *about CLEANUP(mem_done) = NULL;
	char *path CLEANUP(mem_done) = mem_printf("/networks/%s", name);

	(void)state;
	make_labelled("networks", name, bench.run);
	make_labelled("volumes", volume, bench.run);
	assert_int_equal(ask("GET", path, NULL, &about), 200);
	network = field(about, "Id");
	id = make_running("sbx-it-user", bench.run, mode);
	discover(&inventory, bench.run);
	assert_int_equal(seen(&inventory, bench.run, network)->kind, KIND_NETWORK);
	assert_int_equal(seen(&inventory, bench.run, network)->proof, PROOF_LABEL);
	assert_int_equal(seen(&inventory, bench.run, volume)->kind, KIND_VOLUME);
	assert_int_equal(seen(&inventory, bench.run, volume)->proof, PROOF_LABEL);

	/* In use they stay, and the error says by what. */
	assert_int_equal(discard(seen(&inventory, bench.run, volume)), -EBUSY);
	assert_int_equal(discard(seen(&inventory, bench.run, network)), -EBUSY);
	assert_int_equal(status_of("containers", id), 200);
	assert_int_equal(discard(seen(&inventory, bench.run, id)), 1);
	assert_int_equal(discard(seen(&inventory, bench.run, volume)), 1);
	assert_int_equal(discard(seen(&inventory, bench.run, network)), 1);
	assert_int_equal(status_of("volumes", volume), 404);
	assert_int_equal(status_of("networks", network), 404);
	assert_int_equal(discard(seen(&inventory, bench.run, volume)), 0);
	assert_int_equal(discard(seen(&inventory, bench.run, network)), 0);
}

static void a_volume_made_anew_under_the_name_is_not_the_run_s(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *volume CLEANUP(mem_done) = mem_printf("%s-again", bench.run);
	struct resource *resource;

	(void)state;
	make_labelled("volumes", volume, bench.run);
	discover(&inventory, bench.run);
	resource = seen(&inventory, bench.run, volume);
	order("DELETE", "/volumes/*", volume, 204);
	make_labelled("volumes", volume, "another");
	container_backend.probe(bench.backend, resource, &inventory.arena);
	assert_int_equal(resource->present, TRI_NO);
	assert_int_equal(discard(resource), 0);
	assert_int_equal(status_of("volumes", volume), 200);
}

static void containers_that_share_a_namespace_go_in_any_order(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *first CLEANUP(mem_done) = make_running("sbx-it-first", bench.run, "");
	char *second CLEANUP(mem_done) = make_running("sbx-it-second", bench.run,
		"\"HostConfig\":{\"NetworkMode\":\"container:sbx-it-first\"},");
	char *third CLEANUP(mem_done) = NULL;

	(void)state;
	discover(&inventory, bench.run);
	assert_int_equal(discard(seen(&inventory, bench.run, first)), 1);
	assert_true(discard(seen(&inventory, bench.run, second)) >= 0);
	assert_int_equal(status_of("containers", first), 404);
	assert_int_equal(status_of("containers", second), 404);

	if (!bench.podman) /* Docker lets the first go, and the stranger stays */
		return;
	free(first);
	first = make_running("sbx-it-first", bench.run, "");
	third = make_running("sbx-it-third", NULL,
		"\"HostConfig\":{\"NetworkMode\":\"container:sbx-it-first\"},");
	inventory_done(&inventory);
	discover(&inventory, bench.run);
	assert_int_equal(discard(seen(&inventory, bench.run, first)), -EIO);
	assert_int_equal(status_of("containers", first), 200);
	assert_int_equal(status_of("containers", third), 200);
}

static char *make_pod(const char *name, const char *run)
{
	char *answer CLEANUP(mem_done) = NULL;
	char *body CLEANUP(mem_done) =
		mem_printf("{\"name\":\"%s\",\"labels\":{\"sbx.run\":\"%s\",\"sbx.test\":\"%d\"},"
			   "\"infra_image\":\"sbx-test\","
			   "\"infra_command\":[\"/bin/sleep\",\"100000\"]}",
			name, run, (int)getpid());

	must(ask("POST", "/v4.0.0/libpod/pods/create", body, &answer), 201, "pod", answer);
	return field(answer, "Id");
}

static char *make_member(const char *name, const char *pod, const char *run)
{
	char *answer CLEANUP(mem_done) = NULL;
	char *body CLEANUP(mem_done) =
		mem_printf("{\"image\":\"sbx-test\",\"name\":\"%s\",\"pod\":\"%s\","
			   "\"labels\":{\"%s\":\"%s\",\"sbx.test\":\"%d\"}}",
			name, pod, run ? "sbx.run" : "x", run ? run : "y", (int)getpid());

	must(ask("POST", "/v4.0.0/libpod/containers/create", body, &answer), 201, "member", answer);
	return field(answer, "Id");
}

static char *infra_of(const char *pod)
{
	char *path CLEANUP(mem_done) = mem_printf("/v4.0.0/libpod/pods/%s/json", pod);
	char *answer CLEANUP(mem_done) = NULL;

	assert_int_equal(ask("GET", path, NULL, &answer), 200);
	return field(answer, "InfraContainerID");
}

static void a_pod_goes_with_its_members_and_stays_with_a_stranger(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *pod CLEANUP(mem_done) = NULL, *infra CLEANUP(mem_done) = NULL;
	char *member CLEANUP(mem_done) = NULL, *stranger CLEANUP(mem_done) = NULL;
	char *path CLEANUP(mem_done) = NULL;

	(void)state;
	if (!bench.podman) {
		print_message("[  SKIPPED ] pods: this engine is not podman\n");
		skip();
	}
	pod = make_pod("sbx-it-pod", bench.run);
	infra = infra_of(pod);
	member = make_member("sbx-it-member", pod, bench.run);
	stranger = make_member("sbx-it-stranger", pod, NULL);
	order("POST", "/v4.0.0/libpod/pods/*/start", pod, 200);
	discover(&inventory, bench.run);
	assert_int_equal(seen(&inventory, bench.run, infra)->proof, PROOF_LABEL);
	assert_int_equal(discard(seen(&inventory, bench.run, infra)), -EBUSY);
	assert_int_equal(status_of("containers", infra), 200);
	assert_int_equal(status_of("containers", stranger), 200);

	order("POST", "/containers/*/kill", stranger, 204);
	order("DELETE", "/containers/*?force=1", stranger, 204);
	assert_int_equal(discard(seen(&inventory, bench.run, infra)), 1);
	assert_int_equal(status_of("containers", infra), 404);
	assert_int_equal(status_of("containers", member), 404);
	path = mem_printf("/v4.0.0/libpod/pods/%s/json", pod);
	assert_int_equal(ask("GET", path, NULL, NULL), 404);
}

static void a_container_whose_layer_is_gone_is_seen_and_goes(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *id CLEANUP(mem_done) = make("sbx-it-hollow", bench.run, "");
	char *path CLEANUP(mem_done) = mem_printf("/containers/%s/json", id);
	char *about CLEANUP(mem_done) = NULL, *upper CLEANUP(mem_done) = NULL;
	char *away CLEANUP(mem_done) = NULL;
	struct resource *resource;

	(void)state;
	assert_int_equal(ask("GET", path, NULL, &about), 200);
	upper = field(about, "UpperDir");
	*strrchr(upper, '/') = 0;
	away = mem_printf("%s.away", upper);
	if (rename(upper, away) < 0) {
		print_message("[  SKIPPED ] layers: %s cannot be reached from here\n", upper);
		skip();
	}
	discover(&inventory, NULL);
	resource = seen(&inventory, bench.run, id);
	assert_non_null(resource);
	assert_int_equal(resource->proof, PROOF_LABEL);
	container_backend.probe(bench.backend, resource, &inventory.arena);
	assert_int_equal(resource->present, TRI_YES);
	assert_int_equal(resource->alive, TRI_NO);
	assert_int_equal(discard(resource), 1);
	container_backend.probe(bench.backend, resource, &inventory.arena);
	assert_int_equal(resource->present, TRI_NO);
	(void)rename(away, upper);
}

static void what_somebody_else_removed_meanwhile_is_success(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *id CLEANUP(mem_done) = make_running("sbx-it-gone", bench.run, "");

	(void)state;
	discover(&inventory, bench.run);
	order("DELETE", "/containers/*?force=1&v=1", id, 204);
	assert_int_equal(stop(seen(&inventory, bench.run, id)), 0);
	assert_int_equal(discard(seen(&inventory, bench.run, id)), 0);
}

/* ---- */

/* Deletes every container, volume and network with our own label. */
static void clean_up(void)
{
	static const struct {
		const char *list, *deletion, *key;
	} kinds[] = {
		{ "/v4.0.0/libpod/pods/json?x=1&filters=",
			"/v4.0.0/libpod/pods/*?force=true&timeout=0", "\"Id\":\"" },
		{ "/containers/json?all=1&filters=", "/containers/*?force=1&v=1", "\"Id\":\"" },
		{ "/volumes?filters=", "/volumes/*", "\"Name\":\"" },
		{ "/networks?filters=", "/networks/*", "\"Id\":\"" },
	};
	char *json CLEANUP(mem_done) = mem_printf("{\"label\":[\"sbx.test=%d\"]}", (int)getpid());
	char *filter CLEANUP(mem_done) = http_escape(json);

	for (size_t i = bench.podman ? 0 : 1; i < ARRAY_SIZE(kinds); i++) {
		char *list CLEANUP(mem_done) = mem_printf("%s%s", kinds[i].list, filter);
		char *answer CLEANUP(mem_done) = NULL;
		size_t skip = strlen(kinds[i].key);

		(void)ask("GET", list, NULL, &answer);
		for (const char *at = strstr(answer, kinds[i].key); at;
			at = strstr(at, kinds[i].key)) {
			char *id CLEANUP(mem_done) = NULL, *path CLEANUP(mem_done) = NULL;
			const char *star = strchr(kinds[i].deletion, '*');

			at += skip;
			id = mem_printf("%.*s", (int)strcspn(at, "\""), at);
			path = mem_printf("%.*s%s%s", (int)(star - kinds[i].deletion),
				kinds[i].deletion, id, star + 1);
			(void)ask("DELETE", path, NULL, NULL);
		}
	}
}

static int after_each(void **state)
{
	(void)state;
	clean_up();
	return 0;
}

static int before_each(void **state)
{
	static unsigned count;

	(void)state;
	(void)snprintf(bench.run, sizeof(bench.run), "it-%d-%u", (int)getpid(), ++count);
	return 0;
}

static int bench_up(void **state)
{
	static char label[] = "sbx.run";
	struct error error = { 0 };

	(void)state;
	bench.url = mem_printf("unix://%s", bench.socket);
	bench.engines[0] = bench.url;
	bench.settings.engines = (struct text_list){ bench.engines, 1 };
	bench.settings.label = label;
	bench.settings.limits.engine_timeout_ms = 30 * 1000;
	if (http_open(bench.socket, &bench.http, &error) < 0 ||
		container_backend.open(&bench.settings, &bench.backend, &error) < 0) {
		print_error("%s\n", error.text);
		return -1;
	}
	bench.podman = ask("GET", "/v4.0.0/libpod/_ping", NULL, NULL) == 200;
	return 0;
}

static int bench_down(void **state)
{
	(void)state;
	container_backend.close(bench.backend);
	http_close(bench.http);
	free(bench.url);
	return 0;
}

#define engine_test(f) cmocka_unit_test_setup_teardown(f, before_each, after_each)

int main(void)
{
	const struct CMUnitTest tests[] = {
		engine_test(a_labelled_container_goes_with_its_anonymous_volume),
		engine_test(runs_with_similar_names_are_told_apart),
		engine_test(labels_that_name_no_run_are_foreign),
		engine_test(a_container_from_outside_of_the_run_s_span_is_foreign),
		engine_test(a_label_from_the_image_proves_nothing),
		engine_test(a_reference_becomes_the_full_id_at_registration),
		engine_test(a_container_of_another_run_cannot_be_registered),
		engine_test(a_name_registered_early_is_resolved_later),
		engine_test(a_name_that_is_older_than_the_run_contradicts),
		engine_test(whatever_state_it_is_in_it_stops_and_goes),
		engine_test(removing_needs_no_stop_before),
		engine_test(volumes_and_networks_go_after_their_containers),
		engine_test(a_volume_made_anew_under_the_name_is_not_the_run_s),
		engine_test(containers_that_share_a_namespace_go_in_any_order),
		engine_test(a_pod_goes_with_its_members_and_stays_with_a_stranger),
		engine_test(a_container_whose_layer_is_gone_is_seen_and_goes),
		engine_test(what_somebody_else_removed_meanwhile_is_success),
	};
	const char *where = getenv("SBX_TEST_ENGINE");

	if (!where || !*where) {
		/* In cmocka's own form, so that it is counted. */
		for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
			print_message("[  SKIPPED ] %s: SBX_TEST_ENGINE names no engine's socket\n",
				tests[i].name);
		return 0;
	}
	bench.socket = text_starts(where, "unix://") ? where + strlen("unix://") : where;
	return cmocka_run_group_tests_name("container", tests, bench_up, bench_down);
}
