#include "worktree_index.h"

#include "base/text.h"

#include <errno.h>

enum {
	HEADER = 12,
	CHECKSUM = 20,
	ENTRY_MODE = 24,
	ENTRY_ID = 40,
	ENTRY_FLAGS = 60,
	ENTRY_NAME = 62,
	FLAG_EXTENDED = 0x4000,
	EXTENDED_INTENT_TO_ADD = 0x2000,
	EXTENDED_SKIP_WORKTREE = 0x4000
};

struct reader {
	const unsigned char *at, *end;
	uint32_t version;
	struct text path; /* of the last entry: version 4 writes only what differs */
};

static void reader_done(struct reader *reader)
{
	text_done(&reader->path);
}

static uint32_t read_u32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static unsigned read_u16(const unsigned char *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* The variable length number of gitformat-pack(5), as offsets are written. -1: cut off. */
static int64_t read_varint(struct reader *reader)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 5 && reader->at < reader->end; i++) {
		unsigned char byte = *reader->at++;

		value = (i ? (value + 1) << 7 : 0) | (byte & 0x7fU);
		if (!(byte & 0x80))
			return (int64_t)value;
	}
	return -1;
}

/* Reads the path behind the fixed part. `start` is where the entry began. */
static int read_path(struct reader *reader, const unsigned char *start)
{
	const unsigned char *stop;
	size_t length;
	int64_t cut = (int64_t)reader->path.length;

	if (reader->version == 4) {
		cut = read_varint(reader);
		if (cut < 0 || (uint64_t)cut > reader->path.length)
			return -EINVAL;
	}
	stop = memchr(reader->at, 0, (size_t)(reader->end - reader->at));
	if (!stop)
		return -EINVAL;
	reader->path.length -= (size_t)cut;
	text_add_n(&reader->path, reader->at, (size_t)(stop - reader->at));
	length = (size_t)(stop - start);
	/* Before version 4 an entry is filled up with 1 to 8 NUL bytes to a multiple of 8. */
	length = reader->version == 4 ? length + 1 : (length + 8) & ~(size_t)7;
	if (length > (size_t)(reader->end - start))
		return -EINVAL;
	reader->at = start + length;
	return 0;
}

static int read_entry(struct reader *reader, struct index_entry *ret_entry)
{
	const unsigned char *start = reader->at;
	unsigned flags, extended = 0;
	int r;

	if (reader->end - start < ENTRY_NAME + 2)
		return -EINVAL;
	flags = read_u16(start + ENTRY_FLAGS);
	reader->at = start + ENTRY_NAME;
	if (flags & FLAG_EXTENDED) {
		extended = read_u16(reader->at);
		reader->at += 2;
	}
	*ret_entry = (struct index_entry){
		.mode = read_u32(start + ENTRY_MODE),
		.stage = flags >> 12 & 3,
		.intent_to_add = (extended & EXTENDED_INTENT_TO_ADD) != 0,
		.skip_worktree = (extended & EXTENDED_SKIP_WORKTREE) != 0,
	};
	memcpy(ret_entry->id, start + ENTRY_ID, INDEX_ID);
	r = read_path(reader, start);
	if (r < 0)
		return r;
	ret_entry->path = reader->path.data;
	return 0;
}

/* Sparse directories end in a slash; the reader's buffer must keep it for version 4. */
static int give_entry(const struct reader *reader, struct index_entry *entry,
	int (*each)(void *context, const struct index_entry *entry), void *context)
{
	char *plain CLEANUP(mem_done) = NULL;

	if (!*entry->path)
		return 0; /* of a split index, which is refused at its end */
	if (text_ends(entry->path, "/")) {
		plain = mem_dup(entry->path);
		plain[reader->path.length - 1] = 0;
		entry->path = plain;
	}
	return each(context, entry);
}

/* An index that is split keeps part of its entries in another file. */
static bool is_split(const struct reader *reader)
{
	const unsigned char *at = reader->at;

	while (reader->end - at >= 8) {
		uint32_t size = read_u32(at + 4);

		if (memcmp(at, "link", 4) == 0)
			return true;
		if (size > (size_t)(reader->end - at) - 8)
			return false;
		at += 8 + size;
	}
	return false;
}

static int index_check(const unsigned char *bytes, size_t length, struct error *error)
{
	uint32_t version = length >= HEADER ? read_u32(bytes + 4) : 0;

	if (length < HEADER + CHECKSUM || memcmp(bytes, "DIRC", 4) != 0)
		return error_say(error, EINVAL, "git index: this is none");
	if (version < 2 || version > 4)
		return error_say(error, EOPNOTSUPP, "git index: version %u is not read", version);
	return 0;
}

int index_each(const void *bytes, size_t length,
	int (*each)(void *context, const struct index_entry *entry), void *context,
	struct error *error)
{
	struct reader reader CLEANUP(reader_done) = { .at = bytes };
	struct index_entry entry;
	uint32_t count;
	int r = index_check(bytes, length, error);

	if (r < 0)
		return r;
	reader.version = read_u32(reader.at + 4);
	reader.end = reader.at + length - CHECKSUM;
	count = read_u32(reader.at + 8);
	reader.at += HEADER;
	for (uint32_t i = 0; i < count; i++) {
		r = read_entry(&reader, &entry);
		if (r < 0)
			return error_say(error, EINVAL, "git index: damaged at entry %u of %u",
				i + 1, count);
		r = give_entry(&reader, &entry, each, context);
		if (r < 0)
			return r;
	}
	if (is_split(&reader))
		return error_say(error, EOPNOTSUPP, "git index: a split index is not read");
	return 0;
}
