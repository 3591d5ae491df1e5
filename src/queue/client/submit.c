// SPDX-License-Identifier: ISC
#include "queue/client/submit.h"

void queue_submit_append_trace(struct buffer *out, unsigned long uid)
{
	buffer_append_format(out, "Received: (uid %lu)\r\n", uid);
}

void queue_submit_append_received(struct buffer *out, unsigned long uid)
{
	buffer_append_format(out, "local uid=%lu", uid);
}
