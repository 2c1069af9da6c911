/* What a container engine answers, every question (backend/engine_json.h). */
#include "fuzz.h"

#include "backend/engine_json.h"
#include "base/text.h"

static void check_item(const struct engine_item *item, enum kind kind)
{
	MUST(item->id && item->name);
	if (kind == KIND_CONTAINER)
		MUST(engine_id_valid(item->id));
}

static void ask_kind(const struct engine_body *body, enum kind kind)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct error error = { 0 };
	struct engine_list list;
	struct engine_item item;

	if (engine_json_list(body, kind, &arena, &list, &error) >= 0)
		for (size_t i = 0; i < list.count; i++)
			check_item(&list.items[i], kind);
	else
		MUST(*error.text);
	error = (struct error){ 0 };
	if (engine_json_item(body, kind, &arena, &item, &error) >= 0)
		check_item(&item, kind);
}

static void ask_pods(const struct engine_body *body)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct engine_endpoint *endpoints;
	struct engine_pod pod = { .id = "" };
	size_t count;

	if (engine_json_endpoints(body, &arena, &endpoints, &count, NULL) >= 0)
		for (size_t i = 0; i < count; i++)
			MUST(endpoints[i].container && endpoints[i].name);
	(void)engine_json_image(body, NULL);
	if (engine_json_pod_of(body, &arena, &pod, NULL) >= 0)
		MUST(pod.id);
	if (engine_json_pod(body, &arena, &pod, NULL) >= 0)
		for (size_t i = 0; i < pod.member_count; i++)
			MUST(pod.members[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	/* As it comes from the socket: not ended by anything. */
	char *copy CLEANUP(mem_done) = mem_new(length ? length : 1);
	const struct engine_body body = { .bytes = copy, .length = length, .label = "sbx.run" };
	char *message CLEANUP(mem_done) = NULL;

	if (length)
		memcpy(copy, bytes, length);
	ask_kind(&body, KIND_CONTAINER);
	ask_kind(&body, KIND_VOLUME);
	ask_kind(&body, KIND_NETWORK);
	ask_pods(&body);
	message = engine_json_message(copy, length);
	MUST(message && strlen(message) <= ENGINE_MESSAGE);
	(void)engine_json_says(copy, length, "message", NULL);
	return 0;
}
