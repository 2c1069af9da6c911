#include "engine.h"
#include "engine_link.h"

#include "base/clock.h"

#include <errno.h>

enum { LIST_MAX = 64 * 1024 * 1024, REPLY_MAX = 4 * 1024 * 1024, REF_MAX = 128 };

/*
 * What is known of an image; ids name content, so it cannot change. That it could not be told is known
 * as well: there are many containers of one image, and each question may take the whole time-out.
 */
struct image {
	char *id;
	int labelled; /* 1, 0, -errno */
	struct error error;
};

struct engine {
	struct engine_link *link;
	int64_t until_ms; /* 0: not told yet */
	char *label;
	struct image *images;
	size_t image_count;
};

int engine_open(const char *url, const char *label, int64_t timeout_ms, struct engine **ret_engine,
	struct error *error)
{
	struct engine_link *link = NULL;
	struct engine *engine;
	int r;

	if (!label[0] || !utf8_valid(label))
		return error_say(error, EINVAL, "the label of containers must be UTF-8, not empty");
	r = engine_link_open(url, timeout_ms, &link, error);
	if (r < 0)
		return r;
	engine = mem_new(sizeof(*engine));
	engine->link = link;
	engine->label = mem_dup(label);
	*ret_engine = engine;
	return 0;
}

void engine_close(struct engine *engine)
{
	if (!engine)
		return;
	engine_link_close(engine->link);
	for (size_t i = 0; i < engine->image_count; i++)
		free(engine->images[i].id);
	free(engine->images);
	free(engine->label);
	free(engine);
}

const char *engine_url(const struct engine *engine)
{
	return engine_link_url(engine->link);
}

void engine_until(struct engine *engine, int64_t deadline_ms)
{
	engine->until_ms = deadline_ms;
	engine_link_until(engine->link, deadline_ms);
}

bool engine_ref_valid(const char *ref)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t length = strlen(ref);

	if (length == 0 || length > REF_MAX || !strchr(letters, ref[0]))
		return false;
	for (const char *c = ref; *c; c++)
		if (!strchr(letters, *c) && !strchr("_.-", *c))
			return false;
	return true;
}

/*
 * Gets what is at a path. 1 with a reply of status 200, 0 when the engine says that there is no
 * such thing; -EREMOTEIO when it failed itself (500), -EIO for any other answer, -errno.
 */
static int engine_get(struct engine *engine, const char *path, size_t max,
	struct http_reply *ret_reply, struct error *error)
{
	const struct engine_request request = { "GET", path, NULL, max };
	int r = engine_link_request(engine->link, &request, ret_reply, error);

	if (r < 0)
		return r;
	if (ret_reply->status == 200)
		return 1;
	if (engine_reply_is_absence(ret_reply))
		return 0;
	return engine_link_refused(engine->link, &request, ret_reply,
		ret_reply->status == 500 ? EREMOTEIO : EIO, error);
}

static struct engine_body engine_body(const struct engine *engine, const struct http_reply *reply)
{
	return (struct engine_body){ reply->body, reply->length, engine->label };
}

/* Adds to a complaint about an answer whose it was. */
static int engine_misread(const struct engine *engine, const char *path, int r, struct error *error)
{
	error_prefix(error, "%s, GET %.*s", engine_link_socket(engine->link),
		(int)strcspn(path, "?"), path);
	return r;
}

/* Reads the list at a path. */
static int engine_list_at(struct engine *engine, enum kind kind, const char *path,
	struct arena *arena, struct engine_list *ret_list, struct error *error)
{
	struct http_reply reply CLEANUP(http_reply_done) = { 0 };
	struct engine_body body;
	int r = engine_get(engine, path, LIST_MAX, &reply, error);

	if (r < 0)
		return r;
	if (r == 0)
		return error_say(error, EIO, "%s has no such list: %.*s",
			engine_link_socket(engine->link), (int)strcspn(path, "?"), path);
	body = engine_body(engine, &reply);
	r = engine_json_list(&body, kind, arena, ret_list, error);
	return r < 0 ? engine_misread(engine, path, r, error) : 0;
}

/*
 * One container whose layer is gone makes podman's compatible list fail whole; its own still shows
 * all of them.
 */
static int engine_list_containers(struct engine *engine, const char *filter, struct arena *arena,
	struct engine_list *ret_list, struct error *error)
{
	char *path CLEANUP(mem_done) = mem_printf("/containers/json?all=1&filters=%s", filter);
	char *own CLEANUP(mem_done) = NULL;
	struct error failure = { 0 };
	const char *libpod = NULL;
	int r = engine_list_at(engine, KIND_CONTAINER, path, arena, ret_list, &failure);

