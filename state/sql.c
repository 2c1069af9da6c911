#include "sql.h"

/* In the order of row_read(), run_row.c. */
#define RUN_COLUMNS                                                                   \
	"run, generation, registered, created_s, ttl_s, deadline_s, last_sign_s,"     \
	" finished_s, outcome, no_container, engine_clear_s, claim_pass, claim_goal," \
	" claim_s, claim_begun_s, salvage_failed_s, salvage_failed"
/* In the order of resource_read(), run_row.c. */
#define RESOURCE_COLUMNS "run, kind, locator, repo, base, branch, token, at, dev, ino"
/* In the order of pin_read(), pins.c, and of page_fill(), history.c. */
#define PIN_COLUMNS "run, pinned_by, reason, since_s, until_s"
/* In the order of salvage_read() and salvage_insert(), salvages.c. */
#define SALVAGE_COLUMNS \
	"run, generation, made_s, form, tree, branch, repo, ref, commit_id, path, bytes"
/* What names one: its ref in its repository, or its path. */
#define SALVAGE_PLACE "((repo IS ?1 AND ref = ?2) OR path = ?3)"
/* In the order of failure_read(), failures.c. */
#define FAILURE_COLUMNS "run, since_s, count, last_s, error"
/* In the order of duty_read() and duty_bind(), duties.c. */
#define DUTY_COLUMNS                                                         \
	"run, generation, kind, since_s, reason, outcome, root, deadline_s," \
	" state, count, last_s, error"
/* All but what names it. What is done stays done, unless the run was given more time since. */
#define DUTY_ANEW                                                                          \
	" ON CONFLICT DO UPDATE SET since_s = excluded.since_s, reason = excluded.reason," \
	" outcome = excluded.outcome, root = excluded.root,"                               \
	" deadline_s = excluded.deadline_s, state = excluded.state,"                       \
	" count = excluded.count, last_s = excluded.last_s, error = excluded.error WHERE "
#define DUTY_OPENS_ANEW "(state = 'done' AND excluded.deadline_s > ifnull(deadline_s, 0))"
/* In the order of probe_get(), probe.c. */
#define PROBE_COLUMNS                                                              \
	"asked_s, directory, port, token, answered_s, pass, file_step, file_code," \
	" file_note, network_step, network_code, network_note, judged_s"
#define HISTORY_COLUMNS "id, at_s, pass, run, generation, action, reason, resource, detail, bytes"

