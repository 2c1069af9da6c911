#include "schema.h"

#include <errno.h>
#include <sys/stat.h>

/* What counts, of a row of the history, and the reason for which it began: as in step 6. */
#define DONE_8(row)                                                        \
	"(" row ".run IS NOT NULL AND " row ".reason IS NOT NULL AND " row \
	".action IN ('stopped',"                                           \
	" 'reaped', 'partial', 'kept', 'failed'))"
#define CAUSE_8(row)                                                         \
	"ifnull((SELECT reason FROM history AS h WHERE h.run = " row ".run"  \
	" AND h.generation IS " row ".generation AND h.action = 'stopped'"   \
	" AND h.id <= " row ".id AND " row ".action = 'reaped'"              \
	" ORDER BY h.at_s DESC, h.id DESC LIMIT 1),"                         \
	" ifnull((SELECT reason FROM history AS h WHERE h.run = " row ".run" \
	" AND h.generation IS " row ".generation AND h.action = 'claimed'"   \
	" AND h.id <= " row ".id AND " row ".reason = 'resumed'"             \
	" ORDER BY h.at_s DESC, h.id DESC LIMIT 1), ifnull(" row ".reason, '')))"
#define PAST_IS_DONE DONE_8("past")
#define CAUSE_OF_PAST CAUSE_8("past")
#define NEW_IS_DONE DONE_8("NEW")
#define CAUSE_OF_NEW CAUSE_8("NEW")

/*
 * Append only: a step that was released is never changed, because databases out there have taken
 * it. Moments are epoch seconds, NULL is never; what the model spells 0 is NULL here. Every run has
 * its resources; a resource belongs to one run alone (two rows for one tree would let the end of
 * one run take the other's work).
 */
