// SPDX-License-Identifier: ISC
/* Header fields with 8-bit data, encoded as the caller says. */
#include "mail/seven_bit/internal.h"

static bool is_8bit(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] > 0x7f)
			return true;
	return false;
}

static void put_field(struct mail_seven_bit *message, struct str text)
{
	if (message->is_scanned)
		buffer_append_str(message->out, text);
}

void seven_bit_field_end(struct mail_seven_bit *message)
{
	struct buffer encoded CLEANUP(buffer_clear) = {0};
	struct str field = buffer_view(&message->field);

	message->is_field_long = false;
	if (is_8bit(field)) {
		message->has_address |= !message->encode(field, &encoded);
		message->is_changed = true;
		field = buffer_view(&encoded);
	}
	put_field(message, field);
	buffer_reset(&message->field);
}

/* What is too long passes as it is. */
static void give_up_field(struct mail_seven_bit *message)
{
	struct str field = buffer_view(&message->field);

	message->is_field_long = true;
	message->has_address |= is_8bit(field);
	put_field(message, field);
	buffer_clear(&message->field);
}

void seven_bit_field_take(struct mail_seven_bit *message, struct str line, bool starts)
{
	if (message->encode == NULL) {
		put_field(message, line);
		return;
	}
	if (starts && line.data[0] != ' ' && line.data[0] != '\t')
		seven_bit_field_end(message);
	buffer_append_str(&message->field, line);
	if (message->is_field_long || message->field.length > MAIL_SEVEN_BIT_FIELD_MAX)
		give_up_field(message);
}