	if (r == -EREMOTEIO && engine_link_libpod(engine->link, &libpod, NULL) == 0 && libpod) {
		own = mem_printf("%s/containers/json?all=true&filters=%s", libpod, filter);
		return engine_list_at(engine, KIND_CONTAINER, own, arena, ret_list, error);
	}
	return r < 0 ? error_say(error, -r, "%s", failure.text) : 0;
}

/* Keeps what carries the label; what a filter means is the engine's affair, ownership is ours. */
static void list_keep_labelled(struct engine_list *list, const char *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].run && (!run || text_equal(list->items[i].run, run)))
			list->items[kept++] = list->items[i];
	list->count = kept;
}

int engine_list(struct engine *engine, enum kind kind, const char *run, struct arena *arena,
	struct engine_list *ret_list, struct error *error)
{
	/* One label and nothing else: podman joins the filters of volumes by "or". */
	char *json CLEANUP(mem_done) = engine_json_label_filter(engine->label, run);
	char *filter CLEANUP(mem_done) = http_escape(json);
	char *path CLEANUP(mem_done) =
		mem_printf("/%s?filters=%s", kind == KIND_VOLUME ? "volumes" : "networks", filter);
	struct engine_list list = { 0 };
	int r;

	r = kind == KIND_CONTAINER ? engine_list_containers(engine, filter, arena, &list, error)
				   : engine_list_at(engine, kind, path, arena, &list, error);
	if (r < 0)
		return r;
	list_keep_labelled(&list, run);
	*ret_list = list;
	return 0;
}

/* Looks a container up in the list, where inspecting it fails (its layer is gone, say). */
static int engine_find_listed(struct engine *engine, const char *id, struct arena *arena,
	struct engine_item *ret_item, struct error *error)
{
	char *json CLEANUP(mem_done) = engine_json_id_filter(id);
	char *filter CLEANUP(mem_done) = http_escape(json);
	struct engine_list list = { 0 };
	int r = engine_list_containers(engine, filter, arena, &list, error);

	for (size_t i = 0; r >= 0 && i < list.count; i++)
		if (text_equal(list.items[i].id, id)) {
			*ret_item = list.items[i];
			return 1;
		}
	return r;
}

static const char *kind_path(enum kind kind)
{
	if (kind == KIND_CONTAINER)
		return "/containers/";
	if (kind == KIND_VOLUME)
		return "/volumes/";
	assert(kind == KIND_NETWORK);
	return "/networks/";
}

int engine_find(struct engine *engine, enum kind kind, const char *ref, struct arena *arena,
	struct engine_item *ret_item, struct error *error)
{
	struct http_reply reply CLEANUP(http_reply_done) = { 0 };
	char *path CLEANUP(mem_done) =
		mem_printf("%s%s%s", kind_path(kind), ref, kind == KIND_CONTAINER ? "/json" : "");
	struct error failure = { 0 };
	struct engine_body body;
	int r;

	assert(engine_ref_valid(ref));
	r = engine_get(engine, path, REPLY_MAX, &reply, &failure);
	if (r == -EREMOTEIO && kind == KIND_CONTAINER && engine_id_valid(ref))
		return engine_find_listed(engine, ref, arena, ret_item, error);
	if (r <= 0)
		return r < 0 ? error_say(error, -r, "%s", failure.text) : 0;
	body = engine_body(engine, &reply);
	r = engine_json_item(&body, kind, arena, ret_item, error);
	return r < 0 ? engine_misread(engine, path, r, error) : 1;
}

static int engine_ask_image(struct engine *engine, const char *image, struct error *error)
{
	struct http_reply reply CLEANUP(http_reply_done) = { 0 };
	char *escaped CLEANUP(mem_done) = http_escape(image);
	char *path CLEANUP(mem_done) = mem_printf("/images/%s/json", escaped);
	struct engine_body body;
	int r = engine_get(engine, path, REPLY_MAX, &reply, error);

	if (r == 0)
		return error_say(error, ENODATA, "its image is gone");
	if (r < 0)
		return r;
	body = engine_body(engine, &reply);
	r = engine_json_image(&body, error);
	return r < 0 ? engine_misread(engine, path, r, error) : r;
}

/* Not what was cut short by who asked: the next one may have more time. */
static bool is_the_engines_answer(const struct engine *engine, int r)
{
	bool cut_short = engine->until_ms && deadline_left_ms(engine->until_ms) == 0;

	return r >= 0 || (r != -EINTR && !cut_short);
}

