#include "history_text.h"

void history_json(struct json_out *json, const struct history_entry *entry)
{
	json_object(json, NULL);
	json_moment(json, "at", entry->at_s);
	json_bytes(json, "pass", entry->pass);
	json_bytes(json, "run", entry->run);
	json_int(json, "generation", entry->generation);
	json_text(json, "action", entry->action);
	json_text(json, "reason", entry->reason);
	json_bytes(json, "resource", entry->resource);
	json_bytes(json, "detail", entry->detail);
	json_int(json, "bytes", entry->bytes);
	json_object_end(json);
}
