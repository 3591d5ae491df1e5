// SPDX-License-Identifier: ISC
/* A content as a stream of GMime, and one that digests. */
#include "base/panic.h"
#include "filing/decode/mime/internal.h"

enum { STREAM_BLOCK_SIZE = 4096 };

struct source {
	GMimeStream stream;
	struct decode_work *work;
};

struct source_class {
	GMimeStreamClass stream;
};

struct sink {
	GMimeStream stream;
	struct decode_work *work;
	EVP_MD_CTX *digest;
	uint64_t size;
	bool is_text;
	bool has_cr; /* the last byte was a CR */
};

struct sink_class {
	GMimeStreamClass stream;
};

static GType source_type(void);
static GType sink_type(void);

/* --- the source --- */

/* Reads at most SIZE bytes at OFFSET: their number. */
static size_t read_at(struct decode_work *work, uint64_t offset, char *buffer, size_t size)
{
	uint64_t rest = offset < work->end ? work->end - offset : 0;
	struct str part;

	if (size > rest)
		size = (size_t)rest;
	if (size == 0)
		return 0;
	if (ipc_content_read(work->content, offset, buffer, size, &part) < 0) {
		work->problems |= DECODE_PROBLEM_UNREADABLE;
		work->end = 0;
		return 0;
	}
	if (part.data != buffer)
		memcpy(buffer, part.data, part.length);
	if (work->is_parsing)
		decode_bound_apply(work->bound, offset, buffer, part.length);
	return part.length;
}

static ssize_t source_read(GMimeStream *stream, char *buffer, size_t size)
{
	const struct source *source = (struct source *)(void *)stream;
	size_t got;

	if (stream->bound_end >= 0) {
		gint64 rest = stream->bound_end - stream->position;

		if (rest <= 0)
			return 0;
		if (size > (size_t)rest)
			size = (size_t)rest;
	}
	got = read_at(source->work, (uint64_t)stream->position, buffer, size);
	stream->position += (gint64)got;
	return (ssize_t)got;
}

static ssize_t source_write(GMimeStream *stream, const char *buffer, size_t size)
{
	(void)stream;
	(void)buffer;
	(void)size;
	return -1;
}

static int ignore_stream_call(GMimeStream *stream)
{
	(void)stream;
	return 0;
}

/* The work may have ended before a part does: whoever waits for its end would wait for ever. */
static gint64 source_end(const GMimeStream *stream)
{
	const struct source *source = (const struct source *)(const void *)stream;
	gint64 end = (gint64)source->work->end;

	return stream->bound_end >= 0 && stream->bound_end < end ? stream->bound_end : end;
}

static gboolean source_eos(GMimeStream *stream)
{
	return stream->position >= source_end(stream);
}

static int source_reset(GMimeStream *stream)
{
	stream->position = stream->bound_start;
	return 0;
}

static gint64 source_seek(GMimeStream *stream, gint64 offset, GMimeSeekWhence whence)
{
	gint64 position = offset;

	if (whence == GMIME_STREAM_SEEK_CUR)
		position += stream->position;
	else if (whence == GMIME_STREAM_SEEK_END)
		position += source_end(stream);
	if (position < stream->bound_start || position > source_end(stream))
		return -1;
	stream->position = position;
	return position;
}

static gint64 tell_stream_position(GMimeStream *stream)
{
	return stream->position;
}

static gint64 source_length(GMimeStream *stream)
{
	return source_end(stream) - stream->bound_start;
}

static GMimeStream *source_part(struct decode_work *work, gint64 start, gint64 end)
{
	struct source *source = g_object_new(source_type(), NULL);

	source->work = work;
	g_mime_stream_construct(&source->stream, start, end);
	return &source->stream;
}

static GMimeStream *source_substream(GMimeStream *stream, gint64 start, gint64 end)
{
	return source_part(((struct source *)(void *)stream)->work, start, end);
}

static void source_class_init(void *class, void *data)
{
	GMimeStreamClass *stream = class;

	(void)data;
	stream->read = source_read;
	stream->write = source_write;
	stream->flush = ignore_stream_call;
	stream->close = ignore_stream_call;
	stream->eos = source_eos;
	stream->reset = source_reset;
	stream->seek = source_seek;
	stream->tell = tell_stream_position;
	stream->length = source_length;
	stream->substream = source_substream;
}