static const struct image *image_known(const struct engine *engine, const char *id)
{
	for (size_t i = 0; i < engine->image_count; i++)
		if (text_equal(engine->images[i].id, id))
			return &engine->images[i];
	return NULL;
}

static int image_say(const struct image *image, struct error *error)
{
	return image->labelled < 0 ? error_say(error, -image->labelled, "%s", image->error.text)
				   : image->labelled;
}

int engine_image_labelled(struct engine *engine, const char *image, struct error *error)
{
	const char *id = text_starts(image, "sha256:") ? image + strlen("sha256:") : image;
	const struct image *known = image_known(engine, image);
	struct image asked = { 0 };

	/* A container can run without an image (podman run --rootfs). */
	if (!engine_id_valid(id))
		return error_say(error, ENODATA, "it has no image");
	if (known)
		return image_say(known, error);
	asked.labelled = engine_ask_image(engine, image, &asked.error);
	if (!is_the_engines_answer(engine, asked.labelled))
		return image_say(&asked, error);
	asked.id = mem_dup(image);
	engine->images = mem_grow(engine->images, engine->image_count + 1, sizeof(*engine->images));
	engine->images[engine->image_count++] = asked;
	return image_say(&asked, error);
}

int engine_endpoints(struct engine *engine, const char *network, struct arena *arena,
	struct engine_endpoint **ret_endpoints, size_t *ret_count, struct error *error)
{
	struct http_reply reply CLEANUP(http_reply_done) = { 0 };
	char *path CLEANUP(mem_done) = mem_printf("%s%s", kind_path(KIND_NETWORK), network);
	struct engine_body body;
	int r = engine_get(engine, path, REPLY_MAX, &reply, error);

	if (r < 0)
		return r;
	*ret_count = 0;
	if (r == 0)
		return 0;
	body = engine_body(engine, &reply);
	r = engine_json_endpoints(&body, arena, ret_endpoints, ret_count, error);
	return r < 0 ? engine_misread(engine, path, r, error) : 0;
}

/* Reads podman's own account of a container or pod, by the function that knows it. */
static int engine_read_libpod(struct engine *engine, const char *path, struct arena *arena,
	int (*read)(const struct engine_body *body, struct arena *arena, struct engine_pod *pod,
		struct error *error),
	struct engine_pod *pod, struct error *error)
{
	struct http_reply reply CLEANUP(http_reply_done) = { 0 };
	struct engine_body body;
	int r = engine_get(engine, path, REPLY_MAX, &reply, error);

	if (r == 0)
		return error_say(
			error, ENOENT, "%s knows no %s", engine_link_socket(engine->link), path);
	if (r < 0)
		return r;
	body = engine_body(engine, &reply);
	r = read(&body, arena, pod, error);
	return r < 0 ? engine_misread(engine, path, r, error) : 0;
}

int engine_pod(struct engine *engine, const char *container, struct arena *arena,
	struct engine_pod *ret_pod, struct error *error)
{
	char *of CLEANUP(mem_done) = NULL, *path CLEANUP(mem_done) = NULL;
	struct engine_pod pod = { .id = "" };
	const char *libpod = NULL;
	int r = engine_link_libpod(engine->link, &libpod, error);

	if (r < 0)
		return r;
	if (!libpod)
		return error_say(
			error, EOPNOTSUPP, "%s has no pods", engine_link_socket(engine->link));
	of = mem_printf("%s/containers/%s/json", libpod, container);
	r = engine_read_libpod(engine, of, arena, engine_json_pod_of, &pod, error);
	if (r == 0 && pod.id[0]) {
		path = mem_printf("%s/pods/%s/json", libpod, pod.id);
		r = engine_read_libpod(engine, path, arena, engine_json_pod, &pod, error);
	}
	if (r == 0)
		*ret_pod = pod;
	return r;
}

/* Whether the engine refuses as things stand, and would not another time. */
static bool reply_is_busy(const struct http_reply *reply)
{
	return reply->status == 409 || reply->status == 403 ||
	       engine_json_says(reply->body, reply->length, "cause", "network is being used");
}

/* Sends what changes the world; `busy` is the errno of a refusal as things stand. */
static int engine_order(
	struct engine *engine, const struct engine_request *request, int busy, struct error *error)
{
	struct http_reply reply CLEANUP(http_reply_done) = { 0 };
	int r = engine_link_request(engine->link, request, &reply, error);

