#include "inflate.h"

#include "base/clock.h"

#include <errno.h>
#include <zlib.h>

enum { PIECE = 1 << 16 };

struct inflation {
	z_stream stream;
	unsigned char in[PIECE], out[PIECE];
};

static void inflation_done(struct inflation **inflation)
{
	(void)inflateEnd(&(*inflation)->stream);
	free(*inflation);
}

/* 1, 0 at the end of the file, -errno. */
static int refill(struct inflation *inflation, int file, int64_t *at, struct error *error)
{
	ssize_t got;

	do
		got = pread(file, inflation->in, PIECE, *at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set(error, errno, "read a compressed file");
	*at += got;
	inflation->stream.next_in = inflation->in;
	inflation->stream.avail_in = (uInt)got;
	return got > 0;
}

int inflate_file(int file, int64_t deadline_ms,
	int (*each)(void *context, const void *bytes, size_t length, struct error *error),
	void *context, struct error *error)
{
	struct inflation *inflation CLEANUP(inflation_done) = mem_new(sizeof(*inflation));
	z_stream *stream = &inflation->stream;
	int64_t at = 0;
	int state = inflateInit(stream), r = 0;

	while (state == Z_OK && r >= 0) {
		if (deadline_left_ms(deadline_ms) == 0)
			return error_say(error, ETIME, "the time is up");
		if (stream->avail_in == 0 && (r = refill(inflation, file, &at, error)) <= 0)
			break;
		stream->next_out = inflation->out;
		stream->avail_out = PIECE;
		state = inflate(stream, Z_NO_FLUSH);
		if (state == Z_OK || state == Z_STREAM_END)
			r = each(context, inflation->out, PIECE - stream->avail_out, error);
	}
	if (r < 0)
		return r;
	return state == Z_STREAM_END
		       ? 0
		       : error_say(error, EUCLEAN, "a compressed file is damaged, or cut off");
}
