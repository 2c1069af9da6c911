#include "store.h"
#include "base/pathname.h"
#include "base/text.h"
#include "db.h"
#include "os/file.h"
#include "os/reserve.h"
#include "schema.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { STAMP_MAX = 256, DATABASE_MODE = 0644 };

static const char stamp_text[] = "A database of sbx-reap has been beside this file; its identity: ";

/*
 * What stands at the path before SQLite has a look. It is asked by name only: closing a descriptor
 * of the file would drop the locks of every connection of this process (fcntl locks,
 * fcntl_locking(2) "record locks are automatically released").
 */
struct place {
	const char *path;
	char *directory;                 /* its path */
	char *stamp, *journal, *reserve; /* their names in it */
	int dir;
	bool stamped;
	char identity[IDENTITY_LENGTH + 1]; /* in the stamp */
	bool filled;                        /* there is a file with something in it */
};

static void place_done(struct place *place)
{
	free(place->directory);
	free(place->stamp);
	free(place->journal);
	free(place->reserve);
	fd_done(&place->dir);
}

static int stamp_refuse(const struct place *place, struct error *error)
{
	return error_say(error, EUCLEAN,
		"the stamp '%s.stamp' cannot be understood; when '%s' is the right database, "
		"remove "
		"the stamp and it is written again",
		place->path, place->path);
}

/* Sets stamped and identity. A stamp that cannot be read is not a stamp that is missing. */
static int place_read_stamp(struct place *place, struct error *error)
{
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length, skip = sizeof(stamp_text) - 1;
	struct error missing = { 0 };
	int r = file_read(place->dir, place->stamp, STAMP_MAX, &bytes, &length, NULL, &missing);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_say(
			error, -r, "the stamp of database '%s': %s", place->path, missing.text);
	if (length != skip + IDENTITY_LENGTH + 1 || !text_starts(bytes, stamp_text))
		return stamp_refuse(place, error);
	memcpy(place->identity, bytes + skip, IDENTITY_LENGTH);
	if (strspn(place->identity, "0123456789abcdef") != IDENTITY_LENGTH)
		return stamp_refuse(place, error);
	place->stamped = true;
	return 0;
}

/*
 * The last component is ours to make, when its parent is there already; the rest is not. Only in a new
 * user's home nothing is there yet, and whoever writes first makes it all (XDG base directories).
 */
