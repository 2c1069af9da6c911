/*
 * What container engines answer, as data. The only file that knows JSON. Answers come from an
 * adversary's neighbourhood: a missing or wrongly typed field is an error for the whole answer
 * (-EPROTO), never "none"; strings may hold anything but NUL bytes.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "model.h"

/* A container, volume or network. */
struct engine_item {
	const char *id;   /* container, network: 64 hexadecimal digits · volume: its name */
	const char *name; /* without the slash; "" when it has none */
	const char *run;  /* the value of the label; NULL: it does not carry it */
	int64_t made_s;   /* 0: unknown */

	/* containers */
	const char *image;  /* id of its image */
	const char *status; /* "running", "exited": the engine's word */
	bool running;       /* the engine says that it has a process (paused ones have) */
	enum tri alive;     /* the same, with doubt where the status leaves some */
};

struct engine_list {
	struct engine_item *items;
	size_t count;
};

/* An answer as it came, and the label that makes a thing a run's. */
struct engine_body {
	const char *bytes;
	size_t length;
	const char *label;
};

/* What a network still holds on to. */
struct engine_endpoint {
	/* Full id, or "ep-…" on Docker when it knows the container no more. */
	const char *container;
	const char *name; /* its container's name */
};

/* A podman container's place in a pod. */
struct engine_pod {
	const char *id;       /* "": in none */
	bool infra;           /* the pod's own container: it goes with the pod only */
	const char *run;      /* of the pod itself; NULL: not labelled */
	const char **members; /* full ids, the infra container too */
	size_t member_count;
};

/* A list of that kind, in Docker's form (for containers podman's own as well). */
int engine_json_list(const struct engine_body *body, enum kind kind, struct arena *arena,
	struct engine_list *ret_list, struct error *error);

/* One thing, as inspecting it shows it. */
int engine_json_item(const struct engine_body *body, enum kind kind, struct arena *arena,
	struct engine_item *ret_item, struct error *error);

/* 1: the image itself carries the label, 0: it does not. */
int engine_json_image(const struct engine_body *body, struct error *error);

int engine_json_endpoints(const struct engine_body *body, struct arena *arena,
	struct engine_endpoint **ret_endpoints, size_t *ret_count, struct error *error);

/* From podman's own inspection of a container: fills id and infra. */
int engine_json_pod_of(const struct engine_body *body, struct arena *arena,
	struct engine_pod *ret_pod, struct error *error);

/* From podman's inspection of a pod: fills run and members. */
int engine_json_pod(const struct engine_body *body, struct arena *arena, struct engine_pod *pod,
	struct error *error);

/*
 * What an error's body says, escaped and cut to ENGINE_MESSAGE bytes; whatever it is, something can
 * be shown. The caller owns it.
 */
enum { ENGINE_MESSAGE = 320 };
char *engine_json_message(const char *bytes, size_t length);

/* What runc or crun keep of a container in their state directory. */
struct engine_runtime {
	int64_t pid; /* of its first process */
	uint64_t start_ticks;
	const char *
		cgroup; /* absolute, with the mount point before it (runc) or not; NULL: not told */
};

int engine_json_runtime(const struct engine_body *body, struct arena *arena,
	struct engine_runtime *ret_runtime, struct error *error);

/* Whether a text field of an error's body ("message", podman's "cause") is exactly that; with NULL:
 * whether there is one. */
bool engine_json_says(const char *bytes, size_t length, const char *field, const char *value);

/* What follows is valid UTF-8, or the program aborts. {"label":["<label>"]} or
 * {"label":["<label>=<run>"]}; the caller owns it. */
char *engine_json_label_filter(const char *label, const char *run);
/* {"id":["<id>"]} */
char *engine_json_id_filter(const char *id);
/* {"Container":"<id>","Force":true} */
char *engine_json_disconnect(const char *container);

/* Whether a text has the form of a full id: 64 lower-case hexadecimal digits. */
bool engine_id_valid(const char *id);
