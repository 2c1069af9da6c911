/*
 * One container engine over its socket: Docker's API, and podman's where that differs. Nothing in
 * it decides: it asks, checks what comes back, and does what it is told.
 *
 * Paths carry no API version: both engines then speak their own newest, and a hard-coded one is
 * refused after an upgrade.
 *
 * Every call returns -errno with an error that names the engine, the request and what it answered.
 */
#pragma once

#include "engine_json.h"

struct engine;

/* `url` is "unix:///path"; connects to nothing. 0, or -EINVAL, -ENAMETOOLONG. */
int engine_open(const char *url, const char *label, int64_t timeout_ms, struct engine **ret_engine,
	struct error *error);
void engine_close(struct engine *engine);
const char *engine_url(const struct engine *engine);

/* Every request ends by this moment too (boot clock); INT64_MAX: only by the time-out. */
void engine_until(struct engine *engine, int64_t deadline_ms);

/* [a-zA-Z0-9][a-zA-Z0-9_.-]*, at most 128 bytes: a container's name or id, a volume's name. */
bool engine_ref_valid(const char *ref);

/* All things of that kind that carry the label; with `run`, carry exactly that value. */
int engine_list(struct engine *engine, enum kind kind, const char *run, struct arena *arena,
	struct engine_list *ret_list, struct error *error);

/*
 * The thing that the engine finds under that (valid) reference: 1, or 0 when it knows none. A name
 * wins over the beginning of an id, so compare what comes back.
 */
int engine_find(struct engine *engine, enum kind kind, const char *ref, struct arena *arena,
	struct engine_item *ret_item, struct error *error);

/*
 * Whether the image itself carries the label: 1, 0; -ENODATA: there is no such image (any more);
 * -errno: the engine could not be asked. Each image is asked for once, and what came of it holds as
 * long as this is open.
 */
int engine_image_labelled(struct engine *engine, const char *image, struct error *error);

int engine_endpoints(struct engine *engine, const char *network, struct arena *arena,
	struct engine_endpoint **ret_endpoints, size_t *ret_count, struct error *error);

/* The pod a container is in, with its members; -EOPNOTSUPP: this engine has no pods. */
int engine_pod(struct engine *engine, const char *container, struct arena *arena,
	struct engine_pod *ret_pod, struct error *error);

/*
 * What changes the world. 1 done, 0 there is none; -EBUSY refused as things stand: a kill of what
 * does not run, a volume or network in use; -EINPROGRESS a removal is under way already; -EIO the
 * engine failed. After -ETIME it may still happen.
 */
int engine_kill(struct engine *engine, const char *container, struct error *error);
int engine_stop(struct engine *engine, const char *container, struct error *error); /* at once */
int engine_delete(struct engine *engine, enum kind kind, const char *ref, struct error *error);
int engine_delete_pod(struct engine *engine, const char *pod, struct error *error);
int engine_disconnect(
	struct engine *engine, const char *network, const char *container, struct error *error);

/*
 * Kills, or deletes, that many containers side by side, without patience: how many the engine says it
 * did. What came of each is to be asked for.
 */
enum { ENGINE_SIDE_BY_SIDE = 8 };
size_t engine_kill_all(struct engine *engine, const char *const *containers, size_t count);
size_t engine_delete_all(struct engine *engine, const char *const *containers, size_t count);