static int directory_make(const char *path, mode_t mode)
{
	char *parent CLEANUP(mem_done) = pathname_parent(path);
	int above CLEANUP(fd_done) = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (above < 0 && errno == ENOENT && geteuid() != 0) {
		int r = directory_make(parent, 0700);

		if (r < 0 && r != -EEXIST)
			return r;
		above = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (above < 0)
		return -errno;
	return file_make_directory(above, pathname_last(path), mode);
}

static int place_open_directory(struct place *place, enum store_access access, struct error *error)
{
	place->dir = open(place->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->dir < 0 && errno == ENOENT && access != STORE_READ) {
		int r = directory_make(place->directory, 0755);

		if (r < 0 && r != -EEXIST)
			return error_set(error, -r, "make the directory '%s' for the database",
				place->directory);
		place->dir = open(place->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (place->dir >= 0)
		return 0;
	return error_set(error, errno, "open the directory '%s' of the database", place->directory);
}

/* Opening a FIFO would wait for ever. By another name, it would have another journal and lock. */
static int place_check_file(const struct place *place, const struct stat *stat, struct error *error)
{
	if (S_ISLNK(stat->st_mode))
		return error_say(error, EUCLEAN,
			"database '%s': it is a symbolic link; [state] database must name the file "
			"itself, since its journal and lock stand beside it",
			place->path);
	if (!S_ISREG(stat->st_mode))
		return error_say(
			error, EUCLEAN, "database '%s': it is not a regular file", place->path);
	if (stat->st_nlink > 1)
		return error_say(error, EUCLEAN,
			"database '%s': it has %lu names (hard links), and one used by another has "
			"another journal and lock; remove the others, or copy it",
			place->path, (unsigned long)stat->st_nlink);
	return 0;
}

/* The stamp first: a file is there before its stamp, so the other order could see neither. */
static int place_look(struct place *place, enum store_access access, struct error *error)
{
	struct stat stat;
	int r = place_open_directory(place, access, error);

	if (r < 0)
		return r;
	r = place_read_stamp(place, error);
	if (r < 0)
		return r;
	if (fstatat(place->dir, pathname_last(place->path), &stat, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		return error_set(error, errno, "look at the database '%s'", place->path);
	}
	place->filled = stat.st_size > 0;
	return place_check_file(place, &stat, error);
}

static int store_refuse_lost(const char *path, struct error *error)
{
	return error_say(error, ENODATA,
		"database '%s' is missing or empty where one has been: restore it from a backup, "
		"or "
		"make a new one on purpose with sbx-reap check --new-database",
		path);
}

static int store_refuse_never(const char *path, struct error *error)
{
	return error_say(error, ENOENT,
		"there has never been a database '%s': nothing is registered or pinned", path);
}

static int store_refuse_unfinished(const char *path, struct error *error)
{
	return error_say(error, ENODATA,
		"database '%s' is being made anew, or that was broken off: what stood beside the "
		"workspaces is not all in it; call sbx-reap check --new-database again",
		path);
}

/* Whether an empty place may become a database, or a filled one be opened. */
static int place_judge(const struct place *place, enum store_access access, struct error *error)
{
	switch (access) {
	case STORE_READ:
		if (!place->filled && !place->stamped)
			return store_refuse_never(place->path, error);
		return place->filled ? 0 : store_refuse_lost(place->path, error);
	case STORE_WRITE:
		if (!place->filled && place->stamped)
			return store_refuse_lost(place->path, error);
		return 0;
	case STORE_RENEW:
		return 0; /* what is in a filled one decides: see store_open_to_renew() */
	}
	abort();
}

static int stamp_write(void *context, const char *identity, struct error *error)
{
	struct place *place = context;
	char *bytes CLEANUP(mem_done) = mem_printf("%s%s\n", stamp_text, identity);

	memcpy(place->identity, identity, IDENTITY_LENGTH + 1);
	place->stamped = true;
	return file_write(place->dir, place->stamp, bytes, strlen(bytes), 0644, error);
}

/* A full disk keeps nobody from working with what is there: the next who may write writes it. */
static int store_stamp_again(struct place *place, const char *identity, struct error *error)
{
	struct error why = { 0 };
	int r;

	do
		r = stamp_write(place, identity, &why);
	while (error_is_full(r) && reserve_give(place->dir, place->reserve) > 0);
	if (r >= 0 || (error_is_full(r) && place->filled))
		return 0;
	return error_say(error, -r, "the stamp of database '%s': %s", place->path, why.text);
}

/* Another database in the place of ours would let its rows decide about our runs. */
static int store_check_identity(
	struct store *store, struct place *place, enum store_access access, struct error *error)
{
	char identity[IDENTITY_LENGTH + 1];
	int r = schema_identity(store, identity, error);

	if (r < 0)
		return r;
	if (!place->stamped)
		return access == STORE_READ ? 0 : store_stamp_again(place, identity, error);
	if (!text_equal(identity, place->identity))
		return error_say(error, EUCLEAN,
			"database '%s' is not the one that the stamp beside it speaks of: when it "
			"is "
			"the right one (a backup), remove the stamp and it is written again",
			place->path);
	return 0;
}

/* SQLite falls back to reading in silence when it may not write: then we say so. */
static int store_check_writable(struct store *store, struct error *error)
{
	if (sqlite3_db_readonly(store->db, "main") == 0)
		return 0;
	return error_say(error,
		faccessat(AT_FDCWD, store->path, W_OK, AT_EACCESS) < 0 ? errno : EACCES,
		"database '%s': it cannot be written by us (uid %u)", store->path,
		(unsigned)geteuid());
}

/*
 * TRUNCATE keeps the journal file, so that the next reader needs to create nothing; a WAL database
 * could not be read without write access to its directory (sqlite.org/wal.html, "read-only").
 */
static int store_set_journal(struct store *store, struct error *error)
{
	return db_exec(store, "PRAGMA journal_mode = TRUNCATE", "set its journal mode", error);
}

/*
 * Makes a file that SQLite would make as well, but as ours: it gives a journal to the owner of the
 * database only where we may give files away. What is there stays as it is. 0 or -errno.
 */
static int place_make_file(const struct place *place, const char *name)
{
	int fd CLEANUP(fd_done) = -EBADF;

	do
		fd = file_make(place->dir, name, O_WRONLY, DATABASE_MODE);
	while (error_is_full(fd) && reserve_give(place->dir, place->reserve) > 0);
	if (fd == -EEXIST)
		return 0;
	/* Readers need no umask's leave; whoever wants it private changes the mode, or the
	 * directory's. */
	return fd < 0 ? fd : fchmod(fd, DATABASE_MODE) < 0 ? -errno : 0;
}

static int store_make(
	struct store *store, struct place *place, enum store_access access, struct error *error)
{
	bool renew = access == STORE_RENEW;
	int r;

	place->stamped = place->stamped && !renew;
	r = schema_migrate(store, renew ? SCHEMA_UNFINISHED_ID : SCHEMA_APPLICATION_ID,
		renew ? stamp_write : NULL, place, error);
	if (r < 0)
		return r;
	if (renew && !place->stamped)
		return error_say(error, EEXIST, "database '%s': another process has just made it",
			place->path);
	return store_check_identity(store, place, access, error);
}

static int store_refuse_there(const char *path, struct error *error)
{
	return error_say(error, EEXIST,
		"there is a database '%s': move it away first, when a new one is really wanted",
		path);
}

/* Whatever is wrong is found before anything is written, so that it can be looked at as it was. */
static int store_check_state(
	struct store *store, struct place *place, enum store_access access, struct error *error)
{
	enum schema_state state;
	int r = schema_look(store, &state, error);

	if (r < 0)
		return r;
	if (state == SCHEMA_FRESH && place->stamped && access != STORE_RENEW)
		return store_refuse_lost(place->path, error);
	if (state == SCHEMA_UNFINISHED && access != STORE_RENEW)
		return store_refuse_unfinished(place->path, error);
	if (state != SCHEMA_FRESH && state != SCHEMA_UNFINISHED && access == STORE_RENEW)
		return store_refuse_there(place->path, error);
	if (state == SCHEMA_FRESH && access == STORE_READ)
		return store_refuse_never(place->path, error);
	if (state == SCHEMA_OLDER && access == STORE_READ)
		return error_say(error, EPROTO,
			"database '%s': it is of an older version; the next pass, or any "
			"command that may write, brings it up to date",
			place->path);
	if (state != SCHEMA_FRESH)
		r = store_check_identity(store, place, access, error);
	if (r < 0 || access == STORE_READ)
		return r;
	(void)place_make_file(place, place->journal); /* SQLite says it when it cannot be made */
	if (state == SCHEMA_FRESH)
		return store_make(store, place, access, error);
	if (state == SCHEMA_UNFINISHED)
		return schema_migrate(store, SCHEMA_UNFINISHED_ID, NULL, NULL, error);
	return state == SCHEMA_OLDER
		       ? schema_migrate(store, SCHEMA_APPLICATION_ID, NULL, NULL, error)
		       : 0;
}

static int store_prepare(
	struct store *store, struct place *place, enum store_access access, struct error *error)
{
	int r;

	if (access != STORE_READ) {
		r = store_check_writable(store, error);
		if (r < 0)
			return r;
		r = store_set_journal(store, error);
		if (r < 0)
			return r;
	}
	return store_check_state(store, place, access, error);
}

static int store_open_at(struct place *place, enum store_access access, struct store **ret_store,
	struct error *error)
{
	struct store *store CLEANUP(db_done) = NULL;
	int flags = access == STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	/* Not SQLITE_OPEN_NOFOLLOW: it refuses links in the directories too, such as /var/run. */
	int r = db_open(place->path, flags, &store, error);

	if (r >= 0)
		r = store_prepare(store, place, access, error);
	if (r < 0)
		return r;
	*ret_store = TAKE_PTR(store);
	return 0;
}

/*
 * A file with something in it may be what was left of making a new one: SQLite undoes the beginning of
 * that when it looks. Anything else is not for us to go on with, damaged or not.
 */
static int store_open_to_renew(struct place *place, struct store **ret_store, struct error *error)
{
	struct error why = { 0 };
	int r = store_open_at(place, STORE_RENEW, ret_store, &why);

	if (place->filled && (r == -EUCLEAN || r == -EPROTO))
		return store_refuse_there(place->path, error);
	return r < 0 ? error_say(error, -r, "%s", why.text) : r;
}

int store_open(
	const char *path, enum store_access access, struct store **ret_store, struct error *error)
{
	struct place place CLEANUP(place_done) = {
		.path = path,
		.directory = pathname_parent(path),
		.stamp = mem_printf("%s.stamp", pathname_last(path)),
		.journal = mem_printf("%s-journal", pathname_last(path)),
		.reserve = mem_printf("%s.reserve", pathname_last(path)),
		.dir = -EBADF,
	};
	int r;

	r = place_look(&place, access, error);
	if (r < 0)
		return r;
	r = place_judge(&place, access, error);
	if (r < 0)
		return r;
	if (access != STORE_READ && !place.filled) {
		r = place_make_file(&place, pathname_last(path));
		if (r < 0)
			return error_set(error, -r, "make the database '%s'", path);
	}
	return access == STORE_RENEW ? store_open_to_renew(&place, ret_store, error)
				     : store_open_at(&place, access, ret_store, error);
}

void store_close(struct store *store)
{
	if (store && store->room)
		room_fill(store->room);
	db_close(store);
}

int store_renewed(struct store *store, struct error *error)
{
	return schema_finish(store, error);
}

bool store_give_room(struct store *store)
{
	return store->room && room_give(store->room);
}