	if (r < 0)
		return r;
	if ((reply.status >= 200 && reply.status < 300) || reply.status == 304)
		return 1;
	if (engine_reply_is_absence(&reply))
		return 0;
	return engine_link_refused(
		engine->link, request, &reply, reply_is_busy(&reply) ? busy : EIO, error);
}

/* What is sent to a container, and where; the path is the caller's. */
static char *kill_path(const char *container)
{
	assert(engine_id_valid(container));
	return mem_printf("/containers/%s/kill", container);
}

/* v takes the volumes that have no name; the others are ours only by their own label. */
static char *delete_path(enum kind kind, const char *ref)
{
	assert(kind == KIND_VOLUME ? engine_ref_valid(ref) : engine_id_valid(ref));
	return mem_printf(
		"%s%s%s", kind_path(kind), ref, kind == KIND_CONTAINER ? "?force=1&v=1" : "");
}

int engine_kill(struct engine *engine, const char *container, struct error *error)
{
	char *path CLEANUP(mem_done) = kill_path(container);
	const struct engine_request request = { "POST", path, NULL, REPLY_MAX };
	struct error failure = { 0 };
	int r = engine_order(engine, &request, EBUSY, &failure);

	if (r == -EIO) /* podman's 500: it does not run */
		r = -EBUSY;
	return r < 0 ? error_say(error, -r, "%s", failure.text) : r;
}

int engine_stop(struct engine *engine, const char *container, struct error *error)
{
	char *path CLEANUP(mem_done) = mem_printf("/containers/%s/stop?t=0", container);
	const struct engine_request request = { "POST", path, NULL, REPLY_MAX };

	assert(engine_id_valid(container));
	return engine_order(engine, &request, EBUSY, error);
}

int engine_delete(struct engine *engine, enum kind kind, const char *ref, struct error *error)
{
	char *path CLEANUP(mem_done) = delete_path(kind, ref);
	const struct engine_request request = { "DELETE", path, NULL, REPLY_MAX };

	return engine_order(engine, &request, kind == KIND_CONTAINER ? EINPROGRESS : EBUSY, error);
}

int engine_delete_pod(struct engine *engine, const char *pod, struct error *error)
{
	char *path CLEANUP(mem_done) = NULL;
	struct engine_request request = { "DELETE", NULL, NULL, REPLY_MAX };
	const char *libpod = NULL;
	int r = engine_link_libpod(engine->link, &libpod, error);

	assert(engine_id_valid(pod));
	if (r < 0)
		return r;
	assert(libpod);
	path = mem_printf("%s/pods/%s?force=true&timeout=0", libpod, pod);
	request.path = path;
	return engine_order(engine, &request, EBUSY, error);
}

int engine_disconnect(
	struct engine *engine, const char *network, const char *container, struct error *error)
{
	char *path CLEANUP(mem_done) = mem_printf("/networks/%s/disconnect", network);
	char *json CLEANUP(mem_done) = engine_json_disconnect(container);
	const struct engine_request request = { "POST", path, json, REPLY_MAX };

	assert(engine_id_valid(network));
	return engine_order(engine, &request, EBUSY, error);
}

/* Sends one request to each path, and frees the paths. */
static size_t order_all(struct engine *engine, const char *method, char **paths, size_t count)
{
	struct engine_request requests[ENGINE_SIDE_BY_SIDE] = { 0 };
	long statuses[ENGINE_SIDE_BY_SIDE] = { 0 };
	size_t done = 0;

	for (size_t i = 0; i < count; i++)
		requests[i] = (struct engine_request){ method, paths[i], NULL, REPLY_MAX };
	engine_link_request_all(engine->link, requests, count, statuses);
	for (size_t i = 0; i < count; i++) {
		done += statuses[i] >= 200 && statuses[i] < 300;
		free(paths[i]);
	}
	return done;
}

size_t engine_kill_all(struct engine *engine, const char *const *containers, size_t count)
{
	char *paths[ENGINE_SIDE_BY_SIDE];

	assert(count <= ENGINE_SIDE_BY_SIDE);
	for (size_t i = 0; i < count; i++)
		paths[i] = kill_path(containers[i]);
	return order_all(engine, "POST", paths, count);
}

size_t engine_delete_all(struct engine *engine, const char *const *containers, size_t count)
{
	char *paths[ENGINE_SIDE_BY_SIDE];

	assert(count <= ENGINE_SIDE_BY_SIDE);
	for (size_t i = 0; i < count; i++)
		paths[i] = delete_path(KIND_CONTAINER, containers[i]);
	return order_all(engine, "DELETE", paths, count);
}