const struct sql_statement sql_statements[SQL_COUNT] = {
	[SQL_SCHEMA_LOOK] = { "read its header",
		"SELECT (SELECT application_id FROM pragma_application_id),"
		" (SELECT user_version FROM pragma_user_version),"
		" (SELECT count(*) FROM sqlite_schema),"
		" (SELECT page_size FROM pragma_page_size)" },
	[SQL_IDENTITY_GET] = { "read its identity", "SELECT identity FROM meta" },
	[SQL_IDENTITY_NEW] = { "give it an identity",
		"INSERT INTO meta (id, identity) VALUES (1, lower(hex(randomblob(16))))" },
	[SQL_QUICK_CHECK] = { "check it", "PRAGMA quick_check(1)" },
	[SQL_CHECK_TABLE] = { "check it", "SELECT integrity_check FROM pragma_integrity_check(?)" },
	[SQL_CHECK_ENDS] = { "check it",
		"SELECT (SELECT max(id) FROM history), (SELECT max(id) FROM pass),"
		" (SELECT max(at_s) FROM history), (SELECT min(at_s) FROM history),"
		" (SELECT max(run) FROM history), (SELECT max(pass) FROM pass),"
		" (SELECT max(wall_s) FROM pass), (SELECT min(wall_s) FROM pass),"
		" (SELECT max(id) FROM pass WHERE exit_code = 0)" },
	[SQL_FOREIGN_KEY_CHECK] = { "check it",
		"SELECT \"table\", rowid FROM pragma_foreign_key_check LIMIT 1" },

	[SQL_RUN_EACH] = { "read runs", "SELECT " RUN_COLUMNS " FROM run ORDER BY run" },
	[SQL_RUN_GET] = { "read a run", "SELECT " RUN_COLUMNS " FROM run WHERE run = ?" },
	[SQL_RUN_NAMES] = { "read names of runs", "SELECT run FROM run ORDER BY run" },
	[SQL_RUN_NAMES_EVER] = { "read names of runs",
		/* From one name to the next: history is long, and most of it of the same runs. */
		"WITH RECURSIVE name (run) AS (SELECT min(run) FROM history UNION ALL"
		" SELECT (SELECT min(run) FROM history WHERE run > name.run) FROM name"
		" WHERE name.run IS NOT NULL)"
		" SELECT run FROM run UNION SELECT run FROM name WHERE run IS NOT NULL"
		" ORDER BY run" },
	[SQL_RUN_ADD] = { "add a run",
		"INSERT INTO run (run, generation, registered, created_s, ttl_s, deadline_s,"
		" last_sign_s, finished_s, outcome, no_container)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	[SQL_RUN_DELETE] = { "drop a run", "DELETE FROM run WHERE run = ?" },
	[SQL_RUN_SIGN] = { "note a sign of life",
		"UPDATE run SET last_sign_s = max(ifnull(last_sign_s, 0), ?),"
		" salvage_failed_s = NULL, salvage_failed = NULL WHERE run = ?" },
	[SQL_RUN_RENEW] = { "renew a run",
		"UPDATE run SET last_sign_s = ?, deadline_s = ?,"
		" salvage_failed_s = NULL, salvage_failed = NULL WHERE run = ?" },
	[SQL_RUN_FINISH] = { "finish a run",
		"UPDATE run SET finished_s = ?, outcome = ?, engine_clear_s = NULL WHERE run = ?" },
	[SQL_RUN_NO_CONTAINER] = { "note that a run has no container",
		"UPDATE run SET no_container = 1 WHERE run = ?" },
	[SQL_RUN_ENGINE_CLEAR] = { "note that the engines show no container",
		"UPDATE run SET engine_clear_s = ?"
		" WHERE run = ? AND finished_s IS NOT NULL AND engine_clear_s IS NULL" },
	/*
	 * Never used before, also when the database was lost and with it the tombstones: things in
	 * the trash carry generations too, and the moment is later than any of theirs.
	 */
	[SQL_RUN_GENERATION] = { "find a generation",
		"SELECT max(?, 1 + ifnull(max(generation), 0)) FROM history WHERE run = ?" },

	[SQL_RUN_SALVAGE_FAILED] = { "note that salvage failed",
		"UPDATE run SET salvage_failed_s = ?, salvage_failed = ? WHERE run = ?" },

	[SQL_RESOURCE_EACH] = { "read resources",
		"SELECT " RESOURCE_COLUMNS " FROM resource ORDER BY run, id" },
	[SQL_RESOURCE_OF] = { "read the resources of a run",
		"SELECT " RESOURCE_COLUMNS " FROM resource WHERE run = ? ORDER BY id" },
	/*
	 * The unique indices, asked: a branch is one within its repository, a volume is no one's.
	 */
	[SQL_RESOURCE_OWNER] = { "look for another owner",
		"SELECT run FROM resource WHERE kind = ?1 AND locator = ?2 AND run <> ?3"
		" AND (kind IN ('worktree', 'container', 'cgroup', 'scope', 'path')"
		"  OR (kind = 'branch' AND repo = ?4))" },
	[SQL_RESOURCE_ADD] = { "add a resource",
		/* Told twice in one call is told once; another run's resource is an error. */
		"INSERT INTO resource (run, kind, locator, repo, base, branch, token, at, dev, ino)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (run, kind, locator) DO NOTHING" },
	[SQL_RESOURCE_FILL] = { "complete a resource",
		"UPDATE resource SET repo = ?, base = ?, branch = ?, token = ?, at = ?, dev = ?,"
		" ino = ? WHERE run = ? AND kind = ? AND locator = ?" },
	[SQL_RESOURCE_DELETE] = { "drop a resource",
		"DELETE FROM resource WHERE run = ? AND kind = ? AND locator = ?" },

	[SQL_CLAIM_TAKE] = { "claim a run",
		"UPDATE run SET claim_pass = ?, claim_goal = ?, claim_s = ? WHERE run = ?" },
	[SQL_CLAIM_BEGIN] = { "begin a claim",
		"UPDATE run SET claim_goal = ?, claim_begun_s = ifnull(claim_begun_s, ?)"
		" WHERE run = ?" },
	[SQL_CLAIM_SHARED] = { "look for another run's place in this one's",
		"SELECT o.run, o.locator FROM resource AS m JOIN resource AS o ON o.run <> m.run"
		" WHERE m.run = ? AND m.kind IN ('worktree', 'path')"
		" AND o.kind IN ('worktree', 'path') AND (o.locator = m.locator"
		" OR substr(CAST(o.locator AS BLOB), 1, length(CAST(m.locator AS BLOB)) + 1)"
		" = CAST(m.locator || '/' AS BLOB)"
		" OR substr(CAST(m.locator AS BLOB), 1, length(CAST(o.locator AS BLOB)) + 1)"
		" = CAST(o.locator || '/' AS BLOB)) LIMIT 1" },
	[SQL_CLAIM_DROP] = { "drop a claim",
		"UPDATE run SET claim_pass = NULL, claim_goal = NULL, claim_s = NULL,"
		" claim_begun_s = NULL WHERE run = ?" },
	[SQL_CLAIM_VOID_UNREGISTERED] = { "void claims",
		"DELETE FROM run WHERE registered = 0 AND claim_begun_s IS NULL" },
	[SQL_CLAIM_VOID_OTHERS] = { "void claims",
		"UPDATE run SET claim_pass = NULL, claim_goal = NULL, claim_s = NULL"
		" WHERE claim_pass IS NOT NULL AND claim_begun_s IS NULL" },

	[SQL_SIGHTING_EACH] = { "read sightings", "SELECT run, first_seen_s FROM sighting" },
	[SQL_SIGHTING_GET] = { "read a sighting",
		"SELECT first_seen_s FROM sighting WHERE run = ?" },
	[SQL_SIGHTING_ADD] = { "note a sighting",
		"INSERT INTO sighting (run, first_seen_s) VALUES (?, ?) ON CONFLICT DO NOTHING" },
	[SQL_SIGHTING_SHIFT] = { "move sightings with the clock",
		"UPDATE sighting SET first_seen_s = max(0, min(first_seen_s + ?1, ?2))"
		" WHERE ?1 <> 0 OR first_seen_s > ?2" },
	[SQL_SIGHTING_DELETE] = { "drop a sighting", "DELETE FROM sighting WHERE run = ?" },

	[SQL_PIN_NAMES] = { "read names of pins", "SELECT run FROM pin ORDER BY run" },
	[SQL_PIN_EACH] = { "read pins", "SELECT " PIN_COLUMNS " FROM pin ORDER BY since_s, run" },
	[SQL_PIN_GET] = { "read a pin", "SELECT " PIN_COLUMNS " FROM pin WHERE run = ?" },
	[SQL_PIN_SET] = { "set a pin",
		"INSERT OR REPLACE INTO pin (" PIN_COLUMNS ") VALUES (?, ?, ?, ?, ?)" },
	[SQL_PIN_DELETE] = { "drop a pin", "DELETE FROM pin WHERE run = ?" },
	[SQL_PIN_ENDED] = { "read ended pins",
		"SELECT " PIN_COLUMNS " FROM pin WHERE until_s <= ? ORDER BY since_s, run" },
	[SQL_PIN_DELETE_ENDED] = { "drop ended pins", "DELETE FROM pin WHERE until_s <= ?" },

	[SQL_SALVAGE_NAMES] = { "read names of salvages",
		"SELECT DISTINCT run FROM salvage ORDER BY run" },
	[SQL_SALVAGE_EACH] = { "read salvages",
		"SELECT " SALVAGE_COLUMNS " FROM salvage"
		" WHERE (?1 IS NULL OR run = ?1) AND made_s < ?2 ORDER BY made_s DESC, id DESC" },
	[SQL_SALVAGE_SAME] = { "look for a salvage",
		"SELECT 1 FROM salvage WHERE " SALVAGE_PLACE
		" AND run = ?4 AND generation = ?5 AND commit_id IS ?6" },
	[SQL_SALVAGE_ADD] = { "note a salvage", "INSERT INTO salvage (" SALVAGE_COLUMNS
						") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	[SQL_SALVAGE_DELETE] = { "drop a salvage", "DELETE FROM salvage WHERE " SALVAGE_PLACE },

	[SQL_SALVAGE_KEEP_FROM] = { "note since when a salvage is all that is left",
		"UPDATE salvage SET made_s = max(made_s, ?3) WHERE run = ?1 AND made_s >= ?2" },

	[SQL_HOLD_GET] = { "look for a hold",
		"SELECT held_by, reason, since_s, until_s FROM hold" },
	[SQL_HOLD_SET] = { "hold all passes",
		"INSERT OR REPLACE INTO hold (id, held_by, reason, since_s, until_s)"
		" VALUES (1, ?, ?, ?, ?)" },
	[SQL_HOLD_DELETE] = { "end a hold", "DELETE FROM hold" },

	[SQL_BRAKE_GET] = { "look at the brake", "SELECT tripped_s FROM brake" },
	[SQL_BRAKE_SET] = { "trip the brake",
		"INSERT OR REPLACE INTO brake (id, tripped_s) VALUES (1, ?)" },
	[SQL_BRAKE_DELETE] = { "reset the brake", "DELETE FROM brake" },

	[SQL_FAILURE_EACH] = { "read failures", "SELECT " FAILURE_COLUMNS " FROM failure" },
	[SQL_FAILURE_GET] = { "read a failure",
		"SELECT " FAILURE_COLUMNS " FROM failure WHERE run = ?" },
	[SQL_FAILURE_ADD] = { "note a failure",
		"INSERT INTO failure (run, since_s, count, last_s, error) VALUES (?1, ?2, 1, ?2, "
		"?3)"
		" ON CONFLICT (run) DO UPDATE SET count = count + 1, last_s = ?2, error = ?3,"
		" since_s = min(since_s, ?2)" },
	[SQL_FAILURE_DELETE] = { "forget failures", "DELETE FROM failure WHERE run = ?" },
	[SQL_FAILURE_SHIFT] = { "move failures with the clock",
		"UPDATE failure SET since_s = max(0, min(since_s + ?1, ?2)),"
		" last_s = max(0, min(last_s + ?1, ?2)) WHERE ?1 <> 0 OR last_s > ?2" },
	[SQL_UNFINISHED_EACH] = { "read unfinished runs", "SELECT run FROM unfinished" },
	[SQL_UNFINISHED_ADD] = { "note an unfinished run",
		"INSERT OR REPLACE INTO unfinished (run, at_s) VALUES (?, ?)" },
	[SQL_UNFINISHED_DELETE] = { "forget an unfinished run",
		"DELETE FROM unfinished WHERE run = ?" },

	[SQL_SIZE_EACH] = { "read sizes", "SELECT run, trees, bytes, at_s FROM size" },
	[SQL_SIZE_SET] = { "note a size",
		"INSERT OR REPLACE INTO size (run, trees, bytes, at_s) VALUES (?, ?, ?, ?)" },
	[SQL_SIZE_DELETE] = { "forget a size", "DELETE FROM size WHERE run = ?" },

	/* What is done matters only while there is a run that it must not be done for again. */
	[SQL_DUTY_EACH] = { "read what hooks are owed",
		"SELECT " DUTY_COLUMNS ", kind = 'revoke' OR EXISTS (SELECT 1 FROM history"
		" WHERE history.run = duty.run AND history.generation = duty.generation"
		" AND action = 'reaped') FROM duty ORDER BY last_s, since_s, run, generation,"
		" kind" },
	[SQL_DUTY_EXPECT] = { "note what a hook is owed",
		"INSERT INTO duty (" DUTY_COLUMNS ")"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', 0, NULL, NULL)" DUTY_ANEW
			DUTY_OPENS_ANEW },
	[SQL_DUTY_SET] = { "note what came of a hook",
		"INSERT INTO duty (" DUTY_COLUMNS
		") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" DUTY_ANEW
		"state <> 'done' OR " DUTY_OPENS_ANEW },
	[SQL_DUTY_SUPERSEDE] = { "note what a hook has done as well",
		"UPDATE duty SET state = 'done', count = 0, last_s = ?1, error = NULL"
		" WHERE run = ?2 AND generation < ?3 AND kind = 'revoke'" },
	[SQL_DUTY_FORGET] = { "forget what hooks are owed",
		"DELETE FROM duty WHERE run = ? AND generation = ? AND kind = ?"
		" AND state <> 'done'" },
	[SQL_DUTY_TRIM] = { "trim what hooks did",
		"DELETE FROM duty WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.run = duty.run"
		" AND run.generation = duty.generation) AND (state = 'done' OR (kind = 'after'"
		" AND since_s < ?1 AND NOT EXISTS (SELECT 1 FROM history"
		" WHERE history.run = duty.run AND history.generation = duty.generation"
		" AND action = 'reaped')))" },

	[SQL_LOCK_HELD_GET] = { "look how often the lock was held",
		"SELECT since_s, count FROM lock_held" },
	[SQL_LOCK_HELD_ADD] = { "note that the lock is held",
		"INSERT INTO lock_held (id, since_s, count) VALUES (1, ?1, 1)"
		" ON CONFLICT (id) DO UPDATE SET count = count + 1, since_s = min(since_s, ?1)" },
	[SQL_LOCK_HELD_DELETE] = { "note that the lock is free", "DELETE FROM lock_held" },

	[SQL_PROBE_ASK] = { "ask for a probe",
		"INSERT OR REPLACE INTO probe (id, asked_s, directory, port, token)"
		" VALUES (1, ?, ?, ?, ?)" },
	[SQL_PROBE_GET] = { "look for a probe", "SELECT " PROBE_COLUMNS " FROM probe" },
	[SQL_PROBE_ANSWER] = { "answer a probe",
		"UPDATE probe SET answered_s = ?2, pass = ?3, file_step = ?4, file_code = ?5,"
		" file_note = ?6, network_step = ?7, network_code = ?8, network_note = ?9"
		" WHERE token = ?1 AND answered_s IS NULL AND judged_s IS NULL" },
	[SQL_PROBE_JUDGE] = { "note that a probe is judged",
		"UPDATE probe SET judged_s = ?2 WHERE token = ?1 AND judged_s IS NULL" },
	[SQL_PROBE_RESULT_EACH] = { "read what a probe found",
		"SELECT checked, outcome, at_s FROM probe_result ORDER BY checked" },
	[SQL_PROBE_RESULT_ADD] = { "note what a probe found",
		"INSERT INTO probe_result (checked, outcome, at_s) VALUES (?1, ?2, ?3)"
		" ON CONFLICT (checked) DO UPDATE SET outcome = ?2 WHERE outcome = 'ok'" },
	[SQL_PROBE_RESULT_DELETE] = { "forget what a probe found", "DELETE FROM probe_result" },

	[SQL_HISTORY_ADD] = { "write history", "INSERT INTO history (at_s, pass, run, generation, "
					       "action, reason, resource, detail,"
					       " bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	[SQL_HISTORY_PAGE] = { "read history",
		"SELECT " HISTORY_COLUMNS " FROM history WHERE (at_s, id) > (?, ?)"
		" ORDER BY at_s, id LIMIT ?" },
	[SQL_HISTORY_PAGE_OF] = { "read history",
		"SELECT " HISTORY_COLUMNS " FROM history WHERE (at_s, id) > (?, ?) AND run = ?"
		" ORDER BY at_s, id LIMIT ?" },
	[SQL_HISTORY_TRIM] = { "trim history",
		"DELETE FROM history WHERE id IN (SELECT id FROM history"
		/* A tombstone is what a hook that is owed waits for, or was run for in vain. */
		" WHERE at_s < ?1 AND (action <> 'reaped' OR NOT EXISTS (SELECT 1 FROM duty"
		" WHERE duty.run = history.run AND duty.generation = history.generation"
		" AND kind = 'after' AND state <> 'done')) AND id NOT IN (SELECT max(id) FROM "
		"history"
		" WHERE action IN ('reaped', 'forgotten') AND run IN (SELECT run FROM pin)"
		" GROUP BY run) ORDER BY at_s, id LIMIT ?2)" },

	[SQL_APPROVAL_VALID] = { "read the plan", "SELECT json_valid(?)" },
	[SQL_APPROVAL_HEAD] = { "read the plan",
		"SELECT json_extract(?1, '$.schema'), json_type(?1, '$.dry_run'),"
		" json_type(?1, '$.runs'), json_extract(?1, '$.host')" },
	[SQL_APPROVAL_EACH] = { "read the plan",
		"SELECT json_extract(run, '$.run') AS name, json_extract(run, '$.seal'),"
		" json_extract(run, '$.reason')"
		" FROM (SELECT CASE type WHEN 'object' THEN value END AS run"
		" FROM json_each(?1, '$.runs'))"
		" WHERE json_extract(run, '$.verdict') IN ('stop', 'reap') ORDER BY name" },

	[SQL_TALLY_EACH] = { "read what passes did",
		"SELECT action, reason, cause, runs, bytes FROM tally"
		" ORDER BY action, reason, cause" },
	[SQL_TALLY_EACH_DAY] = { "read what passes did, by days",
		"SELECT action, reason, cause, runs, bytes, day FROM tally_day"
		" WHERE day >= ? ORDER BY day, action, reason, cause" },

	[SQL_PASS_LAST] = { "read the last pass",
		"SELECT wall_s, boot_ms, awake_ms, boot_id, resumed_s FROM pass"
		" ORDER BY id DESC LIMIT 1" },
	[SQL_PASS_LAST_DONE] = { "read the last pass that did all",
		"SELECT ended_s FROM pass WHERE exit_code = 0 ORDER BY id DESC LIMIT 1" },
	[SQL_PASS_BEGIN] = { "note the beginning of a pass",
		"INSERT INTO pass (pass, wall_s, boot_ms, awake_ms, boot_id, resumed_s)"
		" VALUES (?, ?, ?, ?, ?, ?)" },
	[SQL_PASS_END] = { "note the end of a pass",
		"UPDATE pass SET ended_s = ?, runs = ?, reaped = ?, partial = ?, failed = ?,"
		" stopped = ?, bytes_freed = ?, exit_code = ?, blind = ? WHERE pass = ?" },
	[SQL_PASS_TRIM] = { "trim passes", "DELETE FROM pass WHERE id IN (SELECT id FROM pass"
					   " WHERE wall_s < ?1 AND id < (SELECT max(id) FROM pass)"
					   " AND id IS NOT (SELECT id FROM pass WHERE exit_code = 0"
					   " ORDER BY id DESC LIMIT 1) ORDER BY wall_s LIMIT ?2)" },
};
