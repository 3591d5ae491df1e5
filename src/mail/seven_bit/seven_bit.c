// SPDX-License-Identifier: ISC
#include "mail/seven_bit/seven_bit.h"
#include "base/panic.h"
#include "mail/seven_bit/internal.h"
#include <stdlib.h>
#include <string.h>

struct mail_seven_bit *mail_seven_bit_new(void)
{
	struct mail_seven_bit *message = memory_alloc_zero(1, sizeof *message);

	seven_bit_walk_begin(message);
	return message;
}

void mail_seven_bit_set_binary(struct mail_seven_bit *message)
{
	message->is_binary = true;
}

void mail_seven_bit_set_encoder(struct mail_seven_bit *message, mail_seven_bit_encoder *encode)
{
	message->encode = encode;
}

void mail_seven_bit_keep_bodies(struct mail_seven_bit *message)
{
	message->keeps_bodies = true;
}

void mail_seven_bit_free(struct mail_seven_bit *message)
{
	if (message == NULL)
		return;
	buffer_clear(&message->plan);
	buffer_clear(&message->field);
	free(message);
}

static void walk_line(struct mail_seven_bit *message, bool ends)
{
	/* a CR at the end may belong to a CRLF */
	size_t kept = !ends && message->line[message->line_length - 1] == '\r';

	seven_bit_walk(message, str_slice(message->line, message->line_length - kept),
		       !message->is_in_line, ends);
	message->line[0] = '\r';
	message->line_length = kept;
	message->is_in_line = !ends;
}

static void take_message_lines(struct mail_seven_bit *message, struct str data)
{
	while (data.length > 0) {
		size_t room = sizeof message->line - message->line_length;
		size_t count = data.length < room ? data.length : room;
		const char *lf = memchr(data.data, '\n', count);
		char *end = message->line + message->line_length;

		if (lf != NULL)
			count = (size_t)(lf + 1 - data.data);
		memcpy(end, data.data, count);
		message->line_length += count;
		data = str_skip(data, count);
		end += count;
		if (lf != NULL && message->line_length > 1 && end[-2] == '\r')
			walk_line(message, true);
		else if (message->line_length == sizeof message->line)
			walk_line(message, false);
	}
}

static void end_message_lines(struct mail_seven_bit *message)
{
	if (message->line_length > 0)
		seven_bit_walk(message, str_slice(message->line, message->line_length),
			       !message->is_in_line, false);
	message->line_length = 0;
	message->is_in_line = false;
	seven_bit_walk_end(message);
}

void mail_seven_bit_scan(struct mail_seven_bit *message, struct str data)
{
	take_message_lines(message, data);
}

enum mail_seven_bit_need mail_seven_bit_scanned(struct mail_seven_bit *message)
{
	end_message_lines(message);
	message->is_scanned = true;
	seven_bit_walk_begin(message);
	if (message->has_sealed)
		return MAIL_SEVEN_BIT_SIGNED;
	if (message->has_opaque)
		return MAIL_SEVEN_BIT_UNPARSED;
	if (message->has_address)
		return MAIL_SEVEN_BIT_ADDRESS;
	return message->is_changed ? MAIL_SEVEN_BIT_CONVERT : MAIL_SEVEN_BIT_NONE;
}

void mail_seven_bit_convert(struct mail_seven_bit *message, struct str data, struct buffer *out)
{
	message->out = out;
	take_message_lines(message, data);
}

void mail_seven_bit_converted(struct mail_seven_bit *message, struct buffer *out)
{
	message->out = out;
	end_message_lines(message);
	seven_bit_walk_begin(message);
}
