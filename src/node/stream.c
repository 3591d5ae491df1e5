// SPDX-License-Identifier: ISC
#include "node/stream.h"
#include "directory/wire/frame.h"
#include <errno.h>
#include <inttypes.h>

enum { LENGTH_DIGITS_MAX = 20, WORDS_MAX = 2 * NODE_NAMES_MAX + 8 };

struct reading {
	struct node_stream *stream;
	const struct node_stream_handler *handler;
	void *context;
};

/* A netstring's length and colon at the start of INPUT: how many bytes they are; 0: incomplete;
 * -EINVAL. */
static int read_netstring_length(struct str input, uint64_t *length_out)
{
	size_t digits = 0;

	while (digits < input.length && digits <= LENGTH_DIGITS_MAX &&
	       str_is_digit(input.data[digits]))
		digits++;
	if (digits > LENGTH_DIGITS_MAX)
		return -EINVAL;
	if (digits == input.length)
		return 0;
	if (input.data[digits] != ':' || (digits > 1 && input.data[0] == '0') ||
	    !str_to_u64(str_slice(input.data, digits), length_out))
		return -EINVAL;
	return (int)digits + 1;
}

/* Each step: 1: something was read; 0: more bytes are needed; -errno. */
static int read_frame(const struct reading *reading)
{
	struct node_stream *stream = reading->stream;
	struct str words[WORDS_MAX];
	struct str content;
	size_t length;
	bool has_payload = false;
	bool goes_on;
	int count;
	int result = directory_frame_take(&stream->input, &content, &length);

	if (result <= 0)
		return result == 0 ? 0 : -EINVAL;
	count = directory_frame_words(content, words, WORDS_MAX);
	if (count <= 0)
		return -EINVAL;
	goes_on = reading->handler->frame(reading->context, words, (size_t)count, &has_payload);
	buffer_consume(&stream->input, length);
	stream->phase = has_payload ? NODE_STREAM_TEXT : NODE_STREAM_FRAME;
	return goes_on ? 1 : -ECANCELED;
}

static int read_text(const struct reading *reading)
{
	struct node_stream *stream = reading->stream;
	struct str input = buffer_view(&stream->input);
	uint64_t length = 0;
	int head = read_netstring_length(input, &length);

	if (head <= 0)
		return head;
	if (length > NODE_TEXT_MAX)
		return -EINVAL;
	if (input.length < (size_t)head + length + 1)
		return 0;
	if (input.data[(size_t)head + length] != ',')
		return -EINVAL;
	buffer_append_str(&stream->text, str_slice(input.data + head, length));
	buffer_consume(&stream->input, (size_t)head + length + 1);
	stream->phase = NODE_STREAM_SIZE;
	return 1;
}

static int read_size(const struct reading *reading)
{
	struct node_stream *stream = reading->stream;
	int head = read_netstring_length(buffer_view(&stream->input), &stream->left);
	bool goes_on;

	if (head <= 0)
		return head;
	buffer_consume(&stream->input, (size_t)head);
	stream->phase = NODE_STREAM_DATA;
	goes_on =
		reading->handler->text(reading->context, buffer_view(&stream->text), stream->left);
	buffer_clear(&stream->text);
	return goes_on ? 1 : -ECANCELED;
}

/* The comma at the end is read alone. */
static int read_data(const struct reading *reading)
{
	struct node_stream *stream = reading->stream;
	struct str input = buffer_view(&stream->input);
	size_t part = input.length < stream->left ? input.length : (size_t)stream->left;

	if (input.length == 0)
		return 0;
	if (stream->left == 0) {
		if (input.data[0] != ',')
			return -EINVAL;
		buffer_consume(&stream->input, 1);
		stream->phase = NODE_STREAM_FRAME;
		return reading->handler->end(reading->context) ? 1 : -ECANCELED;
	}
	stream->left -= part;
	if (!reading->handler->data(reading->context, str_slice(input.data, part)))
		return -ECANCELED;
	buffer_consume(&stream->input, part);
	return 1;
}

int node_stream_read(struct node_stream *stream, const struct node_stream_handler *handler,
		     void *context, struct str bytes)
{
	static int (*const steps[])(const struct reading *) = {
		[NODE_STREAM_FRAME] = read_frame,
		[NODE_STREAM_TEXT] = read_text,
		[NODE_STREAM_SIZE] = read_size,
		[NODE_STREAM_DATA] = read_data,
	};
	const struct reading reading = {stream, handler, context};
	int result;

	buffer_append_str(&stream->input, bytes);
	do
		result = steps[stream->phase](&reading);
	while (result > 0);
	return result;
}

void node_stream_clear(struct node_stream *stream)
{
	buffer_clear(&stream->input);
	buffer_clear(&stream->text);
}

void node_stream_begin_netstring(struct buffer *out, uint64_t size)
{
	buffer_append_format(out, "%" PRIu64 ":", size);
}
