#include "unit.h"

#include "backend/engine_json.h"

#include <errno.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char listed[] =
	"[{\"Id\":\"" ID "\",\"Names\":[\"/c\"],\"ImageID\":\"sha256:1\",\"Created\":1795966380,"
	"\"State\":\"running\",\"Labels\":{\"sbx.run\":\"r1\",\"x\":\"y\"}}]";
static const char inspected[] =
	"{\"Id\":\"" ID "\",\"Name\":\"/c\",\"Image\":\"sha256:1\",\"Created\":"
	"\"2026-11-29T15:33:00.25Z\",\"State\":{\"Status\":\"paused\",\"Running\":false,"
	"\"Paused\":true},\"Config\":{\"Labels\":{\"sbx.run\":\"r1\"}}}";
static const char volumes[] = "{\"Volumes\":[{\"Name\":\"v\",\"Labels\":{\"sbx.run\":\"r1\"},"
			      "\"CreatedAt\":\"2026-11-29T16:33:00+01:00\"}],\"Warnings\":null}";
static const char networks[] = "[{\"Id\":\"" ID "\",\"Name\":\"n\",\"Labels\":{},\"Created\":"
			       "\"2026-11-29T15:33:00Z\"}]";

static struct engine_body body_of(const char *bytes)
{
	return (struct engine_body){ bytes, strlen(bytes), "sbx.run" };
}

static int read_list(
	const char *bytes, enum kind kind, struct arena *arena, struct engine_list *ret_list)
{
	const struct engine_body body = body_of(bytes);
	struct error error = { 0 };
	int r = engine_json_list(&body, kind, arena, ret_list, &error);

	assert_int_equal(r < 0, error.code != 0);
	return r;
}

static int read_item(
	const char *bytes, enum kind kind, struct arena *arena, struct engine_item *ret_item)
{
	const struct engine_body body = body_of(bytes);
	struct error error = { 0 };
	int r = engine_json_item(&body, kind, arena, ret_item, &error);

	assert_int_equal(r < 0, error.code != 0);
	return r;
}

static void good_answers_are_read_whole(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct engine_list list = { 0 };
	struct engine_item item = { 0 };

	(void)state;
	assert_int_equal(read_list(listed, KIND_CONTAINER, &arena, &list), 0);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, ID);
	assert_string_equal(list.items[0].name, "c");
	assert_string_equal(list.items[0].run, "r1");
	assert_string_equal(list.items[0].image, "sha256:1");
	assert_int_equal(list.items[0].made_s, 1795966380);
	assert_int_equal(list.items[0].alive, TRI_YES);
	assert_int_equal(read_item(inspected, KIND_CONTAINER, &arena, &item), 0);
	assert_string_equal(item.name, "c");
	assert_int_equal(item.made_s, 1795966380);
	assert_int_equal(item.alive, TRI_YES);
	assert_true(item.running);
	assert_int_equal(read_list(volumes, KIND_VOLUME, &arena, &list), 0);
	assert_string_equal(list.items[0].id, "v");
	assert_int_equal(list.items[0].made_s, 1795966380);
	assert_int_equal(read_list(networks, KIND_NETWORK, &arena, &list), 0);
	assert_null(list.items[0].run);
	assert_int_equal(read_list("{\"Volumes\":null}", KIND_VOLUME, &arena, &list), 0);
	assert_int_equal(list.count, 0);
}

/* Every beginning of an answer, and every answer with one byte changed. */
static void half_answers_and_broken_ones_are_errors(void **state)
{
	static const struct {
		const char *bytes;
		enum kind kind;
	} cases[] = {
		{ listed, KIND_CONTAINER },
		{ volumes, KIND_VOLUME },
		{ networks, KIND_NETWORK },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t cut = 0; cut < strlen(cases[i].bytes); cut++) {
			char *bytes CLEANUP(mem_done) = mem_dup(cases[i].bytes);
			struct arena arena CLEANUP(arena_done) = { 0 };
			struct engine_list list = { 0 };

			bytes[cut] = 0;
			assert_int_equal(read_list(bytes, cases[i].kind, &arena, &list), -EPROTO);
			bytes[cut] = (char)(cases[i].bytes[cut] ^ 0x41);
			(void)read_list(bytes, cases[i].kind, &arena, &list);
			(void)read_item(bytes, cases[i].kind, &arena, &(struct engine_item){ 0 });
		}
}

