/*
 * Marker files beside a workspace: <root>/<run>.sbx (a record) and <root>/<run>.keep (a pin).
 *
 *	[run]
 *	id = r1                         as the file's name; must
 *	created = 2026-11-29T15:33:00Z  must
 *	ttl = 2h                        not given: deadline_s stays 0, the policy's default holds
 *	repo = /srv/git/app             of worktree and branch; a working tree or a git directory,
 *	                                passed on as it stands
 *	worktree = /srv/ws/r1           not given: <root>/<run>
 *	branch = sbx/r1                 the worktree's, and a resource of its own
 *	base = COMMIT                   so that a tree whose git record, branch and row are all gone
 *	                                can still be proven saved
 *	container, cgroup, scope, path  may repeat
 *	no_container = yes
 *	finished, outcome = ok          both or neither
 *
 *	[pin]
 *	by, reason, since = 2026-…Z, until = 2026-…Z | never
 */
#pragma once

#include "base/error.h"
#include "model.h"

enum { MARKER_MAX = 64 * 1024 };

/*
 * Reads one marker of an open root. It is trusted only when it is a regular file with one link,
 * owned by root, by our effective user or by an `owner`, not writable by group or others, at most
 * MARKER_MAX bytes and whole (its last line is ended: one that was cut in the middle of a line can
 * say "ttl = 1" where "ttl = 1d" was meant), and when its id equals the file's name. The record is
 * in the arena; its resources carry PROOF_MARKER. 0; -ENOENT; any other answer means that a marker
 * is there and cannot be trusted, and the error says why: -EPERM (owner, mode, links), -EINVAL.
 */
int marker_read(int root, const char *root_path, const char *run, const struct settings *settings,
	struct arena *arena, struct record **ret_record, struct error *error);

/*
 * Writes <root>/<run>.sbx from a record, atomically, mode 0644; its ttl is such that the deadline
 * is the record's. 0, -EINVAL when a value cannot stand in such a file (';', control characters),
 * or -errno.
 */
int marker_write(const char *root_path, const struct record *record, struct error *error);

/*
 * The same for a record that has an end now, where the file has none yet: on a full disk the end is
 * added to the file as it is, since a run that cannot end would never give its room back.
 */
int marker_write_end(const char *root_path, const struct record *record, struct error *error);

/* Removes it. 1, 0 gone already, -errno. */
int marker_remove(const char *root_path, const char *run, struct error *error);

/*
 * Reads <root>/<run>.keep, whoever owns it. An empty one is a pin without end. 0, -ENOENT; any
 * other answer means: it exists and cannot be read or parsed (pin_unknown).
 */
int keep_read(
	int root, const char *run, struct arena *arena, struct pin **ret_pin, struct error *error);

/* Mirrors a pin, mode 0644; in its texts what a file cannot hold is replaced. 0 or -errno. */
int keep_write(const char *root_path, const struct pin *pin, struct error *error);

/* 1, 0 gone already, -errno. */
int keep_remove(const char *root_path, const char *run, struct error *error);

/* Whether <root>/<run>.keep pins: no also when its end has passed, unknown when it cannot be told. */
enum tri keep_holds(const char *root_path, const char *run, int64_t now_s);
