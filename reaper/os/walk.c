#include "walk.h"

#include "base/clock.h"
#include "dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

enum {
	WALK_FORGET = WALK_DEPTH / 2,
	WALK_BUFFER = 1 << 15, /* of one open directory */
	WALK_CLOCK_EVERY = 16, /* steps */
	WALK_NAME_SHOWN = 48,  /* bytes of a name in messages, before escaping */
	WALK_PATH_SHOWN = 200,
};

void walk_start(struct walk *walk, int parent, const char *name, int64_t deadline_ms, int flags)
{
	*walk = (struct walk){
		.parent = parent,
		.name = name,
		.deadline_ms = deadline_ms,
		.flags = flags | O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
	};
	for (size_t i = 0; i < WALK_OPEN; i++)
		walk->streams[i].fd = -EBADF;
}

void walk_done(struct walk *walk)
{
	for (size_t i = 0; i < WALK_OPEN; i++) {
		fd_done(&walk->streams[i].fd);
		mem_done(&walk->streams[i].buffer);
	}
	free(walk->levels);
	text_done(&walk->names);
	*walk = (struct walk){ 0 };
}

struct walk_level *walk_top(struct walk *walk)
{
	return walk->depth ? &walk->levels[walk->depth - 1] : NULL;
}

static struct walk_stream *walk_stream(struct walk *walk, size_t level)
{
	return &walk->streams[level % WALK_OPEN];
}

/* Takes the descriptor; the buffer stays for the next directory at this level. */
static void stream_open(struct walk_stream *stream, int fd)
{
	fd_done(&stream->fd);
	if (!stream->buffer)
		stream->buffer = mem_new(WALK_BUFFER);
	stream->fd = fd;
	stream->at = stream->filled = 0;
}

/* Half of the levels stay, so that what is going on at the bottom can go on. */
static void walk_forget(struct walk *walk)
{
	size_t names = walk->levels[WALK_FORGET].name;

	static_assert(WALK_FORGET % WALK_OPEN == 0, "levels keep their streams");
	walk->depth -= WALK_FORGET;
	memmove(walk->levels, walk->levels + WALK_FORGET, walk->depth * sizeof(*walk->levels));
	for (size_t i = 0; i < walk->depth; i++)
		walk->levels[i].name -= names;
	walk->names.length -= names;
	memmove(walk->names.data, walk->names.data + names, walk->names.length);
	walk->cut = true;
}

static int walk_identify(int fd, struct walk_level *ret_level)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME | STATX_SIZE, &stx) != 0)
		return -errno;
	*ret_level = (struct walk_level){
		.identity.dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.identity.ino = stx.stx_ino,
		.size = stx.stx_size,
	};
	if (stx.stx_mask & STATX_BTIME) {
		ret_level->identity.birth_s = stx.stx_btime.tv_sec;
		ret_level->identity.birth_ns = stx.stx_btime.tv_nsec;
	}
	return 0;
}

static bool walk_same(const struct walk_identity *a, const struct walk_identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->birth_s == b->birth_s &&
	       a->birth_ns == b->birth_ns;
}

int walk_push(struct walk *walk, int fd, const char *name)
{
	int owned CLEANUP(fd_done) = fd;
	struct walk_level level;
	int r = walk_identify(owned, &level);

	if (r < 0)
		return r;
	if (walk->depth == WALK_DEPTH)
		walk_forget(walk);
	if (walk->depth == walk->room) {
		walk->room = walk->room * 2 + WALK_OPEN;
		walk->levels = mem_grow(walk->levels, walk->room, sizeof(*walk->levels));
	}
	level.name = walk->names.length;
	walk->levels[walk->depth] = level;
	text_add_n(&walk->names, name, strlen(name) + 1);
	stream_open(walk_stream(walk, walk->depth), TAKE_FD(owned));
	walk->depth++;
	return 0;
}

void walk_pop(struct walk *walk)
{
	assert(walk->depth);
	walk->depth--;
	fd_done(&walk_stream(walk, walk->depth)->fd);
	walk->names.length = walk->levels[walk->depth].name;
}

void walk_again(struct walk *walk)
{
	struct walk_stream *stream = walk_stream(walk, walk->depth - 1);
	struct walk_level *level = walk_top(walk);

	assert(level);
	(void)lseek(stream->fd, 0, SEEK_SET); /* cannot fail on a directory that was read */
	stream->at = stream->filled = 0;
	level->taken = 0;
	level->ended = false;
}

void walk_end(struct walk *walk)
{
	struct walk_level *level = walk_top(walk);

	assert(level);
	level->ended = true;
}

