// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_smtp_server.c - the whole SMTP server engine.
 *
 * The first byte chooses protocol and answers, the others come from the
 * client; at once with instant and in pieces with delayed answers, which must
 * come to the same.
 */
#include "server_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 2)
		server_play_twice(data[0], str_slice((const char *)data + 1, size - 1));
	return 0;
}