static GType source_type(void)
{
	static GType type;

	if (type == 0)
		type = g_type_register_static_simple(GMIME_TYPE_STREAM, "DecodeSource",
						     sizeof(struct source_class), source_class_init,
						     sizeof(struct source), NULL, 0);
	return type;
}

/* An mbox's "From " is no part of the message. */
static uint64_t find_message_start(struct decode_work *work)
{
	char block[STREAM_BLOCK_SIZE];
	size_t got = read_at(work, 0, block, sizeof block);
	ptrdiff_t end = str_find(str_slice(block, got), '\n');

	return end >= 0 && str_starts_with(str_slice(block, got), STR("From ")) ? (uint64_t)end + 1
										: 0;
}

GMimeStream *decode_source_new(struct decode_work *work)
{
	return source_part(work, (gint64)find_message_start(work), -1);
}

/* --- the sink --- */

static void digest_decoded(struct sink *sink, const char *data, size_t size)
{
	if (EVP_DigestUpdate(sink->digest, data, size) != 1)
		panic("no memory for a digest");
	sink->size += size;
}

static void digest_decoded_text(struct sink *sink, struct str text)
{
	while (text.length > 0) {
		ptrdiff_t found = str_find(text, '\n');
		size_t length = found < 0 ? text.length : (size_t)found;

		if (length > 0) {
			digest_decoded(sink, text.data, length);
			sink->has_cr = text.data[length - 1] == '\r';
		}
		if (found >= 0) {
			digest_decoded(sink, sink->has_cr ? "\n" : "\r\n", sink->has_cr ? 1 : 2);
			sink->has_cr = false;
		}
		text = str_skip(text, found < 0 ? length : length + 1);
	}
}

static ssize_t sink_write(GMimeStream *stream, const char *buffer, size_t size)
{
	struct sink *sink = (struct sink *)(void *)stream;

	if (sink->work->budget < size) {
		sink->work->budget = 0;
		sink->work->problems |= DECODE_PROBLEM_WORK;
		return -1;
	}
	sink->work->budget -= size;
	if (sink->is_text)
		digest_decoded_text(sink, str_slice(buffer, size));
	else
		digest_decoded(sink, buffer, size);
	stream->position += (gint64)size;
	return (ssize_t)size;
}

static ssize_t sink_read(GMimeStream *stream, char *buffer, size_t size)
{
	(void)stream;
	(void)buffer;
	(void)size;
	return -1;
}

static gboolean sink_eos(GMimeStream *stream)
{
	(void)stream;
	return TRUE;
}

static void sink_class_init(void *class, void *data)
{
	GMimeStreamClass *stream = class;

	(void)data;
	stream->read = sink_read;
	stream->write = sink_write;
	stream->flush = ignore_stream_call;
	stream->close = ignore_stream_call;
	stream->eos = sink_eos;
	stream->reset = ignore_stream_call;
	stream->tell = tell_stream_position;
	stream->length = tell_stream_position;
}

static GType sink_type(void)
{
	static GType type;

	if (type == 0)
		type = g_type_register_static_simple(GMIME_TYPE_STREAM, "DecodeSink",
						     sizeof(struct sink_class), sink_class_init,
						     sizeof(struct sink), NULL, 0);
	return type;
}

GMimeStream *decode_sink_new(struct decode_work *work, bool is_text)
{
	struct sink *sink = g_object_new(sink_type(), NULL);

	g_mime_stream_construct(&sink->stream, 0, -1);
	sink->work = work;
	sink->is_text = is_text;
	sink->digest = EVP_MD_CTX_new();
	if (sink->digest == NULL || EVP_DigestInit_ex(sink->digest, EVP_sha256(), NULL) != 1)
		panic("no memory for a digest");
	return &sink->stream;
}

uint64_t decode_sink_end(GMimeStream *stream, unsigned char digest_out[DECODE_DIGEST_SIZE])
{
	struct sink *sink = (struct sink *)(void *)stream;
	uint64_t size = sink->size;

	if (EVP_DigestFinal_ex(sink->digest, digest_out, NULL) != 1)
		panic("no memory for a digest");
	EVP_MD_CTX_free(sink->digest);
	g_object_unref(stream);
	return size;
}
