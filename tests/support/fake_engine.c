#include "fake_engine_state.h"

#include <errno.h>
#include <sys/mman.h>

/* A process that died with the lock leaves at worst one thing half described. */
void fake_state_lock(struct fake_engine_state *state)
{
	int r = pthread_mutex_lock(&state->lock);

	if (r == EOWNERDEAD)
		r = pthread_mutex_consistent(&state->lock);
	if (r != 0)
		abort();
}

void fake_state_unlock(struct fake_engine_state *state)
{
	if (pthread_mutex_unlock(&state->lock) != 0)
		abort();
}

static void fake_state_init(struct fake_engine_state *state)
{
	pthread_mutexattr_t attributes;

	if (pthread_mutexattr_init(&attributes) != 0 ||
		pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0 ||
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) != 0 ||
		pthread_mutex_init(&state->lock, &attributes) != 0)
		abort();
	(void)pthread_mutexattr_destroy(&attributes);
}

/* An id before a name, a name before the beginning of an id. */
struct fake_slot *fake_state_find(struct fake_engine_state *state, enum kind kind, const char *ref)
{
	struct fake_slot *named = NULL, *begun = NULL;

	for (size_t i = 0; i < state->slot_count; i++) {
		struct fake_slot *slot = &state->slots[i];

		if (!slot->used || slot->kind != kind)
			continue;
		if (text_equal(slot->id, ref))
			return slot;
		if (text_equal(slot->name, ref))
			named = slot;
		else if (ref[0] && text_starts(slot->id, ref))
			begun = slot;
	}
	return named ? named : begun;
}

/* ---- what tests ask and say ---- */

void fake_engine_start(struct fake_engine *engine)
{
	*engine = (struct fake_engine){ .directory = "/tmp/sbx-engine-XXXXXX", .control = -EBADF };
	if (!mkdtemp(engine->directory))
		abort();
	engine->socket = mem_printf("%s/engine.sock", engine->directory);
	engine->url = mem_printf("unix://%s", engine->socket);
	engine->state = mmap(NULL, sizeof(*engine->state), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (engine->state == MAP_FAILED)
		abort();
	fake_state_init(engine->state);
	fake_engine_serve(engine);
}

void fake_engine_stop(struct fake_engine *engine)
{
	fake_engine_unserve(engine);
	if (engine->state)
		(void)munmap(engine->state, sizeof(*engine->state));
	free(engine->socket);
	free(engine->url);
	*engine = (struct fake_engine){ .control = -EBADF };
}

/* 64 hexadecimal digits that begin differently for each number. */
static void make_id(uint64_t number, char id[FAKE_NAME_SIZE])
{
	uint64_t word[4];

	for (size_t i = 0; i < ARRAY_SIZE(word); i++) {
		word[i] = (number * 4 + i + 1) * 0x9e3779b97f4a7c15U;
		word[i] = (word[i] ^ (word[i] >> 30)) * 0xbf58476d1ce4e5b9U;
		word[i] ^= word[i] >> 31;
	}
	(void)snprintf(
		id, FAKE_NAME_SIZE, "%016lx%016lx%016lx%016lx", word[0], word[1], word[2], word[3]);
}

/* The first place that is free. Locked. */
static struct fake_slot *fake_state_place(struct fake_engine_state *state)
{
	for (size_t i = 0; i < FAKE_THINGS_MAX; i++)
		if (!state->slots[i].used) {
			if (i >= state->slot_count)
				state->slot_count = i + 1;
			return &state->slots[i];
		}
	abort();
}

static void copy(char *to, const char *text)
{
	if (snprintf(to, FAKE_NAME_SIZE, "%s", text ? text : "") >= FAKE_NAME_SIZE)
		abort();
}

const char *fake_engine_add(struct fake_engine *engine, const struct fake_thing *thing)
{
	struct fake_engine_state *state = engine->state;
	char id[FAKE_NAME_SIZE], made_up[FAKE_NAME_SIZE];
	struct fake_slot *slot;

	fake_state_lock(state);
	slot = fake_state_place(state);
	*slot = (struct fake_slot){
		.kind = thing->kind, .running = thing->running, .created_s = thing->created_s
	};
	make_id(state->made++, id);
	(void)snprintf(made_up, sizeof(made_up), "made-%.12s", id);
	copy(slot->name, thing->name ? thing->name : made_up);
	copy(slot->id, thing->kind == KIND_VOLUME ? thing->name ? thing->name : made_up : id);
	copy(slot->run, thing->run);
	copy(slot->image_run, thing->image_run);
	slot->used = true;
	fake_state_unlock(state);
	return slot->id;
}

/* The thing with that id, of any kind; NULL. Locked. */
static struct fake_slot *fake_state_by_id(struct fake_engine_state *state, const char *id)
{
	for (size_t i = 0; i < state->slot_count; i++)
		if (state->slots[i].used && text_equal(state->slots[i].id, id))
			return &state->slots[i];
	return NULL;
}

bool fake_engine_has(const struct fake_engine *engine, const char *id)
{
	bool has;

	fake_state_lock(engine->state);
	has = fake_state_by_id(engine->state, id) != NULL;
	fake_state_unlock(engine->state);
	return has;
}

bool fake_engine_runs(const struct fake_engine *engine, const char *id)
{
	const struct fake_slot *slot;
	bool runs;

	fake_state_lock(engine->state);
	slot = fake_state_by_id(engine->state, id);
	runs = slot && slot->running;
	fake_state_unlock(engine->state);
	return runs;
}

size_t fake_engine_count(const struct fake_engine *engine)
{
	size_t count = 0;

	fake_state_lock(engine->state);
	for (size_t i = 0; i < engine->state->slot_count; i++)
		count += engine->state->slots[i].used;
	fake_state_unlock(engine->state);
	return count;
}

void fake_engine_end(struct fake_engine *engine, const char *id)
{
	struct fake_slot *slot;

	fake_state_lock(engine->state);
	slot = fake_state_by_id(engine->state, id);
	if (slot)
		slot->running = false;
	fake_state_unlock(engine->state);
}

void fake_engine_drop(struct fake_engine *engine, const char *id)
{
	struct fake_slot *slot;

	fake_state_lock(engine->state);
	slot = fake_state_by_id(engine->state, id);
	if (slot)
		slot->used = false;
	fake_state_unlock(engine->state);
}

void fake_engine_behave(struct fake_engine *engine, enum fake_engine_way way, const char *request)
{
	struct fake_engine_state *state = engine->state;
	char byte = 0;

	fake_state_lock(state);
	state->way = way;
	if (snprintf(state->request, sizeof(state->request), "%s", request) >=
		(int)sizeof(state->request))
		abort();
	state->log_length = 0;
	state->log[0] = 0;
	fake_state_unlock(state);
	if (write(engine->control, &byte, 1) != 1 || read(engine->control, &byte, 1) != 1)
		abort();
}

unsigned fake_engine_asked(const struct fake_engine *engine, const char *request)
{
	unsigned count = 0;

	fake_state_lock(engine->state);
	for (const char *line = engine->state->log; *line; line = strchr(line, '\n') + 1)
		count += text_starts(line, request);
	fake_state_unlock(engine->state);
	return count;
}