static void a_field_that_is_missing_or_of_another_type_spoils_the_answer(void **state)
{
	static const char *const fields[] = { "Id", "Names", "ImageID", "Created", "State",
		"Labels" };
	static const char *const types[] = { "true", "{\"a\":[]}", "[{}]", "1.5", "null" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char *key CLEANUP(mem_done) = mem_printf("\"%s\":", fields[i]);
		const char *at = strstr(listed, key);
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct engine_list list = { 0 };
		char *renamed CLEANUP(mem_done) = mem_dup(listed);

		renamed[at - listed + 1] = '_';
		assert_int_equal(read_list(renamed, KIND_CONTAINER, &arena, &list), -EPROTO);
		for (size_t j = 0; j < ARRAY_SIZE(types); j++) {
			/* The old value stays, under another name. */
			char *changed CLEANUP(mem_done) = mem_printf("%.*s%s%s,\"_\":%s",
				(int)(at - listed), listed, key, types[j], at + strlen(key));

			/* Labels may be others; Go writes null for none of them. */
			if (strcmp(fields[i], "Labels") == 0 && strchr("{n", types[j][0]))
				continue;
			if (strcmp(fields[i], "Names") == 0 && types[j][0] == 'n')
				continue;
			if (read_list(changed, KIND_CONTAINER, &arena, &list) != -EPROTO)
				fail_msg("%s as %s", fields[i], types[j]);
		}
	}
}

static void an_id_that_is_not_a_full_one_spoils_the_answer(void **state)
{
	static const char *const ids[] = { "", "0123", "../../../volumes/v",
		"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", (ID "0") };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct engine_list list = { 0 };
		char *bytes CLEANUP(mem_done) =
			mem_printf("[{\"Id\":\"%s\",\"Name\":\"n\","
				   "\"Labels\":{},\"Created\":\"2026-11-29T15:33:00Z\"}]",
				ids[i]);

		assert_int_equal(read_list(bytes, KIND_NETWORK, &arena, &list), -EPROTO);
	}
}

static void odd_labels_neither_blind_nor_pass_for_runs(void **state)
{
	static const char *const labels[] = { "\"r1\\u0000x\"", "\"\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct engine_list list = { 0 };
		char *bytes CLEANUP(mem_done) =
			mem_printf("{\"Volumes\":[{\"Name\":\"v\",\"Labels\":{\"sbx.run\":%s},"
				   "\"CreatedAt\":\"\"}]}",
				labels[i]);

		assert_int_equal(read_list(bytes, KIND_VOLUME, &arena, &list), 0);
		assert_string_equal(list.items[0].run, "");
		assert_int_equal(list.items[0].made_s, 0);
	}
}

static void deep_nesting_and_double_keys_are_errors(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct engine_list list = { 0 };
	char *deep CLEANUP(mem_done) = mem_new(100001);

	(void)state;
	memset(deep, '[', 100000);
	assert_int_equal(read_list(deep, KIND_CONTAINER, &arena, &list), -EPROTO);
	assert_int_equal(
		read_list("{\"Volumes\":[],\"Volumes\":[]}", KIND_VOLUME, &arena, &list), -EPROTO);
}

