// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_smtp_server.c - the whole SMTP server engine.
 *
 * The first byte chooses protocol and answers, the second how the client is borne with, the others
 * come from it; at once with instant and in pieces with delayed answers, which must
 * come to the same.
 */
#include "server_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 3)
		server_play_twice(data[0] | (unsigned)data[1] << SERVER_PLAY_RULES,
				  str_slice((const char *)data + 2, size - 2));
	return 0;
}
