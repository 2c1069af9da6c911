#include "room.h"

#include "base/pathname.h"
#include "db.h"
#include "os/reserve.h"

#include <errno.h>
#include <fcntl.h>

/*
 * SQLite's own layer with another way to open (as its test_quota.c does it), which in turn takes the
 * file with another way to write. Everything else is the very same code on the very same structs.
 */
struct room {
	sqlite3_vfs vfs;   /* first: SQLite hands it to room_open_file */
	sqlite3_vfs *real; /* the one it was made from */
	int dir;
	char *name; /* of the reserve, in dir */
	char vfs_name[32];
};

/* Lies behind SQLite's own struct of an open file. */
struct room_tail {
	sqlite3_io_methods methods; /* those of the real file, but for xWrite */
	int (*write)(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at);
	struct room *room;
};

static void room_done(struct room **room)
{
	room_close(*room);
}

bool room_give(struct room *room)
{
	return reserve_give(room->dir, room->name) > 0;
}

/* What it cannot do now it tries again at the next close. */
void room_fill(struct room *room)
{
	(void)reserve_fill(room->dir, room->name);
}

static const struct room_tail *tail_of(const sqlite3_file *file)
{
	/* pMethods points to the first member of it. */
	return (const struct room_tail *)(const void *)file->pMethods;
}

static int room_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
	const struct room_tail *tail = tail_of(file);
	int code;

	do { /* os_unix.c: only ENOSPC is SQLITE_FULL; what it wrote of it is written again */
		errno = 0;
		code = tail->write(file, bytes, count, at);
	} while ((code == SQLITE_FULL || (code == SQLITE_IOERR_WRITE && errno == EDQUOT)) &&
		 room_give(tail->room));
	return code;
}

static size_t tail_offset(const struct room *room)
{
	size_t align = _Alignof(struct room_tail);

	return ((size_t)room->real->szOsFile + align - 1) / align * align;
}

static int room_open_file(
	sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct room *room = (struct room *)vfs;
	struct room_tail *tail = (struct room_tail *)(void *)((char *)file + tail_offset(room));
	int code = room->real->xOpen(room->real, name, file, flags, ret_flags);

	if (code != SQLITE_OK)
		return code; /* also then there may be methods: those of the real one close it */
	*tail = (struct room_tail){
		.methods = *file->pMethods,
		.write = file->pMethods->xWrite,
		.room = room,
	};
	tail->methods.xWrite = room_write;
	file->pMethods = &tail->methods;
	return SQLITE_OK;
}

int room_open(const char *path, struct room **ret_room, struct error *error)
{
	struct room *room CLEANUP(room_done) = mem_new(sizeof(*room));
	char *directory CLEANUP(mem_done) = pathname_parent(path);

	room->name = mem_printf("%s.reserve", pathname_last(path));
	room->dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (room->dir < 0)
		return error_set(
			error, errno, "open the directory '%s' of the database", directory);
	room->real = sqlite3_vfs_find(NULL);
	room->vfs = *room->real;
	(void)snprintf(room->vfs_name, sizeof(room->vfs_name), "sbx-%p", (void *)room);
	room->vfs.zName = room->vfs_name;
	room->vfs.szOsFile = (int)(tail_offset(room) + sizeof(struct room_tail));
	room->vfs.xOpen = room_open_file;
	if (sqlite3_vfs_register(&room->vfs, 0) != SQLITE_OK)
		abort(); /* it only fails for want of memory */
	*ret_room = TAKE_PTR(room);
	return 0;
}

const char *room_vfs(const struct room *room)
{
	return room->vfs_name;
}

void room_close(struct room *room)
{
	if (!room)
		return;
	if (room->real)
		(void)sqlite3_vfs_unregister(&room->vfs);
	if (room->dir >= 0)
		(void)close(room->dir);
	free(room->name);
	free(room);
}