static const struct migration {
	int version;
	const char *sql;
} migrations[] = {
	{ 1, "CREATE TABLE meta ("
	     "  id INTEGER PRIMARY KEY CHECK (id = 1),"
	     "  identity TEXT NOT NULL CHECK (length(identity) = 32)"
	     ") STRICT;"

	     "CREATE TABLE run ("
	     "  run TEXT PRIMARY KEY NOT NULL CHECK (length(run) BETWEEN 1 AND 128),"
	     "  generation INTEGER NOT NULL CHECK (generation > 0),"
	     /* 0: made by a claim on something that nobody registered */
	     "  registered INTEGER NOT NULL CHECK (registered IN (0, 1)),"
	     "  created_s INTEGER NOT NULL CHECK (created_s >= 0),"
	     "  ttl_s INTEGER NOT NULL CHECK (ttl_s >= 0),"
	     "  deadline_s INTEGER NOT NULL CHECK (deadline_s >= 0),"
	     "  last_sign_s INTEGER CHECK (last_sign_s >= 0),"
	     "  finished_s INTEGER CHECK (finished_s >= 0),"
	     "  outcome TEXT CHECK (outcome IN ('ok', 'failed')),"
	     "  no_container INTEGER NOT NULL CHECK (no_container IN (0, 1)),"
	     "  engine_clear_s INTEGER CHECK (engine_clear_s >= 0),"
	     "  claim_pass TEXT,"
	     "  claim_goal TEXT CHECK (claim_goal IN ('stop', 'reap')),"
	     "  claim_s INTEGER,"
	     "  claim_begun_s INTEGER,"
	     "  CHECK ((finished_s IS NULL) = (outcome IS NULL)),"
	     "  CHECK ((claim_pass IS NULL) = (claim_goal IS NULL)),"
	     "  CHECK ((claim_pass IS NULL) = (claim_s IS NULL)),"
	     "  CHECK (claim_pass IS NOT NULL OR claim_begun_s IS NULL)"
	     ") STRICT;"

	     "CREATE TABLE resource ("
	     "  id INTEGER PRIMARY KEY,"
	     "  run TEXT NOT NULL REFERENCES run (run) ON DELETE CASCADE,"
	     "  kind TEXT NOT NULL CHECK (kind IN ('worktree', 'branch', 'container', 'volume',"
	     "    'network', 'cgroup', 'scope', 'path', 'mount', 'process')),"
	     "  locator TEXT NOT NULL CHECK (locator <> ''),"
	     "  repo TEXT, base TEXT, branch TEXT, token TEXT, at TEXT,"
	     "  dev INTEGER NOT NULL, ino INTEGER NOT NULL," /* 0: not recorded */
	     "  UNIQUE (run, kind, locator)"
	     ") STRICT;"
	     "CREATE UNIQUE INDEX resource_owner ON resource (kind, locator)"
	     "  WHERE kind IN ('worktree', 'container', 'cgroup', 'scope', 'path');"
	     "CREATE UNIQUE INDEX resource_branch_owner ON resource (repo, locator)"
	     "  WHERE kind = 'branch';"

	     /* No reference to run: a run may be pinned before it is known, and after. */
	     "CREATE TABLE pin ("
	     "  run TEXT PRIMARY KEY NOT NULL,"
	     "  pinned_by TEXT, reason TEXT,"
	     "  since_s INTEGER, until_s INTEGER"
	     ") STRICT;"

	     "CREATE TABLE sighting ("
	     "  run TEXT PRIMARY KEY NOT NULL,"
	     "  first_seen_s INTEGER NOT NULL CHECK (first_seen_s >= 0)"
	     ") STRICT;"

	     "CREATE TABLE history ("
	     "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	     "  at_s INTEGER NOT NULL,"
	     "  pass TEXT, run TEXT, generation INTEGER,"
	     "  action TEXT NOT NULL,"
	     "  reason TEXT, resource TEXT, detail TEXT,"
	     "  bytes INTEGER NOT NULL"
	     ") STRICT;"
	     "CREATE INDEX history_moment ON history (at_s, id);"
	     "CREATE INDEX history_run ON history (run, at_s, id);"

	     "CREATE TABLE pass ("
	     "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	     "  pass TEXT NOT NULL UNIQUE,"
	     "  wall_s INTEGER NOT NULL, boot_ms INTEGER NOT NULL, awake_ms INTEGER NOT NULL,"
	     "  boot_id TEXT NOT NULL, resumed_s INTEGER NOT NULL,"
	     "  ended_s INTEGER,"
	     "  runs INTEGER, reaped INTEGER, partial INTEGER, failed INTEGER, stopped INTEGER,"
	     "  bytes_freed INTEGER, exit_code INTEGER, blind TEXT"
	     ") STRICT;" },

	{ 2, "ALTER TABLE run ADD COLUMN salvage_failed_s INTEGER;"
	     "ALTER TABLE run ADD COLUMN salvage_failed TEXT;"

	     /* No reference to run: what was salvaged outlives it. */
	     "CREATE TABLE salvage ("
	     "  id INTEGER PRIMARY KEY,"
	     "  run TEXT NOT NULL, generation INTEGER NOT NULL, made_s INTEGER NOT NULL,"
	     "  form TEXT NOT NULL CHECK (form IN ('commit', 'archive')),"
	     "  tree TEXT NOT NULL, branch TEXT, repo TEXT,"
	     "  ref TEXT, commit_id TEXT, path TEXT,"
	     "  bytes INTEGER NOT NULL,"
	     /* An archive may have a commit beside it, with what git knows of its tree. */
	     "  CHECK (form = 'archive' OR ref IS NOT NULL),"
	     "  CHECK ((ref IS NULL) = (commit_id IS NULL)),"
	     "  CHECK ((form = 'archive') = (path IS NOT NULL)),"
	     "  CHECK (ref IS NULL OR repo IS NOT NULL)"
	     ") STRICT;"
	     "CREATE UNIQUE INDEX salvage_ref ON salvage (repo, ref) WHERE ref IS NOT NULL;"
	     "CREATE UNIQUE INDEX salvage_path ON salvage (path) WHERE path IS NOT NULL;"
	     "CREATE INDEX salvage_run ON salvage (run, made_s);"

	     /* One row, or none: a person holds all passes. */
	     "CREATE TABLE hold ("
	     "  id INTEGER PRIMARY KEY CHECK (id = 1),"
	     "  held_by TEXT, reason TEXT,"
	     "  since_s INTEGER NOT NULL, until_s INTEGER"
	     ") STRICT;"
	     /* One row, or none: too much fell due at once. */
	     "CREATE TABLE brake ("
	     "  id INTEGER PRIMARY KEY CHECK (id = 1),"
	     "  tripped_s INTEGER NOT NULL"
	     ") STRICT;" },

	{ 3, /* No reference to run: what fails need not be registered, nor its claim last. */
		"CREATE TABLE failure ("
		"  run TEXT PRIMARY KEY NOT NULL,"
		"  since_s INTEGER NOT NULL," /* the first in a row */
		"  count INTEGER NOT NULL CHECK (count > 0),"
		"  last_s INTEGER NOT NULL,"
		"  error TEXT NOT NULL"
		") STRICT;"
		/* Runs for which the time of the last pass that tried was not enough. */
		"CREATE TABLE unfinished ("
		"  run TEXT PRIMARY KEY NOT NULL,"
		"  at_s INTEGER NOT NULL"
		") STRICT;"
		/* One row, or none: passes in a row that found the lock held. */
		"CREATE TABLE lock_held ("
		"  id INTEGER PRIMARY KEY CHECK (id = 1),"
		"  since_s INTEGER NOT NULL,"
		"  count INTEGER NOT NULL CHECK (count > 0)"
		") STRICT;" },

	{ 4, "CREATE INDEX pass_moment ON pass (wall_s);" },

	{ 5, /* One row, or none: what the last probe asks of a pass, and what that answers. */
		"CREATE TABLE probe ("
		"  id INTEGER PRIMARY KEY CHECK (id = 1),"
		"  asked_s INTEGER NOT NULL,"
		"  directory TEXT NOT NULL,"
		"  port INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),"
		"  token TEXT NOT NULL CHECK (token <> ''),"
		"  answered_s INTEGER, pass TEXT,"
		"  file_step TEXT, file_code INTEGER, file_note TEXT,"
		"  network_step TEXT, network_code INTEGER, network_note TEXT,"
		"  judged_s INTEGER,"
		"  CHECK ((answered_s IS NULL) = (file_step IS NULL)),"
		"  CHECK ((answered_s IS NULL) = (network_step IS NULL))"
		") STRICT;" },

	{ 6, /* What passes did, ever: the history is trimmed, and a count must never go back. */
		"CREATE TABLE tally ("
		"  action TEXT NOT NULL, reason TEXT NOT NULL,"
		/* A resumed run's first reason; over_deadline for one that was stopped before. */
		"  cause TEXT NOT NULL,"
		"  runs INTEGER NOT NULL, bytes INTEGER NOT NULL,"
		"  PRIMARY KEY (action, reason, cause)"
		") STRICT;"
		"INSERT INTO tally (action, reason, cause, runs, bytes)"
		" SELECT action, reason, reason, count(*), sum(bytes) FROM history"
		" WHERE run IS NOT NULL AND reason IS NOT NULL"
		" AND action IN ('stopped', 'reaped', 'partial', 'kept', 'failed')"
		" GROUP BY action, reason;"
		"CREATE TRIGGER history_tally AFTER INSERT ON history"
		" WHEN NEW.run IS NOT NULL AND NEW.reason IS NOT NULL"
		" AND NEW.action IN ('stopped', 'reaped', 'partial', 'kept', 'failed') "
		"BEGIN"
		"  INSERT INTO tally (action, reason, cause, runs, bytes) VALUES ("
		"    NEW.action, NEW.reason, ifnull("
		"      (SELECT reason FROM history WHERE run = NEW.run"
		"       AND generation IS NEW.generation AND action = 'stopped'"
		"       AND NEW.action = 'reaped' ORDER BY at_s DESC, id DESC LIMIT 1), ifnull("
		"      (SELECT reason FROM history WHERE run = NEW.run"
		"       AND generation IS NEW.generation AND action = 'claimed'"
		"       AND NEW.reason = 'resumed' ORDER BY at_s DESC, id DESC LIMIT 1),"
		"      NEW.reason)), 1, NEW.bytes)"
		"  ON CONFLICT (action, reason, cause)"
		"  DO UPDATE SET runs = runs + 1, bytes = bytes + excluded.bytes;"
		"END;"

		"CREATE INDEX pass_done ON pass (exit_code) WHERE exit_code = 0;"

		"CREATE TABLE probe_result (" /* of the last probe */
		"  checked TEXT PRIMARY KEY NOT NULL,"
		"  outcome TEXT NOT NULL,"
		"  at_s INTEGER NOT NULL"
		") STRICT;" },

	{ 7, /* No reference to run: what was not revoked outlives it. */
		"CREATE TABLE duty ("
		"  run TEXT NOT NULL,"
		"  generation INTEGER NOT NULL CHECK (generation > 0),"
		"  kind TEXT NOT NULL CHECK (kind IN ('revoke', 'after')),"
		"  state TEXT NOT NULL CHECK (state IN ('pending', 'done', 'failed')),"
		"  since_s INTEGER NOT NULL,"
		"  count INTEGER NOT NULL CHECK (count >= 0)," /* failures in a row */
		"  last_s INTEGER, error TEXT,"
		"  reason TEXT NOT NULL,"
		"  outcome TEXT CHECK (outcome IN ('ok', 'failed')),"
		"  root TEXT,"
		"  PRIMARY KEY (run, generation, kind),"
		"  CHECK (state <> 'failed' OR (last_s IS NOT NULL AND error IS NOT NULL))"
		") STRICT;" },

	{ 8, /* The same by days, so that weeks are told without a look at each row of the history. */
		"CREATE TABLE tally_day ("
		"  day INTEGER NOT NULL," /* since the epoch, UTC */
		/* reason and cause are empty for runs that were registered */
		"  action TEXT NOT NULL, reason TEXT NOT NULL, cause TEXT NOT NULL,"
		"  runs INTEGER NOT NULL, bytes INTEGER NOT NULL,"
		"  PRIMARY KEY (day, action, reason, cause)"
		") STRICT, WITHOUT ROWID;"
		"INSERT INTO tally_day (day, action, reason, cause, runs, bytes)"
		" SELECT at_s / 86400, action, ifnull(reason, ''), cause, count(*), sum(bytes)"
		" FROM (SELECT *, " CAUSE_OF_PAST " AS cause FROM history AS past"
		"  WHERE past.action = 'registered' OR " PAST_IS_DONE ")"
		" GROUP BY 1, 2, 3, 4;"
		"CREATE TRIGGER history_tally_day AFTER INSERT ON history"
		" WHEN NEW.action = 'registered' OR " NEW_IS_DONE " "
		"BEGIN"
		"  INSERT INTO tally_day (day, action, reason, cause, runs, bytes) VALUES ("
		"    NEW.at_s / 86400, NEW.action, ifnull(NEW.reason, ''), " CAUSE_OF_NEW ","
		"    1, NEW.bytes)"
		"  ON CONFLICT (day, action, reason, cause)"
		"  DO UPDATE SET runs = runs + 1, bytes = bytes + excluded.bytes;"
		"END;" },

	{ 9, /* NULL: of a program that did not write it down; so it is revoked once more. */
		"ALTER TABLE duty ADD COLUMN deadline_s INTEGER" },

	{ 10, /* No reference to run: what takes space need not be registered. */
		"CREATE TABLE size ("
		"  run TEXT PRIMARY KEY NOT NULL,"
		"  trees INTEGER NOT NULL," /* which they are: disk.h */
		"  bytes INTEGER NOT NULL CHECK (bytes >= 0),"
		"  at_s INTEGER NOT NULL"
		") STRICT;" },
};

