#include "sweep_world.h"

#include "group.h"
#include "os/dir.h"
#include "os/processes.h"
#include "unit.h"

#include <fcntl.h>
#include <sqlite3.h>

/* A registered resource, and what names it for good: its columns of table resource. */
struct booked {
	int64_t id;
	const char *run, *kind, *locator;
	uint64_t dev, ino;
	char number[16], token[128];
};

static void look_at_directory(struct booked *booked, const char *path)
{
	int fd CLEANUP(fd_done) = open(path, O_PATH | O_CLOEXEC);
	struct stat stat;

	assert_int_equal(fstat(fd, &stat), 0);
	booked->dev = stat.st_dev;
	booked->ino = stat.st_ino;
	(void)dir_birth(fd, booked->token);
}

static void look_at_process(const struct sweep_world *world, struct booked *booked)
{
	enum sweep_process process = text_equal(booked->run, "all")       ? PROCESS_ALL
				     : text_equal(booked->run, "overdue") ? PROCESS_OVERDUE
									  : PROCESS_LIVE;
	pid_t pid = world->processes[process];

	(void)snprintf(booked->number, sizeof(booked->number), "%d", pid);
	booked->locator = booked->number;
	assert_int_equal(process_token(pid, booked->token, NULL), 0);
}

static bool look(const struct sweep_world *world, struct booked *booked)
{
	if (text_equal(booked->kind, "worktree") || text_equal(booked->kind, "path")) {
		look_at_directory(booked, booked->locator);
	} else if (text_equal(booked->kind, "cgroup")) {
		char *path CLEANUP(mem_done) = mem_printf("%s%s", groups_mount(), booked->locator);

		look_at_directory(booked, path);
		booked->token[0] = 0; /* a group has none on record */
	} else if (text_equal(booked->kind, "process")) {
		look_at_process(world, booked);
	} else {
		return false;
	}
	return true;
}

static void update(sqlite3_stmt *statement, const struct booked *booked)
{
	(void)sqlite3_bind_text(statement, 1, booked->locator, -1, SQLITE_TRANSIENT);
	if (booked->token[0])
		(void)sqlite3_bind_text(statement, 2, booked->token, -1, SQLITE_TRANSIENT);
	else
		(void)sqlite3_bind_null(statement, 2);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)booked->dev);
	(void)sqlite3_bind_int64(statement, 4, (int64_t)booked->ino);
	(void)sqlite3_bind_int64(statement, 5, booked->id);
	assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
	assert_int_equal(sqlite3_reset(statement), SQLITE_OK);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	return statement;
}

void sweep_world_rebook(const struct sweep_world *world)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/reap.db", world->state);
	sqlite3_stmt *each, *change;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN",
			NULL, NULL, NULL),
		SQLITE_OK);
	each = prepare(db, "SELECT id, run, kind, locator FROM resource ORDER BY id");
	change = prepare(
		db, "UPDATE resource SET locator = ?, token = ?, dev = ?, ino = ? WHERE id = ?");
	while (sqlite3_step(each) == SQLITE_ROW) {
		struct booked booked = {
			.id = sqlite3_column_int64(each, 0),
			.run = (const char *)sqlite3_column_text(each, 1),
			.kind = (const char *)sqlite3_column_text(each, 2),
			.locator = (const char *)sqlite3_column_text(each, 3),
		};

		if (look(world, &booked))
			update(change, &booked);
	}
	(void)sqlite3_finalize(each);
	(void)sqlite3_finalize(change);
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}
