#include "seal.h"

#include "base/fnv.h"

#include <inttypes.h>

static void add_bytes(uint64_t *seal, const void *bytes, size_t length)
{
	*seal = fnv_add(*seal, bytes, length);
}

static void add_int(uint64_t *seal, int64_t value)
{
	add_bytes(seal, &value, sizeof(value));
}

/* With its end, so that no two texts in a row can be taken for two others. */
static void add_text(uint64_t *seal, const char *text)
{
	add_int(seal, text != NULL);
	if (text)
		add_bytes(seal, text, strlen(text) + 1);
}

static void add_facts(uint64_t *seal, const struct facts *facts)
{
	add_int(seal, facts->refused);
	add_int(seal, facts->recorded);
	add_int(seal, facts->proven);
	add_int(seal, facts->pin);
	add_int(seal, facts->locked);
	add_int(seal, facts->claim);
	add_int(seal, facts->created_s);
	add_int(seal, facts->deadline_s);
	add_int(seal, facts->last_sign_s);
	add_int(seal, facts->finished_s);
	add_int(seal, facts->outcome);
	add_int(seal, facts->blind);
	add_int(seal, facts->live);
	add_int(seal, facts->live_is_own);
	add_int(seal, facts->occupied);
	add_int(seal, facts->work);
	add_int(seal, facts->work_unasked);
	add_int(seal, facts->salvage_failed_s);
}

static void add_told(uint64_t *seal, const struct resource *resource)
{
	add_int(seal, resource->kind);
	add_int(seal, resource->proof);
	add_int(seal, resource->generation);
	add_text(seal, resource->locator);
	add_text(seal, resource->repo);
	add_text(seal, resource->base);
	add_text(seal, resource->branch);
	add_text(seal, resource->token);
	add_text(seal, resource->at);
	add_int(seal, (int64_t)resource->dev);
	add_int(seal, (int64_t)resource->ino);
}

static void add_seen(uint64_t *seal, const struct resource *resource)
{
	add_text(seal, resource->silent);
	add_int(seal, resource->present);
	add_int(seal, resource->alive);
	add_int(seal, resource->contradicts);
	add_text(seal, resource->record);
	add_text(seal, resource->head);
	add_int(seal, resource->lock);
	add_text(seal, resource->group);
	add_text(seal, resource->set_aside);
}

/* What each resource comes to is summed up, since they come in no certain order. */
static uint64_t of_resources(const struct run *run)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < run->resource_count; i++) {
		uint64_t seal = FNV_START;

		add_told(&seal, &run->resources[i]);
		add_seen(&seal, &run->resources[i]);
		sum += seal;
	}
	return sum;
}

const char *seal_of(const struct run *run, char buffer[SEAL_TEXT])
{
	uint64_t seal = FNV_START;

	add_text(&seal, run->id);
	add_text(&seal, run->root);
	add_facts(&seal, &run->facts);
	add_text(&seal, run->work_note);
	add_int(&seal, (int64_t)of_resources(run));
	(void)snprintf(buffer, SEAL_TEXT, "%016" PRIx64, seal);
	return buffer;
}
