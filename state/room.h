/*
 * Private to state/: writing to the database when its filesystem is full. "<path>.reserve" is room
 * that was put by (os/reserve.h). It is given up a piece at a time by the very write that found no
 * room, so that no statement fails for it, and none has to be done twice. Only for who may write.
 */
#pragma once

#include "base/error.h"

struct room;

/* The directory must be there. 0 or -errno. */
int room_open(const char *path, struct room **ret_room, struct error *error);
void room_close(struct room *room); /* when its connection is closed; NULL: nothing */

/* The name of the file system layer for SQLite, which is good until room_close(). */
const char *room_vfs(const struct room *room);

/* Gives up a piece for something else that must be written. Whether there was one. */
bool room_give(struct room *room);

/* Puts by again what was given up, where there is room now. */
void room_fill(struct room *room);
