#include "unit.h"

#include "base/json_out.h"

static char *written(void (*write)(struct json_out *json))
{
	char *text = NULL;
	size_t length = 0;
	struct json_out json = { .file = open_memstream(&text, &length) };

	assert_non_null(json.file);
	write(&json);
	(void)fclose(json.file);
	return text;
}

static void write_everything(struct json_out *json)
{
	json_object(json, NULL);
	json_int(json, "n", -5);
	json_text(json, "t", "a\"b\\c\n\x7f€");
	json_text(json, "none", NULL);
	json_bool(json, "yes", true);
	json_double(json, "d", 1.5);
	json_moment(json, "at", 1);
	json_moment(json, "never", 0);
	json_array(json, "empty");
	json_array_end(json);
	json_array(json, "list");
	json_int(json, NULL, 1);
	json_int(json, NULL, 2);
	json_array_end(json);
	json_bytes(json, "raw", "x\xff");
	json_bytes(json, "fine", "x");
	json_object_end(json);
}

static void every_value_is_written_as_json(void **state)
{
	char *text CLEANUP(mem_done) = written(write_everything);

	(void)state;
	assert_string_equal(text,
		"{\n  \"n\": -5,\n  \"t\": \"a\\\"b\\\\c\\u000a\\u007f€\",\n  \"none\": null,\n"
		"  \"yes\": true,\n  \"d\": 1.500,\n  \"at\": \"1970-01-01T00:00:01Z\",\n"
		"  \"never\": null,\n  \"empty\": [],\n  \"list\": [\n    1,\n    2\n  ],\n"
		"  \"raw\": \"x\\\\xff\",\n  \"raw_b64\": \"eP8=\",\n  \"fine\": \"x\"\n}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_is_written_as_json),
	};

	return cmocka_run_group_tests_name("json_out", tests, NULL, NULL);
}
