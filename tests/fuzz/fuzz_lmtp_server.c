// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_lmtp_server.c - the server engine as an LMTP server, after a
 * greeting: as many replies to a message as it has recipients. As fuzz_smtp_server.c.
 */
#include "base/buffer.h"
#include "server_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer text = {0};

	if (size < 3)
		return 0;
	buffer_append_string(&text, "LHLO c\r\n");
	buffer_append(&text, data + 2, size - 2);
	server_play_twice(data[0] | SERVER_PLAY_LMTP | (unsigned)data[1] << SERVER_PLAY_RULES,
			  buffer_view(&text));
	buffer_clear(&text);
	return 0;
}