static void messages_are_whatever_can_be_shown(void **state)
{
	static const struct {
		const char *body, *shown;
	} cases[] = {
		{ "{\"message\":\"no such thing\"}", "no such thing" },
		{ "{\"message\":7}", "{\"message\":7}" },
		{ "Not Found\n", "Not Found\\x0a" },
		{ "", "without a word" },
		{ "\xff\x1b", "\\xff\\x1b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *shown CLEANUP(mem_done) =
			engine_json_message(cases[i].body, strlen(cases[i].body));

		assert_string_equal(shown, cases[i].shown);
	}
}

static void a_message_ends_where_its_bytes_end(void **state)
{
	char *shown CLEANUP(mem_done) = engine_json_message("busy, and what follows", 4);

	(void)state;
	assert_string_equal(shown, "busy");
}

/* runc 1.1's state.json, crun's status, and what is neither. */
static void the_state_of_a_runtime_names_its_process(void **state)
{
	static const struct {
		const char *bytes;
		int r;
		const char *cgroup;
	} cases[] = {
		{ "{\"id\":\"x\",\"init_process_pid\":213,\"init_process_start\":6947132,"
		  "\"cgroup_paths\":{\"\":\"/sys/fs/cgroup/r1\",\"cpu\":\"/c\"}}",
			0, "/sys/fs/cgroup/r1" },
		{ "{\"pid\":213,\"process-start-time\":6947132,\"cgroup-path\":\"/r1\"}", 0,
			"/r1" },
		{ "{\"pid\":213,\"process-start-time\":6947132}", 0, NULL },
		{ "{\"pid\":213,\"process-start-time\":6947132,\"cgroup-path\":7}", 0, NULL },
		{ "{\"pid\":213}", -EPROTO, NULL },
		{ "{\"pid\":\"213\",\"process-start-time\":6947132}", -EPROTO, NULL },
		{ "{\"pid\":213,\"process-start", -EPROTO, NULL },
		{ "[]", -EPROTO, NULL },
		{ "", -EPROTO, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena arena CLEANUP(arena_done) = { 0 };
		const struct engine_body body = body_of(cases[i].bytes);
		struct engine_runtime runtime = { 0 };
		struct error error = { 0 };

		assert_int_equal(engine_json_runtime(&body, &arena, &runtime, &error), cases[i].r);
		assert_int_equal(cases[i].r < 0, error.code != 0);
		if (cases[i].r < 0)
			continue;
		assert_int_equal(runtime.pid, 213);
		assert_int_equal(runtime.start_ticks, 6947132);
		assert_true(text_equal(runtime.cgroup, cases[i].cgroup));
	}
}

static void filters_are_json_whatever_stands_in_them(void **state)
{
	char *plain CLEANUP(mem_done) = engine_json_label_filter("sbx.run", NULL);
	char *odd CLEANUP(mem_done) = engine_json_label_filter("sbx.run", "a\"b=c");
	char *id CLEANUP(mem_done) = engine_json_id_filter(ID);

	(void)state;
	assert_string_equal(plain, "{\"label\":[\"sbx.run\"]}");
	assert_string_equal(odd, "{\"label\":[\"sbx.run=a\\\"b=c\"]}");
	assert_string_equal(id, "{\"id\":[\"" ID "\"]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_answers_are_read_whole),
		cmocka_unit_test(half_answers_and_broken_ones_are_errors),
		cmocka_unit_test(a_field_that_is_missing_or_of_another_type_spoils_the_answer),
		cmocka_unit_test(an_id_that_is_not_a_full_one_spoils_the_answer),
		cmocka_unit_test(odd_labels_neither_blind_nor_pass_for_runs),
		cmocka_unit_test(deep_nesting_and_double_keys_are_errors),
		cmocka_unit_test(messages_are_whatever_can_be_shown),
		cmocka_unit_test(a_message_ends_where_its_bytes_end),
		cmocka_unit_test(the_state_of_a_runtime_names_its_process),
		cmocka_unit_test(filters_are_json_whatever_stands_in_them),
	};

	return cmocka_run_group_tests_name("engine_json", tests, NULL, NULL);
}
