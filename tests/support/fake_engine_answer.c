#include "fake_engine_state.h"

#include <time.h>

/* The text between two marks, in a buffer of the caller's; "" when they are not there. */
static void between(const char *text, const char *from, const char *to, char *out, size_t size)
{
	const char *begin = strstr(text, from);
	const char *end = begin ? strstr(begin + strlen(from), to) : NULL;

	out[0] = 0;
	if (!end)
		return;
	begin += strlen(from);
	(void)snprintf(out, size, "%.*s", (int)(end - begin), begin);
}

static void percent_decode(char *text)
{
	char *out = text;
	unsigned byte;

	for (; *text; text++, out++)
		if (*text == '%' && sscanf(text + 1, "%2x", &byte) == 1) {
			*out = (char)byte;
			text += 2;
		} else {
			*out = *text;
		}
	*out = 0;
}

void fake_engine_reply(struct text *reply, int status, const char *body)
{
	text_addf(reply, "HTTP/1.1 %d X\r\nApi-Version: 1.41\r\nConnection: close\r\n", status);
	if (status == 204 || status == 304)
		text_add(reply, "\r\n");
	else
		text_addf(reply, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
}

static void reply_absent(struct text *reply, const char *what)
{
	char *body CLEANUP(mem_done) = mem_printf("{\"message\":\"no such %s\"}", what);

	fake_engine_reply(reply, 404, body);
}

static const char *moment(int64_t moment_s, char text[32])
{
	time_t when = (time_t)moment_s;
	struct tm parts;

	(void)gmtime_r(&when, &parts);
	(void)strftime(text, 32, "%Y-%m-%dT%H:%M:%S.25Z", &parts);
	return text;
}

static void add_labels(struct text *body, const char *run)
{
	if (run[0])
		text_addf(body, "\"Labels\":{\"sbx.run\":\"%s\"}", run);
	else
		text_add(body, "\"Labels\":{}");
}

static void add_container(struct text *body, const struct fake_slot *slot, bool listed)
{
	const char *status = slot->running ? "running" : "exited", *running;
	char when[32];

	text_addf(body, "{\"Id\":\"%s\",", slot->id);
	if (listed) {
		text_addf(body,
			"\"Names\":[\"/%s\"],\"ImageID\":\"sha256:%s\",\"Created\":%lld,"
			"\"State\":\"%s\",",
			slot->name, slot->id, (long long)slot->created_s, status);
		add_labels(body, slot->run);
		text_add(body, "}");
		return;
	}
	running = slot->running ? "true" : "false";
	text_addf(body,
		"\"Name\":\"/%s\",\"Image\":\"sha256:%s\",\"Created\":\"%s\",\"State\":{"
		"\"Status\":\"%s\",\"Running\":%s,\"Paused\":false},\"Config\":{",
		slot->name, slot->id, moment(slot->created_s, when), status, running);
	add_labels(body, slot->run);
	text_add(body, "}}");
}

static void add_thing(struct text *body, const struct fake_slot *slot, bool listed)
{
	char when[32];

	if (slot->kind == KIND_CONTAINER) {
		add_container(body, slot, listed);
		return;
	}
	(void)moment(slot->created_s, when);
	if (slot->kind == KIND_VOLUME)
		text_addf(body, "{\"Name\":\"%s\",\"CreatedAt\":\"%s\",", slot->name, when);
	else
		text_addf(body,
			"{\"Id\":\"%s\",\"Name\":\"%s\",\"Created\":\"%s\",\"Containers\":{},",
			slot->id, slot->name, when);
	add_labels(body, slot->run);
	text_add(body, "}");
}

/* Whether it passes {"label":["sbx.run"]}, {"label":["sbx.run=r1"]} or {"id":["…"]}. */
static bool filter_takes(const char *filter, const struct fake_slot *slot)
{
	char wanted[FAKE_NAME_SIZE * 2];

	between(filter, "[\"", "\"]", wanted, sizeof(wanted));
	if (text_starts(filter, "{\"id\""))
		return text_starts(slot->id, wanted);
	if (text_equal(wanted, "sbx.run"))
		return slot->run[0] != 0;
	return text_starts(wanted, "sbx.run=") &&
	       text_equal(wanted + strlen("sbx.run="), slot->run);
}

static void answer_list(
	struct fake_engine_state *state, enum kind kind, const char *query, struct text *reply)
{
	struct text body CLEANUP(text_done) = { 0 };
	const char *filters = strstr(query, "filters=");
	char filter[FAKE_NAME_SIZE * 8];
	const char *comma = "";

	(void)snprintf(filter, sizeof(filter), "%s", filters ? filters + strlen("filters=") : "");
	percent_decode(filter);
	text_add(&body, kind == KIND_VOLUME ? "{\"Volumes\":[" : "[");
	for (size_t i = 0; i < state->slot_count; i++) {
		const struct fake_slot *slot = &state->slots[i];

		if (!slot->used || slot->kind != kind || !filter_takes(filter, slot))
			continue;
		text_add(&body, comma);
		add_thing(&body, slot, true);
		comma = ",";
	}
	text_add(&body, kind == KIND_VOLUME ? "],\"Warnings\":null}" : "]");
	fake_engine_reply(reply, 200, body.data);
}

static void answer_image(struct fake_engine_state *state, const char *id, struct text *reply)
{
	const struct fake_slot *slot =
		text_starts(id, "sha256:") ? fake_state_find(state, KIND_CONTAINER, id + 7) : NULL;
	struct text body CLEANUP(text_done) = { 0 };

	if (!slot) {
		reply_absent(reply, "image");
		return;
	}
	text_addf(&body, "{\"Id\":\"sha256:%s\",\"Config\":{", slot->id);
	add_labels(&body, slot->image_run);
	text_add(&body, "}}");
	fake_engine_reply(reply, 200, body.data);
}

static void answer_inspect(const struct fake_slot *slot, struct text *reply)
{
	struct text body CLEANUP(text_done) = { 0 };

	add_thing(&body, slot, false);
	fake_engine_reply(reply, 200, body.data);
}

static void answer_kill(struct fake_slot *slot, struct text *reply)
{
	if (!slot->running) {
		fake_engine_reply(reply, 409, "{\"message\":\"container is not running\"}");
		return;
	}
	slot->running = false;
	fake_engine_reply(reply, 204, "");
}

/* What is asked of one thing: nothing more, "json", "kill", "stop", "disconnect". */
static void answer_thing(
	struct fake_slot *slot, const char *method, const char *verb, struct text *reply)
{
	if (text_equal(method, "GET"))
		answer_inspect(slot, reply);
	else if (text_equal(method, "DELETE")) {
		slot->used = false;
		fake_engine_reply(reply, 204, "");
	} else if (text_equal(verb, "kill"))
		answer_kill(slot, reply);
	else if (text_equal(verb, "stop")) {
		fake_engine_reply(reply, slot->running ? 204 : 304, "");
		slot->running = false;
	} else
		fake_engine_reply(reply, 200, "");
}

static void answer_below(struct fake_engine_state *state, enum kind kind, const char *method,
	char *rest, struct text *reply)
{
	char *query = strchrnul(rest, '?'), *verb;
	struct fake_slot *slot;

	*query = 0;
	verb = strchrnul(rest, '/');
	if (*verb)
		*verb++ = 0;
	slot = fake_state_find(state, kind, rest);
	if (slot)
		answer_thing(slot, method, verb, reply);
	else
		reply_absent(reply, kind_name(kind));
}

void fake_engine_answer(struct fake_engine_state *state, const char *request, struct text *reply)
{
	static const struct {
		const char *list, *below;
		enum kind kind;
	} places[] = {
		{ "/containers/json?", "/containers/", KIND_CONTAINER },
		{ "/volumes?", "/volumes/", KIND_VOLUME },
		{ "/networks?", "/networks/", KIND_NETWORK },
	};
	char *method CLEANUP(mem_done) = mem_dup(request), *path = strchrnul(method, ' ');

	if (*path)
		*path++ = 0;
	if (text_equal(path, "/_ping")) {
		fake_engine_reply(reply, 200, "OK");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (text_starts(path, places[i].list)) {
			answer_list(state, places[i].kind, path, reply);
			return;
		} else if (text_starts(path, places[i].below)) {
			answer_below(state, places[i].kind, method, path + strlen(places[i].below),
				reply);
			return;
		}
	if (text_starts(path, "/images/")) {
		char id[FAKE_NAME_SIZE];

		percent_decode(path);
		between(path, "/images/", "/json", id, sizeof(id));
		answer_image(state, id, reply);
		return;
	}
	fake_engine_reply(reply, 404, "{\"message\":\"page not found\"}");
}
