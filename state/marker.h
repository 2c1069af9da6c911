/*
 * Marker files beside a workspace: <root>/<run>.sbx (a record) and <root>/<run>.keep (a pin).
 */
#pragma once

#include "base/error.h"
#include "model.h"

enum { MARKER_MAX = 64 * 1024 };

/*
 * Reads one marker of an open root. It is trusted only when it is a regular file with one link,
 * owned by root, by our effective user or by an `owner`, not writable by group or others, at most
 * MARKER_MAX bytes and whole, and when its id equals the file's name. The record is in the arena;
 * its resources carry PROOF_MARKER, the default worktree is <root>/<run>. 0; -ENOENT; any other
 * answer means that a marker is there and cannot be trusted, and the error says why.
 */
int marker_read(int root, const char *root_path, const char *run, const struct settings *settings,
	struct arena *arena, struct record **ret_record, struct error *error);

/* Writes <root>/<run>.sbx from a record, atomically, mode 0644. 0 or -errno. */
int marker_write(const char *root_path, const struct record *record, struct error *error);

/* Removes it. 1, 0 gone already, -errno. */
int marker_remove(const char *root_path, const char *run, struct error *error);

/*
 * Reads <root>/<run>.keep, whoever owns it. An empty one is a pin without end. 0, -ENOENT; any
 * other answer means: it exists and cannot be read or parsed (pin_unknown).
 */
int keep_read(
	int root, const char *run, struct arena *arena, struct pin **ret_pin, struct error *error);
int keep_write(const char *root_path, const struct pin *pin, struct error *error);
int keep_remove(const char *root_path, const char *run, struct error *error);

/* Whether <root>/<run>.keep exists at all: yes, no, unknown when it cannot be told. */
enum tri keep_exists(const char *root_path, const char *run);