/* The next record, or NULL at the end, then *ret_code is 0 or an errno. */
static const struct dirent64 *stream_next(struct walk_stream *stream, int *ret_code)
{
	const struct dirent64 *record;
	ssize_t got;

	if (stream->at == stream->filled) {
		got = getdents64(stream->fd, stream->buffer, WALK_BUFFER);
		/* ENOENT: the directory itself was removed meanwhile, so nothing is in it. */
		*ret_code = got < 0 && errno != ENOENT ? errno : 0;
		if (got <= 0)
			return NULL;
		stream->at = 0;
		stream->filled = (size_t)got;
	}
	record = (const void *)(stream->buffer + stream->at);
	stream->at += record->d_reclen;
	return record;
}

/* Opens the directory above the current one again, if it is not open, and proves that it is it. */
static int walk_reopen_above(struct walk *walk)
{
	const struct walk_level *above = &walk->levels[walk->depth - 2];
	struct walk_stream *stream = walk_stream(walk, walk->depth - 2);
	int fd CLEANUP(fd_done) = -EBADF, r;
	struct walk_level found = { 0 };

	if (stream->fd >= 0)
		return 0;
	fd = dir_open_up(walk_stream(walk, walk->depth - 1)->fd, walk->flags);
	if (fd == -EPERM) /* O_NOATIME is the owner's and root's only (open(2)) */
		fd = dir_open_up(walk_stream(walk, walk->depth - 1)->fd, walk->flags & ~O_NOATIME);
	if (fd < 0)
		return fd == -EXDEV || fd == -ENOENT ? -ESTALE : fd;
	r = walk_identify(fd, &found);
	if (r < 0)
		return r;
	if (!walk_same(&found.identity, &above->identity))
		return -ESTALE;
	if (lseek(fd, above->next, SEEK_SET) < 0)
		return -errno;
	stream_open(stream, TAKE_FD(fd));
	return 0;
}

static int walk_leave(struct walk *walk, int code, struct walk_entry *ret_entry)
{
	int dir = walk->cut ? -EBADF : walk->parent, r;

	if (walk->depth > 1) {
		r = walk_reopen_above(walk);
		if (r < 0)
			return r;
		dir = walk_stream(walk, walk->depth - 2)->fd;
	}
	*ret_entry = (struct walk_entry){
		.dir = dir,
		.name = walk->names.data + walk->levels[walk->depth - 1].name,
		.type = DT_DIR,
		.code = code,
	};
	return WALK_LEAVE;
}

/* Not every filesystem fills in d_type (getdents(2)). */
static unsigned char entry_type(int dir, const struct dirent64 *record)
{
	struct stat st;

	if (record->d_type != DT_UNKNOWN)
		return record->d_type;
	if (fstatat(dir, record->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

int walk_next(struct walk *walk, struct walk_entry *ret_entry)
{
	struct walk_level *level = walk_top(walk);
	const struct dirent64 *record;
	struct walk_stream *stream;
	int code = 0;

	if (!level)
		return WALK_DONE;
	if (walk->steps++ % WALK_CLOCK_EVERY == 0 && deadline_left_ms(walk->deadline_ms) == 0)
		return -ETIME;
	stream = walk_stream(walk, walk->depth - 1);
	do {
		record = level->ended ? NULL : stream_next(stream, &code);
		if (!record)
			return walk_leave(walk, code, ret_entry);
		level->next = record->d_off;
	} while (!dir_is_name(record->d_name));
	*ret_entry = (struct walk_entry){
		.dir = stream->fd,
		.name = record->d_name,
		.type = entry_type(stream->fd, record),
	};
	return WALK_ENTRY;
}

static char *name_shown(const char *name)
{
	char *cut CLEANUP(mem_done) = NULL;

	if (strlen(name) <= WALK_NAME_SHOWN)
		return text_escape(name);
	cut = mem_printf("%.*s...", WALK_NAME_SHOWN, name);
	return text_escape(cut);
}

/* Puts one more component before the text; false when there is no room for it. */
static bool path_prepend(char **path, const char *name)
{
	char *shown CLEANUP(mem_done) = name_shown(name);
	char *longer;

	if (strlen(shown) + strlen(*path) > WALK_PATH_SHOWN)
		return false;
	longer = mem_printf("%s%s%s", shown, **path ? "/" : "", *path);
	free(*path);
	*path = longer;
	return true;
}

char *walk_path(const struct walk *walk, const char *name)
{
	char *path CLEANUP(mem_done) = name ? name_shown(name) : mem_dup("");
	char *top CLEANUP(mem_done) = NULL;
	size_t left = walk->depth;

	if (!left && !name)
		return name_shown(walk->name);
	while (left && path_prepend(&path, walk->names.data + walk->levels[left - 1].name))
		left--;
	if (!left && !walk->cut)
		return TAKE_PTR(path);
	top = name_shown(walk->name);
	return mem_printf("%s/.../%s", top, path);
}