static int schema_newest(void)
{
	return migrations[ARRAY_SIZE(migrations) - 1].version;
}

struct header {
	int64_t application, version, tables, page_bytes;
	int64_t file_bytes;
};

/*
 * Within a transaction: its lock keeps others from writing to the file (and of an interrupted write
 * nothing is left), so that its size can be compared with what it says of itself.
 */
static int header_read(struct store *store, struct header *ret_header, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SCHEMA_LOOK);
	int r = query_step(&query, error);
	struct stat file;

	if (r < 0)
		return r;
	if (stat(store->path, &file) < 0)
		return error_say(
			error, EIO, "look at the database '%s': %s", store->path, strerror(errno));
	*ret_header = (struct header){
		.application = column_int(&query, 0),
		.version = column_int(&query, 1),
		.tables = column_int(&query, 2),
		.page_bytes = column_int(&query, 3),
		.file_bytes = file.st_size,
	};
	return 0;
}

static int schema_refuse(struct store *store, int code, const char *why, struct error *error)
{
	return error_say(error, code, "database '%s': %s", store->path, why);
}

/*
 * 0 for a fresh one. SQLite takes a few bytes of rubbish for empty, and fills up a cut last page.
 */
static int schema_version(
	struct store *store, int *ret_version, bool *ret_unfinished, struct error *error)
{
	struct header header;
	int r = header_read(store, &header, error);

