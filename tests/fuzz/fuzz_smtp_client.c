// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_smtp_client.c - the whole client engine. The first byte chooses protocol
 * and message (client_play.h), the others come from the server.
 */
#include "client_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		client_play_twice(data[0] & 1 ? SMTP_CLIENT_LMTP : SMTP_CLIENT_SMTP, data[0],
				  str_slice((const char *)data + 1, size - 1));
	return 0;
}
