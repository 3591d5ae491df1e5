// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/client_play.h - a session of the client engine with a server that says
 * what the fuzzer likes.
 */
#ifndef TESTS_FUZZ_CLIENT_PLAY_H
#define TESTS_FUZZ_CLIENT_PLAY_H

#include "smtp/client/client.h"

/* Added to CHOICE: a login by PLAIN or LOGIN comes first, whose password no verdict may repeat. */
enum { CLIENT_PLAY_LOGIN = 1 << 8 };
/* Likewise: the message is given whole, and may go by BDAT. */
enum { CLIENT_PLAY_CHUNKS = 1 << 9 };

/* CHOICE chooses recipients, message, SMTPUTF8 and TLS; a zero byte in REPLIES is where the
 * client's output is sent and its message given. Panics unless replies and message whole
 * and byte by byte come to the same, every recipient gets a verdict, and nothing that
 * ends a line early is sent. */
void client_play_twice(enum smtp_client_protocol protocol, unsigned choice, struct str replies);

#endif