	if (r < 0)
		return r;
	if (header.application == 0 && header.version == 0 && header.tables == 0) {
		if (header.file_bytes > 0)
			return schema_refuse(
				store, EUCLEAN, "it is not an SQLite database of ours", error);
		*ret_version = 0;
		*ret_unfinished = false;
		return 0;
	}
	*ret_unfinished = header.application == SCHEMA_UNFINISHED_ID;
	if ((header.application != SCHEMA_APPLICATION_ID && !*ret_unfinished) || header.version < 1)
		return schema_refuse(store, EUCLEAN,
			"it belongs to another program; [state] database must name a file of our "
			"own",
			error);
	if (header.version > schema_newest())
		return error_say(error, EPROTO,
			"database '%s': its version is %lld and this program knows versions up to "
			"%d: a newer sbx-reap has used it",
			store->path, (long long)header.version, schema_newest());
	if (header.file_bytes % header.page_bytes)
		return schema_refuse(
			store, EUCLEAN, "it is damaged: its end is cut off; " DB_WAY_OUT, error);
	*ret_version = (int)header.version;
	return 0;
}

int schema_look(struct store *store, enum schema_state *ret_state, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int version, r = transaction_read(&transaction, store, error);
	bool unfinished;

	if (r < 0)
		return r;
	r = schema_version(store, &version, &unfinished, error);
	if (r < 0)
		return r;
	*ret_state = version == 0                 ? SCHEMA_FRESH
		     : unfinished                 ? SCHEMA_UNFINISHED
		     : version == schema_newest() ? SCHEMA_CURRENT
						  : SCHEMA_OLDER;
	return 0;
}

