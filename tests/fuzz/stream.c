// SPDX-License-Identifier: ISC
#include "stream.h"
#include "os/loop.h"
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void stream_open(struct stream *stream, const struct input *input, unsigned choice)
{
	*stream = (struct stream){.input = input->rest,
				  .step = choice >= 8 ? choice : 100000,
				  .descriptor = eventfd(1, EFD_CLOEXEC)};
}

void stream_close(struct stream *stream)
{
	close(stream->descriptor);
}

ssize_t stream_read(void *state, void *data, size_t size)
{
	struct stream *stream = state;
	size_t count = stream->input.length < stream->step ? stream->input.length : stream->step;

	count = count < size ? count : size;
	if (count > 0)
		memcpy(data, stream->input.data, count);
	stream->input = str_skip(stream->input, count);
	return (ssize_t)count;
}

unsigned stream_wants(void *state, bool has_output)
{
	(void)state;
	(void)has_output;
	return OS_WATCH_READ;
}
