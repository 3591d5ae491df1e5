// SPDX-License-Identifier: ISC
#include "log/sink.h"
#include "os/stream/error.h"
#include <errno.h>

static uint64_t drop_log_lines(struct buffer *lines)
{
	struct str view = buffer_view(lines);
	uint64_t count = 0;

	for (size_t i = 0; i < view.length; i++)
		count += view.data[i] == '\n';
	buffer_reset(lines);
	return count;
}

uint64_t log_sink_write(struct buffer *lines, int wait_ms)
{
	int before = errno;
	uint64_t lost = 0;

	while (lines->length > 0) {
		struct str view = buffer_view(lines);
		ssize_t count = os_error_stream_write(view, wait_ms);

		if (count >= 0)
			buffer_consume(lines, (size_t)count);
		else if (count == -EAGAIN)
			break;
		else if (count != -EINTR)
			lost += drop_log_lines(lines);
	}
	errno = before;
	return lost;
}