int schema_identity(
	struct store *store, char ret_identity[IDENTITY_LENGTH + 1], struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_IDENTITY_GET);
	const char *identity;
	int r = query_step(&query, error);

	if (r < 0)
		return r;
	identity = r > 0 ? column_text(&query, 0) : NULL;
	if (!identity || strlen(identity) != IDENTITY_LENGTH)
		return error_say(error, EUCLEAN, "database '%s': it has no identity", store->path);
	memcpy(ret_identity, identity, IDENTITY_LENGTH + 1);
	return 0;
}

static int schema_new_identity(struct store *store, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_IDENTITY_NEW);

	return query_run(&query, error);
}

/* Within the transaction of its step. */
static int schema_step(
	struct store *store, const struct migration *step, int id, struct error *error)
{
	char version[96];
	int r = db_exec(store, step->sql, "make its tables", error);

	if (r < 0)
		return r;
	/* A PRAGMA takes no parameters. */
	(void)snprintf(version, sizeof(version),
		"PRAGMA application_id = %d; PRAGMA user_version = %d", id, step->version);
	r = db_exec(store, version, "set its version", error);
	if (r < 0 || step->version > 1)
		return r;
	return schema_new_identity(store, error);
}

static int schema_tell(struct store *store,
	int (*made)(void *context, const char *identity, struct error *error), void *context,
	struct error *error)
{
	char identity[IDENTITY_LENGTH + 1];
	int r = schema_identity(store, identity, error);

	return r < 0 ? r : made(context, identity, error);
}

/* The version is asked again under the lock: another process may have been faster. */
static int schema_take_step(struct store *store, const struct migration *step, int id,
	int (*made)(void *context, const char *identity, struct error *error), void *context,
	struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int version, r = transaction_write(&transaction, store, error);
	bool unfinished;

	if (r < 0)
		return r;
	r = schema_version(store, &version, &unfinished, error);
	if (r < 0)
		return r;
	if (version > 0 && unfinished != (id == SCHEMA_UNFINISHED_ID))
		return schema_refuse(
			store, ENODATA, "another process is making it at this moment", error);
	if (version >= step->version)
		return 0;
	r = schema_step(store, step, id, error);
	if (r < 0)
		return r;
	if (version == 0 && made) {
		r = schema_tell(store, made, context, error);
		if (r < 0)
			return r;
	}
	return transaction_commit(&transaction, error);
}

int schema_migrate(struct store *store, int id,
	int (*made)(void *context, const char *identity, struct error *error), void *context,
	struct error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(migrations); i++) {
		int r = schema_take_step(store, &migrations[i], id, made, context, error);

		if (r < 0)
			return r;
	}
	return 0;
}

int schema_finish(struct store *store, struct error *error)
{
	char sql[64];

	(void)snprintf(sql, sizeof(sql), "PRAGMA application_id = %d", SCHEMA_APPLICATION_ID);
	return db_exec(store, sql, "mark it as filled", error);
}
