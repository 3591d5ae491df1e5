// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_smtp_login.c - the client engine with a login. The first byte chooses the message
 * (client_play.h), the others come from the server.
 */
#include "client_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		client_play_twice(SMTP_CLIENT_SMTP, (unsigned)data[0] | CLIENT_PLAY_LOGIN,
				  str_slice((const char *)data + 1, size - 1));
	return 0;
}
