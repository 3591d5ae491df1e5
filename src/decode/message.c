// SPDX-License-Identifier: ISC
#include "decode/message.h"

const char *decode_role_name(enum decode_role role)
{
	static const char *const names[DECODE_ROLES] = {
		[DECODE_FROM] = "from", [DECODE_SENDER] = "sender", [DECODE_REPLY_TO] = "reply_to",
		[DECODE_TO] = "to",     [DECODE_CC] = "cc",         [DECODE_BCC] = "bcc",
	};

	return names[role];
}
