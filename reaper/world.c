#include "world.h"

int world_open(struct world *ret_world, const struct settings *settings, struct store *store,
	struct error *error)
{
	int r;

	*ret_world = (struct world){ .settings = settings, .store = store };
	for (size_t i = 0; i < BACKEND_COUNT; i++) {
		r = backends[i]->open(settings, &ret_world->states[i], error);
		if (r < 0)
			return r;
	}
	return 0;
}

void world_close(struct world *world)
{
	for (size_t i = 0; i < BACKEND_COUNT; i++) {
		if (world->states[i])
			backends[i]->close(world->states[i]);
		world->states[i] = NULL;
	}
}

void *world_state(const struct world *world, const struct backend *backend)
{
	for (size_t i = 0; i < BACKEND_COUNT; i++)
		if (backends[i] == backend)
			return world->states[i];
	assert(false);
	return NULL;
}
