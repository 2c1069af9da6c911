#include "engine_json.h"
#include "base/timespan.h"

#include <errno.h>
#include <jansson.h>

enum { ID_LENGTH = 64 };

/* Reads one document: where it is, what it is for, and where strings go. */
struct reading {
	const struct engine_body *body;
	struct arena *arena;
	struct error *error;
};

static void json_done(json_t **value)
{
	json_decref(*value);
}

bool engine_id_valid(const char *id)
{
	return strlen(id) == ID_LENGTH && strspn(id, "0123456789abcdef") == ID_LENGTH;
}

static int reading_wrong(const struct reading *reading, const char *field, const char *wanted)
{
	(void)error_say(
		reading->error, EPROTO, "the engine's answer has no %s in '%s'", wanted, field);
	return -EPROTO;
}

/* NUL in a string is let in (and found later): one odd label must not blind us for all runs. */
static json_t *reading_load(const struct reading *reading)
{
	json_error_t fault;
	json_t *root = json_loadb(reading->body->bytes, reading->body->length,
		JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
	char *shown CLEANUP(mem_done) = NULL;

	if (root)
		return root;
	shown = text_escape(fault.text);
	(void)error_say(reading->error, EPROTO, "the engine's answer is no JSON: byte %d: %.100s",
		fault.position, shown);
	return NULL;
}

/* A string field in the arena; with a NUL byte in it, it is none. */
static int read_text(const struct reading *reading, const json_t *object, const char *field,
	const char **ret_text)
{
	const json_t *value = json_object_get(object, field);

	if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
		return reading_wrong(reading, field, "text");
	*ret_text = arena_dup(reading->arena, json_string_value(value));
	return 0;
}

static int read_bool(
	const struct reading *reading, const json_t *object, const char *field, bool *ret_value)
{
	const json_t *value = json_object_get(object, field);

	if (!json_is_boolean(value))
		return reading_wrong(reading, field, "true or false");
	*ret_value = json_boolean_value(value);
	return 0;
}

static int read_id(
	const struct reading *reading, const json_t *object, const char *field, const char **ret_id)
{
	int r = read_text(reading, object, field, ret_id);

	if (r < 0)
		return r;
	return engine_id_valid(*ret_id) ? 0 : reading_wrong(reading, field, "full id");
}

/*
 * The label's value, or NULL. Go writes null for "no labels", and leaves them out of an image that
 * has none (Docker API 1.50). A value that is no text, or has a NUL byte, becomes "": that is no
 * run identifier either.
 */
static int read_label(const struct reading *reading, const json_t *object, bool may_be_absent,
	const char **ret_run)
{
	const json_t *labels = json_object_get(object, "Labels"), *value;

	*ret_run = NULL;
	if (json_is_null(labels) || (!labels && may_be_absent))
		return 0;
	if (!json_is_object(labels))
		return reading_wrong(reading, "Labels", "object");
	value = json_object_get(labels, reading->body->label);
	if (!value)
		return 0;
	if (!json_is_string(value))
		return reading_wrong(reading, "Labels", "text");
	*ret_run = strlen(json_string_value(value)) == json_string_length(value)
			   ? arena_dup(reading->arena, json_string_value(value))
			   : "";
	return 0;
}

/* Seconds, or a date; the zero date of Go (year 1) and what is no date at all are unknown: 0. */
static int read_moment(const struct reading *reading, const json_t *object, const char *field,
	bool may_be_absent, int64_t *ret_moment_s)
{
	const json_t *value = json_object_get(object, field);
	const char *text;

	*ret_moment_s = 0;
	if (json_is_integer(value)) {
		if (json_integer_value(value) > 0 && json_integer_value(value) <= MOMENT_MAX_S)
			*ret_moment_s = json_integer_value(value);
		return 0;
	}
	if (!value && may_be_absent)
		return 0;
	if (!json_is_string(value))
		return reading_wrong(reading, field, "time");
	text = json_string_value(value);
	if (text[0] >= '0' && text[0] <= '9' && moment_parse_s(text, 0, ret_moment_s, NULL) < 0)
		*ret_moment_s = 0;
	return 0;
}

/* "stopping" is podman's: somebody's stop is under way, or died in the middle. */
static enum tri status_alive(const char *status)
{
	static const struct {
		const char *status;
		enum tri alive;
	} known[] = {
		{ "running", TRI_YES },
		{ "paused", TRI_YES },
		{ "restarting", TRI_YES },
		{ "stopping", TRI_YES },
		{ "created", TRI_NO },
		{ "configured", TRI_NO },
		{ "initialized", TRI_NO },
		{ "exited", TRI_NO },
		{ "stopped", TRI_NO },
		{ "removing", TRI_NO },
		{ "dead", TRI_NO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcasecmp(known[i].status, status) == 0)
			return known[i].alive;
	return TRI_UNKNOWN;
}

static const char *without_slash(const char *name)
{
	return name[0] == '/' ? name + 1 : name;
}

static int read_listed_name(
	const struct reading *reading, const json_t *object, struct engine_item *item)
{
	const json_t *names = json_object_get(object, "Names"), *first;

	item->name = "";
	if (json_is_null(names))
		return 0;
	if (!json_is_array(names))
		return reading_wrong(reading, "Names", "list");
	first = json_array_get(names, 0);
	if (!first)
		return 0;
	if (!json_is_string(first))
		return reading_wrong(reading, "Names", "text");
	item->name = arena_dup(reading->arena, without_slash(json_string_value(first)));
	return 0;
}

static int read_listed_container(
	const struct reading *reading, const json_t *object, struct engine_item *item)
{
	int r = read_id(reading, object, "Id", &item->id);

	if (r == 0)
		r = read_listed_name(reading, object, item);
	if (r == 0)
		r = read_label(reading, object, false, &item->run);
	if (r == 0)
		r = read_moment(reading, object, "Created", false, &item->made_s);
	if (r == 0)
		r = read_text(reading, object, "ImageID", &item->image);
	if (r == 0)
		r = read_text(reading, object, "State", &item->status);
	if (r < 0)
		return r;
	item->alive = status_alive(item->status);
	item->running = item->alive != TRI_NO;
	return 0;
}

static int read_state(const struct reading *reading, const json_t *object, struct engine_item *item)
{
	const json_t *state = json_object_get(object, "State");
	bool running, paused;
	int r;

	if (!json_is_object(state))
		return reading_wrong(reading, "State", "object");
	r = read_text(reading, state, "Status", &item->status);
	if (r == 0)
		r = read_bool(reading, state, "Running", &running);
	if (r == 0)
		r = read_bool(reading, state, "Paused", &paused);
	if (r < 0)
		return r;
	item->running = running || paused;
	item->alive = item->running ? TRI_YES : status_alive(item->status);
	return 0;
}

static int read_container(
	const struct reading *reading, const json_t *object, struct engine_item *item)
{
	const json_t *config = json_object_get(object, "Config");
	int r = read_id(reading, object, "Id", &item->id);

	if (r == 0)
		r = read_text(reading, object, "Name", &item->name);
	if (r == 0 && !json_is_object(config))
		r = reading_wrong(reading, "Config", "object");
	if (r == 0)
		r = read_label(reading, config, false, &item->run);
	if (r == 0)
		r = read_moment(reading, object, "Created", false, &item->made_s);
	if (r == 0)
		r = read_text(reading, object, "Image", &item->image);
	if (r == 0)
		r = read_state(reading, object, item);
	if (r == 0)
		item->name = without_slash(item->name);
	return r;
}

static int read_volume(
	const struct reading *reading, const json_t *object, struct engine_item *item)
{
	int r = read_text(reading, object, "Name", &item->name);

	if (r == 0)
		r = read_label(reading, object, false, &item->run);
	if (r == 0)
		r = read_moment(reading, object, "CreatedAt", true, &item->made_s);
	item->id = item->name;
	return r;
}

static int read_network(
	const struct reading *reading, const json_t *object, struct engine_item *item)
{
	int r = read_id(reading, object, "Id", &item->id);

	if (r == 0)
		r = read_text(reading, object, "Name", &item->name);
	if (r == 0)
		r = read_label(reading, object, false, &item->run);
	if (r == 0)
		r = read_moment(reading, object, "Created", false, &item->made_s);
	return r;
}

static int read_thing(const struct reading *reading, enum kind kind, const json_t *object,
	struct engine_item *item)
{
	assert(kind == KIND_VOLUME || kind == KIND_NETWORK);
	return kind == KIND_VOLUME ? read_volume(reading, object, item)
				   : read_network(reading, object, item);
}

int engine_json_list(const struct engine_body *body, enum kind kind, struct arena *arena,
	struct engine_list *ret_list, struct error *error)
{
	const struct reading reading = { body, arena, error };
	json_t *root CLEANUP(json_done) = reading_load(&reading);
	const json_t *list = kind == KIND_VOLUME ? json_object_get(root, "Volumes") : root;
	struct engine_list read = { 0 };
	int r = 0;

	if (!root)
		return -EPROTO;
	/* Docker before API 1.42 writes null when there is no volume. */
	if (!json_is_array(list) && !(kind == KIND_VOLUME && json_is_null(list)))
		return reading_wrong(&reading, "the whole", "list");
	read.count = json_array_size(list);
	read.items = arena_new(arena, read.count * sizeof(*read.items));
	for (size_t i = 0; r == 0 && i < read.count; i++)
		r = kind == KIND_CONTAINER
			    ? read_listed_container(
				      &reading, json_array_get(list, i), &read.items[i])
			    : read_thing(&reading, kind, json_array_get(list, i), &read.items[i]);
	if (r == 0)
		*ret_list = read;
	return r;
}

int engine_json_item(const struct engine_body *body, enum kind kind, struct arena *arena,
	struct engine_item *ret_item, struct error *error)
{
	const struct reading reading = { body, arena, error };
	json_t *root CLEANUP(json_done) = reading_load(&reading);
	struct engine_item item = { 0 };
	int r;

	if (!root)
		return -EPROTO;
	r = kind == KIND_CONTAINER ? read_container(&reading, root, &item)
				   : read_thing(&reading, kind, root, &item);
	if (r == 0)
		*ret_item = item;
	return r;
}

int engine_json_image(const struct engine_body *body, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	const struct reading reading = { body, &arena, error };
	json_t *root CLEANUP(json_done) = reading_load(&reading);
	const json_t *config = json_object_get(root, "Config");
	const char *run = NULL;
	int r;

	if (!root)
		return -EPROTO;
	if (!json_is_object(config))
		return reading_wrong(&reading, "Config", "object");
	r = read_label(&reading, config, true, &run);
	return r < 0 ? r : run != NULL;
}

int engine_json_endpoints(const struct engine_body *body, struct arena *arena,
	struct engine_endpoint **ret_endpoints, size_t *ret_count, struct error *error)
{
	const struct reading reading = { body, arena, error };
	json_t *root CLEANUP(json_done) = reading_load(&reading);
	json_t *held = json_object_get(root, "Containers"), *value;
	struct engine_endpoint *endpoints;
	const char *key;
	size_t count = 0;
	int r = 0;

	if (!root)
		return -EPROTO;
	if (held && !json_is_null(held) && !json_is_object(held))
		return reading_wrong(&reading, "Containers", "object");
	endpoints = arena_new(arena, json_object_size(held) * sizeof(*endpoints));
	json_object_foreach(held, key, value)
	{
		endpoints[count].container = arena_dup(arena, key);
		r = read_text(&reading, value, "Name", &endpoints[count++].name);
		if (r < 0)
			return r;
	}
	*ret_endpoints = endpoints;
	*ret_count = count;
	return 0;
}

int engine_json_pod_of(const struct engine_body *body, struct arena *arena,
	struct engine_pod *ret_pod, struct error *error)
{
	const struct reading reading = { body, arena, error };
	json_t *root CLEANUP(json_done) = reading_load(&reading);
	struct engine_pod pod = { 0 };
	int r;

	if (!root)
		return -EPROTO;
	r = read_text(&reading, root, "Pod", &pod.id);
	if (r == 0)
		r = read_bool(&reading, root, "IsInfra", &pod.infra);
	if (r == 0 && pod.id[0] && !engine_id_valid(pod.id))
		r = reading_wrong(&reading, "Pod", "full id");
	if (r == 0)
		*ret_pod = pod;
	return r;
}

int engine_json_pod(const struct engine_body *body, struct arena *arena, struct engine_pod *pod,
	struct error *error)
{
	const struct reading reading = { body, arena, error };
	json_t *root CLEANUP(json_done) = reading_load(&reading);
	const json_t *list = json_object_get(root, "Containers");
	int r;

	if (!root)
		return -EPROTO;
	if (!json_is_array(list))
		return reading_wrong(&reading, "Containers", "list");
	r = read_label(&reading, root, false, &pod->run);
	pod->member_count = json_array_size(list);
	pod->members = arena_new(arena, pod->member_count * sizeof(*pod->members));
	for (size_t i = 0; r == 0 && i < pod->member_count; i++)
		r = read_id(&reading, json_array_get(list, i), "Id", &pod->members[i]);
	return r;
}

/* "init_process_pid" of runc's state.json is "pid" in crun's status, and so on. */
int engine_json_runtime(const struct engine_body *body, struct arena *arena,
	struct engine_runtime *ret_runtime, struct error *error)
{
	const struct reading reading = { body, arena, error };
	json_t *root CLEANUP(json_done) = reading_load(&reading);
	bool runc = json_object_get(root, "init_process_pid") != NULL;
	const json_t *pid = json_object_get(root, runc ? "init_process_pid" : "pid");
	const json_t *start =
		json_object_get(root, runc ? "init_process_start" : "process-start-time");
	const json_t *cgroup = runc ? json_object_get(json_object_get(root, "cgroup_paths"), "")
				    : json_object_get(root, "cgroup-path");

	if (!root)
		return -EPROTO;
	if (!json_is_integer(pid) || !json_is_integer(start))
		return reading_wrong(&reading, "pid", "number");
	*ret_runtime = (struct engine_runtime){
		.pid = json_integer_value(pid),
		.start_ticks = (uint64_t)json_integer_value(start),
		.cgroup = arena_dup(arena, json_string_value(cgroup)),
	};
	return 0;
}

char *engine_json_message(const char *bytes, size_t length)
{
	json_t *root CLEANUP(json_done) = json_loadb(bytes, length, 0, NULL);
	const char *said = json_string_value(json_object_get(root, "message"));
	int most = length < ENGINE_MESSAGE ? (int)length : ENGINE_MESSAGE; /* bytes may go on */
	char *cut CLEANUP(mem_done) =
		mem_printf("%.*s", said ? ENGINE_MESSAGE : most, said ? said : bytes);
	char *shown = text_escape(cut[0] ? cut : "without a word");

	if (strlen(shown) > ENGINE_MESSAGE) {
		length = ENGINE_MESSAGE;
		while (length && ((unsigned char)shown[length] & 0xc0) == 0x80)
			length--; /* not in the middle of a character */
		shown[length] = 0;
	}
	return shown;
}

bool engine_json_says(const char *bytes, size_t length, const char *field, const char *value)
{
	json_t *root CLEANUP(json_done) = json_loadb(bytes, length, 0, NULL);
	const char *said = json_string_value(json_object_get(root, field));

	return value ? text_equal(said, value) : said != NULL;
}

/* Takes the value over. It is NULL only when memory is short: what comes here is UTF-8. */
static char *json_written(json_t *value)
{
	json_t *owned CLEANUP(json_done) = value;
	char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;

	if (!text)
		abort();
	return text;
}

char *engine_json_label_filter(const char *label, const char *run)
{
	char *wanted CLEANUP(mem_done) =
		run ? mem_printf("%s=%s", label, run) : mem_printf("%s", label);

	return json_written(json_pack("{s:[s]}", "label", wanted));
}

char *engine_json_id_filter(const char *id)
{
	return json_written(json_pack("{s:[s]}", "id", id));
}

char *engine_json_disconnect(const char *container)
{
	return json_written(json_pack("{s:s,s:b}", "Container", container, "Force", 1));
}
