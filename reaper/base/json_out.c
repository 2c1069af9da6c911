#include "json_out.h"
#include "text.h"
#include "timespan.h"

static void json_quote(struct json_out *json, const char *value)
{
	size_t length;

	(void)putc('"', json->file);
	for (; *value; value += length) {
		length = utf8_length(value);
		if (!length) {
			(void)fprintf(json->file, "\\\\x%02x", (unsigned char)*value);
			length = 1;
		} else if (*value == '"' || *value == '\\') {
			(void)fprintf(json->file, "\\%c", *value);
		} else if ((unsigned char)*value < 0x20 || *value == 0x7f) {
			(void)fprintf(json->file, "\\u%04x", (unsigned char)*value);
		} else {
			(void)fwrite(value, 1, length, json->file);
		}
	}
	(void)putc('"', json->file);
}

static void json_newline(struct json_out *json)
{
	(void)putc('\n', json->file);
	for (unsigned i = 0; i < json->depth; i++)
		(void)fputs("  ", json->file);
}

/* The comma, the line and the key before a value. */
static void json_begin(struct json_out *json, const char *key)
{
	if (json->filled)
		(void)putc(',', json->file);
	if (json->depth)
		json_newline(json);
	if (key) {
		json_quote(json, key);
		(void)fputs(": ", json->file);
	}
	json->filled = true;
}

static void json_open(struct json_out *json, const char *key, char bracket)
{
	json_begin(json, key);
	(void)putc(bracket, json->file);
	json->depth++;
	json->filled = false;
}

static void json_close(struct json_out *json, char bracket)
{
	assert(json->depth > 0);
	json->depth--;
	if (json->filled)
		json_newline(json);
	(void)putc(bracket, json->file);
	json->filled = true;
	if (json->depth == 0)
		(void)putc('\n', json->file);
}

void json_object(struct json_out *json, const char *key)
{
	json_open(json, key, '{');
}

void json_object_end(struct json_out *json)
{
	json_close(json, '}');
}

void json_array(struct json_out *json, const char *key)
{
	json_open(json, key, '[');
}

void json_array_end(struct json_out *json)
{
	json_close(json, ']');
}

void json_text(struct json_out *json, const char *key, const char *value)
{
	json_begin(json, key);
	if (value)
		json_quote(json, value);
	else
		(void)fputs("null", json->file);
}

void json_int(struct json_out *json, const char *key, int64_t value)
{
	json_begin(json, key);
	(void)fprintf(json->file, "%lld", (long long)value);
}

void json_bool(struct json_out *json, const char *key, bool value)
{
	json_begin(json, key);
	(void)fputs(value ? "true" : "false", json->file);
}

void json_null(struct json_out *json, const char *key)
{
	json_text(json, key, NULL);
}

void json_double(struct json_out *json, const char *key, double value)
{
	json_begin(json, key);
	(void)fprintf(json->file, "%.3f", value);
}

void json_moment(struct json_out *json, const char *key, int64_t moment_s)
{
	char text[TIMESPAN_TEXT];

	json_text(json, key, moment_s ? moment_format(text, moment_s) : NULL);
}

void json_bytes(struct json_out *json, const char *key, const char *value)
{
	char *exact CLEANUP(mem_done) = NULL, *beside CLEANUP(mem_done) = NULL;

	json_text(json, key, value);
	if (!value || utf8_valid(value))
		return;
	exact = text_base64(value, strlen(value));
	beside = mem_printf("%s_b64", key);
	json_text(json, beside, exact);
}
