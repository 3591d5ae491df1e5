// SPDX-License-Identifier: ISC
#include "qmtp/netstring.h"

enum qmtp_length_state qmtp_length_take(struct qmtp_length *length, char byte)
{
	bool is_zero = length->digits > 0 && length->value == 0;

	if (byte == ':')
		return length->digits > 0 ? QMTP_LENGTH_DONE : QMTP_LENGTH_WRONG;
	if (byte < '0' || byte > '9' || is_zero || length->digits == QMTP_NETSTRING_DIGITS)
		return QMTP_LENGTH_WRONG;
	length->value = length->value * 10 + (uint64_t)(byte - '0');
	length->digits++;
	return QMTP_LENGTH_MORE;
}

void qmtp_netstring_begin(struct buffer *out, uint64_t length)
{
	buffer_append_number(out, length);
	buffer_append_byte(out, ':');
}

void qmtp_netstring_append(struct buffer *out, struct str text)
{
	qmtp_netstring_begin(out, text.length);
	buffer_append_str(out, text);
	buffer_append_byte(out, ',');
}
