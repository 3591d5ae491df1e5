// SPDX-License-Identifier: ISC
#include "command/queue/adopt_report.h"
#include "manager/notice.h"
#include "os/clock.h"
#include "os/file/file.h"

static int read_original_to_adopt(int data, uint64_t size, struct buffer *out)
{
	enum { PIECE = 64 * 1024 };

	while (out->length < size) {
		size_t wanted = size - out->length < PIECE ? size - out->length : PIECE;
		ssize_t count =
			os_file_read(data, buffer_reserve(out, wanted), wanted, out->length);

		if (count <= 0)
			return (int)count;
		buffer_commit(out, (size_t)count);
	}
	return 0;
}

int queue_adopt_report(const struct config *config, const struct queue_control *control, int data,
		       struct mail_envelope **envelope_out, struct buffer *content)
{
	struct buffer original CLEANUP(buffer_clear) = {0};
	struct notice notice = {.now_us = os_clock_wall_us()};
	bool is_utf8;
	int error;

	notice.outcomes = notice_collect_success(control, config, &notice.count);
	if (notice.count == 0 || bounce_route(control->envelope->sender, config, &notice.sender,
					      &notice.recipient) != BOUNCE_SEND)
		return 0;
	error = read_original_to_adopt(data, notice_original_max(control, config), &original);
	if (error < 0)
		return error;
	notice.original = buffer_view(&original);
	is_utf8 = notice_write(&notice, control, config, content);
	*envelope_out = notice_envelope(&notice, is_utf8);
	(*envelope_out)->id.born_us = notice.now_us;
	return 1;
}
