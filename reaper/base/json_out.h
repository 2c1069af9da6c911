/*
 * JSON, written as it goes: nothing is built in memory, so a list of 100,000 runs costs no more
 * than one. Output is always valid UTF-8; bytes that are not become \xNN in the text (as literal
 * characters), and json_bytes() adds the exact bytes as base64 beside.
 */
#pragma once

#include "base.h"

struct json_out {
	FILE *file;
	unsigned depth; /* of open objects and arrays; the indent */
	bool filled;    /* the innermost one has an element already */
};

/* `key` names the value within an object, and is NULL within an array and at the top. */
void json_object(struct json_out *json, const char *key);
void json_object_end(struct json_out *json);
void json_array(struct json_out *json, const char *key);
void json_array_end(struct json_out *json);

void json_text(struct json_out *json, const char *key, const char *value); /* NULL: null */
void json_int(struct json_out *json, const char *key, int64_t value);
void json_bool(struct json_out *json, const char *key, bool value);
void json_null(struct json_out *json, const char *key);
void json_double(struct json_out *json, const char *key, double value);     /* three decimals */
void json_moment(struct json_out *json, const char *key, int64_t moment_s); /* 0: null */

/* A text from outside; when it is not UTF-8, "<key>_b64" follows with the exact bytes. */
void json_bytes(struct json_out *json, const char *key, const char *value);
