// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_lmtp_client.c - the client engine after an LMTP server's greeting:
 * several recipients, a reply for each. As fuzz_smtp_client.c.
 */
#include "base/buffer.h"
#include "client_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct str greeting = STR("220 x\r\n\0"
					       "250-x\r\n250-PIPELINING\r\n250 DSN\r\n\0");
	struct buffer replies = {0};

	if (size == 0)
		return 0;
	buffer_append_str(&replies, greeting);
	buffer_append(&replies, data + 1, size - 1);
	client_play_twice(SMTP_CLIENT_LMTP, data[0] | 2, buffer_view(&replies));
	buffer_clear(&replies);
	return 0;
}
